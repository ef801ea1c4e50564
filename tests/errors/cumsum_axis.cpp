// expect: cumsum: axis 1 is out of range for rank 1 \(\[3\]\)
// expect: cumsum_axis\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::cumsum(x, ct::axis<1>);
};
bool r = trace<f, ct::var<float, 3>>;
