// expect: sum: axes 1 and -1 of \[2,3\] are the same
// expect: sum_axis_twice\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::sum(x, ct::axis<1, -1>);
};
bool r = trace<f, ct::var<float, 2, 3>>;
