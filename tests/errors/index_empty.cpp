// expect: index: axis 0 of \[0,3\] is empty
// expect: index_empty\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x, auto i) {
  return x(i);
};
bool r = trace<f, ct::var<float, 0, 3>, ct::var<int>>;
