// expect: linalg\.cholesky: square matrices \[\.\.\., n, n\] are needed, got \[5, ?3\]
// expect: linalg_square\.cpp:7:
#include <cotangent/linalg/linalg.hpp>

#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::linalg::cholesky(x);
};
bool r = trace<f, ct::var<float, 5, 3>>;
