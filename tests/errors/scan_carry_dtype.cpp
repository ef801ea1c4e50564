// expect: scan: the carry must keep its type: array 0 of it is int32\[\] before a step and float32\[\] after it
// expect: scan_carry_dtype\.cpp:7:
#include <cotangent/control/control.hpp>
#include "trace.hpp"
constexpr auto step = [](auto c, auto x) { return std::tuple(c + x, c); };
constexpr auto f = [](auto c, auto xs) {
  return ct::scan(step, c, xs);
};
bool r = trace<f, ct::var<int>, ct::var<float, 5>>;
