// expect: roll: the shift must be an integer
// expect: roll_shift_floating\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::roll<0>(x, 1.5);
};
bool r = trace<f, ct::var<float, 3>>;
