// expect: linalg\.solve_triangular: batch axes of \[2, ?3, ?3\] and \[4, ?3, ?1\] do not broadcast
// expect: linalg_batch\.cpp:7:
#include <cotangent/linalg/linalg.hpp>

#include "trace.hpp"
constexpr auto f = [](auto x, auto y) {
  return ct::linalg::solve_triangular(x, y);
};
bool r = trace<f, ct::var<float, 2, 3, 3>, ct::var<float, 4, 3, 1>>;
