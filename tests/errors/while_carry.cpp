// expect: while_loop: the carry must keep its type: array 0 of it is float32\[3\] before a step and float32\[\] after it
// expect: while_carry\.cpp:8:
#include <cotangent/control/control.hpp>
#include "trace.hpp"
constexpr auto test = [](auto c) { return ct::sum(c) > 0; };
constexpr auto step = [](auto c) { return ct::sum(c); };
constexpr auto f = [](auto c) {
  return ct::while_loop(test, step, c);
};
bool r = trace<f, ct::var<float, 3>>;
