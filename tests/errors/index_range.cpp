// expect: index: 5 is out of range for axis 0 of \[3,4\]
// expect: index_range\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return x(ct::index<5>);
};
bool r = trace<f, ct::var<float, 3, 4>>;
