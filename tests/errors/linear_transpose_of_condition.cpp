// expect: linear_transpose: the function is not linear: gt of its inputs
// expect: linear_transpose_of_condition\.cpp:6:
#include "trace.hpp"
constexpr auto g = [](auto x) { return ct::where(x > 0, x, 2 * x); };
constexpr auto f = [](auto x) {
  return ct::linear_transpose(g, x)(x);
};
bool r = trace<f, ct::var<float, 3>>;
