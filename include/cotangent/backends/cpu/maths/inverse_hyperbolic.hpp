#pragma once
/// asinh, acosh, atanh.
///
/// Near their zeros polynomials, minimax fits made for these functions; beyond, logarithms: asinh x = log(x + sqrt(x^2 + 1)) and
/// acosh x = log(x + sqrt(x^2 - 1)), where the argument is a sum of two numbers (Kahan, Branch Cuts for Complex Elementary Functions,
/// 1987, says which forms keep their accuracy), and atanh from the series of log((1 + x) / (1 - x)).

#include <cotangent/backends/cpu/maths/logarithm.hpp>

namespace cotangent {
inline namespace COTANGENT_ISA {

/// Beyond this x^2 + 1 is x^2, and it does not overflow yet.
template <class T> inline constexpr T large_for_squares = std::is_same_v<T, float> ? T(0x1p30) : T(0x1p300);

/// log(a + b) for a >= b >= 0 and a sum of at least 1; log 2a where `large`.
COTANGENT_LANES template <class T, int N>
COTANGENT_INLINE pack<T, N> log_of_sum(pack<T, N> a, pack<T, N> b, mask<int(sizeof(T)), N> large) {
  using V = pack<T, N>;
  const V y = select(large, a, a + b);
  const auto [m, e] = take_apart(y);
  const V f = m - T(1), lost = select(large, V(T(0)), scale(b - (y - a), -e));
  const auto [high, low] = log_in_two_parts(f, e + select(large, V(T(1)), V(T(0))));
  return high + (low + fnma(lost, f, lost));
}

/// Measured: 1.26 ULP (float), 1.24 (double). x itself where |x| is tiny, and at infinities. jnp.arcsinh.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> asinh(pack<T, N> x) {
  using V = pack<T, N>;
  const V a = abs(x), z = a * a;
  V p;
  if constexpr (std::is_same_v<T, float>)
    p = polynomial(z, -1.6666652e-01f, 7.4992575e-02f, -4.451402e-02f, 2.9331693e-02f, -1.7846003e-02f, 6.6621182e-03f);
  else
    p = polynomial(z, -0.1666666666666616, 0.07499999999895479, -0.04464285706729659, 0.03038194168653923, -0.022372099502031007,
                   0.01735193277889391, -0.013956944103821652, 0.011499078728275866, -0.009509866028536243, 0.007523333044183139,
                   -0.005156472699228688, 0.0025780004165470516, -0.0006681766376319433);
  const V root = sqrt(fma(a, a, V(T(1))));
  const auto large = a > V(large_for_squares<T>);
  const V logarithm = log_of_sum(select(large, a, root), a, large);
  const V r = select(a < V(T(0.625)), fma(a * z, p, a), logarithm);
  return select(a < V(infinity_of<T>), copysign(r, x), x);
}

/// Measured: 1.48 ULP (float), 1.58 (double). NaN below 1, inf at inf. jnp.arccosh.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> acosh(pack<T, N> x) {
  using V = pack<T, N>;
  // Below 2: acosh(1 + t) = sqrt(2t) (1 + t p(t)).
  const auto small = x < V(T(2)), large = x > V(large_for_squares<T>);
  const V t = x - T(1), root = sqrt(select(small, t + t, fma(x, x, V(T(-1)))));
  V p;
  if constexpr (std::is_same_v<T, float>)
    p = polynomial(t, -8.333309e-02f, 1.8745044e-02f, -5.5462993e-03f, 1.7882531e-03f, -5.06842e-04f, 8.279686e-05f);
  else
    p = polynomial(t, -0.08333333333332954, 0.0187499999996476, -0.005580357131366325, 0.001898871337888513, -0.0006991281039640501,
                   0.00027112499019706613, -0.00010904774271058395, 4.4959439951497075e-05, -1.8689812242729144e-05, 7.5610748346339435e-06,
                   -2.7783402117157594e-06, 8.309364447189852e-07, -1.7151289859598203e-07, 1.7650471699507466e-08);
  const V r = select(small, fma(root * t, p, root), log_of_sum(x, root, large));
  return select(x == V(infinity_of<T>), x, r);
}

/// Measured: 1.37 ULP (float), 1.63 (double). x itself where |x| is tiny, infinite at -1 and 1, NaN beyond. jnp.arctanh.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> atanh(pack<T, N> x) {
  using V = pack<T, N>;
  // From 1/2 on, with 1 - |x| = 2m 2^(e - 1): (1 + |x|) / (1 - |x|) = 2^(1 - e) (1 + s) / (1 - s), |s| <= 1/3.
  const V a = abs(x);
  const auto small = a < V(T(0.5));
  const auto [m, e] = take_apart(T(1) - a);
  const V n = a + T(1), d = m + m, s = select(small, a, (n - d) / (n + d)), z = s * s;
  V p;
  if constexpr (std::is_same_v<T, float>)
    p = polynomial(z, 3.3333302e-01f, 2.0002453e-01f, 1.4223784e-01f, 1.1816411e-01f, 5.1603056e-02f, 1.7638075e-01f);
  else
    p = polynomial(z, 0.3333333333333399, 0.19999999999794532, 0.14285714308091693, 0.11111109885799403, 0.09090948567302624,
                   0.07691493239551322, 0.06677963048879659, 0.057742386554738956, 0.05983312822972198, 0.01452954103636159,
                   0.14501578725885697, -0.15302190978021712, 0.2248576826554564);
  const V k = select(small, V(T(0)), T(1) - e), base = multiply_add(k, ln2_high<T> / 2, s), lost = s - multiply_subtract(k, ln2_high<T> / 2, base);
  return copysign(select(a == V(T(1)), V(infinity_of<T>), base + fma(s * z, p, lost)), x);
}

}  // namespace COTANGENT_ISA
}  // namespace cotangent
