// expect: reshape: \[2,3\] has 6 elements, \[4\] has 4
// expect: reshape_size\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::reshape<4>(x);
};
bool r = trace<f, ct::var<float, 2, 3>>;
