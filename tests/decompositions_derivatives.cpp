/// linalg: derivatives of qr, eigh, svd and determinants.

#include <cmath>

#include "linear_algebra.hpp"

namespace ct = cotangent;
using namespace checks;
using namespace linear_algebra;

TEST_CASE("the rules of each decomposition") {
  check_rules_of([](auto a) { return eigenvectors(a); }, std::tuple(matrices<double, 4, 4>(true)));
  check_rules_of([](auto a) { return orthogonal(a); }, std::tuple(matrices<double, 2, 4, 3>()));
  check_rules_of([](auto a) { return orthogonal(a); }, std::tuple(matrices<double, 2, 4>()));
  check_rules_of([](auto a) { return singular(a); }, std::tuple(matrices<double, 2, 4, 3>()));
  check_rules_of([](auto a) { return singular(a); }, std::tuple(matrices<double, 3, 3>()));
  check_rules_of([](auto a) { return singular(a); }, std::tuple(matrices<double, 2, 3>()));
  check_rules_of([](auto a) { return ct::linalg::det(a); }, std::tuple(matrices<double, 2, 4, 4>()));
  check_rules_of([](auto a) { return ct::linalg::det(a); }, std::tuple(matrices<double, 3, 3>()));
  check_rules_of([](auto a) { return std::get<1>(ct::linalg::slogdet(a)); }, std::tuple(matrices<double, 4, 4>()));
}
TEST_CASE("compiled derivatives") {
  check_derivatives<orders::first>([](auto x) {
    const auto i = ct::iota<int, 4>(x);
    const auto a = 0.3 * x + ct::where(ct::expand_dims<1>(i) == i, i + 1, 0);  // eigenvalues and singular values lie apart
    const auto [w, v] = ct::linalg::eigh(a);
    const auto [q, r] = ct::linalg::qr(ct::slice<ct::full_extent, ct::range<0, 3>>(a));
    const auto [u, s, vt] = ct::linalg::svd(ct::slice<ct::full_extent, ct::range<1, 4>>(a));
    return std::tuple(ct::matmul(v, q), ct::matmul(r, vt) + ct::matmul(ct::transpose(q), u), ct::sum(w) * ct::sum(s) + ct::linalg::det(a) + std::get<1>(ct::linalg::slogdet(a)));
  }, std::tuple(matrices<double, 4, 4>()));
}

TEST_CASE("what does not depend on the choice of vectors has derivatives where values are equal") {
  const auto identity = ct::eye<double, 3>();
  const auto of_eigh = [](auto a) {
    const auto [w, v] = ct::linalg::eigh(a);
    return ct::sum(w * w);
  };
  CHECK(ct::jit(ct::grad(of_eigh))(identity) == ct::jit([](auto a) { return 2 * a; })(identity));
  const auto of_svd = [](auto a) { return ct::sum(ct::linalg::svdvals(a)); };  // the nuclear norm
  CHECK(ct::jit(ct::grad(of_svd))(identity) == identity);
  const auto second = ct::jit(ct::grad([=](auto a) { return ct::sum(ct::square(ct::grad(of_eigh)(a))); }))(identity);  // |2 a|²
  for (int i = 0; i < 9; ++i) CHECK(std::isfinite(second.data()[i]));
}
