// expect: sum: axis 3 is out of range for rank 2 \(\[32,784\]\)
// expect: sum_axis\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::sum(x, ct::axis<3>);
};
bool r = trace<f, ct::var<float, 32, 784>>;
