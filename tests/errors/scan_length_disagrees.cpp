// expect: scan: the length is 5, but an array to scan over has leading extent 10 \(float32\[10,2\]\)
// expect: scan_length_disagrees\.cpp:7:
#include <cotangent/control/control.hpp>
#include "trace.hpp"
constexpr auto step = [](auto c, auto x) { return std::tuple(c + x, c); };
constexpr auto f = [](auto c, auto xs) {
  return ct::scan(step, c, xs, ct::length<5>);
};
bool r = trace<f, ct::var<float, 2>, ct::var<float, 10, 2>>;
