// expect: grad: the function must return a scalar, but its output is float32\[3\]; reduce it \(ct::sum\), or use ct::jacrev
// expect: grad_of_array\.cpp:6:
#include "trace.hpp"
constexpr auto loss = [](auto x) { return x * x; };
constexpr auto f = [](auto x) {
  return ct::grad(loss)(x);
};
bool r = trace<f, ct::var<float, 3>>;
