// expect: ppermute along i: instance 1 is the target of two pairs
// expect: ppermute_target\.cpp:6:
#include "trace.hpp"
constexpr auto g = [](auto x) { return ct::ppermute<"i">(x, {{0, 1}, {2, 1}}); };
constexpr auto f = [](auto x) {
  return ct::vmap(g, ct::axis_name<"i">)(x);
};
bool r = trace<f, ct::var<float, 3>>;
