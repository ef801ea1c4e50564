// expect: grad: cannot differentiate with respect to an input of dtype int32\[3\]; it must be floating-point
// expect: grad_by_integer\.cpp:6:
#include "trace.hpp"
constexpr auto loss = [](auto x) { return ct::sum(x * 0.5f); };
constexpr auto f = [](auto x) {
  return ct::grad(loss)(x);
};
bool r = trace<f, ct::var<int, 3>>;
