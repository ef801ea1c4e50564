// expect: dynamic_slice: size 5 is larger than axis 1 of \[3,4\]
// expect: dynamic_slice_size\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::dynamic_slice<2, 5>(x, 0, 0);
};
bool r = trace<f, ct::var<float, 3, 4>>;
