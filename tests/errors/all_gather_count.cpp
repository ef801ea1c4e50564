// expect: all_gather along i: there are 3 instances, not 4
// expect: all_gather_count\.cpp:6:
#include "trace.hpp"
constexpr auto g = [](auto x) { return ct::all_gather<"i">(x, ct::axis_size<4>); };
constexpr auto f = [](auto x) {
  return ct::vmap(g, ct::axis_name<"i">)(x);
};
bool r = trace<f, ct::var<float, 3>>;
