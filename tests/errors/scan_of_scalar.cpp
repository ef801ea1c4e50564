// expect: scan: an array to scan over is a scalar \(float32\[\]\); it needs a leading axis
// expect: scan_of_scalar\.cpp:7:
#include <cotangent/control/control.hpp>
#include "trace.hpp"
constexpr auto step = [](auto c, auto x) { return std::tuple(c + x, c); };
constexpr auto f = [](auto c, auto xs) {
  return ct::scan(step, c, xs);
};
bool r = trace<f, ct::var<float>, ct::var<float>>;
