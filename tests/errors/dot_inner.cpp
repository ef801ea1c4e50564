// expect: dot: inner dimensions differ: \[3\] x \[4\]
// expect: dot_inner\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x, auto y) {
  return ct::dot(x, y);
};
bool r = trace<f, ct::var<float, 3>, ct::var<float, 4>>;
