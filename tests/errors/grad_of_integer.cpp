// expect: grad: the function must return a floating-point scalar, but its output is int32
// expect: grad_of_integer\.cpp:6:
#include "trace.hpp"
constexpr auto loss = [](auto x) { return ct::astype<int>(x); };
constexpr auto f = [](auto x) {
  return ct::grad(loss)(x);
};
bool r = trace<f, ct::var<float>>;
