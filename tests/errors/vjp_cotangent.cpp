// expect: vjp: the cotangent must have the structure, shapes and dtype of the output: float32\[3\] is given where float32\[\] is needed
// expect: vjp_cotangent\.cpp:7:
#include "trace.hpp"
constexpr auto g = [](auto x) { return ct::sum(x); };
constexpr auto f = [](auto x) {
  auto [y, pull] = ct::vjp(g, x);
  return pull(x);
};
bool r = trace<f, ct::var<float, 3>>;
