// expect: cond: the predicate must be a boolean or integer scalar, but it is bool\[3\]
// expect: cond_predicate\.cpp:8:
#include <cotangent/control/control.hpp>
#include "trace.hpp"
constexpr auto yes = [](auto x) { return x; };
constexpr auto no = [](auto x) { return -x; };
constexpr auto f = [](auto x) {
  return ct::cond(x > 0, yes, no, x);
};
bool r = trace<f, ct::var<float, 3>>;
