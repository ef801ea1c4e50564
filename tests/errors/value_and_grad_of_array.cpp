// expect: value_and_grad: the function must return a scalar, but its output is float32\[2,3\]
// expect: value_and_grad_of_array\.cpp:6:
#include "trace.hpp"
constexpr auto loss = [](auto x) { return x * x; };
constexpr auto f = [](auto x) {
  return ct::value_and_grad(loss)(x);
};
bool r = trace<f, ct::var<float, 2, 3>>;
