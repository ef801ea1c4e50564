// expect: grad with has_aux: the function must return a pair \(value, aux\)
// expect: grad_aux_pair\.cpp:6:
#include "trace.hpp"
constexpr auto loss = [](auto x) { return x * x; };
constexpr auto f = [](auto x) {
  return ct::grad(loss, ct::has_aux)(x);
};
bool r = trace<f, ct::var<float>>;
