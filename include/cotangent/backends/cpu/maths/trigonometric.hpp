#pragma once
/// sin, cos, tan.
///
/// The argument is reduced by pi (pi / 2 for tan) in three parts (Cody and Waite); the first subtraction is exact
/// under fma. Lanes beyond the reduction's range, which are rare, go to the C library. Minimax fits.

#include <cotangent/backends/cpu/maths/exponential.hpp>

namespace cotangent {
inline namespace COTANGENT_ISA {

/// pi in three parts.
template <class T> inline constexpr T pi_1 = T(0x1.921fb54442d18p+1);
template <class T> inline constexpr T pi_2 = std::is_same_v<T, float> ? T(-0x1.777a5cp-24) : T(0x1.1a62633145c07p-53);
template <class T> inline constexpr T pi_3 = std::is_same_v<T, float> ? T(-0x1.ee59dap-49) : T(-0x1.f1976b7ed8fb8p-109);
template <class T> inline constexpr T one_over_pi = T(0x1.45f306dc9c883p-2);
/// The largest argument that the three parts serve.
template <class T> inline constexpr T largest_angle = std::is_same_v<T, float> ? T(3e4) : T(1e9);

/// sin(x - k pi) for |x - k pi| <= pi / 2; 2k is an integer.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> sin_less_multiple_of_pi(pack<T, N> x, pack<T, N> k) {
  // The third part is below the last place of r, and is added where it costs no rounding of r.
  const pack<T, N> r = multiply_subtract(k, pi_2<T>, multiply_subtract(k, pi_1<T>, x)), low = k * pack<T, N>(-pi_3<T>), z = r * r;
  pack<T, N> p;
  if constexpr (std::is_same_v<T, float>)
    p = polynomial(z, -1.666666e-01f, 8.333067e-03f, -1.9809545e-04f, 2.605424e-06f);
  else
    p = polynomial(z, -0.16666666666666666, 0.008333333333333207, -0.0001984126984121248, 2.7557319211569342e-06,
                   -2.5052106904383674e-08, 1.605894099833541e-10, -7.643019200685579e-13, 2.7214168944905967e-15);
  return r + fma(r * z, p, low);
}

/// r, and f(x) in the lanes where x is too large to reduce.
template <class T, int N, class F>
#if defined(__GNUC__)
__attribute__((noinline, cold))
#endif
pack<T, N> redo_large_angles(pack<T, N> x, pack<T, N> r, F f) {
  for (int i = 0; i < N; ++i)
    if (std::abs(x[i]) > largest_angle<T>) r.set(i, f(x[i]));
  return r;
}

struct sine_of_element {
  template <class T> COTANGENT_HD T operator()(T x) const { return std::sin(x); }
};
struct cosine_of_element {
  template <class T> COTANGENT_HD T operator()(T x) const { return std::cos(x); }
};
struct tangent_of_element {
  template <class T> COTANGENT_HD T operator()(T x) const { return std::tan(x); }
};

/// Measured: 1.93 ULP (float), 1.76 (double). sin(-0) = -0, NaN at infinities. jnp.sin.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> sin(pack<T, N> x) {
  using V = pack<T, N>;
  using I = integer_like<T>;
  const V a = abs(x), t = multiply_add(a, one_over_pi<T>, to_integer_bits<T>);
  const auto odd = bit_cast<I>(t) << (int(sizeof(T)) * 8 - 1);
  V r = flip_sign(sin_less_multiple_of_pi(a, t - to_integer_bits<T>), odd ^ sign_of(x));
  if (any_greater(a, V(largest_angle<T>))) [[unlikely]] r = redo_large_angles(x, r, sine_of_element());
  return r;
}

/// Measured: 1.94 ULP (float), 1.79 (double). NaN at infinities. jnp.cos.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> cos(pack<T, N> x) {
  using V = pack<T, N>;
  using I = integer_like<T>;
  // |x| = (k + 1/2) pi + r, and cos |x| = -sin r, or sin r where k is odd.
  const V a = abs(x), t = multiply_add(a, one_over_pi<T>, T(-0.5)) + to_integer_bits<T>;
  const auto even = ~(bit_cast<I>(t) << (int(sizeof(T)) * 8 - 1)) & pack<I, N>(sign_bit<T>);
  V r = flip_sign(sin_less_multiple_of_pi(a, (t - to_integer_bits<T>) + T(0.5)), even);
  if (any_greater(a, V(largest_angle<T>))) [[unlikely]] r = redo_large_angles(x, r, cosine_of_element());
  return r;
}

/// Measured: 1.63 ULP (float), 1.68 (double). tan(-0) = -0, NaN at infinities. jnp.tan.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> tan(pack<T, N> x) {
  using V = pack<T, N>;
  using I = integer_like<T>;
  constexpr T half_pi_1 = pi_1<T> / 2, half_pi_2 = pi_2<T> / 2, half_pi_3 = pi_3<T> / 2;
  // |x| = k pi/2 + r + low
  const V a = abs(x), t = multiply_add(a, 2 * one_over_pi<T>, to_integer_bits<T>), k = t - to_integer_bits<T>;
  // The second subtraction with its error (Dekker): near multiples of pi / 2 it cancels.
  const V first = multiply_subtract(k, half_pi_1, a), product = k * V(half_pi_2), second = first - product;
  const V error = (first - second) - product;
  const V rest = multiply_subtract(k, half_pi_3, error - multiply_add(k, half_pi_2, -product));
  const V r = second + rest, low = (second - r) + rest;
  const V z = r * r;
  V p;
  if constexpr (std::is_same_v<T, float>)
    p = polynomial(z, 3.333335e-01f, 1.3332668e-01f, 5.4060243e-02f, 2.1277647e-02f, 1.0852945e-02f, 6.25472e-05f, 4.3917033e-03f);
  else
    p = polynomial(z, 0.3333333333333277, 0.13333333333415573, 0.05396825392621525, 0.021869489619860023, 0.008863219010878186,
                   0.0035922904678922824, 0.0014547494880092402, 0.0005951006083682732, 0.0002222734952045049, 0.00013674565474172836,
                   -2.6697919615920508e-05, 8.974018063446666e-05, -4.503264598148125e-05, 2.0900961659950734e-05);
  const V tangent = r + fma(r * z, p, fma(low, z, low));
  // Where k is odd, tan |x| = -1 / tan(r + low).
  const auto odd = bit_cast<I>(t) << (int(sizeof(T)) * 8 - 1);
  V q = flip_sign(select(odd != pack<I, N>(I(0)), V(T(1)) / tangent, tangent), odd ^ sign_of(x));
  if (any_greater(a, V(largest_angle<T>))) [[unlikely]] q = redo_large_angles(x, q, tangent_of_element());
  return q;
}

}  // namespace COTANGENT_ISA
}  // namespace cotangent
