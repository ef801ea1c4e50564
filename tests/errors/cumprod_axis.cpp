// expect: cumprod: axis -3 is out of range for rank 2 \(\[3,4\]\)
// expect: cumprod_axis\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::cumprod(x, ct::axis<-3>);
};
bool r = trace<f, ct::var<float, 3, 4>>;
