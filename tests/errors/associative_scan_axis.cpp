// expect: associative_scan: axis 2 is out of range for float32\[2,3\]
// expect: associative_scan_axis\.cpp:7:
#include <cotangent/control/control.hpp>
#include "trace.hpp"
constexpr auto add = [](auto a, auto b) { return a + b; };
constexpr auto f = [](auto x) {
  return ct::associative_scan(add, x, ct::axis<2>);
};
bool r = trace<f, ct::var<float, 2, 3>>;
