// expect: scan: there is nothing to scan over, so the number of steps must be given: ct::length<N>
// expect: scan_length_missing\.cpp:7:
#include <cotangent/control/control.hpp>
#include "trace.hpp"
constexpr auto step = [](auto c, auto) { return std::tuple(c + c, c); };
constexpr auto f = [](auto c) {
  return ct::scan(step, c, ct::none);
};
bool r = trace<f, ct::var<float>>;
