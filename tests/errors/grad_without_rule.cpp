// expect: trigamma: has no reverse-mode rule \(vjp\)
// expect: grad_without_rule\.cpp:6:
#include "trace.hpp"
constexpr auto loss = [](auto x) { return ct::trigamma(x); };
constexpr auto f = [](auto x) {
  return ct::grad(loss)(x);
};
bool r = trace<f, ct::var<float>>;
