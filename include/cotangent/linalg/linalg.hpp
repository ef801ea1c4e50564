#pragma once
/// Linear algebra, in the names and conventions of jax.numpy.linalg and jax.scipy.linalg: the last two axes are those of matrices, the
/// others batch axes, which broadcast. Integers and bool are converted to floating point. Under vmap, small systems (up to 8x8 or so)
/// are solved inside the fused kernel, one instance per lane; larger matrices by Eigen, side by side on threads.

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
  const bool square = n >= 2 && a.b->symbols.unify(a.dims()[n - 2], a.dims()[n - 1]);
  if (!square) a.b->fail(message{} << who << ": square matrices [..., n, n] are needed, got " << a.dims());
  return square;
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
  if (b.rank() < 2 || !a.b->symbols.unify(a.dims()[a.rank() - 1], b.dims()[b.rank() - 2])) {
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
    return solve_general(a, broadcast_to(standard_basis(*a.b, a.type(), {a.dims()[a.rank() - 1]}), a.dims()));
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
/// The inverses of matrices [..., n, n]; `solve` is faster and more accurate where one is only multiplied. JAX: jnp.linalg.inv.
template <tensor A> constexpr auto inv(const A& a) { return apply<functions::inv{}>(a); }
/// The 2-norm of vectors along an axis, or of all elements (of a matrix: Frobenius). Its derivative at 0 is NaN. JAX: jnp.linalg.norm.
template <tensor X, class... Tags> constexpr auto norm(const X& x, Tags... tags) { return sqrt(sum(x * x, tags...)); }

}  // namespace cotangent::linalg
