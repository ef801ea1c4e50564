// expect: flip: axis 1 is out of range for rank 1 \(\[3\]\)
// expect: flip_axis\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::flip<1>(x);
};
bool r = trace<f, ct::var<float, 3>>;
