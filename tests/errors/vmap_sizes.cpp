// expect: vmap: inconsistent sizes of the mapped axes: 3 and 4 \(argument of shape \[4\]\)
// expect: vmap_sizes\.cpp:6:
#include "trace.hpp"
constexpr auto g = [](auto x, auto y) { return x + y; };
constexpr auto f = [](auto x, auto y) {
  return ct::vmap(g)(x, y);
};
bool r = trace<f, ct::var<float, 3>, ct::var<float, 4>>;
