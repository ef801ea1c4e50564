#pragma once
/// Functions of jax.scipy.special.

#include <cotangent/numpy/elementwise.hpp>
#include <cotangent/transforms/custom.hpp>

namespace cotangent {

template <tensor X> constexpr auto gammaln(const X& x) { return lgamma(x); }
template <tensor X> constexpr auto expit(const X& x) { return logistic(x); }
/// log(p / (1 - p))
template <tensor X> constexpr auto logit(const X& p) {
  return composed([](auto v) { return log(v / (1 - v)); }, p);
}
/// log |B(a, b)|
template <class A, class B> requires tensor_pair<A, B>
constexpr auto betaln(const A& a, const B& b) {
  return composed([](auto x, auto y) { return lgamma(x) + lgamma(y) - lgamma(x + y); }, a, b);
}
/// a f(b), 0 where a is 0 and b is not in (least, infinity): there f sees least + 1 instead, so that derivatives are finite.
template <class A, class B, class F> constexpr auto product_or_zero(const A& a, const B& b, int least, F f) {
  const auto none = a == 0 && !(b > least && b < __builtin_inf());
  const auto safe = where(none, least + 1, b);
  return where(none, 0 * safe, a * f(safe));
}
/// x log(y), 0 where x is 0, also for y = 0, where the derivatives are 0 as well.
template <class A, class B> requires tensor_pair<A, B>
constexpr auto xlogy(const A& x, const B& y) {
  return composed([](auto a, auto b) { return product_or_zero(a, b, 0, [](auto v) { return log(v); }); }, x, y);
}
/// x log(1 + y), 0 where x is 0, also for y = -1, where the derivatives are 0 as well.
template <class A, class B> requires tensor_pair<A, B>
constexpr auto xlog1py(const A& x, const B& y) {
  return composed([](auto a, auto b) { return product_or_zero(a, b, -1, [](auto v) { return log1p(v); }); }, x, y);
}
/// -x log(x): 0 at 0, -infinity below.
template <tensor X> constexpr auto entr(const X& x) {
  return composed([](auto v) { return where(v < 0, -__builtin_inf(), -xlogy(v, v)); }, x);
}
/// x log(x / y): 0 for x = 0 and y >= 0, infinite where x or y is negative, or y alone is 0.
template <class A, class B> requires tensor_pair<A, B>
constexpr auto rel_entr(const A& x, const B& y) {
  return composed([](auto a, auto b) {
    const auto both = a > 0 && b > 0, none = a == 0 && b >= 0;
    const auto p = where(both, a, 1), q = where(both, b, 1);
    return where(both, p * (log(p) - log(q)), where(none, 0 * p, __builtin_inf()));
  }, x, y);
}
/// The normal distribution function.
template <tensor X> constexpr auto ndtr(const X& x) { return 0.5 * erfc(x * -0.70710678118654752440); }
/// Its logarithm, by its asymptotic series far below 0 (Abramowitz and Stegun, 26.2.12).
template <tensor X> constexpr auto log_ndtr(const X& x) {
  return composed([](auto v) {
    using T = typename decltype(1.0 * v)::value_type;
    constexpr double low = sizeof(T) == 8 ? -20 : -10;
    const auto near = where(v < low, low, v), far = where(v < low, v, low);
    const auto above = where(near > 0.625, log1p(-ndtr(where(near > 0.625, -near, -1))), log(ndtr(where(near > 0.625, 0, near))));
    const auto r = 1 / (far * far);
    const auto series = 1 - r * (1 - 3 * r * (1 - 5 * r * (1 - 7 * r * (1 - 9 * r))));
    return where(v < low, -0.5 * far * far - log(-far) - 0.91893853320467274178 + log(series), above);
  }, x);
}
namespace rules {
/// In the tails by Newton's method on log_ndtr, from the rational approximation 26.2.23 of Abramowitz and Stegun, whose error is at most 4.5e-4.
struct ndtri {
  template <class P> constexpr auto operator()(const P& p) const {
    using T = typename decltype(1.0 * p)::value_type;
    const auto nearest = where(p < 0.5, p, 1 - p);
    const auto in_tail = nearest > 0 && nearest < 0.05;
    const auto log_tail = log(where(in_tail, nearest, 0.01));
    const auto t = sqrt(-2 * log_tail);
    auto u = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    for (int step = 0; step < (sizeof(T) == 8 ? 2 : 1); ++step) {
      const auto log_of_u = log_ndtr(-u);
      u = u + (log_of_u - log_tail) * exp(log_of_u + 0.5 * u * u + 0.91893853320467274178);
    }
    return where(in_tail, where(p < 0.5, -u, u), 1.41421356237309504880 * erf_inv(2 * where(in_tail, 0.5, p) - 1));
  }
};
struct ndtri_jvp {
  template <class P, class T> constexpr auto operator()(const std::tuple<P>& p, const std::tuple<T>& tangent) const {
    const auto x = ndtri()(std::get<0>(p));  // (a rule cannot have itself in it: second derivatives go through the method's steps)
    return std::tuple(x, std::get<0>(tangent) * (2.50662827463100050242 * exp(0.5 * x * x)));
  }
};
}  // namespace rules
/// The inverse of ndtr.
template <tensor X> constexpr auto ndtri(const X& p) {
  return composed([](auto v) { return custom_jvp(rules::ndtri(), rules::ndtri_jvp())(v); }, p);
}

}  // namespace cotangent
