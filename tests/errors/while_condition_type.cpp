// expect: while_loop: the condition must return a boolean scalar, but it returns float32\[3\]
// expect: while_condition_type\.cpp:8:
#include <cotangent/control/control.hpp>
#include "trace.hpp"
constexpr auto test = [](auto c) { return c; };
constexpr auto step = [](auto c) { return c; };
constexpr auto f = [](auto c) {
  return ct::while_loop(test, step, c);
};
bool r = trace<f, ct::var<float, 3>>;
