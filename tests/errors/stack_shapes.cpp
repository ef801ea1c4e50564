// expect: stack: shapes \[3\] and \[4\] differ
// expect: stack_shapes\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x, auto y) {
  return ct::stack<0>(x, y);
};
bool r = trace<f, ct::var<float, 3>, ct::var<float, 4>>;
