// expect: squeeze: axis 1 of \[1,3\] has not extent 1
// expect: squeeze_extent\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::squeeze<1>(x);
};
bool r = trace<f, ct::var<float, 1, 3>>;
