// expect: vmap: out_axes says none, but the output depends on a mapped input: float32\[3\] is batched
// expect: vmap_out_axes_none\.cpp:6:
#include "trace.hpp"
constexpr auto g = [](auto x) { return x * 2; };
constexpr auto f = [](auto x) {
  return ct::vmap(g, ct::out_axes<ct::none>)(x);
};
bool r = trace<f, ct::var<float, 3>>;
