#pragma once
/// log, log2, log10, log1p.
///
/// x = m 2^e with m in [0.75, 1.5), then log x = e log 2 + log m. In double log m follows fdlibm's e_log.c (Sun
/// Microsystems, 1993): with f = m - 1 and s = f / (2 + f), log(1 + f) = f - (f^2/2 - s (f^2/2 + R(s^2))). In float
/// log m is a polynomial in f. Coefficients are minimax fits for this interval.

#include <cotangent/backends/cpu/maths/exponential.hpp>

namespace cotangent {
inline namespace COTANGENT_ISA {

/// (log(1 + f) - f) / f^2 for f in [-0.25, 0.5).
COTANGENT_LANES template <int N> COTANGENT_INLINE pack<float, N> log1p_polynomial(pack<float, N> f) {
  return polynomial(f, -5.e-01f, 3.333345e-01f, -2.50001e-01f, 1.9990815e-01f, -1.6647045e-01f, 1.4478473e-01f, -1.31637e-01f, 1.0467842e-01f,
                    -4.51028e-02f);
}

/// log(1 + f) - f for f in [-0.25, 0.5).
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> log1p_tail(pack<T, N> f) {
  using V = pack<T, N>;
  if constexpr (std::is_same_v<T, float>) return f * f * log1p_polynomial(f);
  else {
    const V s = f / (f + T(2)), z = s * s, h = f * f * V(T(0.5));
    const V r = polynomial(z, 0.6666666666667272, 0.3999999999615404, 0.285714293966608, 0.222221383893186, 0.1818636068647379,
                           0.1525009564728218, 0.15368918953084987);
    return fma(s, fma(z, r, h), -h);
  }
}
/// The same and `rest`.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> log1p_tail(pack<T, N> f, pack<T, N> rest) {
  if constexpr (std::is_same_v<T, float>) return fma(f * f, log1p_polynomial(f), rest);
  else return log1p_tail(f) + rest;
}

/// e log 2 + log(1 + f)
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> log_of(pack<T, N> f, pack<T, N> e) {
  return log1p_tail(f, multiply_add(e, ln2_high<T>, f));
}

/// Measured: 1.33 ULP (float), 1.62 (double). log(0) = -inf, NaN below 0. jnp.log.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> log(pack<T, N> x) {
  const auto [m, e] = take_apart(x);
  return log_of(m - T(1), e);
}

/// f * high + c + rest, where `rest` takes what the first two lose: high has half the bits of a T, and low the next.
COTANGENT_LANES template <class T, int N>
COTANGENT_INLINE pack<T, N> log_in_base(pack<T, N> f, pack<T, N> c, std::type_identity_t<T> high, std::type_identity_t<T> low, pack<T, N> rest) {
  using I = integer_like<T>;
  const auto upper_half = pack<I, N>(I(-1)) << (mantissa_bits<T> / 2 + 1);
  const pack<T, N> f_high = bit_cast<T>(bit_cast<I>(f) & upper_half);
  rest = multiply_add(f_high, low, multiply_add(f - f_high, high + low, rest));
  return multiply_add(f_high, high, c) + multiply_add(log1p_tail(f), high + low, rest);
}

/// Measured: 1.26 ULP; exact for powers of two. log2(0) = -inf, NaN below 0. jnp.log2.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> log2(pack<T, N> x) {
  constexpr bool single = std::is_same_v<T, float>;
  constexpr T high = single ? T(0x1.714p+0) : T(0x1.715476p+0), low = single ? T(0x1.47652cp-12) : T(0x1.4ae0bf85ddf44p-26);
  const auto [m, e] = take_apart(x);
  return log_in_base(m - T(1), e, high, low, pack<T, N>(T(0)));
}

/// Measured: 1.53 ULP. log10(0) = -inf, NaN below 0. jnp.log10.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> log10(pack<T, N> x) {
  using V = pack<T, N>;
  constexpr bool single = std::is_same_v<T, float>;
  constexpr T high = single ? T(0x1.bcap-2) : T(0x1.bcb7b1p-2), low = single ? T(0x1.7b1526p-14) : T(0x1.49b9438ca9aaep-28);
  // log10 2 in two parts; the first times an exponent is exact.
  constexpr T log10_2 = single ? T(0x1.344p-2) : T(0x1.34413509f6p-2), log10_2_low = single ? T(0x1.3509f8p-18) : T(0x1.9fef311f12b36p-42);
  const auto [m, e] = take_apart(x);
  return log_in_base(m - T(1), e * V(log10_2), high, low, e * V(log10_2_low));
}

/// e log 2 + log(1 + f), for finite e. The second part is up to a quarter of the first.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE two_parts<pack<T, N>> log_in_two_parts(pack<T, N> f, pack<T, N> e) {
  const pack<T, N> high = multiply_add(e, ln2_high<T>, f), lost = f - multiply_subtract(e, ln2_high<T>, high);
  return {high, log1p_tail(f, multiply_add(e, ln2_low<T>, lost))};
}

/// log(1 + x). Measured: 0.92 ULP (float), 0.95 (double). x itself where |x| is tiny. log1p(-1) = -inf, NaN below. jnp.log1p.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> log1p(pack<T, N> x) {
  using V = pack<T, N>;
  const V u = x + T(1), lost = lesser(V(T(1)), x) - (u - greater(V(T(1)), x));
  const auto [m, e] = take_apart(u);
  // u + lost = 2^e (1 + f)
  const auto [high, low] = log_in_two_parts((m - T(1)) + scale(lost, -e), e);
  return copysign(select(is_finite(e), high + low, e), x);
}

/// log(e^x + e^y) without overflow. Measured: 2.1 ULP, but more near its zeros, where the terms cancel. jnp.logaddexp.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> logaddexp(pack<T, N> x, pack<T, N> y) {
  using V = pack<T, N>;
  return greater(x, y) + select(x == y, V(T(0.693147180559945309417)), log1p(exp(-abs(x - y))));
}

}  // namespace COTANGENT_ISA
}  // namespace cotangent
