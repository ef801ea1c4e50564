#ifndef COTANGENT_PRIMITIVES_IN_ORDER
#include <cotangent/primitives/primitives.hpp>
#elif !defined(COTANGENT_PRIMITIVES_DECOMPOSITIONS)
#define COTANGENT_PRIMITIVES_DECOMPOSITIONS
/// Orthogonal decompositions, determinants and small inverses: qr, eigh, svd, determinant, adjugate, inverse. The last two axes are those of
/// matrices, the others batch axes. What has several parts is one array of them, and signs are chosen such that every backend finds the same.
///
/// Derivatives divide by differences of eigenvalues or singular values. Such a quotient of an exact zero is 0, so that what does not
/// depend on the choice of vectors has its derivative where values are equal, too.

namespace cotangent {

constexpr value eigh(value a);
constexpr value qr(value a);
constexpr value svd(value a);
constexpr value adjugate(value a, value factors);
constexpr value determinant(value a, value factors, bool logarithm);

/// The elements [first, first + count) along an axis.
constexpr value piece_along(value x, int axis, extent first, extent count) {
  shape starts = filled(x.rank(), 0), sizes = x.dims();
  starts[axis] = first, sizes[axis] = count;
  return slice(x, starts, sizes, filled(x.rank(), 1));
}
/// The rows [first, first + count) of matrices.
constexpr value some_rows(value x, extent first, extent count) { return piece_along(x, x.rank() - 2, first, count); }
/// The first `rows` rows of part k of matrices [..., parts, m, n].
constexpr value part_of(value parts, extent k, extent rows) {
  const int axis = parts.rank() - 3;
  const value one = some_rows(piece_along(parts, axis, k, 1), 0, rows);
  return reshape(one, erase(one.dims(), axis));
}
/// Matrices with rows of zeros below them, as many as `rows` in all.
constexpr value with_rows(value x, extent rows) {
  const shape none = filled(x.rank(), 0);
  shape high = none;
  high[x.rank() - 2] = x.b->symbols.combine(symbol::difference, rows, x.dims()[x.rank() - 2]);
  return pad(x, constant(*x.b, x.type(), {}, 0), none, high, none);
}
/// Matrices of the same shape as the parts of one array.
constexpr value of_parts(const sequence<value>& matrices) {
  sequence<value> parts;
  const int axis = matrices[0].rank() - 2;
  for (value m : matrices) parts.push_back(reshape(m, insert(m.dims(), axis, 1)));
  return concatenate(parts, axis);
}
/// Where matrices are on the diagonal.
constexpr value diagonal_mask(value x) {
  const int n = x.rank();
  return eq(iota(*x.b, dtype::int32, x.dims(), n - 2), iota(*x.b, dtype::int32, x.dims(), n - 1));
}
/// The diagonals of square matrices, as rows [..., 1, n].
constexpr value diagonal_row(value x) {
  const value row = reduce_sum(select(diagonal_mask(x), x, zeros_like(x)), {x.rank() - 2});
  shape dims = x.dims();
  dims[x.rank() - 2] = 1;
  return reshape(row, dims);
}
/// Rows [..., 1, n] as the rows, or as the columns, of matrices [..., m, n] or [..., n, m].
constexpr value as_rows(value row, const shape& dims) {
  return broadcast_in_dim(reshape(row, erase(row.dims(), row.rank() - 2)), dims, erase(axes_from(0, dims.rank), dims.rank - 2));
}
constexpr value as_columns(value row, const shape& dims) {
  return broadcast_in_dim(reshape(row, erase(row.dims(), row.rank() - 2)), dims, erase(axes_from(0, dims.rank), dims.rank - 1));
}
/// x / y, where an exact zero, or what lies on the diagonal if so asked, gives 0, and so do its derivatives.
constexpr value quotient_or_zero(value x, value y, bool off_diagonal) {
  value none = eq(x, zeros_like(x));
  if (off_diagonal) none = logical_or(none, diagonal_mask(x));
  return select(none, zeros_like(x), x / select(none, full_like(y, 1), y));
}

/// Q and R of a = Q R for matrices [..., m, n] of m >= n: [..., 2, m, n], R with rows of zeros below it. The columns of Q are orthonormal,
/// R's diagonal is not negative. Derivatives: S. Walter, L. Lehmann, "Algorithmic differentiation of linear algebra functions with
/// application in optimum experimental design", arXiv:1001.1654.
struct qr_p : of_matrices {
  static constexpr std::string_view name = "qr";
  static constexpr void infer(call& c) { c.type = c[0].type(), c.dims = insert(c[0].dims(), c[0].rank() - 2, 2); }
  static constexpr value q(const call& c) { return part_of(c.result, 0, c.dims[c.dims.rank - 2]); }
  static constexpr value r(const call& c) { return part_of(c.result, 1, c.dims[c.dims.rank - 1]); }
  /// x of x R = y, or of x Rᵀ = y.
  static constexpr value by_r(const call& c, value y, bool transposed) {
    return transposed_matrices(triangular_solve(r(c), transposed_matrices(y), false, !transposed, false));
  }
  static constexpr value jvp(const call& c, const value* t) {
    if (!t[0]) return {};
    const value in_basis = by_r(c, t[0], false), own = matrix_products(transposed_matrices(q(c)), in_basis), below = triangle(own, true, 0);
    const value rest = below - transposed_matrices(below) - own;  // of Qᵀ dQ
    return of_parts({matrix_products(q(c), rest) + in_basis, with_rows(triangle(-matrix_products(rest, r(c)), false, 1), c.dims[c.dims.rank - 2])});
  }
  static constexpr value vjp(const call& c, int, value g) {
    const value of_q = part_of(g, 0, c.dims[c.dims.rank - 2]), of_r = triangle(part_of(g, 1, c.dims[c.dims.rank - 1]), false, 1);
    const value m = matrix_products(r(c), transposed_matrices(of_r)) - matrix_products(transposed_matrices(of_q), q(c));
    const value symmetric = triangle(m, true, 1) + transposed_matrices(triangle(m, true, 0));
    return by_r(c, of_q + matrix_products(q(c), symmetric), true);
  }
};

/// Eigenvalues w, in ascending order, and eigenvectors V of symmetric matrices [..., n, n], of which the lower triangle is read:
/// [..., n + 1, n], w in the first row, the columns of V below. The greatest element of each vector is positive. Derivatives: M. Giles,
/// "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008.
struct eigh_p : of_matrices {
  static constexpr std::string_view name = "eigh";
  static constexpr void infer(call& c) { lu_p::infer(c); }  // one row more
  static constexpr value w(const call& c) { return some_rows(c.result, 0, 1); }
  static constexpr value v(const call& c) { return some_rows(c.result, 1, c.dims[c.dims.rank - 1]); }
  /// The elements (i, j) divided by w_j - w_i.
  static constexpr value by_gaps(const call& c, value x) {
    return quotient_or_zero(x, as_rows(w(c), x.dims()) - as_columns(w(c), x.dims()), true);
  }
  static constexpr value jvp(const call& c, const value* t) {
    if (!t[0]) return {};
    const value in_basis = matrix_products(transposed_matrices(v(c)), matrix_products(t[0], v(c)));
    return concatenate({diagonal_row(in_basis), matrix_products(v(c), by_gaps(c, in_basis))}, c.dims.rank - 2);
  }
  static constexpr value vjp(const call& c, int, value g) {
    const value of_v = some_rows(g, 1, c.dims[c.dims.rank - 1]), turned = matrix_products(transposed_matrices(v(c)), of_v);
    const value of_w = as_rows(some_rows(g, 0, 1), turned.dims());
    const value in_basis = select(diagonal_mask(turned), of_w, by_gaps(c, turned));
    return symmetrized(matrix_products(v(c), matrix_products(in_basis, transposed_matrices(v(c)))));
  }
};

/// U, s and V of a = U diag(s) Vᵀ for matrices [..., m, n] of m >= n: [..., 3, m, n], U first, s, in descending order, in the first row of the
/// second, V in the first rows of the third. The greatest element of each column of V is positive. Derivatives: J. Townsend,
/// "Differentiating the singular value decomposition", 2016.
struct svd_p : of_matrices {
  static constexpr std::string_view name = "svd";
  static constexpr void infer(call& c) {
    qr_p::infer(c);
    c.dims[c.dims.rank - 3] = 3;
  }
  static constexpr extent rows(const call& c) { return c.dims[c.dims.rank - 2]; }
  static constexpr extent columns(const call& c) { return c.dims[c.dims.rank - 1]; }
  static constexpr value u(const call& c) { return part_of(c.result, 0, rows(c)); }
  static constexpr value s(const call& c) { return part_of(c.result, 1, 1); }
  static constexpr value v(const call& c) { return part_of(c.result, 2, columns(c)); }
  /// The elements (i, j) divided by s_j² - s_i².
  static constexpr value by_gaps(const call& c, value x) {
    const value row = as_rows(s(c), x.dims()), column = as_columns(s(c), x.dims());
    return quotient_or_zero(x, (row - column) * (row + column), true);
  }
  /// What of the columns of x lies outside the space of U's.
  static constexpr value outside(const call& c, value x) { return x - matrix_products(u(c), matrix_products(transposed_matrices(u(c)), x)); }
  static constexpr value by_s(const call& c, value x) { return quotient_or_zero(x, as_rows(s(c), x.dims()), false); }
  static constexpr value jvp(const call& c, const value* t) {
    if (!t[0]) return {};
    const value moved = matrix_products(t[0], v(c)), p = matrix_products(transposed_matrices(u(c)), moved), q = transposed_matrices(p);
    const value row = as_rows(s(c), p.dims()), column = as_columns(s(c), p.dims());
    value of_u = matrix_products(u(c), by_gaps(c, p * row + column * q));
    if (rows(c) != columns(c)) of_u = of_u + by_s(c, outside(c, moved));
    const value of_v = matrix_products(v(c), by_gaps(c, column * p + q * row));
    return of_parts({of_u, with_rows(diagonal_row(p), rows(c)), with_rows(of_v, rows(c))});
  }
  static constexpr value vjp(const call& c, int, value g) {
    const value of_u = part_of(g, 0, rows(c)), of_s = part_of(g, 1, 1), of_v = part_of(g, 2, columns(c));
    const value y = by_gaps(c, matrix_products(transposed_matrices(u(c)), of_u)), z = by_gaps(c, matrix_products(transposed_matrices(v(c)), of_v));
    const value row = as_rows(s(c), y.dims()), column = as_columns(s(c), y.dims());
    const value off_diagonal = (y + transposed_matrices(y)) * row + column * (z + transposed_matrices(z));
    value of_moved = matrix_products(u(c), select(diagonal_mask(y), as_rows(of_s, y.dims()), off_diagonal));
    if (rows(c) != columns(c)) of_moved = of_moved + by_s(c, outside(c, of_u));
    return matrix_products(of_moved, transposed_matrices(v(c)));
  }
};

/// Of matrices a [..., n, n] and their factors by lu, the determinants, or the logarithms of their absolute values (attribute), [..., 1, 1].
struct determinant_p : of_matrices {
  static constexpr std::string_view name = "determinant";
  static constexpr bool logarithm(const call& c) { return c.attribute(0) != 0; }
  static constexpr void infer(call& c) {
    of_matrices::infer(c);
    c.dims[c.dims.rank - 1] = c.dims[c.dims.rank - 2] = 1;
  }
  /// The derivative by each element, transposed.
  static constexpr value slope(const call& c) {
    if (!logarithm(c)) return adjugate(c[0], c[1]);
    return lu_solve(c[0], c[1], select(diagonal_mask(c[0]), full_like(c[0], 1), zeros_like(c[0])), false);
  }
  static constexpr value jvp(const call& c, const value* t) {
    if (!t[0]) return {};
    const int n = c[0].rank();
    return reshape(reduce_sum(slope(c) * transposed_matrices(t[0]), {n - 2, n - 1}), c.dims);
  }
  static constexpr value vjp(const call& c, int k, value g) {
    if (k != 0) return {};
    const int n = c[0].rank();
    shape batch = c.dims;
    batch.rank -= 2;
    return transposed_matrices(slope(c)) * broadcast_in_dim(reshape(g, batch), c[0].dims(), axes_from(0, n - 2));
  }
  static constexpr void elements(element_call& e) {
    each_matrix<2>(e, [&](element_matrix (&m)[2]) {
      const element_arithmetic x{e.b, e.c.type};
      element_matrix& f = m[1];
      const extent n = f.columns;
      value all = x.number(logarithm(e.c) ? 0 : 1);
      for (extent k = 0; k < n && all; ++k) {
        if (logarithm(e.c)) {
          value own = log(abs(x.filled(f(k, k))));
          match_ranks(all, own);
          all = all + own;
        } else {
          all = x.product(all, f(k, k));
          if (all && f(n, k)) all = x.chosen(lu_p::same_row(x, f(n, k), k), all, -all);
        }
      }
      e.parts.push_back(all);
    });
  }
};

/// The adjugates of matrices a [..., n, n], whose factors by lu are the other operand: their inverses times their determinants, which exist
/// for every matrix. Of triangular factors their elements are sums of products, without any division. The derivatives are those of
/// regular matrices.
struct adjugate_p : of_matrices {
  static constexpr std::string_view name = "adjugate";
  static constexpr void infer(call& c) { c.type = c[0].type(), c.dims = c[0].dims(); }
  static constexpr value inverse_times(const call& c, value x, bool transposed) { return lu_solve(c[0], c[1], x, transposed); }
  /// d adj(a) = tr(a⁻¹ da) adj(a) - a⁻¹ da adj(a).
  static constexpr value jvp(const call& c, const value* t) {
    if (!t[0]) return {};
    const int n = c.dims.rank;
    const value moved = inverse_times(c, t[0], false);
    const value trace = broadcast_in_dim(reduce_sum(diagonal_row(moved), {n - 2, n - 1}), c.dims, axes_from(0, n - 2));
    return trace * c.result - matrix_products(moved, c.result);
  }
  static constexpr value vjp(const call& c, int k, value g) {
    if (k != 0) return {};
    const int n = c.dims.rank;
    const value product = matrix_products(g, transposed_matrices(c.result));
    const value trace = broadcast_in_dim(reduce_sum(diagonal_row(product), {n - 2, n - 1}), c.dims, axes_from(0, n - 2));
    return inverse_times(c, select(diagonal_mask(product), trace - product, -product), true);
  }
  /// As small_matrix::adjugate.
  static constexpr void elements(element_call& e) {
    each_matrix<2>(e, [&](element_matrix (&m)[2]) {
      const element_arithmetic x{e.b, e.c.type};
      element_matrix &y = m[0], &f = m[1];
      const extent n = f.columns;
      sequence<value> before, after;  // products of the diagonal's elements
      before.push_back(x.number(1));
      for (extent k = 0; k < n; ++k) before.push_back(x.product(before[std::size_t(k)], f(k, k)));
      after.assign(std::size_t(n) + 1, x.number(1));
      for (extent k = n; k-- > 0;) after[std::size_t(k)] = x.product(after[std::size_t(k) + 1], f(k, k));
      for (extent j = 0; j < n; ++j) {
        for (extent i = 0; i < n; ++i) y(i, j) = i == j ? x.number(1) : value{};
        for (extent i = j; i-- > 0;) {
          value product = x.number(1);
          for (extent k = i + 1; k <= j; ++k) {
            y(i, j) = x.minus_product(y(i, j), x.product(f(i, k), product), y(k, j));
            product = x.product(product, f(k, k));
          }
        }
        for (extent i = 0; i <= j; ++i) y(i, j) = x.product(y(i, j), x.product(before[std::size_t(i)], after[std::size_t(j) + 1]));
      }
      for (extent j = n; j-- > 0;)
        for (extent k = j + 1; k < n; ++k)
          for (extent i = 0; i < n; ++i) y(i, j) = x.minus_product(y(i, j), y(i, k), f(k, j));
      for (extent k = n; k-- > 0;) {
        const value stays = lu_p::same_row(x, x.filled(f(n, k)), k);
        for (extent i = 0; i < n; ++i)
          for (extent j = 0; j < n; ++j)
            if (y(i, j)) y(i, j) = x.chosen(stays, y(i, j), -y(i, j));
        for (extent other = k + 1; other < n; ++other) {
          const value exchanged = lu_p::same_row(x, x.filled(f(n, k)), other);
          for (extent i = 0; i < n; ++i) {
            const value here = y(i, k), there = y(i, other);
            y(i, k) = x.chosen(exchanged, there, here), y(i, other) = x.chosen(exchanged, here, there);
          }
        }
      }
      for (const value& v : y.parts) e.parts.push_back(v);
    });
  }
};

/// The inverses of matrices [..., n, n], n from 1 to 4, by cofactors.
struct inverse_p : of_matrices {
  static constexpr std::string_view name = "inverse";
  static constexpr value jvp(const call& c, const value* t) {
    return t[0] ? -matrix_products(c.result, matrix_products(t[0], c.result)) : value{};
  }
  static constexpr value vjp(const call& c, int, value g) {
    const value x = transposed_matrices(c.result);
    return -matrix_products(x, matrix_products(g, x));
  }
  static constexpr void elements(element_call& e) {
    each_matrix<1>(e, [&](element_matrix (&m)[1]) {
      const element_arithmetic arithmetic{e.b, e.c.type};
      value x[most_cofactors * most_cofactors];
      invert_by_cofactors(arithmetic, &m[0].parts[0], x, m[0].rows, e.c.type != dtype::float64);
      for (std::size_t k = 0; k < m[0].parts.size(); ++k) e.parts.push_back(x[k]);
    });
  }
};

constexpr value eigh(value a) { return emit<eigh_p>({a}); }
constexpr value qr(value a) { return emit<qr_p>({a}); }
constexpr value svd(value a) { return emit<svd_p>({a}); }
constexpr value adjugate(value a, value factors) { return emit<adjugate_p>({a, factors}); }
constexpr value inverse(value a) { return emit<inverse_p>({a}); }
constexpr value determinant(value a, value factors, bool logarithm) { return emit<determinant_p>({a, factors}, {logarithm}); }

}  // namespace cotangent

#endif
