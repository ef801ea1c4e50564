// expect: matmul: inner dimensions differ: \[2,3\] x \[4,5\]
// expect: matmul_inner\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x, auto y) {
  return ct::matmul(x, y);
};
bool r = trace<f, ct::var<float, 2, 3>, ct::var<float, 4, 5>>;
