#pragma once
/// Losses of predictions and targets, element by element unless said, in the names and meanings of optax. Those of one argument take errors.

#include <cotangent/nn/nn.hpp>

namespace cotangent::optimizers {

/// (p - t)^2
template <class P, class T> constexpr auto squared_error(const P& predictions, const T& targets) { return (predictions - targets) * (predictions - targets); }
/// (p - t)^2 / 2
template <class P, class T> constexpr auto l2_loss(const P& predictions, const T& targets) { return 0.5 * squared_error(predictions, targets); }
/// (p - t)^2 / 2 where |p - t| is at most delta, delta (|p - t| - delta / 2) beyond (Huber, 1964).
template <class P, class T> constexpr auto huber_loss(const P& predictions, const T& targets, double delta = 1) {
  const auto error = abs(predictions - targets);
  const auto quadratic = minimum(error, delta);
  return 0.5 * quadratic * quadratic + delta * (error - quadratic);
}
/// log(cosh(p - t))
template <class P, class T> constexpr auto log_cosh(const P& predictions, const T& targets) {
  const auto error = predictions - targets;
  return logaddexp(error, -error) - 0.69314718055994530942;
}
/// max(0, 1 - p t) for targets of -1 and 1.
template <class P, class T> constexpr auto hinge_loss(const P& predictions, const T& targets) { return maximum(1 - predictions * targets, 0); }
/// -t log(p) - (1 - t) log(1 - p) for p = sigmoid(logits).
template <class L, class T> constexpr auto sigmoid_binary_cross_entropy(const L& logits, const T& labels) {
  return -labels * nn::log_sigmoid(logits) - (1 - labels) * nn::log_sigmoid(-logits);
}
/// -sum(labels log(softmax(logits))) along the last axis.
template <class L, class T> constexpr auto softmax_cross_entropy(const L& logits, const T& labels) { return -sum(labels * nn::log_softmax(logits), axis<-1>); }
/// The same for integer labels, [...] beside logits [..., classes].
template <class L, class T> constexpr auto softmax_cross_entropy_with_integer_labels(const L& logits, const T& labels) {
  return logsumexp(logits, axis<-1>) - squeeze<-1>(take_along_axis<-1>(logits, expand_dims<-1>(labels)));
}
/// sum(t (log(t) - log_p)) along the last axis; 0 where t is 0.
template <class L, class T> constexpr auto kl_divergence(const L& log_predictions, const T& targets) {
  return sum(targets * (where(targets > 0, log(where(targets > 0, targets, 1)), 0) - log_predictions), axis<-1>);
}
/// The cosine of the angle between vectors along the last axis; their squared norms count as epsilon if they are less.
template <class P, class T> constexpr auto cosine_similarity(const P& predictions, const T& targets, double epsilon = 0) {
  const auto norm = [&](const auto& x) { return sqrt(maximum(sum(x * x, axis<-1>), epsilon)); };
  return sum(predictions * targets, axis<-1>) / (norm(predictions) * norm(targets));
}
/// 1 - cosine_similarity
template <class P, class T> constexpr auto cosine_distance(const P& predictions, const T& targets, double epsilon = 0) {
  return 1 - cosine_similarity(predictions, targets, epsilon);
}
/// Labels [..., classes] with alpha of their weight shared among all classes (Szegedy et al., 2016).
template <class L> constexpr auto smooth_labels(const L& labels, double alpha) {
  constexpr shape dims = leaf_traits<L>::extents;
  static_assert(dims.rank > 0 && dims[dims.rank - 1] != dyn, "smooth_labels: the number of classes, the last extent, must be known");
  return (1 - alpha) * labels + alpha / double(dims[dims.rank - 1]);
}

}  // namespace cotangent::optimizers
