#pragma once
/// Determinants and inverses of the smallest matrices by cofactors, of numbers or of the values of a graph.

#include <cotangent/core/extents.hpp>
#include <cotangent/core/macros.hpp>

namespace cotangent {

/// The greatest order of matrices that cofactors invert: for larger ones elimination takes fewer operations.
inline constexpr extent most_cofactors = 4;

/// The minors of a row-major matrix of order n, 1 to 4. `Arithmetic` does the operations.
template <class Number, class Arithmetic> class small_minors {
 public:
  COTANGENT_LANES COTANGENT_HD constexpr small_minors(const Arithmetic& arithmetic, const Number* a, extent n) : arithmetic_(arithmetic), a_(a), n_(n) {
    for (extent half = 0; half < 2 && n == 4; ++half)
      for (extent j = 0; j < 4; ++j)
        for (extent l = j + 1; l < 4; ++l) pairs_[half][j][l] = of_two(2 * half, 2 * half + 1, j, l);
  }
  /// The determinant of what is left without row i and column j.
  COTANGENT_LANES COTANGENT_HD constexpr Number of(extent i, extent j) const {
    const auto other = [](extent than, extent k) { return k + (k >= than); };
    if (n_ == 1) return arithmetic_.number(1);
    if (n_ == 2) return at(1 - i, 1 - j);
    if (n_ == 3) return of_two(other(i, 0), other(i, 1), other(j, 0), other(j, 1));
    // By the other row of i's half, and the pairs of the rows of the other half.
    const extent row = i ^ 1, c0 = other(j, 0), c1 = other(j, 1), c2 = other(j, 2);
    const auto& pairs = pairs_[i < 2];
    return arithmetic_.plus_product(arithmetic_.minus_product(arithmetic_.product(at(row, c0), pairs[c1][c2]), at(row, c1), pairs[c0][c2]), at(row, c2), pairs[c0][c1]);
  }
  COTANGENT_LANES COTANGENT_HD constexpr Number determinant() const {
    Number r{};
    for (extent j = 0; j < n_; ++j) r = j % 2 == 0 ? arithmetic_.plus_product(r, at(0, j), of(0, j)) : arithmetic_.minus_product(r, at(0, j), of(0, j));
    return r;
  }

 private:
  COTANGENT_HD constexpr const Number& at(extent i, extent j) const { return a_[i * n_ + j]; }
  /// Of rows i and k and columns j and l.
  COTANGENT_LANES COTANGENT_HD constexpr Number of_two(extent i, extent k, extent j, extent l) const {
    return arithmetic_.minus_product(arithmetic_.product(at(i, j), at(k, l)), at(i, l), at(k, j));
  }

  const Arithmetic& arithmetic_;
  const Number* a_;
  extent n_;
  Number pairs_[2][most_cofactors][most_cofactors] = {};  // of the first two rows, and the last two
};

/// The inverse x of a row-major matrix a of order n, 1 to 4. If `scaled`, of a divided by its greatest magnitude: products of n elements may
/// leave the range of types of few exponents.
COTANGENT_LANES template <class Number, class Arithmetic>
COTANGENT_HD constexpr void invert_by_cofactors(const Arithmetic& arithmetic, const Number* a, Number* x, extent n, bool scaled) {
  Number parts[most_cofactors * most_cofactors] = {}, scale{};
  if (scaled) {
    Number greatest{};
    for (extent k = 0; k < n * n; ++k) greatest = arithmetic.greater_magnitude(greatest, a[k]);
    scale = arithmetic.reciprocal(greatest);
  }
  for (extent k = 0; k < n * n; ++k) parts[k] = scaled ? arithmetic.product(a[k], scale) : a[k];
  const small_minors<Number, Arithmetic> minors(arithmetic, parts, n);
  const Number reciprocal = arithmetic.reciprocal(minors.determinant()), factor = scaled ? arithmetic.product(reciprocal, scale) : reciprocal;
  const Number negative = arithmetic.negative(factor);
  for (extent i = 0; i < n; ++i)
    for (extent j = 0; j < n; ++j) x[j * n + i] = arithmetic.product(minors.of(i, j), (i + j) % 2 == 0 ? factor : negative);
}

}  // namespace cotangent
