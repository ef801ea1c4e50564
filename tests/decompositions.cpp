/// linalg: qr, eigh, svd and determinants, of matrices of every size, alone and in batches, and special ones.

#include <algorithm>
#include <cmath>

#include "linear_algebra.hpp"

namespace ct = cotangent;
using namespace checks;
using namespace linear_algebra;

TEMPLATE_TEST_CASE("matrices of every size, alone and in batches", "", float, double) {
  using T = TestType;
  const double tolerance = 10 * compiled_tolerance<T>;
  const auto check = [&]<ct::extent N>(std::integral_constant<ct::extent, N>) {
    const auto all = [](auto symmetric, auto tall, auto taller, auto square) {
      return std::tuple(eigenvectors(symmetric), orthogonal(tall), singular(taller), determinants(square));
    };
    check_jit(all, tolerance, matrices<T, N, N>(true), matrices<T, 2, N + 2, N>(), matrices<T, 2, N + 1, N>(), matrices<T, 2, N, N>());
  };
  check(std::integral_constant<ct::extent, 0>());
  check(std::integral_constant<ct::extent, 1>());
  check(std::integral_constant<ct::extent, 5>());
  const auto others = [](auto wide, auto a, auto b) { return std::tuple(orthogonal(wide), singular(wide), determinants(a), determinants(b)); };
  check_jit(others, tolerance, matrices<T, 3, 5>(), matrices<T, 2, 2>(), matrices<T, 4, 3, 3>());
}

/// Of matrices that Eigen decomposes, what defines the parts.
TEMPLATE_TEST_CASE("large matrices", "", float, double) {
  using T = TestType;
  const double tolerance = 200 * compiled_tolerance<T>;
  const auto symmetric = matrices<T, 3, 37, 37>(true);
  const auto tall = matrices<T, 2, 61, 29>();
  const auto greatest = [](const auto& x) {
    double all = 0;
    for (T v : x) all = std::max(all, std::isfinite(v) ? std::abs(double(v)) : 1e300);
    return all;
  };
  const auto [of_eigh, w] = ct::jit([](auto a, auto identity) {
    const auto [w, v] = ct::linalg::eigh(a);
    return std::tuple(ct::stack<0>(ct::matmul(a, v) - v * ct::expand_dims<1>(w), ct::matmul(v, ct::transpose<0, 2, 1>(v)) - identity), w);
  })(symmetric, ct::eye<T, 37>());
  CHECK(greatest(of_eigh) < tolerance * 30);
  CHECK(std::is_sorted(w.begin(), w.begin() + 37));
  const auto difference = ct::jit([](auto a, auto identity) {
    const auto [q, r] = ct::linalg::qr(a);
    const auto [u, s, vt] = ct::linalg::svd(a);
    return std::tuple(ct::stack<0>(ct::matmul(q, r) - a, ct::matmul(u * ct::expand_dims<1>(s), vt) - a),
                      ct::stack<0>(ct::matmul(ct::transpose<0, 2, 1>(q), q), ct::matmul(ct::transpose<0, 2, 1>(u), u), ct::matmul(vt, ct::transpose<0, 2, 1>(vt))) - identity,
                      ct::tril<-1>(r), s, r);
  })(tall, ct::eye<T, 29>());
  CHECK(greatest(std::get<0>(difference)) < tolerance * 20);
  CHECK(greatest(std::get<1>(difference)) < tolerance);
  CHECK(greatest(std::get<2>(difference)) == 0);
  CHECK(std::is_sorted(std::get<3>(difference).begin(), std::get<3>(difference).begin() + 29, std::greater<>()));
  for (int i = 0; i < 29; ++i) CHECK(std::get<4>(difference)(1, i, i) >= 0);
  // The same as the loops for small matrices find, in a larger matrix that is zero elsewhere.
  const auto small = matrices<T, 5, 5>(true);
  const auto values = ct::jit([](auto a) { return ct::linalg::svdvals(a); })(small);
  const auto [padded, of_padded] = ct::jit([](auto a, auto identity) {
    const auto [u, s, vt] = ct::linalg::svd(ct::pad<ct::low<0, 0>, ct::high<35, 35>>(a, 0));
    return std::tuple(s, ct::stack<0>(ct::matmul(ct::transpose(u), u), ct::matmul(vt, ct::transpose(vt))) - identity);
  })(small, ct::eye<T, 40>());
  CHECK(greatest(of_padded) < tolerance);
  for (int i = 0; i < 5; ++i) CHECK(padded(i) == Approx(values(i)).epsilon(10 * tolerance));
  for (int i = 5; i < 40; ++i) CHECK(std::abs(padded(i)) < tolerance * 10);
}

TEST_CASE("run-time extents") {
  const ct::array<double, ct::dyn, ct::dyn, ct::dyn> a = matrices_of<double, ct::dyn, ct::dyn, ct::dyn>(true, ct::shape{4, 6, 6});
  check_jit([](auto x) {
    const auto square = ct::matmul(x, ct::transpose<0, 2, 1>(x));  // that its extents are equal is known
    const auto [w, v] = ct::linalg::eigh(square);
    const auto [q, r] = ct::linalg::qr(square);
    return std::tuple(w, v, q, r, ct::linalg::svdvals(square), ct::linalg::slogdet(square));
  }, 1e-9, a);
  const ct::array<double, ct::dyn, 3> samples = matrices_of<double, ct::dyn, 3>(false, ct::shape{9, 3});
  check_jit(orthogonal, 1e-12, samples);
  check_jit([](auto x) { return ct::linalg::svd(ct::transpose(x)); }, 1e-12, samples);
  CHECK_THROWS_AS(ct::jit(orthogonal)(ct::array<double, ct::dyn, 3>({2, 3})), ct::shape_error);
  const ct::array<double, ct::dyn, 3, 3> some = matrices_of<double, ct::dyn, 3, 3>(true, ct::shape{7, 3, 3});
  check_jit(eigenvectors, 1e-10, some);
  check_jit(singular, 1e-10, some);
}

TEST_CASE("singular, indefinite, and not finite matrices") {
  const double nan = std::nan("");
  // Of rank 1: the basis is completed.
  const auto [u, s, vt] = ct::jit(singular)(ct::array<double, 3, 2>{{1, 2}, {2, 4}, {2, 4}});
  CHECK(s(0) == Approx(std::sqrt(45.0)));
  CHECK(std::abs(s(1)) < 1e-14);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) CHECK(u(0, i) * u(0, j) + u(1, i) * u(1, j) + u(2, i) * u(2, j) == Approx(i == j).margin(1e-14));
  const auto [u0, s0, vt0] = ct::jit(singular)(ct::zeros<double, 3, 3>());
  CHECK(u0 == ct::eye<double, 3>());
  CHECK(s0 == ct::zeros<double, 3>());
  const auto [q, r] = ct::jit(orthogonal)(ct::zeros<double, 3, 2>());
  CHECK(r == ct::zeros<double, 2, 2>());
  CHECK(std::abs(q(0, 0)) == 1);
  for (const auto& bad : {ct::array<double, 2, 2>{{nan, 0}, {0, 1}}, ct::array<double, 2, 2>{{1, INFINITY}, {0, 1}}}) {
    const auto [w, v] = ct::jit(eigenvectors)(bad);
    CHECK(std::all_of(v.begin(), v.end(), [](double x) { return std::isnan(x); }));
    CHECK(std::isnan(w(1)));
    CHECK(std::isnan(std::get<1>(ct::jit(singular)(bad))(0)));
  }
  const auto large = ct::full<double, 40, 40>(nan);
  CHECK(std::isnan(std::get<0>(ct::jit(eigenvectors)(large))(3)));
  CHECK(std::isnan(std::get<1>(ct::jit(singular)(large))(3)));
  // Determinants of singular matrices, with a column of zeros in each place.
  for (int k = 0; k < 5; ++k) {
    auto a = matrices<double, 5, 5>();
    for (int i = 0; i < 5; ++i) a(i, k) = 0;
    const auto [det, sign, logarithm] = ct::jit(determinants)(a);
    CHECK(det() == 0);
    CHECK(sign() == 0);
    CHECK(logarithm() == -INFINITY);
    check_jit(ct::grad([](auto x) { return ct::linalg::det(x); }), 1e-12, a);  // the adjugate
    const auto slope = ct::jit(ct::grad([](auto x) { return ct::linalg::det(x); }))(a);
    CHECK(std::any_of(slope.begin(), slope.end(), [](double x) { return std::abs(x) > 0.1; }));
  }
}

TEST_CASE("batches in kernels") {
  const auto of_one = [](auto a) { return std::tuple(ct::linalg::det(a), std::get<1>(ct::linalg::slogdet(a))); };
  const auto a = matrices<double, 131, 4, 4>();
  const auto f = ct::vmap(of_one);
  check_jit(f, 1e-11, a);
  CHECK(ct::jit(f).kernels(a).find("step 1") == std::string::npos);
  const auto slope = ct::vmap(ct::grad([](auto m) { return ct::linalg::det(m) + std::get<1>(ct::linalg::slogdet(m)); }));
  check_jit(slope, 1e-10, a);
  check_jit(ct::vmap(eigenvectors), 1e-11, matrices<double, 131, 3, 3>(true));
  check_jit(ct::vmap(orthogonal), 1e-11, matrices<double, 131, 4, 3>());
  // One that is not finite, or zero, leaves its neighbours alone.
  auto some = matrices<double, 19, 3, 3>(true);
  some(5, 1, 0) = std::nan("");
  for (int i = 0; i < 9; ++i) some.data()[7 * 9 + i] = 0;
  const auto [w, v] = ct::jit(ct::vmap(eigenvectors))(some);
  const auto [u, s, vt] = ct::jit(ct::vmap(singular))(some);
  const auto at = [](const auto& x, int k) {
    ct::array<double, 3, 3> one;
    std::copy_n(x.data() + 9 * k, 9, one.data());
    return one;
  };
  for (int k = 0; k < 19; ++k) {
    const auto alone = ct::jit(eigenvectors)(at(some, k));
    const auto apart = ct::jit(singular)(at(some, k));
    for (int i = 0; i < 9; ++i) {
      CHECK((k == 5 ? std::isnan(at(v, k).data()[i]) : at(v, k).data()[i] == std::get<1>(alone).data()[i]));
      CHECK((k == 5 ? std::isnan(at(u, k).data()[i]) : at(u, k).data()[i] == std::get<0>(apart).data()[i]));
    }
    for (int i = 0; i < 3; ++i) CHECK((k == 5 ? std::isnan(w(k, i)) && std::isnan(s(k, i)) : w(k, i) == std::get<0>(alone)(i) && s(k, i) == std::get<1>(apart)(i)));
  }
  ct::set_num_threads(1);
  const auto one = ct::jit(ct::vmap(singular))(a);
  for (int threads : {2, 3}) {
    ct::set_num_threads(threads);
    CHECK(ct::jit(ct::vmap(singular))(a) == one);
  }
  ct::set_num_threads(2);
}

TEST_CASE("known answers, and errors") {
  const auto [w, v] = ct::jit(eigenvectors)(ct::array<double, 2, 2>{{2, 1}, {1, 2}});
  CHECK(w(0) == Approx(1));
  CHECK(w(1) == Approx(3));
  const double root = std::sqrt(0.5);
  const double want[] = {root, root, -root, root};
  for (int i = 0; i < 4; ++i) CHECK(v.data()[i] == Approx(want[i]));
  CHECK(ct::jit(determinants)(ct::array<int, 2, 2>{{1, 2}, {3, 4}}) == std::tuple(ct::array<float>(-2), ct::array<float>(-1), ct::array<float>(std::log(2.0f))));
  const ct::array<double, ct::dyn, ct::dyn> oblong({3, 4});
  CHECK_THROWS_AS(ct::jit([](auto a) { return ct::linalg::det(a); })(oblong), ct::shape_error);
}
