// expect: psum: an axis is named twice
// expect: psum_twice\.cpp:5:
#include "trace.hpp"
constexpr auto g = [](auto x) {
  return ct::psum<"i", "i">(x);
};
constexpr auto f = [](auto x) { return ct::vmap(g, ct::axis_name<"i">)(x); };
bool r = trace<f, ct::var<float, 3>>;
