// expect: and: needs bool or an integer dtype, got float32\[3\]
// expect: bitwise_floating\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x, auto y) {
  return x & y;
};
bool r = trace<f, ct::var<float, 3>, ct::var<float, 3>>;
