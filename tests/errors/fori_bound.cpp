// expect: fori_loop: a bound must be an integer
// expect: fori_bound\.cpp:7:
#include <cotangent/control/control.hpp>
#include "trace.hpp"
constexpr auto step = [](auto, auto c) { return c + c; };
constexpr auto f = [](auto x) {
  return ct::fori_loop(0, 2.5, step, x);
};
bool r = trace<f, ct::var<float, 3>>;
