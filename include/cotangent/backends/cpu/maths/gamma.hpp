#pragma once
/// lgamma, digamma, trigamma.
///
/// From 4 on the asymptotic series (Abramowitz and Stegun, 6.1.41, 6.3.18, 6.4.12); between, a polynomial in v = (x - a) / (x + a),
/// which sends the poles of the function, all on the negative axis, far from the interval; below, the recurrence (6.1.15, 6.3.5,
/// 6.4.6); on the negative axis the reflection (6.1.17, 6.3.7, 6.4.7). Coefficients are minimax fits made for these functions.

#include <cotangent/backends/cpu/maths/logarithm.hpp>

namespace cotangent {
inline namespace COTANGENT_ISA {

/// sin(pi d) / pi for |d| <= 1/2.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> sin_pi_over_pi(pack<T, N> d) {
  const pack<T, N> z = d * d;
  pack<T, N> p;
  if constexpr (std::is_same_v<T, float>) p = polynomial(z, -1.644934e+00f, 8.11742e-01f, -1.9074538e-01f, 2.6104743e-02f, -2.21548e-03f);
  else
    p = polynomial(z, -1.6449340668482264, 0.8117424252833462, -0.19075182412167532, 0.026147847807942545, -0.0023460809132873667,
                   0.00014842791654659054, -6.972267205959795e-06, 2.4518315001136996e-07);
  return fma(d * z, p, d);
}

/// log |gamma(x)|. Measured: 1.56 ULP (float), 1.71 (double) where x is positive; below, 2.5 of the larger of 1 and the result.
/// inf at 0, the negative integers and infinities. jax.lax.lgamma.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> lgamma(pack<T, N> x) {
  using V = pack<T, N>;
  constexpr bool single = std::is_same_v<T, float>;
  const V a = abs(x);
  const auto small = a < V(T(0.75)), large = a >= V(T(4));
  // Up to 4: (y - 1)(y - 2) s(v) with y = a, or a + 1 where a is small, which calls for log a to be subtracted.
  const V v = select(small, a - T(0.75), select(large, V(T(1)), a - T(1.75))) / select(small, a + T(2.75), select(large, a, a + T(1.75)));
  two_parts<V> s;
  V series;
  if constexpr (single) {
    s = add_in_two_parts(v, polynomial(v, -4.1818562e-01f, 1.2719007e-01f, -1.4436443e-01f, 8.411689e-02f, -9.027155e-02f, 6.34801e-02f,
                   -6.166336e-02f, 4.6010874e-02f, -7.6084085e-02f, 6.512543e-02f), 4.501393e-01f);
    series = polynomial(v * v, 8.33333e-02f, -2.774948e-03f, 7.2294445e-04f);
  } else {
    s = add_in_two_parts(v, polynomial(v, -0.41818555318835005, 0.1271899249933977, -0.1443730387964867, 0.08412964237924686,
                   -0.08997434064471362, 0.06311420539838017, -0.06579368265682725, 0.0504586459371922, -0.05194773512949309,
                   0.04201072082328394, -0.042942399702046476, 0.03597180154714149, -0.036665567737991886, 0.03154462415384541,
                   -0.0313848636862742, 0.027124242287293505, -0.031900881304552445, 0.030110195423811662, -0.010487722609469605,
                   0.004458769585197186, -0.055613671990720204, 0.05651040223162695), 0.4501393121092563);
    series = polynomial(v * v, 0.08333333333332067, -0.0027777777721172694, 0.0007936498766502911, -0.000595163202639034,
                        0.0008382315359612437, -0.0018162425599116854, 0.004571137159539287, -0.007938365140132799);
  }
  const V from_one = select(small, a, a - T(1)), from_two = from_one - T(1);
  const two_parts<V> zeros = two_parts<V>{from_one, V(T(0))} * two_parts<V>{from_two, from_one - (from_two + T(1))}, middles = zeros * s;
  const V middle = middles.high + middles.low;
  const auto [m, e] = take_apart(a);
  const auto [high, low] = log_in_two_parts(m - T(1), e);
  // (a - 1/2) (log a - 1) + (log 2 pi - 1) / 2 + series / a, the product with what it loses.
  const V l = high + low, l_low = (high - l) + low, w = a - T(0.5), product = w * (l - T(1));
  const V beyond = fma(w, l_low, fma(w, l - T(1), -product) + fma(v, series, V(T(0.4189385332046728))));
  const V r = select(large, product, middles.high), r_low = select(large, beyond, middles.low);
  V result = select(small, (middle - low) - high, r + r_low);
  auto pole = (a == V(T(0))) | (a > V(single ? T(0x1.895f1ap+121) : T(0x1.754d9278b51a7p+1014)));
  if (any(x < V(T(0)))) {
    // log |gamma(-a)| = -log |a sin(pi a) / pi| - log gamma(a) = -log |sin(pi a) / pi| - log gamma(1 + a)
    const V t = abs(sin_pi_over_pi(a - round_even(a)));
    const auto [tm, te] = take_apart(select(small, t, a * t));
    const auto [t_high, t_low] = log_in_two_parts(tm - T(1), te);
    result = select(x < V(T(0)), -((t_high + r) + (t_low + r_low)), result);
    pole = pole | ((x < V(T(0))) & (t == V(T(0))));
  }
  return select(pole, V(infinity_of<T>), result);
}

/// The argument from 1 on of digamma and trigamma, to which the others are led back: y = x, or 1 + |x| below 1. And v of y.
template <class V, class M> struct shifted_argument {
  V y, v;
  M below, large;
};
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE shifted_argument<pack<T, N>, mask<int(sizeof(T)), N>> shift_argument(pack<T, N> x) {
  using V = pack<T, N>;
  const V a = abs(x);
  const auto below = x < V(T(1));
  const V y = select(below, a + T(1), a);
  const auto large = y >= V(T(4));
  const V v = select(large, V(T(1)), select(below, a - T(1), a - T(2))) / select(large, y, select(below, a + T(3), a + T(2)));
  return {y, v, below, large};
}

/// The derivative of lgamma. Measured: 1.56 ULP (float), 1.43 (double) where x is positive; below, 4 of the largest of 1, log |x| and the
/// result. NaN at 0 and the negative integers. jax.scipy.special.digamma.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> digamma(pack<T, N> x) {
  using V = pack<T, N>;
  constexpr bool single = std::is_same_v<T, float>;
  const auto [y, v, below, large] = shift_argument(x);
  const V z = v * v;
  two_parts<V> p;
  V series;
  if constexpr (single) {
    p = add_in_two_parts(v, polynomial(v, -1.042956e+00f, 7.010428e-01f, -7.261937e-01f, 6.777423e-01f, -6.96599e-01f, 6.797746e-01f,
                   -6.5844846e-01f, 6.55339e-01f, -9.451413e-01f, 9.204635e-01f), 7.853075e-01f);
    series = polynomial(z, 8.333333e-02f, -8.332484e-03f, 3.924648e-03f, -3.2599242e-03f);
  } else {
    p = add_in_two_parts(v, polynomial(v, -1.0429558187320054, 0.701042853550006, -0.7262245808990807, 0.677753134912929,
                   -0.6950676766132969, 0.6787474752741995, -0.6890177902153368, 0.680680106063089, -0.6870424062687088, 0.6818440859477363,
                   -0.6860999499959557, 0.6826986547605705, -0.6856888878186265, 0.6802364901705801, -0.682997103628983,
                   0.7116604093801493, -0.7099253019828483, 0.503028427644662, -0.5183313241260157, 1.2943657417304297, -1.2721069837052288), 0.7853075386041053);
    series = polynomial(z, 0.08333333333331926, -0.00833333332496434, 0.00396825218532353, -0.004166474872247651, 0.007563739762694084,
                        -0.02062060094876606, 0.07120050199522851, -0.23275616589410367, 0.44944876271846174);
  }
  // The zero, or the zero less 1, in two parts.
  constexpr T zero = T(0x1.762d86356be3fp+0), zero_low = single ? T(1.2438149938918909e-08) : T(9.549995429965697e-17);
  const V a = abs(x), c = select(below, V(zero - T(1)), V(zero)), from_zero = a - c;
  const auto [middle, middle_low] = two_parts<V>{from_zero, ((a - from_zero) - c) - zero_low} * p;
  const auto [m, e] = take_apart(y);
  const auto [high, low] = log_in_two_parts(m - T(1), e);
  V r = select(large, high, middle), r_low = select(large, low - fma(z, series, v * V(T(0.5))), middle_low);
  if (any(below)) {
    // digamma(x) = digamma(1 + x) - 1 / x = digamma(1 - x) - pi / tan(pi x)
    const auto negative = x <= V(T(0));
    const V d = x - round_even(x), square = d * d;
    V tangent;  // the numerator of pi / tan(pi d)
    if constexpr (single)
      tangent = polynomial(square, 4.e+00f, 2.840513e+00f, 2.7046278e+00f, 2.6476548e+00f, 2.9824417e+00f, 9.339319e-01f, 6.97481e+00f);
    else
      tangent = polynomial(square, 4.0, 2.840527465214143, 2.7035239911840607, 2.675351466725241, 2.668787157234247, 2.667186550518705,
                           2.6669174338506907, 2.6647194746996044, 2.689521248970842, 2.4793336021541226, 3.7592340564359996, -1.8002438852090556,
                           15.003723743779265, -18.572854444182738, 21.290907283936278);
    const V numerator = select(negative, fnma(d, d, V(T(0.25))) * tangent, V(T(1))), denominator = select(negative, d, x);
    const V shift = select(below, numerator / denominator, V(T(0)));
    const V lost = select(is_finite(shift) & below, fnma(shift, denominator, numerator) / denominator, V(T(0)));
    r_low = r_low + r - lost;
    r = -shift;
    r = select(negative & (d == V(T(0))), V(nan_of<T>), r);
  }
  return select(x == V(infinity_of<T>), x, r + r_low);
}

/// The derivative of digamma. Measured: 0.5 ULP (float), 2.3 (double) where x is positive, 4 (double) below; in float computed in double.
/// inf at 0 and the negative integers. jax.scipy.special.polygamma(1, x).
COTANGENT_LANES template <int N> COTANGENT_INLINE pack<double, N> trigamma(pack<double, N> x) {
  using V = pack<double, N>;
  const auto [y, v, below, large] = shift_argument(x);
  const V z = v * v;
  const auto [p, p_low] = add_in_two_parts(v, polynomial(v, -0.9715211584285279, 1.363538834429378, -1.8033912712807714, 2.2733025478215154,
                         -2.7596065792857654, 3.2538102567883773, -3.751473183392527, 4.250558737069341, -4.750208832611667, 5.250085817858133,
                         -5.750031892989596, 6.2497306564339565, -6.749839402964481, 7.255901785716359, -7.754178180113263, 8.167607871465243,
                         -8.684089940531639, 9.999702545932065, -10.404277148339803, 6.036258904922455, -6.821180094563651, 23.97869881971309,
                         -24.275200067285546), 0.6449340668482264);
  const V series = polynomial(z, 0.1666666666666498, -0.03333333331944108, 0.023809519839145848, -0.03333276787092556, 0.07571071307244212,
                              -0.2506568032362241, 1.0809654890027076, -5.02757119611277, 19.081581147250876, -38.88961502291939);
  V r = select(large, fma(z, fma(v, series, V(0.5)), v), p + fnma(v, p, p_low));
  if (any(below)) {
    // trigamma(x) = trigamma(1 + x) + 1 / x^2 = (pi / sin(pi x))^2 - trigamma(1 - x)
    const auto negative = x <= V(0.);
    const V s = select(negative, sin_pi_over_pi(x - round_even(x)), x), shift = 1. / (s * s);
    r = select(below, shift + select(negative, -r, r), r);
  }
  return r;
}
COTANGENT_LANES template <int N> COTANGENT_INLINE pack<float, N> trigamma(pack<float, N> x) {
  return convert<float>(trigamma(convert<double>(x)));
}

}  // namespace COTANGENT_ISA
}  // namespace cotangent
