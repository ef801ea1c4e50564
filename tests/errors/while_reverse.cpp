// expect: while_loop: reverse-mode differentiation does not work for while_loop, or for fori_loop with run-time bounds; use scan, or fori_loop with static bounds
// expect: while_reverse\.cpp:8:
#include <cotangent/control/control.hpp>
#include "trace.hpp"
constexpr auto test = [](auto x) { return x < 10; };
constexpr auto loss = [](auto x) { return ct::while_loop(test, [](auto x) { return x * 2; }, x); };
constexpr auto f = [](auto x) {
  return ct::grad(loss)(x);
};
bool r = trace<f, ct::var<float>>;
