// expect: linalg\.solve: matrices \[3, ?3\] and right-hand sides \[4\], which should be \[\.\.\., n, m\] or \[n\], do not fit
// expect: linalg_right_hand_side\.cpp:7:
#include <cotangent/linalg/linalg.hpp>

#include "trace.hpp"
constexpr auto f = [](auto x, auto y) {
  return ct::linalg::solve(x, y);
};
bool r = trace<f, ct::var<float, 3, 3>, ct::var<float, 4>>;
