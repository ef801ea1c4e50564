#pragma once
/// Linear algebra, in the names and conventions of jax.numpy.linalg and jax.scipy.linalg: the last two axes are those of matrices, the
/// others batch axes, which broadcast. Integers and bool are converted to floating point. Under vmap, small systems (up to 8x8 or so)
/// are solved inside the fused kernel, one instance per lane; larger matrices by Eigen, side by side on threads. Decompositions (qr, eigh, svd)
/// run beside kernels.

#include <cotangent/trace/operations.hpp>

namespace cotangent::linalg {

struct lower_tag {};
struct transposed_tag {};
struct unit_diagonal_tag {};
/// Tags of solve_triangular: the lower triangle counts instead of the upper one; aᵀ x = b; the diagonal is 1 and not read.
inline constexpr lower_tag lower{};
inline constexpr transposed_tag transposed{};
inline constexpr unit_diagonal_tag unit_diagonal{};
template <class Tag, class... Tags> inline constexpr bool is_among = (false || ... || std::is_same_v<Tags, Tag>);

namespace functions {

constexpr bool is_square(std::string_view who, value a) {
  const int n = a.rank();
  const bool square = n >= 2 && a.b->symbols.unify(who, a.dims()[n - 2], a.dims()[n - 1]);
  if (!square) a.b->fail(message{} << who << ": square matrices [..., n, n] are needed, got " << a.dims());
  return square;
}
/// One number per matrix.
constexpr value one_each(value x, const shape& of) {
  shape batch = of;
  batch.rank -= 2;
  return reshape(x, batch);
}
/// Whether square matrices are so small that cofactors are best.
constexpr bool has_cofactors(value a) {
  const extent n = a.dims()[a.rank() - 1];
  return n >= 1 && n <= most_cofactors && a.dims()[a.rank() - 2] == n;
}

/// Calls solve(a, b) with matrices b of the batch axes of a, which a vector b becomes, and gives the result the shape it should have.
template <class Solve> constexpr value solved(std::string_view who, value a, value b, const Solve& solve) {
  adopt_pair(a, b);
  a = inexact(a), b = inexact(b);
  const dtype type = promote(a.type(), b.type());
  a = convert(a, type), b = convert(b, type);
  if (!is_square(who, a)) return a;
  const bool vector = b.rank() == 1;
  const value given = b;
  if (vector) b = broadcast_in_dim(b, {b.dims()[0], 1}, {0});
  const int n = a.rank() > b.rank() ? a.rank() - 2 : b.rank() - 2;
  if (b.rank() < 2 || !a.b->symbols.unify(who, a.dims()[a.rank() - 1], b.dims()[b.rank() - 2])) {
    a.b->fail(message{} << who << ": matrices " << a.dims() << " and right-hand sides " << given.dims() << ", which should be [..., n, m] or [n], do not fit");
    return a;
  }
  if (!broadcast_batch(who, a, b, n)) return a;
  const value x = solve(a, b);
  return vector ? reshape(x, erase(x.dims(), x.rank() - 1)) : x;
}

struct cholesky {
  constexpr value operator()(value a) const {
    a = inexact(a);
    return is_square("linalg.cholesky", a) ? cotangent::cholesky(symmetrized(a)) : a;
  }
};
struct solve_triangular {
  bool lower = false, transposed = false, unit_diagonal = false;
  constexpr value operator()(value a, value b) const {
    return solved("linalg.solve_triangular", a, b, [this](value m, value x) { return triangular_solve(m, x, lower, transposed, unit_diagonal); });
  }
};
struct cho_solve {
  constexpr value operator()(value l, value b) const {
    return solved("linalg.cho_solve", l, b, [](value m, value x) {
      return triangular_solve(m, triangular_solve(m, x, true, false, false), true, true, false);
    });
  }
};
constexpr value solve_general(value a, value b) { return lu_solve(a, lu(a), b, false); }
struct solve {
  constexpr value operator()(value a, value b) const { return solved("linalg.solve", a, b, &solve_general); }
};
struct inv {
  constexpr value operator()(value a) const {
    a = inexact(a);
    if (!is_square("linalg.inv", a)) return a;
    if (has_cofactors(a)) return inverse(a);
    return solve_general(a, broadcast_to(standard_basis(*a.b, a.type(), {a.dims()[a.rank() - 1]}), a.dims()));
  }
};

/// Whether matrices [..., m, n] have no fewer rows than columns. If one extent is known at run time only, it is taken as the greater one, and
/// two of them as equal; calls then check that.
enum class proportion { unknown, tall, wide };
constexpr proportion proportion_of(std::string_view who, value a) {
  const int rank = a.rank();
  if (rank < 2) {
    a.b->fail(message{} << who << ": matrices [..., m, n] are needed, got " << a.dims());
    return proportion::unknown;
  }
  const extent m = a.dims()[rank - 2], n = a.dims()[rank - 1];
  symbol_table& symbols = a.b->symbols;
  if (is_symbol(m) && is_symbol(n)) return is_square(who, a) ? proportion::tall : proportion::unknown;
  if (is_symbol(m)) symbols.require_at_least(who, m, n);
  if (is_symbol(n)) symbols.require_at_least(who, n, m);
  return is_symbol(m) || (!is_symbol(n) && m >= n) ? proportion::tall : proportion::wide;
}
/// Columns [first, last) of matrices.
constexpr value some_columns(value a, extent first, extent last) { return piece_along(a, a.rank() - 1, first, last - first); }

struct qr_part {
  bool triangular;
  constexpr value operator()(value a) const {
    a = inexact(a);
    const proportion p = proportion_of("linalg.qr", a);
    if (p == proportion::unknown) return a;
    const extent m = a.dims()[a.rank() - 2], n = a.dims()[a.rank() - 1];
    if (p == proportion::tall) return part_of(cotangent::qr(a), triangular, triangular ? n : m);
    const value square = cotangent::qr(some_columns(a, 0, m)), q = part_of(square, 0, m);
    if (!triangular) return q;
    return concatenate({part_of(square, 1, m), matrix_products(transposed_matrices(q), some_columns(a, m, n))}, a.rank() - 1);
  }
};
struct eigh_part {
  bool vectors;
  constexpr value operator()(value a) const {
    a = inexact(a);
    if (!is_square("linalg.eigh", a)) return a;
    const value all = cotangent::eigh(symmetrized(a));
    if (vectors) return some_rows(all, 1, a.dims()[a.rank() - 1]);
    return reshape(some_rows(all, 0, 1), erase(a.dims(), a.rank() - 2));
  }
};
enum class svd_factor { left, values, right };
struct svd_part {
  svd_factor factor;
  constexpr value operator()(value a) const {
    a = inexact(a);
    const proportion p = proportion_of("linalg.svd", a);
    if (p == proportion::unknown) return a;
    const bool wide = p == proportion::wide;
    if (wide) a = transposed_matrices(a);
    const int rank = a.rank();
    const value parts = cotangent::svd(a);
    if (factor == svd_factor::values) return reshape(part_of(parts, 1, 1), erase(a.dims(), rank - 2));
    const bool left = factor == svd_factor::left;
    const value vectors = left != wide ? part_of(parts, 0, a.dims()[rank - 2]) : part_of(parts, 2, a.dims()[rank - 1]);
    return left ? vectors : transposed_matrices(vectors);
  }
};

struct det {
  static constexpr value by_cofactors(value a) {
    const extent n = a.dims()[a.rank() - 1];
    sequence<value> parts;
    for (extent i = 0; i < n; ++i)
      for (extent j = 0; j < n; ++j) parts.push_back(one_each(some_columns(some_rows(a, i, 1), j, j + 1), a.dims()));
    const element_arithmetic arithmetic{*a.b, a.type()};
    return small_minors<value, element_arithmetic>(arithmetic, &parts[0], n).determinant();
  }
  constexpr value operator()(value a) const {
    a = inexact(a);
    if (!is_square("linalg.det", a)) return a;
    if (has_cofactors(a)) return by_cofactors(a);
    return one_each(determinant(a, lu(a), false), a.dims());
  }
};
struct slogdet_part {
  bool logarithm;
  constexpr value operator()(value a) const {
    a = inexact(a);
    if (!is_square("linalg.slogdet", a)) return a;
    const value factors = lu(a);
    if (logarithm) return one_each(determinant(a, factors, true), a.dims());
    const extent n = a.dims()[a.rank() - 1];
    const value diagonal = diagonal_row(some_rows(factors, 0, n)), pivots = some_rows(factors, n, 1);
    const value stays = eq(pivots, iota(*a.b, a.type(), pivots.dims(), pivots.rank() - 1));
    return reduce_prod(select(stays, sign(diagonal), -sign(diagonal)), {a.rank() - 2, a.rank() - 1});
  }
};

}  // namespace functions

/// The lower triangular L of a = L Lᵀ for symmetric positive definite matrices [..., n, n], of which (a + aᵀ) / 2 is taken; all NaN for
/// a matrix that is not positive definite. JAX: jnp.linalg.cholesky.
template <tensor A> constexpr auto cholesky(const A& a) { return apply<functions::cholesky{}>(a); }
/// x of a x = b for triangular a [..., n, n], of which the other triangle is not read, and b [..., n, m] or [n]. Tags: lower,
/// transposed, unit_diagonal. JAX: jax.scipy.linalg.solve_triangular.
template <class A, class B, class... Tags> requires tensor_pair<A, B>
constexpr auto solve_triangular(const A& a, const B& b, Tags...) {
  return apply_mixed<functions::solve_triangular{is_among<lower_tag, Tags...>, is_among<transposed_tag, Tags...>, is_among<unit_diagonal_tag, Tags...>}>(a, b);
}
/// x of L Lᵀ x = b for what cholesky gives, [..., n, n], and b [..., n, m] or [n]. JAX: jax.scipy.linalg.cho_solve((L, True), b).
template <class L, class B> requires tensor_pair<L, B>
constexpr auto cho_solve(const L& l, const B& b) { return apply_mixed<functions::cho_solve{}>(l, b); }
/// x of a x = b for a [..., n, n] and b [..., n, m] or [n], by LU factors with partial pivoting, which the derivatives use again.
/// Infinities or NaN for a singular a. JAX: jnp.linalg.solve.
template <class A, class B> requires tensor_pair<A, B>
constexpr auto solve(const A& a, const B& b) { return apply_mixed<functions::solve{}>(a, b); }
/// The inverses of matrices [..., n, n], up to 4 x 4 by cofactors; `solve` is more accurate where one is only multiplied, and faster for
/// larger ones. JAX: jnp.linalg.inv.
template <tensor A> constexpr auto inv(const A& a) { return apply<functions::inv{}>(a); }
/// The determinants [...] of matrices [..., n, n]. Up to 4 x 4 they are sums of products; the derivative of larger ones, by LU factors, is their
/// adjugate, which singular matrices have as well. JAX: jnp.linalg.det.
template <tensor A> constexpr auto det(const A& a) { return apply<functions::det{}>(a); }
/// The signs and the logarithms of the absolute values of the determinants of matrices [..., n, n], each [...]; 0 and -inf for singular ones.
/// JAX: jnp.linalg.slogdet.
template <tensor A> constexpr auto slogdet(const A& a) { return std::tuple(apply<functions::slogdet_part{false}>(a), apply<functions::slogdet_part{true}>(a)); }
/// Q [..., m, k] with orthonormal columns and R [..., k, n], upper triangular, of a = Q R for matrices a [..., m, n] and k = min(m, n). R's
/// diagonal is not negative. Derivatives need independent first k columns. Of two extents of which one is known at run time only, that one must be
/// the greater; if both are, they must be equal. JAX: jnp.linalg.qr, which leaves the signs open.
template <tensor A> constexpr auto qr(const A& a) { return std::tuple(apply<functions::qr_part{false}>(a), apply<functions::qr_part{true}>(a)); }
/// The eigenvalues w [..., n], ascending, and eigenvectors v [..., n, n], as columns, of symmetric matrices [..., n, n], of which (a + aᵀ) / 2 is
/// taken. In each vector the element of the greatest magnitude is positive. The derivatives of the vectors divide by differences of the
/// values; those of the values exist where some are equal, too. NaN for matrices that are not finite. JAX: jnp.linalg.eigh.
template <tensor A> constexpr auto eigh(const A& a) { return std::tuple(apply<functions::eigh_part{false}>(a), apply<functions::eigh_part{true}>(a)); }
/// The eigenvalues alone. JAX: jnp.linalg.eigvalsh.
template <tensor A> constexpr auto eigvalsh(const A& a) { return apply<functions::eigh_part{false}>(a); }
/// U [..., m, k], the singular values s [..., k], descending, and Vᵀ [..., k, n] of a = U diag(s) Vᵀ for matrices a [..., m, n] and
/// k = min(m, n). Derivatives of U and V divide by differences of the values' squares; those of the values exist where some are equal, too.
/// NaN for matrices that are not finite. Run-time extents: as for qr. JAX: jnp.linalg.svd(a, full_matrices=False).
template <tensor A> constexpr auto svd(const A& a) {
  using functions::svd_factor, functions::svd_part;
  return std::tuple(apply<svd_part{svd_factor::left}>(a), apply<svd_part{svd_factor::values}>(a), apply<svd_part{svd_factor::right}>(a));
}
/// The singular values alone. JAX: jnp.linalg.svdvals.
template <tensor A> constexpr auto svdvals(const A& a) { return apply<functions::svd_part{functions::svd_factor::values}>(a); }
/// The 2-norm of vectors along an axis, or of all elements (of a matrix: Frobenius). Its derivative at 0 is NaN. JAX: jnp.linalg.norm.
template <tensor X, class... Tags> constexpr auto norm(const X& x, Tags... tags) { return sqrt(sum(apply<unary_function<&squared_modulus>{}>(x), tags...)); }

}  // namespace cotangent::linalg
