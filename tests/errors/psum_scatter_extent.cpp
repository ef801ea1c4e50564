// expect: psum_scatter along i: axis 0 of float32\[4\] has an entry for each of 4 instances, and there are 3
// expect: psum_scatter_extent\.cpp:6:
#include "trace.hpp"
constexpr auto g = [](auto x) { return ct::psum_scatter<"i">(x); };
constexpr auto f = [](auto x) {
  return ct::vmap(g, ct::axis_name<"i">)(x);
};
bool r = trace<f, ct::var<float, 3, 4>>;
