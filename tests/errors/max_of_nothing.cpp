// expect: max: no element to choose from along axis 0 of \[0,3\]
// expect: max_of_nothing\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::max(x, ct::axis<0>);
};
bool r = trace<f, ct::var<float, 0, 3>>;
