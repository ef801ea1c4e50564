#ifndef COTANGENT_PRIMITIVES_IN_ORDER
#include <cotangent/primitives/primitives.hpp>
#elif !defined(COTANGENT_PRIMITIVES_FACTORIZATIONS)
#define COTANGENT_PRIMITIVES_FACTORIZATIONS
/// Factorizations of square matrices, and what solves by them: cholesky, cholesky_pullback, triangular_solve, lu, lu_solve. The last two
/// axes are those of matrices, the others batch axes, which all operands share.

namespace cotangent {

constexpr value cholesky_pullback(value l, value g);
constexpr value triangular_solve(value a, value b, bool lower, bool transposed, bool unit_diagonal);
constexpr value lu_solve(value a, value factors, value b, bool transposed);

/// The transposes of all matrices.
constexpr value transposed_matrices(value x) {
  shape order = axes_from(0, x.rank());
  order[x.rank() - 1] = x.rank() - 2, order[x.rank() - 2] = x.rank() - 1;
  return transpose(x, order);
}
/// (a + aᵀ) / 2 of all matrices.
constexpr value symmetrized(value a) { return 0.5 * (a + transposed_matrices(a)); }
constexpr value matrix_products(value a, value b) {
  const int n = a.rank();
  return dot_general(a, b, {axes_from(0, n - 2), axes_from(0, n - 2), {n - 1}, {n - 2}});
}
/// The elements of matrices on one side of the diagonal, and the diagonal times a number; the others are 0.
constexpr value triangle(value x, bool lower, double diagonal) {
  const int n = x.rank();
  const value row = iota(*x.b, dtype::int32, x.dims(), n - 2), column = iota(*x.b, dtype::int32, x.dims(), n - 1);
  const value on_diagonal = diagonal == 0 ? zeros_like(x) : diagonal == 1 ? x : diagonal * x;
  return select(lower ? lt(column, row) : lt(row, column), x, select(eq(row, column), on_diagonal, zeros_like(x)));
}

/// One matrix of each operand, element by element. The null value is a structural zero.
struct element_matrix {
  extent rows = 0, columns = 0;
  sequence<value> parts;

  constexpr value& operator()(extent i, extent j) { return parts[std::size_t(i * columns + j)]; }
};

/// Element rules of matrices: calls visit for the matrices of each instance. The last operand's columns may be instances, which are
/// then one column. Matrices that all instances share stay whole.
template <int N, class Visit> constexpr void each_matrix(element_call& e, const Visit& visit) {
  const int rank = e.c.dims.rank, row = rank - 2, column = rank - 1;
  shape batch, strides[N];
  const bool many_columns = e.form.place(column) >= 0;
  e.whole = e.form.axes.rank == 0 && !e.single;
  e.fits = e.form.place(row) < 0 && (N > 1 || !many_columns);
  for (int k = 0; k < N; ++k) {
    const element_form& form = e.operands[k].form;
    e.fits = e.fits && form.place(row) < 0 && (form.place(column) >= 0) == (k == N - 1 && many_columns);
    for (int i = 0; i < row; ++i) strides[k].push_back(form.strides[i]);
  }
  for (int i = 0; i < row; ++i) batch.push_back(e.c.dims[i]);
  if (!e.fits || e.whole) return;
  element_call::each(batch, e.form.axes, strides, [&](const extent* at) {
    element_matrix matrices[N];
    for (int k = 0; k < N; ++k) {
      const element_array& x = e.operands[k];
      shape places;
      for (extent axis : x.form.axes) places.push_back(e.form.place(axis));
      element_matrix& m = matrices[k];
      m.rows = x.dims[row], m.columns = x.form.place(column) >= 0 ? 1 : x.dims[column];
      for (extent i = 0; i < m.rows; ++i)
        for (extent j = 0; j < m.columns; ++j) {
          const value part = x.parts[at[k] + i * x.form.strides[row] + j * x.form.strides[column]];
          m.parts.push_back(part ? placed(part, places, e.form.instances) : part);
        }
    }
    visit(matrices);
  });
}

/// Arithmetic of elements, of which some may be structural zeros.
struct element_arithmetic {
  builder& b;
  dtype type;

  constexpr value number(double x) const { return constant(b, type, {}, x); }
  constexpr value filled(value x) const { return x ? x : number(0); }
  /// x - p q
  constexpr value minus_product(value x, value p, value q) const {
    value pq = product(p, q);
    if (!pq) return x;
    if (!x) return -pq;
    match_ranks(x, pq);
    return x - pq;
  }
  constexpr value product(value x, value y) const {
    if (!x || !y) return {};
    match_ranks(x, y);
    return mul(x, y);
  }
  /// x + p q
  constexpr value plus_product(value x, value p, value q) const {
    value pq = product(p, q);
    if (!x || !pq) return x ? x : pq;
    match_ranks(x, pq);
    return x + pq;
  }
  constexpr value negative(value x) const { return x ? -x : x; }
  constexpr value quotient(value x, value y) const {
    if (!x) return x;
    value divisor = filled(y);
    match_ranks(x, divisor);
    return x / divisor;
  }
  constexpr value reciprocal(value x) const { return quotient(number(1), x); }
  constexpr value chosen(value mask, value yes, value no) const {
    if (!yes && !no) return {};
    yes = filled(yes), no = filled(no);
    for (int round = 0; round < 2; ++round) match_ranks(mask, yes), match_ranks(mask, no);
    return select(mask, yes, no);
  }
  constexpr value greater(value x, value y) const {
    match_ranks(x, y);
    return gt(x, y);
  }
  constexpr value greater_magnitude(value x, value y) const {
    if (!y) return x;
    const value own = abs(y);
    return x ? chosen(greater(own, x), own, x) : own;
  }
  constexpr value zero(value x) const { return eq(x, zeros_like(x)); }
  /// Exchanges the rows i and k of a matrix where the mask is true.
  constexpr void exchange_rows(element_matrix& m, extent i, extent k, value mask) const {
    for (extent j = 0; j < m.columns; ++j) {
      const value x = m(i, j), y = m(k, j);
      m(i, j) = chosen(mask, y, x), m(k, j) = chosen(mask, x, y);
    }
  }
  /// Solves in place by substitution, column by column of x. `a` may have more rows. Divisions by one element of the diagonal are
  /// products with its reciprocal, as in LAPACK's factorizations: the solution stays that of a matrix within rounding of a.
  constexpr void solve_triangular(element_matrix& a, element_matrix& x, bool lower, bool transposed, bool unit_diagonal) const {
    const extent n = x.rows;
    const bool forward = lower != transposed;
    for (extent s = 0; s < n; ++s) {
      const extent i = forward ? s : n - 1 - s;
      const value scale = unit_diagonal ? value{} : reciprocal(a(i, i));
      for (extent j = 0; j < x.columns; ++j) {
        value sum = x(i, j);
        for (extent r = 0; r < s; ++r) {
          const extent k = forward ? r : n - 1 - r;
          sum = minus_product(sum, transposed ? a(k, i) : a(i, k), x(k, j));
        }
        x(i, j) = unit_diagonal ? sum : product(sum, scale);
      }
    }
  }
};

/// What primitives of matrices share.
struct of_matrices {
  static constexpr role kind = role::opaque;
  static constexpr double flops = 10;
  static constexpr void infer(call& c) {
    const value last = c[c.count - 1];
    c.type = last.type(), c.dims = last.dims();
  }
  static constexpr value batch(const call& c, const bool* batched, extent size) {
    const int last = c.count - 1;
    value operands[3];
    bool same_matrices = last > 0;
    for (int k = 0; k < last; ++k) same_matrices = same_matrices && !batched[k];
    const shape& dims = c[last].dims();
    const extent columns = dims[dims.rank - 1];
    if (same_matrices && (columns == 1 || !has_symbol(dims))) {  // the batch is one of columns
      shape order, back{dims.rank - 2}, joined;
      for (int i = 1; i + 1 < dims.rank; ++i) order.push_back(i), back.push_back(i - 1), joined.push_back(dims[i]);
      order.push_back(0), order.push_back(dims.rank - 1), back.push_back(dims.rank - 1);
      joined.push_back(columns == 1 ? size : size * columns);
      const value side_by_side = transpose(c[last], order);
      for (int k = 0; k < last; ++k) operands[k] = c[k];
      operands[last] = reshape(side_by_side, joined);
      return transpose(reshape(emit_again(c, operands), side_by_side.dims()), back);
    }
    for (int k = 0; k < c.count; ++k) operands[k] = batched_operand(c[k], batched[k], size);
    return emit_again(c, operands);
  }
};

/// L of a = L Lᵀ, lower triangular, of symmetric positive definite matrices [..., n, n], whose lower triangle is read; NaN if a matrix
/// is not positive definite. The derivatives take a tangent as symmetric (I. Murray, "Differentiation of the Cholesky decomposition",
/// arXiv:1602.07527).
struct cholesky_p : of_matrices {
  static constexpr std::string_view name = "cholesky";
  /// Up to this order the matrices of a cotangent are not solved with.
  static constexpr extent most_small = 8;
  static constexpr value jvp(const call& c, const value* t) { return t[0] ? matrix_products(c.result, inner_tangent(c.result, t[0])) : value{}; }
  static constexpr value vjp(const call& c, int, value g) {
    const extent n = c.dims[c.dims.rank - 1];
    if (!is_symbol(n) && n <= most_small) return cholesky_pullback(c.result, g);
    return between_inverses(c.result, matrix_products(transposed_matrices(c.result), triangle(g, true, 1)));
  }
  /// The lower triangle, with half of the diagonal, of L⁻¹ t L⁻ᵀ for symmetric t.
  static constexpr value inner_tangent(value l, value t) {
    const value left = triangular_solve(l, t, true, false, false);
    return triangle(triangular_solve(l, transposed_matrices(left), true, false, false), true, 0.5);
  }
  /// The symmetric part of L⁻ᵀ x L⁻¹ for the lower triangle of x, with half of the diagonal.
  static constexpr value between_inverses(value l, value x) {
    const value left = triangular_solve(l, triangle(x, true, 0.5), true, true, false);
    return symmetrized(triangular_solve(l, transposed_matrices(left), true, true, false));
  }
  static constexpr void elements(element_call& e) {
    each_matrix<1>(e, [&](element_matrix (&m)[1]) {
      const element_arithmetic x{e.b, e.c.type};
      element_matrix& a = m[0];
      const extent n = a.rows;
      for (extent j = 0; j < n; ++j) {
        value scale;
        for (extent i = j; i < n; ++i) {
          for (extent k = 0; k < j; ++k) a(i, j) = x.minus_product(a(i, j), a(i, k), a(j, k));
          if (i == j) a(j, j) = sqrt(x.filled(a(j, j))), scale = x.reciprocal(a(j, j));
          else a(i, j) = x.product(a(i, j), scale);
        }
      }
      // A pivot that is not positive makes the later ones NaN.
      const value positive = n > 0 ? x.greater(a(n - 1, n - 1), x.number(0)) : value{};
      for (extent i = 0; i < n; ++i)
        for (extent j = 0; j < n; ++j) e.parts.push_back(j > i ? value{} : x.chosen(positive, a(i, j), x.number(__builtin_nan(""))));
    });
  }
};

/// The symmetric cotangent of a of a = L Lᵀ by the cotangent g of L, for small matrices: operands L, as cholesky gives it, and g
/// [..., n, n], whose lower triangle is read. It is linear in g; in L it is the symmetric part of L⁻ᵀ P L⁻¹, where P is the lower triangle
/// of Lᵀ g, with half of the diagonal.
struct cholesky_pullback_p : of_matrices {
  static constexpr std::string_view name = "cholesky_pullback";
  static constexpr bool linear(const call&, int k) { return k == 1; }
  static constexpr value batch(const call& c, const bool* batched, extent size) {
    const value operands[] = {batched_operand(c[0], batched[0], size), batched_operand(c[1], batched[1], size)};
    return emit_again(c, operands);
  }
  /// With x the result and W = dL L⁻¹: the tangent of Lᵀ g between the inverses, less Wᵀ x + x W.
  static constexpr value jvp(const call& c, const value* t) {
    const value l = c[0], by_g = t[1] ? cholesky_pullback(l, t[1]) : value{};
    if (!t[0]) return by_g;
    const value moved = transposed_matrices(triangle(t[0], true, 1));
    const value inside = cholesky_p::between_inverses(l, matrix_products(moved, triangle(c[1], true, 1)));
    const value by_l = inside - 2.0 * symmetrized(matrix_products(triangular_solve(l, moved, true, true, false), c.result));
    return by_g ? by_g + by_l : by_l;
  }
  static constexpr value vjp(const call& c, int k, value h) {
    const value l = c[0], cotangent = symmetrized(h), inner = cholesky_p::inner_tangent(l, cotangent);
    if (k == 1) return matrix_products(l, inner);
    const value by_product = matrix_products(triangle(c[1], true, 1), transposed_matrices(inner));
    const value turned = triangular_solve(l, matrix_products(cotangent, c.result), true, false, false);
    return triangle(by_product - 2.0 * transposed_matrices(turned), true, 1);
  }
  /// Column by column from the last, without products of whole matrices (section 3.2 of Murray's report).
  static constexpr void elements(element_call& e) {
    if (e.form.place(e.c.dims.rank - 1) >= 0) {
      e.fits = false;
      return;
    }
    each_matrix<2>(e, [&](element_matrix (&m)[2]) {
      const element_arithmetic x{e.b, e.c.type};
      element_matrix &l = m[0], &g = m[1];
      const extent n = l.rows;
      const value half = x.number(0.5);
      for (extent j = n; j-- > 0;) {
        const value scale = x.reciprocal(l(j, j));
        for (extent i = j + 1; i < n; ++i) g(i, j) = x.product(g(i, j), scale), g(j, j) = x.minus_product(g(j, j), l(i, j), g(i, j));
        g(j, j) = x.product(g(j, j), scale);
        for (extent i = j; i < n; ++i)
          for (extent k = 0; k < j; ++k) {
            g(j, k) = x.minus_product(g(j, k), g(i, j), l(i, k));
            if (i > j) g(i, k) = x.minus_product(g(i, k), g(i, j), l(j, k));
          }
      }
      for (extent i = 0; i < n; ++i)
        for (extent j = 0; j < n; ++j) e.parts.push_back(x.product(j > i ? g(j, i) : g(i, j), half));
    });
  }
};

/// The derivatives of x of a x = b or aᵀ x = b, which are solutions too. P has transposed(c); solve(c, b, other_way), the solution for
/// another b, by the other of a and aᵀ if so asked; and read(c, m), m where P reads a.
template <class P> struct solution : of_matrices {
  static constexpr value jvp(const call& c, const value* t) {
    const value of_b = t[c.count - 1];
    if (!t[0]) return of_b ? P::solve(c, of_b, false) : value{};
    const value a = P::read(c, t[0]), product = matrix_products(P::transposed(c) ? transposed_matrices(a) : a, c.result);
    return P::solve(c, of_b ? of_b - product : -product, false);
  }
  static constexpr bool linear(const call& c, int k) { return k == c.count - 1; }
  static constexpr value vjp(const call& c, int k, value g) {
    const value of_b = P::solve(c, g, true);
    if (linear(c, k)) return of_b;
    const value x = c.result;
    return -P::read(c, P::transposed(c) ? matrix_products(x, transposed_matrices(of_b)) : matrix_products(of_b, transposed_matrices(x)));
  }
};

/// x of a x = b or aᵀ x = b: a triangular [..., n, n], of which only one triangle is read, b [..., n, m]. Attributes: whether it is the
/// lower one, whether aᵀ, whether the diagonal is 1 and not read.
struct triangular_solve_p : solution<triangular_solve_p> {
  static constexpr std::string_view name = "triangular_solve";
  static constexpr bool lower(const call& c) { return c.attribute(0) != 0; }
  static constexpr bool transposed(const call& c) { return c.attribute(1) != 0; }
  static constexpr bool unit_diagonal(const call& c) { return c.attribute(2) != 0; }
  static constexpr value solve(const call& c, value b, bool other_way) { return triangular_solve(c[0], b, lower(c), transposed(c) != other_way, unit_diagonal(c)); }
  static constexpr value read(const call& c, value a) { return triangle(a, lower(c), unit_diagonal(c) ? 0 : 1); }
  static constexpr void elements(element_call& e) {
    each_matrix<2>(e, [&](element_matrix (&m)[2]) {
      element_arithmetic{e.b, e.c.type}.solve_triangular(m[0], m[1], lower(e.c), transposed(e.c), unit_diagonal(e.c));
      for (const value& v : m[1].parts) e.parts.push_back(v);
    });
  }
};

/// The factors of P a = L U with the greatest pivot of each column, [..., n + 1, n]: U, below its diagonal L, whose own is 1, and in the
/// last row the pivots: the row with which row k was exchanged at step k. It has no derivative: lu_solve, which uses it, has.
struct lu_p : of_matrices {
  static constexpr std::string_view name = "lu";
  static constexpr void infer(call& c) {
    of_matrices::infer(c);
    extent& rows = c.dims[c.dims.rank - 2];
    rows = c.b->symbols.combine(symbol::sum, rows, 1);
  }
  static constexpr value jvp(const call&, const value*) { return {}; }
  static constexpr value vjp(const call&, int, value) { return {}; }
  static constexpr void elements(element_call& e) {
    each_matrix<1>(e, [&](element_matrix (&m)[1]) {
      const element_arithmetic x{e.b, e.c.type};
      element_matrix& a = m[0];
      const extent n = a.rows;
      sequence<value> pivots;
      for (extent k = 0; k < n; ++k) {
        value greatest = abs(x.filled(a(k, k))), pivot = x.number(double(k));
        for (extent i = k + 1; i < n; ++i) {
          if (!a(i, k)) continue;
          const value own = abs(a(i, k)), greater = x.greater(own, greatest);
          greatest = x.chosen(greater, own, greatest), pivot = x.chosen(greater, x.number(double(i)), pivot);
        }
        for (extent i = k + 1; i < n; ++i)
          if (a(i, k)) x.exchange_rows(a, i, k, same_row(x, pivot, i));
        value divisor = x.filled(a(k, k));  // of zeros, if it is 0
        if (k + 1 < n) divisor = x.chosen(x.zero(divisor), x.number(1), divisor);
        for (extent i = k + 1; i < n; ++i) {
          a(i, k) = x.quotient(a(i, k), divisor);
          for (extent j = k + 1; j < n; ++j) a(i, j) = x.minus_product(a(i, j), a(i, k), a(k, j));
        }
        pivots.push_back(pivot);
      }
      for (const value& v : a.parts) e.parts.push_back(v);
      for (const value& v : pivots) e.parts.push_back(v);
    });
  }
  static constexpr value same_row(const element_arithmetic& x, value pivot, extent i) {
    value row = x.number(double(i));
    match_ranks(pivot, row);
    return eq(pivot, row);
  }
};

/// x of a x = b or aᵀ x = b: a [..., n, n], its factors by lu [..., n + 1, n], b [..., n, m]. Attribute: whether aᵀ. The derivatives are
/// those of the solution of a x = b, by the same factors.
struct lu_solve_p : solution<lu_solve_p> {
  static constexpr std::string_view name = "lu_solve";
  static constexpr bool transposed(const call& c) { return c.attribute(0) != 0; }
  static constexpr value solve(const call& c, value b, bool other_way) { return lu_solve(c[0], c[1], b, transposed(c) != other_way); }
  static constexpr value read(const call&, value a) { return a; }
  static constexpr value vjp(const call& c, int k, value g) { return k == 1 ? value{} : solution::vjp(c, k, g); }
  static constexpr void elements(element_call& e) {
    each_matrix<3>(e, [&](element_matrix (&m)[3]) {
      const element_arithmetic arithmetic{e.b, e.c.type};
      element_matrix &factors = m[1], &x = m[2];
      const extent n = x.rows;
      const auto exchange = [&](extent k) {
        for (extent i = k + 1; i < n; ++i) arithmetic.exchange_rows(x, i, k, lu_p::same_row(arithmetic, arithmetic.filled(factors(n, k)), i));
      };
      if (!transposed(e.c)) {
        for (extent k = 0; k < n; ++k) exchange(k);
        arithmetic.solve_triangular(factors, x, true, false, true);
        arithmetic.solve_triangular(factors, x, false, false, false);
      } else {
        arithmetic.solve_triangular(factors, x, false, true, false);
        arithmetic.solve_triangular(factors, x, true, true, true);
        for (extent k = n; k-- > 0;) exchange(k);
      }
      for (const value& v : x.parts) e.parts.push_back(v);
    });
  }
};

constexpr value cholesky(value a) { return emit<cholesky_p>({a}); }
constexpr value cholesky_pullback(value l, value g) { return emit<cholesky_pullback_p>({l, g}); }
constexpr value triangular_solve(value a, value b, bool lower, bool transposed, bool unit_diagonal) {
  return emit<triangular_solve_p>({a, b}, {lower, transposed, unit_diagonal});
}
constexpr value lu(value a) { return emit<lu_p>({a}); }
constexpr value lu_solve(value a, value factors, value b, bool transposed) { return emit<lu_solve_p>({a, factors, b}, {transposed}); }

}  // namespace cotangent

#endif
