// expect: scan: the carry must keep its type: array 1 of it is float32\[2\] before a step and float32\[3\] after it
// expect: scan_carry_shape\.cpp:7:
#include <cotangent/control/control.hpp>
#include "trace.hpp"
constexpr auto step = [](auto c, auto x) { return std::tuple(std::tuple(std::get<0>(c), x), c); };
constexpr auto f = [](auto c, auto d, auto xs) {
  return ct::scan(step, std::tuple(c, d), xs);
};
bool r = trace<f, ct::var<int>, ct::var<float, 2>, ct::var<float, 5, 3>>;
