// expect: tensordot: the last 2 axes of \[2,3\] are not the first of \[3,2\]
// expect: tensordot_axes\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x, auto y) {
  return ct::tensordot(x, y);
};
bool r = trace<f, ct::var<float, 2, 3>, ct::var<float, 3, 2>>;
