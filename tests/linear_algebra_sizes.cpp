/// linalg: factorizations and what solves by them, of matrices of every size, alone and in batches.

#include "linear_algebra.hpp"

namespace ct = cotangent;
using namespace checks;
using namespace linear_algebra;

TEMPLATE_TEST_CASE("matrices of every size, alone and in batches", "", float, double) {
  using T = TestType;
  const double tolerance = compiled_tolerance<T>;
  const auto check = [&]<ct::extent N>(std::integral_constant<ct::extent, N>) {
    check_jit(factor, tolerance, matrices<T, N, N>(true));
    check_jit(invert, tolerance, matrices<T, N, N>());
    check_jit(solve, tolerance, matrices<T, 3, N, N>(), between<T, 3, N, 2>(-1, 1));
  };
  check(std::integral_constant<ct::extent, 0>());
  check(std::integral_constant<ct::extent, 1>());
  check(std::integral_constant<ct::extent, 5>());
  check(std::integral_constant<ct::extent, 37>());  // by Eigen
  check_jit(triangles, tolerance, matrices<T, 6, 6>(true), between<T, 6>(-1, 1));
  check_jit(triangles, tolerance, matrices<T, 2, 33, 33>(true), between<T, 33, 3>(-1, 1));
}

TEST_CASE("run-time orders and batches") {
  const auto f = [](auto x) { return std::tuple(ct::linalg::cholesky(x), ct::linalg::inv(x), ct::linalg::solve(x, ct::sum(x, ct::axis<0>))); };
  for (const ct::extent order : {1, 7, 31}) check_jit(f, 1e-12, matrices_of<double, ct::dyn, ct::dyn, ct::dyn>(true, ct::shape{4, order, order}));
  for (const ct::extent batch : {0, 1, 9}) check_jit(f, 1e-12, matrices_of<double, ct::dyn, 4, 4>(true, ct::shape{batch, 4, 4}));
  const ct::array<double, ct::dyn, ct::dyn> oblong({3, 4});
  CHECK_THROWS_AS(ct::jit(factor)(oblong), ct::shape_error);
}
