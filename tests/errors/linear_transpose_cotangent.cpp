// expect: linear_transpose: the cotangent must have the structure, shapes and dtype of the output: float32\[3\] is given where float32\[\] is needed
// expect: linear_transpose_cotangent\.cpp:6:
#include "trace.hpp"
constexpr auto g = [](auto x) { return ct::sum(x); };
constexpr auto f = [](auto x) {
  return ct::linear_transpose(g, x)(x);
};
bool r = trace<f, ct::var<float, 3>>;
