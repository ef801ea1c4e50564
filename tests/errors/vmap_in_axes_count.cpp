// expect: vmap: in_axes has 2 entries for 3 arguments; give one entry, or one per argument
// expect: vmap_in_axes_count\.cpp:6:
#include "trace.hpp"
constexpr auto g = [](auto x, auto y, auto z) { return x + y + z; };
constexpr auto f = [](auto x) {
  return ct::vmap(g, ct::in_axes<0, 0>)(x, x, x);
};
bool r = trace<f, ct::var<float, 3>>;
