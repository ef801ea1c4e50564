#pragma once
/// lgamma, digamma, trigamma, erf_inv: scalar formulas, lane by lane.

#include <cotangent/backends/cpu/maths/parts.hpp>

namespace cotangent {
inline namespace COTANGENT_ISA {

struct log_gamma_of_element {
  template <class T> COTANGENT_HD T operator()(T x) const {
#if defined(__GLIBC__) && !defined(__CUDACC__)
    // std::lgamma writes a global variable.
    int sign;
    if constexpr (std::is_same_v<T, float>) return ::lgammaf_r(x, &sign);
    else return ::lgamma_r(x, &sign);
#else
    return std::lgamma(x);
#endif
  }
};
/// log |gamma(x)|; the C library per lane. inf at 0 and the negative integers. jax.lax.lgamma.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> lgamma(pack<T, N> x) { return lane_by_lane(x, log_gamma_of_element()); }

struct digamma_of_element {
  /// Reflection, recurrence to x >= 12, asymptotic series: Abramowitz and Stegun, 6.3.7, 6.3.5, 6.3.18.
  static COTANGENT_HD double in_double(double x) {
    constexpr double pi = 3.14159265358979323846;
    if (!(x > -1e300)) return nan_of<double>;
    double r = 0;
    if (x <= 0) {
      const double distance = x - std::nearbyint(x);  // to the nearest integer, exact
      if (distance == 0) return nan_of<double>;
      r = -pi / std::tan(pi * distance);
      x = 1 - x;
    }
    for (; x < 12; x += 1) r -= 1 / x;
    const double y = 1 / (x * x);
    const double series =
        y * (1. / 12 - y * (1. / 120 - y * (1. / 252 - y * (1. / 240 - y * (1. / 132 - y * (691. / 32760 - y * (1. / 12)))))));
    return r + (std::log(x) - 0.5 / x - series);
  }
  template <class T> COTANGENT_HD T operator()(T x) const { return T(in_double(x)); }
};
/// The derivative of lgamma, within 2 ULP in float; in double within 4 ULP of the larger of 1 and the result.
/// NaN at 0 and the negative integers. jax.scipy.special.digamma.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> digamma(pack<T, N> x) { return lane_by_lane(x, digamma_of_element()); }

struct trigamma_of_element {
  /// Reflection, recurrence to x >= 12, asymptotic series: Abramowitz and Stegun, 6.4.7, 6.4.6, 6.4.12.
  static COTANGENT_HD double in_double(double x) {
    constexpr double pi = 3.14159265358979323846;
    double reflected = 0, sign = 1;
    if (x <= 0) {
      if (x == -infinity_of<double>) return nan_of<double>;
      // sin(pi x) from the distance to the nearest integer, which is exact.
      const double s = std::sin(pi * (x - std::nearbyint(x))) / pi;
      if (s == 0) return infinity_of<double>;
      reflected = 1 / (s * s), sign = -1, x = 1 - x;
    }
    if (!(x < 1e100)) return reflected + sign / x;
    int steps = 0;
    while (x + steps < 12) ++steps;
    const double z = x + steps, y = 1 / (z * z);
    const double series =
        y * (1. / 6 - y * (1. / 30 - y * (1. / 42 - y * (1. / 30 - y * (5. / 66 - y * (691. / 2730 - y * (7. / 6)))))));
    double r = 0.5 * y + series / z + 1 / z;
    while (steps-- > 0) r += 1 / ((x + steps) * (x + steps));  // the small ones first
    return reflected + sign * r;
  }
  template <class T> COTANGENT_HD T operator()(T x) const { return T(in_double(x)); }
};
/// The derivative of digamma, within 1 ULP in float; in double within 4, and 6 where x is negative. inf at 0 and the
/// negative integers.
/// jax.scipy.special.polygamma(1, x).
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> trigamma(pack<T, N> x) { return lane_by_lane(x, trigamma_of_element()); }

struct inverse_erf_of_element {
  /// The single precision formula of M. Giles ("Approximating the erfinv function", GPU Computing Gems, 2010), then
  /// Halley's steps.
  static COTANGENT_HD double in_double(double x) {
    const double a = std::fabs(x), w = -std::log((1 - a) * (1 + a));
    if (!(a < 1)) return a == 1 ? x * infinity_of<double> : nan_of<double>;
    if (a < 1e-8) return x * 0.886226925452758013649;
    double y;
    if (w < 5) {
      const double v = w - 2.5;
      y = 1.50140941 +
          v * (0.246640727 +
               v * (-0.00417768164 +
                    v * (-0.00125372503 + v * (0.00021858087 + v * (-4.39150654e-06 + v * (-3.5233877e-06 + v * (3.43273939e-07 + v * 2.81022636e-08)))))));
    } else {
      const double v = std::sqrt(w) - 3;
      y = 2.83297682 +
          v * (1.00167406 +
               v * (0.00943887047 +
                    v * (-0.0076224613 + v * (0.00573950773 + v * (-0.00367342844 + v * (0.00134934322 + v * (0.000100950558 - v * 0.000200214257)))))));
    }
    y *= a;
    const double two_over_sqrt_pi = 1.12837916709551257390;
    for (int i = 0; i < 3; ++i) {
      const double error = a < 0.5 ? std::erf(y) - a : (1 - a) - std::erfc(y);
      const double step = error / (two_over_sqrt_pi * std::exp(-y * y));
      y -= step / (1 + y * step);
    }
    return x < 0 ? -y : y;
  }
  template <class T> COTANGENT_HD T operator()(T x) const { return T(in_double(x)); }
};
/// The y with erf(y) = x. At most 1 ULP in float, 3 in double. Infinite at -1 and 1, NaN beyond. lax.erf_inv.
COTANGENT_LANES template <class T, int N> COTANGENT_INLINE pack<T, N> erf_inv(pack<T, N> x) { return lane_by_lane(x, inverse_erf_of_element()); }

}  // namespace COTANGENT_ISA
}  // namespace cotangent
