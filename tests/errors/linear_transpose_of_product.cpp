// expect: linear_transpose: the function is not linear: mul of its inputs
// expect: linear_transpose_of_product\.cpp:6:
#include "trace.hpp"
constexpr auto g = [](auto x, auto y) { return x * y; };
constexpr auto f = [](auto x) {
  return ct::linear_transpose(g, x, x)(x);
};
bool r = trace<f, ct::var<float, 3>>;
