/// linalg: factorizations and what solves by them, alone, in batches, inside fused kernels, and their derivatives.

#include <algorithm>
#include <cmath>

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

constexpr auto factor = [](auto a) { return ct::linalg::cholesky(a); };
constexpr auto invert = [](auto a) { return ct::linalg::inv(a); };
constexpr auto solve = [](auto a, auto b) { return ct::linalg::solve(a, b); };
constexpr auto triangles = [](auto a, auto b) {
  namespace la = ct::linalg;
  return std::tuple(la::solve_triangular(a, b), la::solve_triangular(a, b, la::lower), la::solve_triangular(a, b, la::transposed),
                    la::solve_triangular(a, b, la::unit_diagonal, la::lower, la::transposed), la::cho_solve(a, b));
};

/// Matrices with a large diagonal, all of them different; the largest element of most columns is not on it.
template <class T, ct::extent... E> ct::array<T, E...> matrices(bool symmetric = false, std::array<ct::extent, sizeof...(E)> dims = {E...}) {
  ct::shape s;
  for (ct::extent e : dims) s.push_back(e);
  ct::array<T, E...> x(ct::uninitialized, s);
  const ct::extent n = s[s.rank - 1];
  for (ct::extent i = 0; i < x.size(); ++i) {
    const ct::extent row = i / n % n, column = i % n, one = symmetric && row < column ? i - row * n - column + column * n + row : i;
    x.data()[i] = T((one * 7919 + 13) % 101) / T(101) - T(0.5);
    if (symmetric ? row == column : (row + 1) % n == column) x.data()[i] += T(0.6) * T(n);
  }
  return x;
}

}  // namespace

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
  ct::array<double, ct::dyn, ct::dyn, ct::dyn> a = matrices<double, ct::dyn, ct::dyn, ct::dyn>(true, {4, 7, 7});
  check_jit([](auto x) { return std::tuple(ct::linalg::cholesky(x), ct::linalg::inv(x), ct::linalg::solve(x, ct::sum(x, ct::axis<0>))); }, 1e-12, a);
  const ct::array<double, ct::dyn, ct::dyn> oblong({3, 4});
  CHECK_THROWS_AS(ct::jit(factor)(oblong), ct::shape_error);
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

TEMPLATE_TEST_CASE("small systems are solved inside the fused kernel", "", float, double) {
  using T = TestType;
  const auto both = [](auto a, auto b) {
    const auto x = ct::linalg::solve(a, b);
    const auto s = ct::matmul(a, ct::transpose(a)) + 1;  // positive definite
    return std::tuple(x, ct::linalg::cho_solve(ct::linalg::cholesky(s), b), ct::sum(x * x));
  };
  const auto a = matrices<T, 131, 4, 4>();
  const auto b = between<T, 131, 4>(-1, 1);
  const auto f = ct::vmap(both);
  check_jit(f, 10 * compiled_tolerance<T>, a, b);
  CHECK(ct::jit(f).kernels(a, b).find("step 1") == std::string::npos);
  const auto g = ct::vmap(ct::grad([](auto m, auto v) { return ct::sum(ct::linalg::solve(m, v)); }, ct::wrt<0, 1>));
  check_jit(g, 10 * compiled_tolerance<T>, a, b);
  CHECK(ct::jit(g).kernels(a, b).find("step 1") == std::string::npos);
  // One matrix for all instances: it is factored once.
  const auto shared = ct::vmap(solve, ct::in_axes<ct::none, 0>);
  check_jit(shared, compiled_tolerance<T>, matrices<T, 4, 4>(), b);
  check_jit(shared, compiled_tolerance<T>, matrices<T, 4, 4>(), between<T, 131, 4, 2>(-1, 1));
}

TEST_CASE("singular, indefinite, and not finite matrices") {
  const double nan = std::nan("");
  for (const auto& bad : {ct::array<double, 2, 2>{{1, 2}, {2, 1}}, ct::array<double, 2, 2>{{1, 1}, {1, 1}}, ct::array<double, 2, 2>{{0, 0}, {0, 1}},
                          ct::array<double, 2, 2>{{nan, 0}, {0, 1}}, ct::array<double, 2, 2>{{-1, 0}, {0, 1}}}) {
    const auto l = ct::jit(factor)(bad);
    ct::array<double, 64, 2, 2> many(ct::uninitialized, ct::shape{64, 2, 2});
    for (int i = 0; i < 256; ++i) many.data()[i] = bad.data()[i % 4];
    const auto all = ct::jit(ct::vmap(factor))(many);
    for (int i : {0, 2, 3}) {
      CHECK(std::isnan(l.data()[i]));
      CHECK(std::isnan(all.data()[252 + i]));
    }
    CHECK(l(0, 1) == 0);
  }
  const auto x = ct::jit(solve)(ct::array<double, 2, 2>{{1, 2}, {2, 4}}, ct::array<double, 2>{1, 0});
  CHECK_FALSE(std::isfinite(x(0)));
  const auto large = ct::full<double, 37, 37>(nan);
  const auto all_nan = ct::jit(solve)(large, ct::zeros<double, 37>());
  CHECK(std::all_of(all_nan.begin(), all_nan.end(), [](double v) { return std::isnan(v); }));
  CHECK(std::isnan(ct::jit(factor)(large)(36, 36)));
  CHECK(std::isnan(ct::jit(factor)(matrices<double, 37, 37>())(0, 0)));  // not definite
  // A zero on the diagonal needs an exchange; so does one that would overflow.
  CHECK(ct::jit(solve)(ct::array<double, 2, 2>{{0, 2}, {4, 0}}, ct::array<double, 2>{2, 8}) == ct::array<double, 2>{2, 1});
}

TEST_CASE("integers are converted, and vectors have norms along axes") {
  CHECK(ct::jit(solve)(ct::array<int, 2, 2>{{2, 0}, {0, 4}}, ct::array<int, 2>{2, 8}) == ct::array<float, 2>{1, 2});
  const auto norms = ct::jit([](auto x) { return std::tuple(ct::linalg::norm(x), ct::linalg::norm(x, ct::axis<1>)); })(ct::array<double, 2, 2>{{3, 4}, {5, 12}});
  CHECK(std::get<0>(norms) == Approx(std::sqrt(194.0)));
  CHECK(std::get<1>(norms) == ct::array<double, 2>{5, 13});
}

TEST_CASE("known answers") {
  const auto l = ct::jit(factor)(ct::array<float, 2, 2>{{2, 1}, {1, 2}});
  const float want[] = {1.4142135f, 0, 0.70710677f, 1.2247449f};
  for (int i = 0; i < 4; ++i) CHECK(l.data()[i] == Approx(want[i]).epsilon(1e-6));
  const auto x = ct::jit(solve)(ct::array<float, 3, 3>{{1, 2, 3}, {2, 4, 2}, {3, 2, 1}}, ct::array<float, 3>{1, 4, 2});
  const float solution[] = {0, 1.25f, -0.5f};
  for (int i = 0; i < 3; ++i) CHECK(x(i) == Approx(solution[i]).margin(1e-6));
  const auto gradient = ct::jit(ct::grad([](auto v) { return ct::linalg::norm(v); }))(ct::zeros<float, 2>());
  CHECK(std::isnan(gradient(0)));
}

TEST_CASE("results are the same on any number of threads") {
  const auto a = matrices<double, 300, 30, 30>();
  const auto b = between<double, 300, 30>(-1, 1);
  ct::set_num_threads(1);
  const auto one = ct::jit(ct::vmap(solve))(a, b);
  for (int threads : {2, 3}) {
    ct::set_num_threads(threads);
    CHECK(ct::jit(ct::vmap(solve))(a, b) == one);
  }
  ct::set_num_threads(2);
}
