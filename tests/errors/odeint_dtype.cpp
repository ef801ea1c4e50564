// expect: odeint: all arrays of the state must have the dtype of the times, float64
// expect: odeint_dtype\.cpp:6:
#include <cotangent/control/control.hpp>
#include "trace.hpp"
constexpr auto f = [](auto y, auto ts) {
  return ct::odeint([](auto y, auto) { return -y; }, y, ts);
};
bool r = trace<f, ct::var<float>, ct::var<double, 3>>;
