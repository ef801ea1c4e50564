// expect: scan: the leading extents of the arrays to scan over differ: 3 and 4 \(float32\[4,2\]\)
// expect: scan_sizes_differ\.cpp:7:
#include <cotangent/control/control.hpp>
#include "trace.hpp"
constexpr auto step = [](auto c, auto x) { return std::tuple(c + std::get<0>(x), c); };
constexpr auto f = [](auto c, auto xs, auto ys) {
  return ct::scan(step, c, std::tuple(xs, ys));
};
bool r = trace<f, ct::var<float>, ct::var<float, 3>, ct::var<float, 4, 2>>;
