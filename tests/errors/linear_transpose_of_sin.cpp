// expect: linear_transpose: the function is not linear: sin of its inputs
// expect: linear_transpose_of_sin\.cpp:6:
#include "trace.hpp"
constexpr auto g = [](auto x) { return ct::sin(x); };
constexpr auto f = [](auto x) {
  return ct::linear_transpose(g, x)(x);
};
bool r = trace<f, ct::var<float, 3>>;
