#pragma once
/// Functions of matrices made of factorizations and products: powers, pseudoinverses, least squares, the exponential.

#include <cotangent/control/scan.hpp>
#include <cotangent/linalg/linalg.hpp>
#include <cotangent/numpy/shapes.hpp>
#include <cotangent/numpy/statistics.hpp>
#include <cotangent/transforms/custom.hpp>

namespace cotangent::linalg {

/// The N-th power of matrices [..., n, n]; of a negative N that of the inverse. JAX: jnp.linalg.matrix_power.
template <int N, tensor A> constexpr auto matrix_power(const A& a) {
  return composed([](auto x) {
    const auto power = [](auto base, auto self, auto n) {
      constexpr int k = decltype(n)::value;
      if constexpr (k == 1) return base;
      else {
        const auto half = self(matmul(base, base), self, std::integral_constant<int, k / 2>());
        if constexpr (k % 2 == 0) return half;
        else return matmul(base, half);
      }
    };
    constexpr int n = N < 0 ? -N : N;
    if constexpr (N == 0) return eye_like(x);
    else if constexpr (N < 0) return power(inv(x), power, std::integral_constant<int, n>());
    else return power(x, power, std::integral_constant<int, n>());
  }, a);
}

/// The rounding unit of x's dtype times the larger extent of its matrices, which singular values are compared with.
template <class X> constexpr double rank_tolerance() {
  constexpr shape dims = X::type_shape();
  constexpr extent m = dims[dims.rank - 2], n = dims[dims.rank - 1];
  static_assert(m != dyn && n != dyn, "linalg: the extents of the matrices must be known");
  return double(std::max(m, n)) * (dtype_of<typename X::value_type> == dtype::float64 ? 0x1p-52 : 0x1p-23);
}
struct pseudoinverse {
  constexpr auto operator()(auto x) const {
    const auto a = 1.0 * x;
    const auto [u, s, vt] = svd(a);
    const auto least = (10 * rank_tolerance<decltype(a)>()) * max(s, axis<-1>, keepdims);
    const auto inverse = where(s > least, 1 / where(s > least, s, 1), 0);
    return matmul(matrix_transpose(vt) * expand_dims<-2>(inverse), matrix_transpose(u));
  }
};
/// Golub and Pereyra, 1973: where the rank does not change the derivative needs no singular vectors.
struct pseudoinverse_rule {
  constexpr auto operator()(auto primals, auto tangents) const {
    const auto a = 1.0 * std::get<0>(primals);
    const auto t = 1.0 * std::get<0>(tangents);
    const auto p = pseudoinverse()(a);
    const auto pt = matrix_transpose(p);
    const auto tt = matrix_transpose(t);
    const auto through = matmul(p, matmul(t, p));
    const auto left = matmul(matmul(p, pt), tt);
    const auto right = matmul(tt, matmul(pt, p));
    return std::tuple(p, (left - matmul(left, matmul(a, p))) + (right - matmul(p, matmul(a, right))) - through);
  }
};
/// The pseudoinverses [..., n, m] of matrices [..., m, n] of known extents; singular values below 10 max(m, n) rounding units of the greatest
/// count as 0. JAX: jnp.linalg.pinv.
template <tensor A> constexpr auto pinv(const A& a) {
  return composed([](auto x) { return custom_jvp(pseudoinverse(), pseudoinverse_rule())(x); }, a);
}
/// The x of least norm [n] or [n, k] that minimizes |a x - b| for a [m, n] and b [m] or [m, k]: the first result of jnp.linalg.lstsq.
template <tensor A, tensor B> constexpr auto lstsq(const A& a, const B& b) { return matmul(pinv(a), b); }
/// How many singular values of matrices [..., m, n] are greater than max(m, n) rounding units of the greatest (int32). JAX: jnp.linalg.matrix_rank.
template <tensor A> constexpr auto matrix_rank(const A& a) {
  return composed([](auto x) {
    const auto s = svdvals(1.0 * x);
    return sum(astype<std::int32_t>(s > rank_tolerance<decltype(1.0 * x)>() * max(s, axis<-1>, keepdims)), axis<-1>);
  }, a);
}
/// The greatest singular value over the smallest. JAX: jnp.linalg.cond.
template <tensor A> constexpr auto cond(const A& a) {
  return composed([](auto x) {
    const auto s = svdvals(1.0 * x);
    return max(s, axis<-1>) / min(s, axis<-1>);
  }, a);
}

/// The exponentials of matrices [..., n, n], by the [13/13] Padé approximant and at most 16 squarings (Higham, 2005).
/// JAX: jax.scipy.linalg.expm.
template <tensor A> constexpr auto expm(const A& a) {
  return composed([](auto given) {
    constexpr double b[] = {64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600, 670442572800,
                            33522128640, 1323241920, 40840800, 960960, 16380, 182, 1};
    constexpr double exact_below = 5.371920351148152;
    const auto x = 1.0 * given, one = eye_like(x);
    const auto size = stop_gradient(max(sum(abs(x), axis<-2>), axis<-1>));
    const auto squarings = clip(ceil(log2(size / exact_below)), 0, 16);
    const auto times = expand_dims<-1>(expand_dims<-1>(squarings));
    const auto y = x * exp2(-times);
    const auto y2 = matmul(y, y), y4 = matmul(y2, y2), y6 = matmul(y2, y4);
    const auto odd = matmul(y, matmul(y6, b[13] * y6 + b[11] * y4 + b[9] * y2) + b[7] * y6 + b[5] * y4 + b[3] * y2 + b[1] * one);
    const auto even = matmul(y6, b[12] * y6 + b[10] * y4 + b[8] * y2) + b[6] * y6 + b[4] * y4 + b[2] * y2 + b[0] * one;
    return fori_loop<0, 16>([times](auto i, auto r) { return where(i < times, matmul(r, r), r); }, solve(even - odd, even + odd));
  }, a);
}

}  // namespace cotangent::linalg
