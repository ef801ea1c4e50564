// expect: vmap: in_axes names axis -4 of an argument of rank 3 \(\[3,4,5\]\)
// expect: vmap_in_axes_range\.cpp:6:
#include "trace.hpp"
constexpr auto g = [](auto x) { return ct::sum(x); };
constexpr auto f = [](auto x) {
  return ct::vmap(g, ct::in_axes<-4>)(x);
};
bool r = trace<f, ct::var<float, 3, 4, 5>>;
