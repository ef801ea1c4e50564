// expect: a transformed function was called with both traced and concrete arrays
// expect: mixed_arrays\.cpp:7:
#include "trace.hpp"
#include <cotangent/core/array.hpp>
constexpr auto loss = [](auto x, auto y) { return ct::sum(x * y); };
constexpr auto f = [](auto x) {
  return ct::grad(loss)(x, ct::array<float, 3>());
};
bool r = trace<f, ct::var<float, 3>>;
