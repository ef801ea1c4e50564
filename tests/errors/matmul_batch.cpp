// expect: matmul: batch axes of \[2,3,4\] and \[3,4,5\] do not broadcast
// expect: matmul_batch\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x, auto y) {
  return ct::matmul(x, y);
};
bool r = trace<f, ct::var<float, 2, 3, 4>, ct::var<float, 3, 4, 5>>;
