// expect: grad: wrt 2 is out of range: the function is called with 1 argument\b
// expect: grad_wrt\.cpp:6:
#include "trace.hpp"
constexpr auto loss = [](auto x) { return x * x; };
constexpr auto f = [](auto x) {
  return ct::grad(loss, ct::wrt<2>)(x);
};
bool r = trace<f, ct::var<float>>;
