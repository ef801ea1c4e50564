// expect: slice: the step of axis 0 of \[3\] is 0
// expect: slice_step\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::slice<ct::range<0, 2, 0>>(x);
};
bool r = trace<f, ct::var<float, 3>>;
