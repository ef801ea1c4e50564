// expect: checkpoint: a policy is a function object without state
// expect: checkpoint_policy\.cpp:8:
#include <cotangent/control/control.hpp>
#include "trace.hpp"
constexpr auto g = [](auto x) { return ct::sin(x); };
constexpr auto f = [](auto x) {
  int kept = 0;
  return ct::checkpoint(g, [kept](const ct::checkpoint_candidate&) { return kept > 0; })(x);
};
bool r = trace<f, ct::var<float>>;
