// expect: cond: the branches must return the same types: float32\[\] is given where float32\[3\] is needed
// expect: cond_types\.cpp:8:
#include <cotangent/control/control.hpp>
#include "trace.hpp"
constexpr auto yes = [](auto x) { return x; };
constexpr auto no = [](auto x) { return ct::sum(x); };
constexpr auto f = [](auto p, auto x) {
  return ct::cond(p, yes, no, x);
};
bool r = trace<f, ct::var<bool>, ct::var<float, 3>>;
