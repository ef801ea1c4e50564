// expect: not: needs bool or an integer dtype, got float32\[3\]
// expect: not_floating\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ~x;
};
bool r = trace<f, ct::var<float, 3>>;
