// expect: scan: the function must return a pair \(carry, y\); ct::none is a y without arrays
// expect: scan_not_a_pair\.cpp:7:
#include <cotangent/control/control.hpp>
#include "trace.hpp"
constexpr auto step = [](auto c, auto x) { return c + x; };
constexpr auto f = [](auto c, auto xs) {
  return ct::scan(step, c, xs);
};
bool r = trace<f, ct::var<float>, ct::var<float, 5>>;
