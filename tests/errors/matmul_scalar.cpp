// expect: matmul: operands must have at least one axis, got \[3\] x \[\]
// expect: matmul_scalar\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x, auto y) {
  return ct::matmul(x, y);
};
bool r = trace<f, ct::var<float, 3>, ct::var<float>>;
