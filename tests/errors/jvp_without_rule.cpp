// expect: trigamma: has no forward-mode rule \(jvp\)
// expect: jvp_without_rule\.cpp:6:
#include "trace.hpp"
constexpr auto g = [](auto x) { return ct::trigamma(x); };
constexpr auto f = [](auto x) {
  return ct::jvp(g, std::tuple(x), std::tuple(x));
};
bool r = trace<f, ct::var<float, 3>>;
