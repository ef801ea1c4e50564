/// linalg: derivatives.

#include <cmath>

#include "linear_algebra.hpp"

namespace ct = cotangent;
using namespace checks;
using namespace linear_algebra;

namespace {

/// The cotangent of a matrix by that of its Cholesky factor: of small matrices a primitive.
constexpr auto pulled_back = [](auto a, auto g) {
  const auto [l, pullback] = ct::vjp([](auto x) { return ct::linalg::cholesky(x); }, a);
  return std::get<0>(pullback(g));
};
template <ct::extent N> void check_pullback(double tolerance) {
  const auto a = matrices<double, N, N>(true);
  const auto g = between<double, N, N>(-1, 1);
  check_rules_of(pulled_back, std::tuple(a, g));
  check_jit(pulled_back, tolerance, a, g);
  check_jit(ct::vmap(pulled_back), tolerance, matrices<double, 67, N, N>(true), between<double, 67, N, N>(-1, 1));
  check_jit(ct::vmap(pulled_back, ct::in_axes<ct::none, 2>), tolerance, a, between<double, N, N, 5>(-1, 1));
}

}  // namespace

TEST_CASE("cotangents of Cholesky factors of small matrices") {
  check_pullback<1>(1e-14);
  check_pullback<2>(1e-13);
  check_pullback<3>(1e-13);
  check_pullback<5>(1e-12);
  check_pullback<8>(1e-12);
  check_jit(ct::vmap(pulled_back), 2e-5, matrices<float, 131, 6, 6>(true), between<float, 131, 6, 6>(-1, 1));
  for (const ct::extent batch : {0, 1, 70})
    check_jit(pulled_back, 1e-12, matrices_of<double, ct::dyn, 4, 4>(true, ct::shape{batch, 4, 4}), matrices_of<double, ct::dyn, 4, 4>(false, ct::shape{batch, 4, 4}));
  const auto none = ct::jit(pulled_back)(ct::array<double, 2, 2>{{1, 2}, {2, 1}}, ct::array<double, 2, 2>{{1, 0}, {1, 1}});
  for (int i = 0; i < 4; ++i) CHECK(std::isnan(none.data()[i]));
}

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
