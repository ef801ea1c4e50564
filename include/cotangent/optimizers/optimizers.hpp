#pragma once
/// Optimizers, in the names, defaults and meanings of optax:
///
///     constexpr auto optimizer = ct::optimizers::adamw(1e-3, {.weight_decay = 1e-2});
///     auto state = optimizer.init(net);
///     const auto step = [](const auto& net, const auto& state, auto x, auto y) {
///       const auto [updates, next] = optimizer.update(ct::grad(loss)(net, x, y), state, net);
///       return std::tuple(ct::optimizers::apply_updates(net, updates), next);
///     };
///
/// The rate is a number, a traced value, or a schedule (schedules.hpp). Other hyperparameters are given by name.

#include <cotangent/optimizers/scaling.hpp>

namespace cotangent::optimizers {

struct sgd_options {
  double momentum = 0;
  bool nesterov = false;
};
/// -rate g
template <class R> constexpr auto sgd(const R& rate) { return chain(scale_by_learning_rate(rate)); }
/// The same with momentum: ct::optimizers::sgd(0.1, {.momentum = 0.9}).
template <class R> constexpr auto sgd(const R& rate, sgd_options o) { return chain(trace(o.momentum, o.nesterov), scale_by_learning_rate(rate)); }
/// The same: ct::optimizers::sgd(0.1, 0.9).
template <class R> constexpr auto sgd(const R& rate, double momentum, bool nesterov = false) { return sgd(rate, sgd_options{momentum, nesterov}); }
/// -rate sign(g)
template <class R> constexpr auto sign_sgd(const R& rate) { return chain(scale_by_sign(), scale_by_learning_rate(rate)); }

template <class R> constexpr auto adam(const R& rate, adam_options o = {}) { return chain(scale_by_adam(o), scale_by_learning_rate(rate)); }
template <class R> constexpr auto nadam(const R& rate, adam_options o = {}) {
  o.nesterov = true;
  return adam(rate, o);
}
struct adamw_options {
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0, weight_decay = 1e-4;
  bool nesterov = false;
};
/// Adam with weights that decay by rate weight_decay a step (Loshchilov and Hutter, 2019).
template <class R> constexpr auto adamw(const R& rate, adamw_options o = {}) {
  return chain(scale_by_adam({o.b1, o.b2, o.eps, o.eps_root, o.nesterov}), add_decayed_weights(o.weight_decay), scale_by_learning_rate(rate));
}
template <class R> constexpr auto nadamw(const R& rate, adamw_options o = {}) {
  o.nesterov = true;
  return adamw(rate, o);
}
template <class R> constexpr auto amsgrad(const R& rate, amsgrad_options o = {}) { return chain(scale_by_amsgrad(o), scale_by_learning_rate(rate)); }
template <class R> constexpr auto adamax(const R& rate, adamax_options o = {}) { return chain(scale_by_adamax(o), scale_by_learning_rate(rate)); }
template <class R> constexpr auto adabelief(const R& rate, belief_options o = {}) { return chain(scale_by_belief(o), scale_by_learning_rate(rate)); }
template <class R> constexpr auto yogi(const R& rate, yogi_options o = {}) { return chain(scale_by_yogi(o), scale_by_learning_rate(rate)); }
template <class R> constexpr auto radam(const R& rate, radam_options o = {}) { return chain(scale_by_radam(o), scale_by_learning_rate(rate)); }

struct lionw_options {
  double b1 = 0.9, b2 = 0.99, weight_decay = 1e-3;
};
template <class R> constexpr auto lion(const R& rate, lionw_options o = {}) {
  return chain(scale_by_lion({o.b1, o.b2}), add_decayed_weights(o.weight_decay), scale_by_learning_rate(rate));
}
template <class R> constexpr auto adagrad(const R& rate, rss_options o = {}) { return chain(scale_by_rss(o), scale_by_learning_rate(rate)); }
template <class R> constexpr auto rmsprop(const R& rate, rms_options o = {}) { return chain(scale_by_rms(o), scale_by_learning_rate(rate)); }
/// The same with momentum.
template <class R> constexpr auto rmsprop(const R& rate, rms_options o, double momentum, bool nesterov = false) {
  return chain(scale_by_rms(o), scale_by_learning_rate(rate), trace(momentum, nesterov));
}
/// The same with the mean of squared differences from the mean. JAX: optax.rmsprop(centered=True).
template <class R> constexpr auto centered_rmsprop(const R& rate, rms_options o = {}) { return chain(scale_by_stddev(o), scale_by_learning_rate(rate)); }

struct adadelta_options {
  double rho = 0.9, eps = 1e-6, weight_decay = 0;
};
template <class R = double> constexpr auto adadelta(const R& rate = 1, adadelta_options o = {}) {
  return chain(add_decayed_weights(o.weight_decay), scale_by_adadelta{o.rho, o.eps}, scale_by_learning_rate(rate));
}
struct adafactor_options {
  double decay_rate = 0.8, step_offset = 0;
  bool multiply_by_parameter_scale = true;
  double clipping_threshold = 1, weight_decay_rate = 0, eps = 1e-30;
};
/// Squares by rows and columns, so that matrices take little memory (Shazeer and Stern, 2018). `Least`: the extents that count as large.
template <extent Least = 128, class R = double> constexpr auto adafactor(const R& rate = 1, adafactor_options o = {}) {
  const auto by_parameters = [=](const auto& u, const auto& p) {
    return evaluated(u * chosen(o.multiply_by_parameter_scale, maximum(sqrt(mean(p * p)), 1e-3), 1));
  };
  return chain(scale_by_factored_rms<Least>({o.decay_rate, o.step_offset, o.eps}), clip_by_block_rms(o.clipping_threshold), scale_by_learning_rate(rate),
               leaf_transformation{by_parameters}, add_decayed_weights(-o.weight_decay_rate));
}
struct lamb_options {
  double b1 = 0.9, b2 = 0.999, eps = 1e-6, eps_root = 0, weight_decay = 0;
};
/// Adam, leaf by leaf as long as the parameters are (You et al., 2020).
template <class R> constexpr auto lamb(const R& rate, lamb_options o = {}) {
  return chain(scale_by_adam({o.b1, o.b2, o.eps, o.eps_root}), add_decayed_weights(o.weight_decay), scale_by_trust_ratio(), scale_by_learning_rate(rate));
}
struct lars_options {
  double weight_decay = 0, trust_coefficient = 1e-3, eps = 0, momentum = 0.9;
  bool nesterov = false;
};
/// Momentum, leaf by leaf as long as the parameters are (You et al., 2017).
template <class R> constexpr auto lars(const R& rate, lars_options o = {}) {
  return chain(add_decayed_weights(o.weight_decay), scale_by_trust_ratio({.trust_coefficient = o.trust_coefficient, .eps = o.eps}), scale_by_learning_rate(rate),
               trace(o.momentum, o.nesterov));
}

}  // namespace cotangent::optimizers
