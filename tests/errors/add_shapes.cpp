// expect: add: shapes \[3\] and \[4\] do not broadcast
// expect: add_shapes\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x, auto y) {
  return x + y;
};
bool r = trace<f, ct::var<float, 3>, ct::var<float, 4>>;
