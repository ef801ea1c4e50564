// expect: vmap: out_axes names an axis that the result does not have
// expect: vmap_out_axes_range\.cpp:6:
#include "trace.hpp"
constexpr auto g = [](auto x) { return x * 2; };
constexpr auto f = [](auto x) {
  return ct::vmap(g, ct::out_axes<1>)(x);
};
bool r = trace<f, ct::var<float, 3>>;
