// expect: argmax: axis 2 is out of range for rank 2 \(\[2,3\]\)
// expect: argmax_axis\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::argmax(x, ct::axis<2>);
};
bool r = trace<f, ct::var<float, 2, 3>>;
