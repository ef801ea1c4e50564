/// linalg: small matrices, whose elements are in one kernel.

#include <cmath>
#include <string>

#include "linear_algebra.hpp"

namespace ct = cotangent;
using namespace checks;
using namespace linear_algebra;

namespace {

constexpr auto both = [](auto a) { return std::tuple(ct::linalg::det(a), ct::linalg::inv(a)); };

/// det and inv, up to 4 x 4 by cofactors, beside what LU factors give.
template <class T, ct::extent N> void check_cofactors() {
  const auto by_factors = [](auto a) {
    const auto [sign, logarithm] = ct::linalg::slogdet(a);
    return std::tuple(sign * ct::exp(logarithm), ct::linalg::solve(a, ct::eye<T, N>()));
  };
  const auto a = matrices<T, N, N>();
  check_jit(both, compiled_tolerance<T>, a);
  check_close(tensors_of(ct::jit(both)(a)), tensors_of(interpret(by_factors, a)), compiled_tolerance<T>);
}

constexpr auto kalman = [](auto x, auto p, auto f, auto h, auto z) {
  const auto state = ct::matmul(f, x);
  const auto spread = ct::matmul(ct::matmul(f, p), ct::transpose(f)) + 0.1 * ct::eye<double, 4>();
  const auto measured = ct::matmul(h, spread);
  const auto gain = ct::linalg::solve(ct::matmul(measured, ct::transpose(h)) + ct::eye<double, 2>(), measured);
  return std::tuple(state + ct::matmul(ct::transpose(gain), z - ct::matmul(h, state)), spread - ct::matmul(ct::transpose(gain), measured));
};

}  // namespace

TEMPLATE_TEST_CASE("inverses and determinants by cofactors", "", float, double) {
  check_cofactors<TestType, 1>();
  check_cofactors<TestType, 2>();
  check_cofactors<TestType, 3>();
  check_cofactors<TestType, 4>();
}

TEST_CASE("rules of inverses and determinants by cofactors") {
  check_rules_of(both, std::tuple(matrices<double, 1, 1>()));
  check_rules_of(both, std::tuple(matrices<double, 2, 2>()));
  check_rules_of(both, std::tuple(matrices<double, 2, 3, 3>()));
  check_rules_of(both, std::tuple(matrices<double, 4, 4>()));
}

TEST_CASE("batches of inverses and determinants by cofactors") {
  const auto inverse_of_one = [](auto a) { return ct::linalg::inv(a); };
  check_jit(both, 1e-12, matrices<double, 3, 4, 4>());
  check_jit(ct::vmap(both), 2e-5, matrices<float, 131, 3, 3>());
  check_jit(ct::vmap(both), 1e-12, matrices<double, 67, 4, 4>());
  for (const ct::extent batch : {0, 1, 70}) check_jit(inverse_of_one, 2e-5, matrices_of<float, ct::dyn, 3, 3>(false, ct::shape{batch, 3, 3}));
  check_jit(inverse_of_one, 1e-12, matrices_of<double, ct::dyn, 3>(false, ct::shape{3, 3}));  // whose order is known from one axis
}

TEST_CASE("products of elements that leave the range of their type") {
  const auto inverse = ct::jit([](auto a) { return ct::linalg::inv(a); });
  for (const float unit : {1e-14f, 1e14f}) {
    auto a = matrices<float, 3, 3>();
    for (float& x : a) x *= unit;
    auto x = inverse(a);
    for (float& v : x) v *= unit;
    check_close(tensors_of(x), tensors_of(inverse(matrices<float, 3, 3>())), 2e-5);
  }
  const auto halves = inverse(ct::array<ct::half, 2, 2>{{ct::half(500.f), ct::half(0.f)}, {ct::half(0.f), ct::half(400.f)}});
  CHECK(float(halves(0, 0)) == Approx(1 / 500.f).epsilon(2e-3));
  CHECK(float(halves(1, 1)) == Approx(1 / 400.f).epsilon(2e-3));
  // Singular matrices have no inverse, and the determinant 0.
  CHECK_FALSE(std::isfinite(inverse(ct::array<double, 3, 3>{{1, 2, 3}, {2, 4, 6}, {0, 1, 5}})(0, 0)));
  CHECK(double(ct::jit([](auto a) { return ct::linalg::det(a); })(ct::array<double, 3, 3>{{1, 2, 3}, {2, 4, 6}, {0, 1, 5}})) == 0);
}

TEMPLATE_TEST_CASE("one small system is one kernel", "", float, double) {
  using T = TestType;
  const auto systems = [](auto a, auto b) { return std::tuple(ct::linalg::solve(a, b), ct::linalg::cho_solve(ct::linalg::cholesky(ct::matmul(a, ct::transpose(a))), b)); };
  const auto a = matrices<T, 4, 4>();
  const auto b = between<T, 4, 2>(-1, 1);
  check_jit(systems, 10 * compiled_tolerance<T>, a, b);
  CHECK(ct::jit(systems).kernels(a, b).find("step 1") == std::string::npos);
  check_jit(factor, compiled_tolerance<T>, matrices<T, 6, 6>(true));
  CHECK(ct::jit(factor).kernels(matrices<T, 6, 6>(true)).find("step 1") == std::string::npos);
}

TEST_CASE("a step of Kalman's filter and its gradient") {
  const auto x = between<double, 4>(-1, 1);
  const auto p = matrices<double, 4, 4>(true), f = matrices<double, 4, 4>();
  const auto h = between<double, 2, 4>(-1, 1);
  const auto z = between<double, 2>(-1, 1);
  check_jit(kalman, 1e-12, x, p, f, h, z);
  CHECK(ct::jit(kalman).kernels(x, p, f, h, z).find("step 1") == std::string::npos);
  const auto slope = ct::grad([](auto... v) { return std::apply([](auto state, auto spread) { return ct::sum(state * state) + ct::sum(spread * spread); }, kalman(v...)); }, ct::wrt<1, 2>);
  check_jit(slope, 1e-12, x, p, f, h, z);
}
