// expect: fori_loop: the carry must keep its type: array 0 of it is float32\[1\] before a step and float32\[3\] after it
#include <cotangent/control/control.hpp>
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::fori_loop<0, 5>([x](auto, auto c) { return c + x; }, ct::zeros<float, 1>());
};
bool r = trace<f, ct::var<float, 3>>;
