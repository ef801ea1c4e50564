/// linalg: derivatives.

#include <cmath>

#include "linear_algebra.hpp"

namespace ct = cotangent;
using namespace checks;
using namespace linear_algebra;

TEST_CASE("derivatives") {
  check_derivatives([](auto a) { return ct::linalg::cholesky(a); }, std::tuple(matrices<double, 4, 4>(true)));
  check_derivatives([](auto a, auto b) { return ct::linalg::solve(a, b); }, std::tuple(matrices<double, 2, 3, 3>(), between<double, 3, 2>(-1, 1)));
  check_derivatives([](auto a, auto b) { return triangles(a, b); }, std::tuple(matrices<double, 3, 3>(true), between<double, 3>(-1, 1)));
  // The logarithm of the determinant, whose gradient is the inverse.
  const auto a = matrices<double, 5, 5>(true);
  const auto [value, gradient] = ct::jit(ct::value_and_grad([](auto x) {
    const auto i = ct::iota<int, 5>(x);
    return 2 * ct::sum(ct::log(ct::where(ct::expand_dims<1>(i) == i, ct::linalg::cholesky(x), 1)));
  }))(a);
  const auto inverse = ct::jit(invert)(a);
  for (int i = 0; i < 25; ++i) CHECK(gradient.data()[i] == Approx(inverse.data()[i]).epsilon(1e-12));
  CHECK(std::isfinite(value));
}
