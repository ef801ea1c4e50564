// expect: (no matching|could not convert|no viable)
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;

// The elements are not in the host's memory.
ct::view<const float, 3> f(const ct::device_array<float, 3>& x) { return ct::view<const float, 3>(x); }
