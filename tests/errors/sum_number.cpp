// expect: a reduction's axes are types: say ct::axis<0> or ct::axis<0, 1>
// expect: sum_number\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::sum(x, 0);
};
bool r = trace<f, ct::var<float, 2, 3>>;
