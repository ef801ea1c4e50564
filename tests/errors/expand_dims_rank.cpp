// expect: expand_dims: \[1,1,1,1,1,1,1,2\] has the largest rank already
// expect: expand_dims_rank\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::expand_dims<0>(x);
};
bool r = trace<f, ct::var<float, 1, 1, 1, 1, 1, 1, 1, 2>>;
