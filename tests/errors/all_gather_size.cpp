// expect: all_gather: give the number of instances, which the result's shape has: ct::axis_size<N>
// expect: all_gather_size\.cpp:5:
#include "trace.hpp"
constexpr auto g = [](auto x) {
  return ct::all_gather<"i">(x);
};
constexpr auto f = [](auto x) { return ct::vmap(g, ct::axis_name<"i">)(x); };
bool r = trace<f, ct::var<float, 3>>;
