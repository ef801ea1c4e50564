#pragma once
/// More of jax.nn's activations and normalizations, with its formulas, so that kinks have its derivatives.

#include <cotangent/nn/nn.hpp>
#include <cotangent/numpy/elementwise.hpp>

namespace cotangent::nn {

namespace rules {
inline constexpr auto relu6 = custom_jvp([](auto x) { return minimum(maximum(x, 0), 6); }, [](auto primals, auto tangents) {
  const auto x = std::get<0>(primals);
  return std::tuple(minimum(maximum(x, 0), 6), where(x > 0 && x < 6, std::get<0>(tangents), 0));
});
inline constexpr auto one_minus_exp = [](auto x) { return where(x < 0.69314718055994530942, log(-expm1(-x)), log1p(-exp(-x))); };
inline constexpr auto log1mexp = custom_jvp(one_minus_exp, [](auto primals, auto tangents) {
  const auto x = std::get<0>(primals);
  return std::tuple(one_minus_exp(x), std::get<0>(tangents) / expm1(x));
});
}  // namespace rules

/// min(max(x, 0), 6); the derivative at 0 and 6 is 0.
template <tensor X> constexpr auto relu6(const X& x) {
  return composed([](auto v) { return rules::relu6(v); }, x);
}
/// max(x, 0) + alpha (exp(min(x, 0) / alpha) - 1) (Barron, "Continuously differentiable exponential linear units", 2017).
template <tensor X, class S = double> constexpr auto celu(const X& x, const S& alpha = 1) {
  return composed([](auto v, auto a) { return maximum(v, 0) + a * expm1(minimum(v, 0) / a); }, x, alpha);
}
/// elu scaled so that means of 0 and variances of 1 stay (Klambauer, Unterthiner, Mayr and Hochreiter, "Self-normalizing neural networks", 2017).
template <tensor X> constexpr auto selu(const X& x) {
  return composed([](auto v) { return 1.0507009873554804934193349852946 * elu(v, 1.6732632423543772848170429916717); }, x);
}
/// x within [-1, 1], else the nearer of these.
template <tensor X> constexpr auto hard_tanh(const X& x) {
  return composed([](auto v) { return where(v > 1, 1, where(v < -1, -1, v)); }, x);
}
/// relu6(x + 3) / 6
template <tensor X> constexpr auto hard_sigmoid(const X& x) {
  return composed([](auto v) { return rules::relu6(v + 3.0) / 6.0; }, x);
}
/// x hard_sigmoid(x), also called hard_swish.
template <tensor X> constexpr auto hard_silu(const X& x) {
  return composed([](auto v) { return v * hard_sigmoid(v); }, x);
}
template <tensor X> constexpr auto hard_swish(const X& x) { return hard_silu(x); }
template <tensor X> constexpr auto swish(const X& x) { return silu(x); }
/// The first half along an axis times the sigmoid of the second (Dauphin, Fan, Auli and Grangier, "Language modeling with gated
/// convolutional networks", 2017).
template <tensor X, extent Axis = -1> constexpr auto glu(const X& x, axis_tag<Axis> = {}) {
  return composed([](auto v) {
    const auto halves = split<2, Axis>(v);
    return halves[0] * logistic(halves[1]);
  }, x);
}
/// x tanh(softplus(x)) (Misra, "Mish", 2019).
template <tensor X> constexpr auto mish(const X& x) {
  return composed([](auto v) { return v * tanh(softplus(v)); }, x);
}
/// (x + sqrt(x² + b)) / 2
template <tensor X, class S = double> constexpr auto squareplus(const X& x, const S& b = 4) {
  return composed([](auto v, auto c) { return (v + sqrt(square(v) + c)) / 2.0; }, x, b);
}
/// 0 up to -1, (x + 1)² / 4 up to 1, then x.
template <tensor X> constexpr auto sparse_plus(const X& x) {
  return composed([](auto v) { return where(v <= -1.0, 0.0, where(v >= 1.0, v, square(v + 1.0) / 4.0)); }, x);
}
/// The derivative of sparse_plus.
template <tensor X> constexpr auto sparse_sigmoid(const X& x) {
  return composed([](auto v) { return 0.5 * clip(v + 1.0, 0.0, 2.0); }, x);
}
/// x / (|x| + 1)
template <tensor X> constexpr auto soft_sign(const X& x) {
  return composed([](auto v) { return v / (abs(v) + 1.0); }, x);
}
/// log(1 - exp(-x)) for x > 0, exact for small and large x (Maechler, "Accurately computing log(1 - exp(-|a|))", 2012).
template <tensor X> constexpr auto log1mexp(const X& x) {
  return composed([](auto v) { return rules::log1mexp(v); }, x);
}
/// The logarithm of the mean of exp(x), of all elements or along `axis<...>`; with `keepdims` the axes stay.
template <tensor X, class... Tags> constexpr auto logmeanexp(const X& x, Tags...) {
  return composed([](auto v) { return logsumexp(v, Tags()...) - log(sum(ones_like(v), Tags()...)); }, x);
}
/// (x - mean) / sqrt(variance + epsilon) along an axis (default: the last). The variance is E[(x - mean)²], which JAX takes from E[x²] by
/// default. JAX: jax.nn.standardize(..., algorithm="stable").
template <tensor X, extent... Axes, class S = double> constexpr auto standardize(const X& x, axis_tag<Axes...>, const S& epsilon = 1e-5) {
  return composed([](auto v, auto e) {
    const auto centred = v - mean(v, axis<Axes...>, keepdims);
    return centred / sqrt(mean(square(centred), axis<Axes...>, keepdims) + e);
  }, x, epsilon);
}
template <tensor X, class S = double> requires number<S> constexpr auto standardize(const X& x, const S& epsilon = 1e-5) { return standardize(x, axis<-1>, epsilon); }

}  // namespace cotangent::nn
