// expect: concatenate: shapes \[2,3\] and \[3,4\] differ outside axis 0
// expect: concatenate_shapes\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x, auto y) {
  return ct::concatenate<0>(x, y);
};
bool r = trace<f, ct::var<float, 2, 3>, ct::var<float, 3, 4>>;
