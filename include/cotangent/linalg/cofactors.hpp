#pragma once
/// Determinants and inverses of the smallest matrices by sums of products, which fuse with what is around them.

#include <array>

#include <cotangent/trace/functions.hpp>

namespace cotangent::linalg::functions {

/// One number per matrix.
constexpr value one_each(value x, const shape& of) {
  shape batch = of;
  batch.rank -= 2;
  return reshape(x, batch);
}

/// Cofactors of matrices [..., n, n], n from 1 to 4, as numbers per matrix, [...].
class cofactors {
  static constexpr extent most = 4, pairs = most * most;

 public:
  static constexpr bool suit(value a) {
    const extent n = a.dims()[a.rank() - 1];
    return n >= 1 && n <= most && a.dims()[a.rank() - 2] == n;
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
  constexpr value cofactor(extent i, extent j) {
    shape rows, columns;
    for (extent k = 0; k < n_; ++k) {
      if (k != i) rows.push_back(k);
      if (k != j) columns.push_back(k);
    }
    value r;
    if (n_ == 1) return full_like(element(0, 0), 1);
    if (n_ == 2) r = element(rows[0], columns[0]);
    else if (n_ == 3) r = minor(rows[0], rows[1], columns[0], columns[1]);
    else {  // along the row beside i, so that all expansions share the minors of the first two rows and of the last two
      const extent along = i ^ 1, above = i < 2 ? 2 : 0;
      const auto term = [&](int k, int p, int q) { return element(along, columns[k]) * minor(above, above + 1, columns[p], columns[q]); };
      r = term(0, 1, 2) - term(1, 0, 2) + term(2, 0, 1);
    }
    return (i + j) % 2 == 0 ? r : -r;
  }
  constexpr value determinant() {
    value r = element(0, 0) * cofactor(0, 0);
    for (extent j = 1; j < n_; ++j) r = r + element(0, j) * cofactor(0, j);
    return r;
  }

 private:
  extent n_;
  sequence<value> elements_;
  std::array<value, std::size_t(pairs * pairs)> minors_{};  // as far as they were asked for

  /// The determinant of the rows i and k and the columns j and l.
  constexpr value minor(extent i, extent k, extent j, extent l) {
    value& r = minors_[std::size_t((i * most + k) * pairs + j * most + l)];
    if (!r) r = element(i, j) * element(k, l) - element(i, l) * element(k, j);
    return r;
  }
};

/// Inverses by cofactors, of n up to 4.
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
