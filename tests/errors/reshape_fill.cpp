// expect: reshape: \[2,3\] has 6 elements, which do not fill \[\?,4\]
// expect: reshape_fill\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::reshape<ct::dyn, 4>(x);
};
bool r = trace<f, ct::var<float, 2, 3>>;
