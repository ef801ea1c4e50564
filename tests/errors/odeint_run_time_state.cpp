// expect: odeint: the extents of the state must be static; for many systems use ct::vmap of odeint
// expect: odeint_run_time_state\.cpp:6:
#include <cotangent/control/control.hpp>
#include "trace.hpp"
constexpr auto f = [](auto y, auto ts) {
  return ct::odeint([](auto y, auto) { return -y; }, y, ts);
};
bool r = trace<f, ct::var<double, ct::dyn>, ct::var<double, 3>>;
