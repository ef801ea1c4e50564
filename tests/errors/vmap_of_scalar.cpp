// expect: vmap: in_axes names axis 0 of an argument of rank 0 \(\[\]\)
// expect: vmap_of_scalar\.cpp:6:
#include "trace.hpp"
constexpr auto g = [](auto x, auto y) { return x + y; };
constexpr auto f = [](auto x, auto y) {
  return ct::vmap(g)(x, y);
};
bool r = trace<f, ct::var<float, 3>, ct::var<float>>;
