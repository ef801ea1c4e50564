// expect: grad: the function must return one scalar, but it returns 2 arrays; return \(value, aux\) and pass ct::has_aux
// expect: grad_several_outputs\.cpp:6:
#include "trace.hpp"
constexpr auto loss = [](auto x) { return std::tuple(x * x, x); };
constexpr auto f = [](auto x) {
  return ct::grad(loss)(x);
};
bool r = trace<f, ct::var<float>>;
