// expect: transpose: axis 2 is out of range for rank 2 \(\[2,3\]\)
// expect: transpose_axis\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::transpose<0, 2>(x);
};
bool r = trace<f, ct::var<float, 2, 3>>;
