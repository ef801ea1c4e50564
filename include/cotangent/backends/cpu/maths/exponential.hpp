#pragma once
/// exp, exp2, exp10, expm1, logistic, sinh, cosh, tanh.
///
/// x = k ln 2 + r with an integer k and |r| <= ln 2 / 2, then e^x = 2^k e^r (Cody and Waite, Software Manual for the
/// Elementary Functions, 1980). Coefficients are minimax fits made for these functions.

#include <cotangent/backends/cpu/maths/parts.hpp>

namespace cotangent {
inline namespace COTANGENT_ISA {

/// (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2; relative error of r + r^2 p below 2^-56 in double, 2^-26 in float.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> exp_tail(pack<T, N> r) {
  if constexpr (std::is_same_v<T, float>)
    return polynomial(r, 5.e-01f, 1.6666543e-01f, 4.1666433e-02f, 8.366555e-03f, 1.3937819e-03f);
  else
    return polynomial(r, 0.5000000000000006, 0.16666666666666685, 0.04166666666657335, 0.008333333333315112, 0.0013888888932513796,
                      0.00019841269901931815, 2.4801504247574236e-05, 2.755722891187623e-06, 2.762641622943455e-07, 2.51141771484149e-08);
}

/// e^r for |r| <= ln 2 / 2.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> exp_near_zero(pack<T, N> r) {
  return multiply_add(r, multiply_add(r, exp_tail(r), T(1)), T(1));
}

/// The nearest integer to x * factor.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> nearest_multiple(pack<T, N> x, std::type_identity_t<T> factor) {
  return multiply_add(x, factor, to_integer_bits<T>) - pack<T, N>(to_integer_bits<T>);
}

template <class T> inline constexpr T log2_e = T(0x1.71547652b82fep+0);
/// ln 2 in two parts.
template <class T> inline constexpr T ln2_high = T(0x1.62e42fefa39efp-1);
template <class T> inline constexpr T ln2_low = std::is_same_v<T, float> ? T(-0x1.05c610p-29) : T(0x1.abc9e3b39803fp-56);

/// e^x where it neither overflows nor is subnormal, and for NaN.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> exp_in_range(pack<T, N> x) {
  const pack<T, N> k = nearest_multiple(x, log2_e<T>);
  const pack<T, N> r = multiply_subtract(k, ln2_low<T>, multiply_subtract(k, ln2_high<T>, x));
  return exp_near_zero(r) * power_of_two(k);
}

/// e^x. Measured: 0.89 ULP. exp(-inf) = 0, exp(inf) = inf, results may be subnormal. jnp.exp.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> exp(pack<T, N> x) {
  using V = pack<T, N>;
  constexpr bool single = std::is_same_v<T, float>;
  const V y = lesser(V(single ? T(90) : T(720)), x);
  const V k = nearest_multiple(y, log2_e<T>);
  const V r = multiply_subtract(k, ln2_low<T>, multiply_subtract(k, ln2_high<T>, y));
  return scale_down(exp_near_zero(r), k, x, single ? T(-87) : T(-708), single ? T(-104) : T(-746));
}

/// 2^x. Measured: 0.98 ULP; exact for integers. jnp.exp2.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> exp2(pack<T, N> x) {
  using V = pack<T, N>;
  constexpr bool single = std::is_same_v<T, float>;
  const V y = lesser(V(single ? T(130) : T(1030)), x);
  const V k = nearest_multiple(y, T(1));
  return scale_down(exp_near_zero((y - k) * V(ln2_high<T>)), k, x, single ? T(-126) : T(-1022), single ? T(-151) : T(-1076));
}

/// log10(2) in two parts.
template <class T> inline constexpr T log10_2 = T(0x1.34413509f79ffp-2);
template <class T> inline constexpr T log10_2_low = std::is_same_v<T, float> ? T(-0x1.ec10cp-27) : T(-0x1.9dc1da994fd21p-59);

/// 10^x. Measured: 1.10 ULP (float), 1.21 (double). Results may be subnormal. C23's exp10.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> exp10(pack<T, N> x) {
  using V = pack<T, N>;
  constexpr bool single = std::is_same_v<T, float>;
  const V y = lesser(V(single ? T(39) : T(310)), x);
  const V k = nearest_multiple(y, T(3.321928094887362));
  const V r = multiply_subtract(k, log10_2_low<T>, multiply_subtract(k, log10_2<T>, y));
  return scale_down(exp_near_zero(r * V(T(2.302585092994046))), k, x, single ? T(-37.9) : T(-307.6), single ? T(-46) : T(-325));
}

/// e^x - 1. Measured: 1.67 ULP (float), 1.68 (double). x itself where |x| is tiny, -1 at -inf. jnp.expm1.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> expm1(pack<T, N> x) {
  using V = pack<T, N>;
  constexpr T low = std::is_same_v<T, float> ? T(-20) : T(-40), high = std::is_same_v<T, float> ? T(89) : T(710);
  const V y = greater(V(low), lesser(V(high), x));
  const V k = nearest_multiple(y, log2_e<T>);
  const V unrounded = multiply_subtract(k, ln2_high<T>, y);
  const V r = multiply_subtract(k, ln2_low<T>, unrounded);
  const V lost = multiply_subtract(k, ln2_low<T>, unrounded - r);
  const V q = r + fma(r * r, exp_tail(r), lost);
  // Twice half of 2^k (q + 1) - 1, for 2^k overflows before the result does.
  const V half = power_of_two(k - T(1));
  const V scaled = fma(half, q, half - T(0.5)) * V(T(2));
  return copysign(select(k == V(T(0)), q, scaled), x);
}

/// 1 / (1 + e^-x). Measured: 1.41 ULP, subnormal results included. jax.nn.sigmoid.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> logistic(pack<T, N> x) {
  using V = pack<T, N>;
  const V e = exp(-abs(x)), d = e + T(1);
  return divide(select(x < V(T(0)), e, V(T(1))), d, e - (d - T(1)));
}

/// e^|x| / 2. It overflows where cosh(x) does.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> half_exp_of_magnitude(pack<T, N> x) {
  using V = pack<T, N>;
  const V a = lesser(V(std::is_same_v<T, float> ? T(90) : T(720)), abs(x)), k = nearest_multiple(a, log2_e<T>);
  return scale(exp_near_zero(multiply_subtract(k, ln2_low<T>, multiply_subtract(k, ln2_high<T>, a))), k - T(1));
}

/// Measured: 1.62 ULP (float), 1.63 (double). x itself where |x| is tiny. jnp.sinh.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> sinh(pack<T, N> x) {
  using V = pack<T, N>;
  const V h = half_exp_of_magnitude(x), a = abs(x), z = x * x;
  V p;
  if constexpr (std::is_same_v<T, float>) p = polynomial(z, 1.6666667e-01f, 8.3333105e-03f, 1.9842896e-04f, 2.7822207e-06f);
  else
    p = polynomial(z, 0.16666666666666669, 0.008333333333332912, 0.00019841269841593524, 2.7557319106650954e-06, 2.5052131030624592e-08,
                   1.605665527390995e-10, 7.776766069017219e-13);
  return copysign(select(a < V(T(1)), fma(a * z, p, a), h - V(T(0.25)) / h), x);
}

/// Measured: 1.28 ULP. jnp.cosh.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> cosh(pack<T, N> x) {
  using V = pack<T, N>;
  const V h = half_exp_of_magnitude(x);
  return h + V(T(0.25)) / h;
}

/// Measured: 1.97 ULP (float), 1.48 (double). x itself where |x| is tiny, 1 in magnitude beyond 9.01 (float) and 19.06 (double). jnp.tanh.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> tanh(pack<T, N> x) {
  using V = pack<T, N>;
  // tanh |x| = -m / (2 + m) with m = e^(-2|x|) - 1, and e^(-2|x|) = 2^k (q + 1).
  const V y = lesser(V(T(20)), abs(x)) * V(T(-2));
  const V k = nearest_multiple(y, log2_e<T>);
  const V unrounded = multiply_subtract(k, ln2_high<T>, y), r = multiply_subtract(k, ln2_low<T>, unrounded);
  const V tail = exp_tail(r);
  V q;
  if constexpr (std::is_same_v<T, double>) q = r + fma(r * r, tail, multiply_subtract(k, ln2_low<T>, unrounded - r));
  else q = fma(r * r, tail, r);
  const V p = power_of_two(k);
  const V m = fma(p, q, p - T(1)), d = m + T(2), d_low = m - (d - T(2));
  if constexpr (std::is_same_v<T, float>) return copysign(divide(m, d, d_low), x);
  else {
    const V m_low = fma(p, q, (p - T(1)) - m);
    return copysign(divide(m, m_low, d, d_low + m_low), x);
  }
}

}  // namespace COTANGENT_ISA
}  // namespace cotangent
