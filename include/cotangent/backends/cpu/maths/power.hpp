#pragma once
/// pow, cbrt, rsqrt, hypot.

#include <cotangent/backends/cpu/maths/logarithm.hpp>

namespace cotangent {
inline namespace COTANGENT_ISA {

/// 1 / sqrt(x). Measured: 1.48 ULP. inf at 0, -inf at -0, NaN below. lax.rsqrt.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> rsqrt(pack<T, N> x) { return pack<T, N>(T(1)) / sqrt(x); }

/// The cube root, of negative x too. Measured: 0.73 ULP. jnp.cbrt.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> cbrt(pack<T, N> x) {
  using V = pack<T, N>;
  const auto [m, e] = take_apart(abs(x));
  // |x| = v 2^(3 third), v = m 2^d, with d of -1, 0, 1
  const V third = nearest_multiple(e, T(1) / T(3)), d = multiply_subtract(third, T(3), e);
  const auto up = d > V(T(0)), down = d < V(T(0));
  const V v = m * select(up, V(T(2)), select(down, V(T(0.5)), V(T(1))));
  // y approaches v^(-1/3): a minimax fit, in double the cubically convergent step y (1 + h/3 + 2h^2/9), h = 1 - v y^3.
  V y;
  if constexpr (std::is_same_v<T, float>) y = polynomial(m, 1.9603078f, -2.2981830f, 2.4337080f, -1.5598018f, 0.54290223f, -0.078935f);
  else y = polynomial(m, 1.6970639841375021, -1.188628181593822, 0.621747128172957, -0.1302794989883253);
  y = y * select(up, V(T(0.7937005259840998)), select(down, V(T(1.2599210498948732)), V(T(1))));
  if constexpr (std::is_same_v<T, double>) {
    const V h = fnma(v * y, y * y, V(1.));
    y = fma(y * h, polynomial(h, 1 / 3., 2 / 9.), y);
  }
  // One Newton step on the root itself, c = v y^2.
  const V c = v * y * y;
  const V root = fma(fnma(c, c * c, v), y * y * V(T(1) / T(3)), c);
  // The exponent of 0, inf and NaN is not finite.
  return select(is_finite(e), copysign(root * power_of_two(third), x), x);
}

/// sqrt(x^2 + y^2) without overflow. Measured: 1.18 ULP. inf where one is infinite, even with NaN. jnp.hypot.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> hypot(pack<T, N> x, pack<T, N> y) {
  using V = pack<T, N>;
  constexpr T large = std::is_same_v<T, float> ? T(0x1p60) : T(0x1p500), small = T(1) / large, factor = std::is_same_v<T, float> ? T(0x1p90) : T(0x1p600), inverse = T(1) / factor;
  const V a = abs(x), b = abs(y), top = greater(a, b);
  const V up = select(top > V(large), V(inverse), select(top < V(small), V(factor), V(T(1))));
  const V down = select(top > V(large), V(factor), select(top < V(small), V(inverse), V(T(1))));
  const V c = a * up, d = b * up, r = sqrt(fma(c, c, d * d)) * down;
  return select((a == V(infinity_of<T>)) | (b == V(infinity_of<T>)), V(infinity_of<T>), r);
}

/// Signs and exceptions of x^y, given |x|^y for the ordinary arguments (C11 F.10.4.4).
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> with_exceptions_of_pow(pack<T, N> r, pack<T, N> x, pack<T, N> y) {
  using V = pack<T, N>;
  using I = integer_like<T>;
  r = select(abs(x) == V(T(1)), V(T(1)), r);
  const V half = y * V(T(0.5));
  const auto whole = y == round_even(y), odd = whole & (half != round_even(half));
  r = flip_sign(r, select(odd, sign_of(x), pack<I, N>(I(0))));
  r = select((x < V(T(0))) & (x > V(-infinity_of<T>)) & !whole, V(nan_of<T>), r);
  return select(y == V(T(0)), V(T(1)), r);
}

/// |x|^y in double, for float arguments: log2 |x| and 2^t to 36 and 29 bits.
COTANGENT_LANES template <int N> COTANGENT_INLINE pack<float, N> pow_of_magnitude(pack<float, N> x, pack<float, N> y) {
  using D = pack<double, N>;
  const auto parts = take_apart(abs(x));
  const D f = convert<double>(parts.mantissa - 1.f), e = convert<double>(parts.exponent);
  const D p = polynomial(f, 1.4426950409106396, -0.7213475208343627, 0.4808983326486681, -0.3606736528750922, 0.28854042624110304,
                         -0.24045845948295686, 0.20605698373121997, -0.18000310812954448, 0.16049994163331957, -0.14920802819030424,
                         0.13881654238843436, -0.10208806742851527, 0.03801876819662108);
  const D t = greater(D(-200.), lesser(D(200.), convert<double>(y) * fma(f, p, e)));
  const D k = nearest_multiple(t, 1.);
  const D r = polynomial(t - k, 1.0000000005540948, 0.6931472057077307, 0.2402264688323058, 0.05550328814905046, 0.009618490369141525,
                         0.001339992524574845, 0.0001534529973441053);
  return convert<float>(r * power_of_two(k));
}

/// |x|^y with log2 |x| as the sum of two doubles, to 65 bits (as in Ziv's and Dekker's double-length arithmetic).
COTANGENT_LANES template <int N> COTANGENT_INLINE pack<double, N> pow_of_magnitude(pack<double, N> x, pack<double, N> y) {
  using V = pack<double, N>;
  const auto parts = take_apart(abs(x));
  const V f = parts.mantissa - 1., e = parts.exponent;
  // s = f / (2 + f)
  const V d = f + 2., d_low = f - (d - 2.), inverse = V(1.) / d;
  const V s = f * inverse;
  const V s_low = fma(-s, d_low, fma(-s, d, f)) * inverse;
  const V z = s * s, z_low = fma(s + s, s_low, fma(s, s, -z));
  // log(1 + f) = 2s + s^3 (2/3 + z p(z))
  const V p = polynomial(z, 0.39999999999999725, 0.28571428571577334, 0.22222222191243224, 0.18181821526614025, 0.1538440660990897,
                         0.1334114594958157, 0.11592331102744437, 0.1257163073062666);
  constexpr double two_thirds = 0x1.5555555555555p-1, two_thirds_low = 0x1.5555555555555p-55;
  const V zp = z * p;
  const V u = zp + two_thirds;
  const V u_low = (V(two_thirds) - u + zp) + fma(z_low, p, fma(z, p, -zp) + two_thirds_low);
  const V c = s * z, c_low = fma(s, z, -c) + fma(s, z_low, s_low * z);
  const V w = c * u, w_low = fma(c, u, -w) + fma(c, u_low, c_low * u);
  const V s2 = s + s;
  const V l = s2 + w, l_low = ((s2 - l) + w) + ((s_low + s_low) + w_low);
  // log2 |x| = e + l log2(e)
  constexpr double log2_e_low = 0x1.777d0ffda0d24p-56;
  const V g = l * V(log2_e<double>);
  const V g_low = multiply_add(l, log2_e<double>, -g) + multiply_add(l, log2_e_low, l_low * V(log2_e<double>));
  const V h = e + g;
  const V h_low = select(is_finite(e), ((e - h) + g) + g_low, V(0.));
  const V product = y * h;
  const V t = greater(V(-1100.), lesser(V(1100.), product));
  const V t_low = select(t == product, fma(y, h_low, fma(y, h, -t)), V(0.));
  const V k = nearest_multiple(t, 1.);
  return scale_down(exp_near_zero(((t - k) + t_low) * V(ln2_high<double>)), k, t, -1022, -1076);
}

/// x^y. Measured: 0.55 ULP (float), 1.01 (double). 1 where y = 0 or x = 1, even with NaN; NaN for x < 0 and y not whole; signed zeros and
/// infinities as in C's pow. jnp.power.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> pow(pack<T, N> x, pack<T, N> y) {
  return with_exceptions_of_pow(pow_of_magnitude(x, y), x, y);
}

}  // namespace COTANGENT_ISA
}  // namespace cotangent
