#pragma once
/// Determinants and inverses of the smallest matrices by sums of products, which fuse with what is around them.

#include <cotangent/trace/functions.hpp>

namespace cotangent::linalg::functions {

/// One number per matrix.
constexpr value one_each(value x, const shape& of) {
  shape batch = of;
  batch.rank -= 2;
  return reshape(x, batch);
}

/// Cofactors of matrices [..., n, n], n from 1 to 3, as numbers per matrix, [...].
class cofactors {
 public:
  static constexpr bool suit(value a) {
    const extent n = a.dims()[a.rank() - 1];
    return n >= 1 && n <= 3 && a.dims()[a.rank() - 2] == n;
  }

  constexpr explicit cofactors(value a) : n_(a.dims()[a.rank() - 1]) {
    for (extent i = 0; i < n_; ++i) {
      const value row = piece_along(a, a.rank() - 2, i, 1);
      for (extent j = 0; j < n_; ++j) elements_.push_back(one_each(piece_along(row, a.rank() - 1, j, 1), a.dims()));
    }
  }
  constexpr value element(extent i, extent j) const { return elements_[std::size_t(i * n_ + j)]; }
  /// The greatest magnitude of an element.
  constexpr value greatest() const {
    value r = abs(elements_[0]);
    for (std::size_t k = 1; k < elements_.size(); ++k) r = max(r, abs(elements_[k]));
    return r;
  }
  /// Multiplies all elements; before anything is computed of them.
  constexpr void scale(value by) {
    for (value& x : elements_) x = x * by;
  }

  /// (-1)^(i + j) times the determinant of what is left without row i and column j.
  constexpr value cofactor(extent i, extent j) const {
    if (n_ == 1) return full_like(element(0, 0), 1);
    const extent i0 = i == 0, j0 = j == 0, i1 = i == 2 ? 1 : 2, j1 = j == 2 ? 1 : 2;
    const value r = n_ == 2 ? element(i0, j0) : element(i0, j0) * element(i1, j1) - element(i0, j1) * element(i1, j0);
    return (i + j) % 2 == 0 ? r : -r;
  }
  constexpr value determinant() const {
    value r = element(0, 0) * cofactor(0, 0);
    for (extent j = 1; j < n_; ++j) r = r + element(0, j) * cofactor(0, j);
    return r;
  }

 private:
  extent n_;
  sequence<value> elements_;
};

/// Inverses by cofactors, of n up to 3.
constexpr value small_inverse(value a) {
  cofactors of(a);
  value scale;
  // Products of n elements may leave the range of types of few exponents.
  if (a.type() != dtype::float64) of.scale(scale = full_like(of.element(0, 0), 1) / stop_gradient(of.greatest()));
  value factor = full_like(of.element(0, 0), 1) / of.determinant();
  if (scale) factor = factor * scale;
  const extent n = a.dims()[a.rank() - 1];
  sequence<value> parts;
  for (extent i = 0; i < n; ++i)
    for (extent j = 0; j < n; ++j) {
      const value part = of.cofactor(j, i) * factor;
      parts.push_back(reshape(part, insert(part.dims(), part.rank(), 1)));
    }
  return reshape(concatenate(parts, a.rank() - 2), a.dims());
}

}  // namespace cotangent::linalg::functions
