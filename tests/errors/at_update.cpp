// expect: broadcast: shape \[4\] does not broadcast to \[2\]
// expect: at_update\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x, auto i, auto y) {
  return ct::at(x, i).set(y);
};
bool r = trace<f, ct::var<float, 3>, ct::var<int, 2>, ct::var<float, 4>>;
