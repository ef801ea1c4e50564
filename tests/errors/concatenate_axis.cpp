// expect: concatenate: axis 2 is out of range for rank 2 \(\[2,3\]\)
// expect: concatenate_axis\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::concatenate<2>(x, x);
};
bool r = trace<f, ct::var<float, 2, 3>>;
