// expect: broadcast.*\[2\].*\[3\]|broadcast.*\[3\].*\[2\]
// expect: at_range_update\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x, auto u) {
  return ct::at(x, ct::range<0, 3>).set(u);
};
bool r = trace<f, ct::var<float, 5>, ct::var<float, 2>>;
