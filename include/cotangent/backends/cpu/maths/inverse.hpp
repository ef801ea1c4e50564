#pragma once
/// asin, acos, atan, atan2: reductions as in fdlibm (Sun Microsystems, 1993), minimax polynomials of this library.

#include <cotangent/backends/cpu/maths/parts.hpp>

namespace cotangent {
inline namespace COTANGENT_ISA {

/// pi / 2 in two parts.
template <class T> inline constexpr T half_pi = T(0x1.921fb54442d18p+0);
template <class T> inline constexpr T half_pi_low = std::is_same_v<T, float> ? T(-0x1.777a5cp-25) : T(0x1.1a62633145c07p-54);

/// (asin(x) - x) / x^3 in terms of z = x^2 <= 1/4.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> asin_tail(pack<T, N> z) {
  if constexpr (std::is_same_v<T, float>)
    return polynomial(z, 1.6666752e-01f, 7.4953094e-02f, 4.546916e-02f, 2.418466e-02f, 4.215862e-02f);
  else
    return polynomial(z, 0.16666666666665408, 0.0750000000033714, 0.04464285682821929, 0.030381959141684328, 0.022371757932293165,
                      0.017359706616169517, 0.013885216506361084, 0.012169340208308994, 0.006527402269116527, 0.01952987837857445,
                      -0.016226853138162182, 0.03191409830340728);
}

/// Measured: 1.66 ULP (float), 1.67 (double). x itself where |x| is tiny, NaN beyond 1. jnp.arcsin.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> asin(pack<T, N> x) {
  using V = pack<T, N>;
  // |x| > 1/2: asin |x| = pi/2 - 2 asin(sqrt((1 - |x|) / 2)).
  const V a = abs(x);
  const auto large = a > V(T(0.5));
  const V z = select(large, (T(1) - a) * V(T(0.5)), a * a), s = select(large, sqrt(z), a);
  const V t = s + fma(s * z, asin_tail(z), select(large, V(-half_pi_low<T> / 2), V(T(0))));
  return copysign(select(large, multiply_subtract(t, T(2), half_pi<T>), t), x);
}

/// Measured: 1.17 ULP. NaN beyond 1. jnp.arccos.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> acos(pack<T, N> x) {
  using V = pack<T, N>;
  // With t = asin(x), or asin(sqrt((1 - |x|) / 2)) beyond 1/2: pi/2 - t; 2t for positive x, and 2 (pi/2 - t) for negative.
  const V a = abs(x);
  const auto large = a > V(T(0.5)), positive = x > V(T(0.5));
  const V z = select(large, (T(1) - a) * V(T(0.5)), a * a), s = select(large, sqrt(z), x);
  const V t = s + fma(s * z, asin_tail(z), select(positive, V(T(0)), V(-half_pi_low<T>)));
  const V r = select(positive, t, half_pi<T> - t);
  return select(large, r + r, r);
}

/// (atan(t) - t) / t^3 in terms of z = t^2, for |t| <= tan(pi/8).
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> atan_tail(pack<T, N> z) {
  if constexpr (std::is_same_v<T, float>)
    return polynomial(z, -3.3333316e-01f, 1.9998527e-01f, -1.4244346e-01f, 1.05987564e-01f, -6.088852e-02f);
  else
    return polynomial(z, -0.3333333333333319, 0.19999999999952306, -0.14285714280076794, 0.11111110777865597, -0.09090897606394246,
                      0.07692057666649305, -0.06663076473509603, 0.05847697328384076, -0.05038473509107058, 0.038044194644022956,
                      -0.01788563395885261);
}

/// tan(pi / 8) and its inverse.
template <class T> inline constexpr T tan_pi_8 = T(0.41421356237309503);
template <class T> inline constexpr T cot_pi_8 = T(2.4142135623730949);

/// Measured: 1.67 ULP. x itself where |x| is tiny. jnp.arctan.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> atan(pack<T, N> x) {
  using V = pack<T, N>;
  // atan |x| is atan |x|, pi/4 + atan((|x| - 1) / (|x| + 1)), or pi/2 - atan(1 / |x|), of arguments up to tan(pi/8).
  const V a = abs(x);
  const auto small = a < V(tan_pi_8<T>), large = a > V(cot_pi_8<T>);
  const V numerator = select(small, a, select(large, V(T(-1)), a - T(1))), denominator = select(small, V(T(1)), select(large, a, a + T(1)));
  const V t = numerator / denominator, z = t * t;
  const V base = select(small, V(T(0)), select(large, V(half_pi<T>), V(half_pi<T> / 2)));
  const V base_low = select(small, V(T(0)), select(large, V(half_pi_low<T>), V(half_pi_low<T> / 2)));
  return copysign(base + (t + fma(t * z, atan_tail(z), base_low)), x);
}

/// atan2(y, x): the angle of the point (x, y), in [-pi, pi]. Measured: 1.57 ULP; zeros, infinities and signs as in C.
/// jnp.arctan2.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> atan2(pack<T, N> y, pack<T, N> x) {
  using V = pack<T, N>;
  using I = integer_like<T>;
  constexpr T three = T(0x1.2d97c7f3321d2p+1);  // 3 pi / 4
  constexpr T three_low = std::is_same_v<T, float> ? T(-0x1.99bc5c0000000p-28) : T(0x1.a79394c9e8a0ap-54);
  V a = abs(y), b = abs(x);
  const auto infinite = (a == V(infinity_of<T>)) & (b == V(infinity_of<T>));
  a = select(infinite, V(T(1)), a);
  b = select(infinite, V(T(1)), b);
  // a + b must not overflow.
  constexpr T huge = std::is_same_v<T, float> ? T(0x1p126) : T(0x1p1022);
  const V factor = select((a > V(huge)) | (b > V(huge)), V(T(0.25)), V(T(1)));
  a = a * factor;
  b = b * factor;
  // The angle is base + atan(t) with |t| <= tan(pi/8), and t negated on the left half-plane.
  const auto small = a <= b * V(tan_pi_8<T>), large = a > b * V(cot_pi_8<T>), left = sign_of(x) != pack<I, N>(I(0));
  const V numerator = select(small, a, select(large, -b, a - b)), denominator = select(small, b, select(large, a, a + b));
  const V t = flip_sign(numerator / select(denominator == V(T(0)), V(T(1)), denominator), sign_of(x)), z = t * t;
  const V base = select(large, V(half_pi<T>), select(left, select(small, V(2 * half_pi<T>), V(three)), select(small, V(T(0)), V(half_pi<T> / 2))));
  const V base_low = select(large, V(half_pi_low<T>), select(left, select(small, V(2 * half_pi_low<T>), V(three_low)), select(small, V(T(0)), V(half_pi_low<T> / 2))));
  return copysign(base + (t + fma(t * z, atan_tail(z), base_low)), y);
}

}  // namespace COTANGENT_ISA
}  // namespace cotangent
