// expect: squeeze: axis 2 is out of range for rank 2 \(\[1,3\]\)
// expect: squeeze_axis\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::squeeze<2>(x);
};
bool r = trace<f, ct::var<float, 1, 3>>;
