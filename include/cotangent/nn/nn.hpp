#pragma once
/// Activations and losses, written in terms of the operations. Names and conventions of jax.nn.

#include <cotangent/transforms/custom.hpp>

namespace cotangent::nn {

/// The square root, which compilers do not all know while they compile: by Newton's method.
constexpr double root_of(double x) {
  double r = x > 1 ? x : 1;
  for (double next = (r + x / r) / 2; next < r; next = (r + x / r) / 2) r = next;
  return r;
}

namespace rules {
inline constexpr auto relu = [](auto x) { return maximum(x, 0); };
inline constexpr auto relu_jvp = [](auto primals, auto tangents) {
  const auto x = std::get<0>(primals);
  const auto t = std::get<0>(tangents);
  return std::tuple(maximum(x, 0), where(x > 0, t, 0));
};
}  // namespace rules

/// max(x, 0); the derivative at 0 is 0.
template <traced X> constexpr auto relu(const X& x) { return custom_jvp(rules::relu, rules::relu_jvp)(x); }
/// 1 / (1 + exp(-x))
template <traced X> constexpr auto sigmoid(const X& x) { return logistic(x); }
/// log(1 + exp(x)), without overflow.
template <traced X> constexpr auto softplus(const X& x) { return logaddexp(x, 0); }
/// log(sigmoid(x))
template <traced X> constexpr auto log_sigmoid(const X& x) { return -softplus(-x); }
/// x sigmoid(x), also called swish.
template <traced X> constexpr auto silu(const X& x) { return x * logistic(x); }
/// x for x > 0, else slope * x.
template <traced X, class S = double> constexpr auto leaky_relu(const X& x, const S& slope = 0.01) { return where(x >= 0, x, x * slope); }
/// x for x > 0, else alpha (exp(x) - 1). The exponential sees no positive operand, so its derivative is finite.
template <traced X, class S = double> constexpr auto elu(const X& x, const S& alpha = 1) {
  return where(x > 0, x, expm1(where(x > 0, zeros_like(x), x)) * alpha);
}
/// x times the normal distribution function, by its tanh approximation
/// (Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016); jax.nn.gelu's default.
template <traced X> constexpr auto gelu(const X& x) {
  constexpr double sqrt_2_over_pi = 0.79788456080286535588;
  return x * (0.5 * (1 + tanh((x + 0.044715 * (x * x * x)) * sqrt_2_over_pi)));
}
/// x times the normal distribution function, by erf.
template <traced X> constexpr auto gelu_exact(const X& x) {
  constexpr double sqrt_half = 0.70710678118654752440;
  return 0.5 * x * (1 + erf(x * sqrt_half));
}

/// x minus its log-sum-exp along an axis (default: the last).
template <traced X, extent Axis = -1> constexpr auto log_softmax(const X& x, axis_tag<Axis> a = {}) {
  const auto shifted = x - stop_gradient(max(x, a, keepdims));
  return shifted - log(sum(exp(shifted), a, keepdims));
}
/// exp(x) divided by its sum along an axis (default: the last).
template <traced X, extent Axis = -1> constexpr auto softmax(const X& x, axis_tag<Axis> a = {}) {
  const auto e = exp(x - stop_gradient(max(x, a, keepdims)));
  return e / sum(e, a, keepdims);
}
/// 1 where the last axis's index is the label, else 0: labels [...], result [..., N]. A label outside gives zeros.
template <extent N, class T = float, traced L> constexpr auto one_hot(const L& labels) {
  return astype<T>(expand_dims<-1>(labels) == iota<std::int32_t, N>(labels));
}
/// Mean over the batch of -log p(label): logits [B, N], integer labels [B].
template <traced X, traced L> constexpr auto softmax_cross_entropy(const X& logits, const L& labels) {
  return -mean(sum(one_hot<X::extent(1), typename X::value_type>(labels) * log_softmax(logits), axis<1>));
}

// On concrete arrays, each as one expression: composed of expressions, what it uses twice would be computed twice.

template <class X>
concept concrete = tensor<X> && !traced<X>;
template <concrete X> auto relu(const X& x) { return defer_call<true>([](const auto& v) { return relu(v); }, x); }
template <concrete X> auto sigmoid(const X& x) { return logistic(x); }
template <concrete X> auto softplus(const X& x) { return logaddexp(x, 0); }
template <concrete X> auto log_sigmoid(const X& x) { return defer_call<true>([](const auto& v) { return log_sigmoid(v); }, x); }
template <concrete X> auto silu(const X& x) { return defer_call<true>([](const auto& v) { return silu(v); }, x); }
template <concrete X> auto leaky_relu(const X& x, double slope = 0.01) {
  return defer_call<true>([](const auto& v, const auto& s) { return leaky_relu(v, s); }, x, slope);
}
template <concrete X> auto elu(const X& x, double alpha = 1) {
  return defer_call<true>([](const auto& v, const auto& s) { return elu(v, s); }, x, alpha);
}
template <concrete X> auto gelu(const X& x) { return defer_call<true>([](const auto& v) { return gelu(v); }, x); }
template <concrete X> auto gelu_exact(const X& x) { return defer_call<true>([](const auto& v) { return gelu_exact(v); }, x); }
template <concrete X, extent Axis = -1> auto log_softmax(const X& x, axis_tag<Axis> = {}) {
  return defer_call<true>([](const auto& v) { return log_softmax(v, axis<Axis>); }, x);
}
template <concrete X, extent Axis = -1> auto softmax(const X& x, axis_tag<Axis> = {}) {
  return defer_call<true>([](const auto& v) { return softmax(v, axis<Axis>); }, x);
}
template <extent N, class T = float, concrete L> auto one_hot(const L& labels) {
  return defer_call<true>([](const auto& v) { return one_hot<N, T>(v); }, labels);
}
template <concrete X, concrete L> auto softmax_cross_entropy(const X& logits, const L& labels) {
  return defer_call<true>([](const auto& v, const auto& l) { return softmax_cross_entropy(v, l); }, logits, labels);
}

}  // namespace cotangent::nn
