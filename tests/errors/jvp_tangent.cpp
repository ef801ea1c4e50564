// expect: jvp: the tangents must have the structure, shapes and dtypes of the primals: float32\[4\] is given where float32\[3\] is needed
// expect: jvp_tangent\.cpp:6:
#include "trace.hpp"
constexpr auto g = [](auto x) { return ct::sin(x); };
constexpr auto f = [](auto x, auto t) {
  return ct::jvp(g, std::tuple(x), std::tuple(t));
};
bool r = trace<f, ct::var<float, 3>, ct::var<float, 4>>;
