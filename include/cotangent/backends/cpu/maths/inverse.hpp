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

/// atan2(y, x): the angle of the point (x, y), in [-pi, pi]. Measured: 1.46 ULP (float), 1.89 (double); zeros, infinities and signs as in C.
/// jnp.arctan2.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> atan2(pack<T, N> y, pack<T, N> x) {
  using V = pack<T, N>;
  using I = integer_like<T>;
  const V a = abs(y), b = abs(x), top = greater(a, b), bottom = lesser(a, b);
  // The angle in the first octant is that of t = bottom / top; 1 for two infinities, 0 for two zeros.
  const V t = select(bottom == V(infinity_of<T>), V(T(1)), bottom / greater(top, V(std::numeric_limits<T>::denorm_min()))), z = t * t;
  V p;
  if constexpr (std::is_same_v<T, float>)
    p = polynomial(z, -3.33333e-01f, 1.999853e-01f, -1.4264041e-01f, 1.0951235e-01f, -8.4011346e-02f, 5.792695e-02f, -3.1156262e-02f,
                   1.0907526e-02f, -1.792955e-03f);
  else
    p = polynomial(z, -0.3333333333333186, 0.1999999999975518, -0.14285714271342492, 0.11111110678961164, -0.09090901239027228,
                   0.07692212971429016, -0.06665860680199438, 0.05877309528011311, -0.05239240148084226, 0.04673971370247, -0.04092688454206358,
                   0.034068695367416836, -0.025827984448175623, 0.016979242897065584, -0.0091854717100722, 0.003856472079629614,
                   -0.0011642562446673701, 0.00022306412820942713, -2.026289407867466e-05);
  // From there to the second octant by pi/2 - t, and to the left half-plane by pi - t.
  const auto steep = a > b, left = sign_of(x) != pack<I, N>(I(0));
  const V base = select(steep, V(half_pi<T>), select(left, V(2 * half_pi<T>), V(T(0))));
  const V base_low = select(steep, V(half_pi_low<T>), select(left, V(2 * half_pi_low<T>), V(T(0))));
  const auto sign = select(steep, pack<I, N>(sign_bit<T>), pack<I, N>(I(0))) ^ sign_of(x);
  const V s = flip_sign(t, sign), sum = base + s, r = sum + ((s - (sum - base)) + fma(s * z, p, base_low));
  return copysign(select(is_nan(x) | is_nan(y), V(nan_of<T>), r), y);
}

}  // namespace COTANGENT_ISA
}  // namespace cotangent
