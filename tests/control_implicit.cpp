/// Solutions and their derivatives: fixed_point, cg, gmres, newton, custom_root, custom_linear_solve.

#include <Eigen/Dense>

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

/// A central difference of f, a function of one number.
template <class F> double slope(const F& f, double x, double h = 1e-5) { return (f(x + h) - f(x - h)) / (2 * h); }

template <extent N> Eigen::Matrix<double, N, N, Eigen::RowMajor> matrix_of(const ct::array<double, N, N>& a) {
  return Eigen::Map<const Eigen::Matrix<double, N, N, Eigen::RowMajor>>(a.data());
}
template <extent N> ct::array<double, N, N> well_conditioned(bool symmetric) {
  ct::array<double, N, N> a;
  numbers random;
  for (extent i = 0; i < N; ++i)
    for (extent j = 0; j < N; ++j) a(i, j) = 0.5 * random() / double(N) + (i == j ? 2 : 0);
  if (symmetric)
    for (extent i = 0; i < N; ++i)
      for (extent j = 0; j < i; ++j) a(i, j) = a(j, i);
  return a;
}


constexpr auto cosine_point = [](auto a) { return ct::fixed_point([&](auto x) { return ct::cos(a * x); }, a, {1e-14, 1000}); };
constexpr auto cg_solution = [](auto m, auto b) { return ct::cg([&](auto v) { return ct::matmul(m, v); }, b, {1e-14, 200}); };
constexpr auto cg_loss = [](auto m, auto b) { return ct::sum(ct::sin(cg_solution(m, b))); };
constexpr auto gmres_solution = [](auto m, auto b) { return ct::gmres<5>([&](auto v) { return ct::matmul(m, v); }, b, {1e-14, 40}); };
constexpr auto gmres_loss = [](auto m, auto b) { return ct::sum(ct::sin(gmres_solution(m, b))); };
constexpr auto circle_point = [](auto c) {
  const auto f = [&](auto v) {
    const auto x = v(ct::index<0>), y = v(ct::index<1>);
    return ct::stack<0>(x * x + y * y, x * y) - c;
  };
  return ct::newton<2>(f, ct::stack<0>(2.0 + 0 * c(ct::index<0>), 0.5 + 0 * c(ct::index<0>)), {1e-14, 50});
};
/// Ten unknowns, more than what a step has a matrix of: x_i + x_i^3 / 10 + sum(x) / 20 = c_i.
constexpr auto coupled_point = [](auto c) {
  return ct::newton<10>([&](auto x) { return x + 0.1 * x * x * x + 0.05 * ct::sum(x) - c; }, 0.0 * c, {1e-14, 50});
};
constexpr auto circle_loss = [](auto c) { return ct::sum(ct::exp(circle_point(c))); };
constexpr auto divided = [](auto a, auto b) {
  return ct::custom_linear_solve([&](auto x) { return a * x; }, b, [&](const auto&, auto y) { return y / a; });
};
constexpr auto cube_root = [](auto a) {
  const auto solve = [&](const auto&, auto) { return ct::stop_gradient(ct::cbrt(a)); };
  return ct::custom_root([&](auto x) { return x * x * x - a; }, 1.0 + 0 * a, solve, [](const auto& g, auto y) { return y / g(ct::ones_like(y)); });
};
}  // namespace

TEST_CASE("fixed_point: the value, first and second derivatives, vmap") {
  constexpr auto all = [](auto a) { return std::tuple(cosine_point(a), ct::grad(cosine_point)(a), ct::grad(ct::grad(cosine_point))(a), std::get<1>(ct::jvp(ct::grad(cosine_point), std::tuple(a), std::tuple(1.0 + 0 * a)))); };
  const auto at = [&](double a) { return ct::jit(all)(a); };
  const auto [x, first, second, mixed] = at(0.8);
  CHECK(std::abs(x() - std::cos(0.8 * x())) < 1e-13);
  CHECK(std::abs(first() - slope([&](double a) { return std::get<0>(at(a))(); }, 0.8)) < 1e-9);
  CHECK(std::abs(second() - slope([&](double a) { return std::get<1>(at(a))(); }, 0.8)) < 1e-8);
  CHECK(std::abs(mixed() - second()) < 1e-10);
  const ct::array<double, 3> some{0.3, 0.8, 0.95};
  const auto [xs, firsts] = ct::jit(ct::vmap([](auto a) { return std::tuple(cosine_point(a), ct::grad(cosine_point)(a)); }))(some);
  for (int i = 0; i < 3; ++i) {
    CHECK(std::abs(xs(i) - std::get<0>(at(some(i)))()) < 1e-12);
    CHECK(std::abs(firsts(i) - std::get<1>(at(some(i)))()) < 1e-10);
  }
}

TEST_CASE("cg: against a factorization, and derivatives by the matrix and the right-hand side") {
  const auto m = well_conditioned<6>(true);
  const ct::array<double, 6> b{1, -2, 3, 0.5, 0, 1};
  const auto [x, gradients] = ct::jit([](auto m, auto b) { return std::tuple(cg_solution(m, b), ct::grad(cg_loss, ct::wrt<0, 1>)(m, b)); })(m, b);
  const auto& [dm, db] = gradients;
  const Eigen::VectorXd exact = matrix_of(m).ldlt().solve(Eigen::Map<const Eigen::VectorXd>(b.data(), 6));
  // db = A^-1 cos(x), dA = -db x^T.
  const Eigen::VectorXd right = matrix_of(m).ldlt().solve(exact.array().cos().matrix());
  for (int i = 0; i < 6; ++i) {
    CHECK(std::abs(x(i) - exact(i)) < 1e-12);
    CHECK(std::abs(db(i) - right(i)) < 1e-12);
    for (int j = 0; j < 6; ++j) CHECK(std::abs(dm(i, j) + right(i) * exact(j)) < 1e-12);
  }
}

TEST_CASE("cg of a tree, batched over the right-hand side") {
  constexpr auto solved = [](auto scale, auto a, auto b) {
    // [2 + scale, 1; 1, 3] on two vectors.
    return ct::cg([&](const auto& v) { return std::tuple((2.0 + scale) * std::get<0>(v) + std::get<1>(v), std::get<0>(v) + 3.0 * std::get<1>(v)); }, std::tuple(a, b), {1e-14, 50});
  };
  const ct::array<double, 4, 3> a = ct::full<double, 4, 3>(1.0), b = ct::full<double, 4, 3>(-2.0);
  const auto [x, y] = ct::jit(ct::vmap(solved, ct::in_axes<ct::none, 0, 0>))(1.0, a, b);
  for (int i = 0; i < 12; ++i) {
    CHECK(std::abs(3 * x.data()[i] + y.data()[i] - 1) < 1e-12);
    CHECK(std::abs(x.data()[i] + 3 * y.data()[i] + 2) < 1e-12);
  }
}

TEST_CASE("gmres: restarts, and derivatives of a matrix that is not symmetric") {
  const auto m = well_conditioned<12>(false);
  ct::array<double, 12> b;
  for (int i = 0; i < 12; ++i) b(i) = 1 - 0.3 * i;
  const auto [x, gradients] = ct::jit([](auto m, auto b) { return std::tuple(gmres_solution(m, b), ct::grad(gmres_loss, ct::wrt<0, 1>)(m, b)); })(m, b);
  const auto& [dm, db] = gradients;
  const Eigen::VectorXd exact = matrix_of(m).lu().solve(Eigen::Map<const Eigen::VectorXd>(b.data(), 12));
  const Eigen::VectorXd right = matrix_of(m).transpose().lu().solve(exact.array().cos().matrix());
  for (int i = 0; i < 12; ++i) {
    CHECK(std::abs(x(i) - exact(i)) < 1e-11);
    CHECK(std::abs(db(i) - right(i)) < 1e-11);
    for (int j = 0; j < 12; ++j) CHECK(std::abs(dm(i, j) + right(i) * exact(j)) < 1e-11);
  }
}

TEST_CASE("newton: a system of two equations") {
  // x^2 + y^2 = a, x y = b.
  const ct::array<double, 2> c{5, 2};  // x = 2, y = 1
  const auto [v, gradient, tangent] = ct::jit([](auto c) { return std::tuple(circle_point(c), ct::grad(circle_loss)(c), std::get<1>(ct::jvp(circle_loss, std::tuple(c), std::tuple(1.0 + 0.0 * c)))); })(c);
  CHECK(std::abs(v(0) - 2) < 1e-12);
  CHECK(std::abs(v(1) - 1) < 1e-12);
  // J = [2x 2y; y x], so the derivative by c is the solution of J^T g = exp(v).
  const Eigen::Matrix2d j = (Eigen::Matrix2d() << 4, 2, 1, 2).finished();
  const Eigen::Vector2d g = j.transpose().lu().solve(Eigen::Vector2d(std::exp(2), std::exp(1)));
  CHECK(std::abs(gradient(0) - g(0)) < 1e-10);
  CHECK(std::abs(gradient(1) - g(1)) < 1e-10);
  CHECK(std::abs(tangent() - g(0) - g(1)) < 1e-10);
}

TEST_CASE("newton: ten unknowns, and two of each of many instances") {
  ct::array<double, 10> c;
  for (int i = 0; i < 10; ++i) c(i) = std::sin(1.0 + i);
  const auto [x, gradient] = ct::jit([](auto c) { return std::tuple(coupled_point(c), ct::grad([](auto c) { return ct::sum(coupled_point(c)); })(c)); })(c);
  double sum = 0;
  for (double v : x) sum += v;
  Eigen::Matrix<double, 10, 10> j = Eigen::Matrix<double, 10, 10>::Constant(0.05);
  for (int i = 0; i < 10; ++i) {
    CHECK(std::abs(x(i) + 0.1 * x(i) * x(i) * x(i) + 0.05 * sum - c(i)) < 1e-12);
    j(i, i) += 1 + 0.3 * x(i) * x(i);
  }
  const Eigen::Matrix<double, 10, 1> g = j.transpose().lu().solve(Eigen::Matrix<double, 10, 1>::Ones());
  for (int i = 0; i < 10; ++i) CHECK(std::abs(gradient(i) - g(i)) < 1e-10);

  ct::array<double, 37, 2> all;
  for (int i = 0; i < 37; ++i) all(i, 0) = 5 + 0.01 * i, all(i, 1) = 2 - 0.01 * i;
  const auto points = ct::jit(ct::vmap(circle_point))(all);
  for (int i = 0; i < 37; ++i) {
    CHECK(std::abs(points(i, 0) * points(i, 0) + points(i, 1) * points(i, 1) - all(i, 0)) < 1e-12);
    CHECK(std::abs(points(i, 0) * points(i, 1) - all(i, 1)) < 1e-12);
  }
}

TEST_CASE("custom_root and custom_linear_solve with solvers of one's own") {
  // The solver is exact for scalars; what only it captures has no derivative.
  const auto [q, dq, r, dr, d2r] = ct::jit([](auto a, auto b) {
    return std::tuple(divided(a, b), ct::grad(divided, ct::wrt<0, 1>)(a, b), cube_root(a), ct::grad(cube_root)(a), ct::grad(ct::grad(cube_root))(a));
  })(8.0, 3.0);
  CHECK(std::abs(q() - 3.0 / 8) < 1e-15);
  CHECK(std::abs(std::get<0>(dq)() + 3.0 / 64) < 1e-15);
  CHECK(std::abs(std::get<1>(dq)() - 1.0 / 8) < 1e-15);
  CHECK(std::abs(r() - 2) < 1e-14);
  CHECK(std::abs(dr() - 1.0 / 12) < 1e-14);
  CHECK(std::abs(d2r() + 2.0 / 9 / 32) < 1e-14);
}
