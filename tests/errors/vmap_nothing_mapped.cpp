// expect: vmap: in_axes must map at least one argument, or axis_size must be given
// expect: vmap_nothing_mapped\.cpp:6:
#include "trace.hpp"
constexpr auto g = [](auto x) { return x; };
constexpr auto f = [](auto x) {
  return ct::vmap(g, ct::in_axes<ct::none>)(x);
};
bool r = trace<f, ct::var<float, 3>>;
