// expect: an array used as a constant in a traced function must have static extents
// expect: mixed_arrays\.cpp:7:
#include "trace.hpp"
#include <cotangent/core/array.hpp>
constexpr auto loss = [](auto x, auto y) { return ct::sum(x * y); };
constexpr auto f = [](auto x) {
  return ct::grad(loss)(x, ct::array<float, ct::dyn>({3}));
};
bool r = trace<f, ct::var<float, 3>>;
