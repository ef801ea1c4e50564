// expect: ppermute along i: the pair \(1, 4\) does not name instances of 3
// expect: ppermute_pairs\.cpp:6:
#include "trace.hpp"
constexpr auto g = [](auto x) { return ct::ppermute<"i">(x, {{0, 1}, {1, 4}}); };
constexpr auto f = [](auto x) {
  return ct::vmap(g, ct::axis_name<"i">)(x);
};
bool r = trace<f, ct::var<float, 3>>;
