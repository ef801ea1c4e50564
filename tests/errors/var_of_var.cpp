// expect: ct::var is the type of a traced array; its variance is ct::variance\(x\)
// expect: var_of_var\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::var(x, ct::axis<0>);
};
bool r = trace<f, ct::var<float, 2, 3>>;
