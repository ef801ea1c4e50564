// expect: vmap: out_axes has 2 entries for 3 results; give one entry, or one per array that the function returns
// expect: vmap_out_axes_count\.cpp:6:
#include "trace.hpp"
constexpr auto g = [](auto x) { return std::tuple(x, x, x); };
constexpr auto f = [](auto x) {
  return ct::vmap(g, ct::out_axes<0, 0>)(x);
};
bool r = trace<f, ct::var<float, 3>>;
