// expect: into: the output is a temporary, which would be lost
// expect: into_temporary\.cpp:5:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
void f(const ct::array<float, 3>& x) { ct::jit([](auto v) { return v + v; }).into(ct::array<float, 3>())(x); }
