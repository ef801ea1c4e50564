#pragma once
/// log, log2, log10, log1p.
///
/// x = m 2^e with m in [0.75, 1.5), then log x = e log 2 + log m. In double log m follows fdlibm's e_log.c (Sun
/// Microsystems, 1993): with f = m - 1 and s = f / (2 + f), log(1 + f) = f - (f^2/2 - s (f^2/2 + R(s^2))). In float
/// log m is a polynomial in f. Coefficients are minimax fits for this interval.

#include <cotangent/backends/cpu/maths/exponential.hpp>

namespace cotangent {
inline namespace COTANGENT_ISA {

/// log(1 + f) - f for f in [-0.25, 0.5).
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> log1p_tail(pack<T, N> f) {
  using V = pack<T, N>;
  if constexpr (std::is_same_v<T, float>) {
    return f * f * polynomial(f, -5.e-01f, 3.333345e-01f, -2.50001e-01f, 1.9990815e-01f, -1.6647045e-01f, 1.4478473e-01f, -1.31637e-01f,
                              1.0467842e-01f, -4.51028e-02f);
  } else {
    const V s = f / (f + T(2)), z = s * s, h = f * f * V(T(0.5));
    const V r = polynomial(z, 0.6666666666667272, 0.3999999999615404, 0.285714293966608, 0.222221383893186, 0.1818636068647379,
                           0.1525009564728218, 0.15368918953084987);
    return fma(s, fma(z, r, h), -h);
  }
}

/// e log 2 + log(1 + f)
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> log_of(pack<T, N> f, pack<T, N> e) {
  const pack<T, N> sum = multiply_add(e, ln2_high<T>, f);
  if constexpr (std::is_same_v<T, float>)
    return fma(f * f,
               polynomial(f, -5.e-01f, 3.333345e-01f, -2.50001e-01f, 1.9990815e-01f, -1.6647045e-01f, 1.4478473e-01f, -1.31637e-01f,
                          1.0467842e-01f, -4.51028e-02f),
               sum);
  else return sum + log1p_tail(f);
}

/// At most 1 ULP. log(0) = -inf, NaN below 0. jnp.log.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> log(pack<T, N> x) {
  const auto [m, e] = take_apart(x);
  return log_of(m - T(1), e);
}

/// At most 1.5 ULP, exact for powers of two. log2(0) = -inf, NaN below 0. jnp.log2.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> log2(pack<T, N> x) {
  using V = pack<T, N>;
  constexpr T low = std::is_same_v<T, float> ? T(0x1.4ae0c0p-26) : T(0x1.777d0ffda0d24p-56);
  const auto [m, e] = take_apart(x);
  const V f = m - T(1);
  return multiply_add(f, log2_e<T>, e) + multiply_add(log1p_tail(f), log2_e<T>, f * V(low));
}

/// At most 2 ULP. log10(0) = -inf, NaN below 0. jnp.log10.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> log10(pack<T, N> x) {
  using V = pack<T, N>;
  constexpr bool single = std::is_same_v<T, float>;
  constexpr T log10_e = T(0x1.bcb7b1526e50ep-2), log10_e_low = single ? T(-0x1.5b235ep-27) : T(0x1.95355baaafad3p-57);
  // log10 2 in two parts; the first times an exponent is exact.
  constexpr T high = single ? T(0x1.344p-2) : T(0x1.34413509f6p-2), low = single ? T(0x1.3509f8p-18) : T(0x1.9fef311f12b36p-42);
  const auto [m, e] = take_apart(x);
  const V f = m - T(1);
  const V sum = multiply_add(f, log10_e, e * V(high)), rest = multiply_add(f, log10_e_low, e * V(low));
  return sum + multiply_add(log1p_tail(f), log10_e, rest);
}

/// log(1 + x). At most 2 ULP; x itself where |x| is tiny. log1p(-1) = -inf, NaN below. jnp.log1p.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> log1p(pack<T, N> x) {
  using V = pack<T, N>;
  const V u = x + T(1), back = u - T(1);
  const V lost = (x - back) + (T(1) - (u - back));
  const auto [m, e] = take_apart(u);
  // u + lost = 2^e (1 + f); where e is large, lost no longer counts.
  const V f = fma(lost, power_of_two(-lesser(V(T(100)), e)), m - T(1));
  const V r = select(is_finite(e), log_of(f, e), select(m == m, e, m));
  return select(abs(x) < V(std::numeric_limits<T>::epsilon() / 4), x, r);
}

}  // namespace COTANGENT_ISA
}  // namespace cotangent
