// expect: grad: the function must return a scalar, but its output is float32\[3\]
// expect: grad_of_capturing\.cpp:7:
#include "trace.hpp"
constexpr auto f = [](auto x, auto y) {
  return ct::grad([y](auto z) { return z + y; })(x);
};
bool r = trace<f, ct::var<float, 3>, ct::var<float, 3>>;
