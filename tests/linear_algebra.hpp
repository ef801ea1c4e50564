#pragma once
/// What the tests of linalg share: functions, and matrices for them.

#include "check_derivatives.hpp"

namespace linear_algebra {

namespace ct = cotangent;

constexpr auto factor = [](auto a) { return ct::linalg::cholesky(a); };
constexpr auto invert = [](auto a) { return ct::linalg::inv(a); };
constexpr auto solve = [](auto a, auto b) { return ct::linalg::solve(a, b); };
constexpr auto triangles = [](auto a, auto b) {
  namespace la = ct::linalg;
  return std::tuple(la::solve_triangular(a, b), la::solve_triangular(a, b, la::lower), la::solve_triangular(a, b, la::transposed),
                    la::solve_triangular(a, b, la::unit_diagonal, la::lower, la::transposed), la::cho_solve(a, b));
};
constexpr auto eigenvectors = [](auto a) { return ct::linalg::eigh(a); };
constexpr auto orthogonal = [](auto a) { return ct::linalg::qr(a); };
constexpr auto singular = [](auto a) { return ct::linalg::svd(a); };
constexpr auto determinants = [](auto a) { return std::tuple_cat(std::tuple(ct::linalg::det(a)), ct::linalg::slogdet(a)); };

/// Matrices with a large diagonal, all of them different; the largest element of most columns is not on it.
template <class T, ct::extent... E> ct::array<T, E...> matrices_of(bool symmetric, const ct::shape& s) {
  ct::array<T, E...> x(ct::uninitialized, s);
  const ct::extent n = s[s.rank - 1];
  for (ct::extent i = 0; i < x.size(); ++i) {
    const ct::extent row = i / n % n, column = i % n, one = symmetric && row < column ? i - row * n - column + column * n + row : i;
    x.data()[i] = T((one * 7919 + 13) % 101) / T(101) - T(0.5);
    if (symmetric ? row == column : (row + 1) % n == column) x.data()[i] += T(0.6) * T(n);
  }
  return x;
}
template <class T, ct::extent... E> ct::array<T, E...> matrices(bool symmetric = false) { return matrices_of<T, E...>(symmetric, ct::shape{E...}); }

}  // namespace linear_algebra
