// expect: roll: the shift must be an integer scalar, got int32\[2\]
// expect: roll_shift\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x, auto i) {
  return ct::roll<0>(x, i);
};
bool r = trace<f, ct::var<float, 3>, ct::var<int, 2>>;
