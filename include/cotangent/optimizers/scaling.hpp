#pragma once
/// Transformations of gradients: what optimizers (optimizers.hpp) are chained of. Names, defaults and meanings are those of optax.

#include <cotangent/optimizers/schedules.hpp>

namespace cotangent::optimizers {

// States: trees over the types of their fields, so that they can hold arrays or traced values.

template <class Count> struct step_state {
  Count count{};
};
template <class Trace> struct trace_state {
  Trace trace{};
};
template <class Count, class Average> struct average_state {
  Count count{};
  Average average{};
};
template <class Count, class Mu, class Nu> struct moments_state {
  Count count{};  // steps done
  Mu mu{};        // running mean of the gradients
  Nu nu{};        // and of their squares, or of what stands for them
};
template <class Count, class Mu, class Nu, class Max> struct amsgrad_state {
  Count count{};
  Mu mu{};
  Nu nu{};
  Max nu_max{};
};
template <class Nu> struct squares_state {
  Nu nu{};
};
template <class Mu, class Nu> struct deviation_state {
  Mu mu{};
  Nu nu{};
};
template <class Gradients, class Updates> struct adadelta_state {
  Gradients e_g{};  // running mean of the gradients' squares
  Updates e_x{};    // and of the updates'
};

// ---- without a state ----

/// u factor
template <class H> constexpr auto scale(const H& factor) {
  return leaf_transformation{[=](const auto& u) { return evaluated(as<value_type_of<decltype(u)>>(factor) * u); }};
}
/// sign(u)
constexpr auto scale_by_sign() {
  return leaf_transformation{[](const auto& u) { return evaluated(sign(u)); }};
}
/// u within [-max_delta, max_delta]
template <class H> constexpr auto clip(const H& max_delta) {
  return leaf_transformation{[=](const auto& u) {
    using T = value_type_of<decltype(u)>;
    return evaluated(cotangent::clip(u, -as<T>(max_delta), as<T>(max_delta)));
  }};
}
/// Each leaf shortened to a root mean square of `threshold`.
template <class H> constexpr auto clip_by_block_rms(const H& threshold) {
  return leaf_transformation{[=](const auto& u) { return evaluated(u / maximum(sqrt(mean(u * u)) / as<value_type_of<decltype(u)>>(threshold), 1)); }};
}
/// Each leaf less its mean over all axes but the first; vectors and numbers as they are (Yong et al., 2020, with inputs first).
constexpr auto centralize() {
  return leaf_transformation{[]<class U>(const U& u) {
    constexpr int rank = int(leaf_traits<U>::extents.rank);
    if constexpr (rank < 2) return u;
    else
      return [&]<int... I>(std::integer_sequence<int, I...>) { return evaluated(u - mean(u, axis<(I + 1)...>, keepdims)); }(std::make_integer_sequence<int, rank - 1>{});
  }};
}
/// NaN becomes 0.
constexpr auto zero_nans() {
  return leaf_transformation{[](const auto& u) { return evaluated(where(is_nan(u), 0, u)); }};
}
/// Updates that keep parameters at 0 or above.
constexpr auto keep_params_nonnegative() {
  return leaf_transformation{[](const auto& u, const auto& p) { return evaluated(where(p + u < 0, -p, u)); }};
}
/// u times the norm of its parameters, which counts as `min_scale` if it is less.
constexpr auto scale_by_param_block_norm(double min_scale = 1e-3) {
  return leaf_transformation{[=](const auto& u, const auto& p) { return evaluated(u * maximum(sqrt(sum(p * p)), min_scale)); }};
}
/// u times the root mean square of its parameters, which counts as `min_scale` if it is less.
constexpr auto scale_by_param_block_rms(double min_scale = 1e-3) {
  return leaf_transformation{[=](const auto& u, const auto& p) { return evaluated(u * maximum(sqrt(mean(p * p)), min_scale)); }};
}

struct trust_ratio_options {
  double min_norm = 0, trust_coefficient = 1, eps = 0;
};
/// u |p| / |u| (You et al., 2017); where one of them is 0, u.
constexpr auto scale_by_trust_ratio(trust_ratio_options o = {}) {
  return leaf_transformation{[=](const auto& u, const auto& p) {
    const auto of_params = evaluated(maximum(sqrt(sum(p * p)), o.min_norm)), of_updates = evaluated(maximum(sqrt(sum(u * u)), o.min_norm));
    const auto is_zero = (of_params <= 0) || (of_updates <= 0);
    return evaluated(u * where(is_zero, 1, o.trust_coefficient * of_params / (where(is_zero, 1, of_updates) + o.eps)));
  }};
}

/// All leaves together shortened to a norm of `max_norm`, if theirs is not less (Pascanu et al., 2013).
template <class H> struct clip_by_global_norm {
  H max_norm;
  constexpr explicit clip_by_global_norm(const H& n) : max_norm(n) {}
  template <tree P> constexpr std::tuple<> init(const P&) const { return {}; }
  template <tree U, class S, class... P> constexpr auto update(const U& updates, const S& state, const P&...) const {
    const auto norm = global_norm(updates);
    using T = value_type_of<decltype(norm)>;
    const auto factor = evaluated(where(norm < as<T>(max_norm), 1, as<T>(max_norm) / norm));
    return std::tuple(tree_map([&](const auto& u) { return evaluated(u * astype<value_type_of<decltype(u)>>(factor)); }, updates), state);
  }
};
/// u scale_factor / (norm of all updates + eps)
struct normalize_by_update_norm {
  double scale_factor = 1, eps = 1e-6;
  template <tree P> constexpr std::tuple<> init(const P&) const { return {}; }
  template <tree U, class S, class... P> constexpr auto update(const U& updates, const S& state, const P&...) const {
    const auto factor = evaluated(scale_factor / (global_norm(updates) + eps));
    return std::tuple(tree_map([&](const auto& u) { return evaluated(u * astype<value_type_of<decltype(u)>>(factor)); }, updates), state);
  }
};

// ---- with steps ----

/// What counts steps for a schedule, and nothing if a rate has none.
template <class R, class P> constexpr auto steps_for(const P& params) {
  if constexpr (is_schedule<R>) return step_state{zero_steps(params)};
  else return std::tuple<>();
}
template <class R, class S> constexpr auto rate_of(const R& rate, [[maybe_unused]] const S& state) {
  if constexpr (is_schedule<R>) return evaluated(rate(evaluated(astype<double>(state.count))));
  else return rate;
}
template <class R, class S> constexpr auto after_step(const S& state) {
  if constexpr (is_schedule<R>) return step_state{next(state.count)};
  else return state;
}

/// u times -1 times a rate: a number, a traced value, or a schedule. `Sign`: +1 leaves the sign.
template <class R, int Sign = -1> struct scale_by_learning_rate {
  R rate;
  constexpr explicit scale_by_learning_rate(const R& r) : rate(r) {}
  template <tree P> constexpr auto init(const P& params) const { return steps_for<R>(params); }
  template <tree U, class S, class... P> constexpr auto update(const U& updates, const S& state, const P&...) const {
    const auto r = rate_of(rate, state);
    return std::tuple(tree_map([&](const auto& u) { return evaluated(double(Sign) * as<value_type_of<decltype(u)>>(r) * u); }, updates), after_step<R>(state));
  }
};
/// u times the value of a schedule.
template <class R> constexpr auto scale_by_schedule(const R& rate) { return scale_by_learning_rate<R, 1>(rate); }

/// u + weight_decay p. The decay is a number, a traced value, or a schedule.
template <class R> struct add_decayed_weights {
  R weight_decay;
  constexpr explicit add_decayed_weights(const R& r) : weight_decay(r) {}
  template <tree P> constexpr auto init(const P& params) const { return steps_for<R>(params); }
  template <tree U, class S, class... P> constexpr auto update(const U& updates, const S& state, const P&... params) const {
    static_assert(sizeof...(P) == 1, "optimizers: this one needs the parameters: update(gradients, state, params)");
    if constexpr (sizeof...(P) == 1) {
      const auto r = rate_of(weight_decay, state);
      return std::tuple(tree_map([&](const auto& u, const auto& p) { return evaluated(u + as<value_type_of<decltype(u)>>(r) * p); }, updates, params...), after_step<R>(state));
    } else return std::tuple(updates, state);
  }
};

// ---- with moments ----

/// decay times the trace of former updates is added (Polyak, 1964), or, `nesterov`, twice so (Nesterov, 1983).
template <class H> struct trace {
  H decay;
  bool nesterov;
  constexpr explicit trace(const H& d, bool n = false) : decay(d), nesterov(n) {}
  template <tree P> constexpr auto init(const P& params) const { return trace_state{tree_zeros_like(params)}; }
  template <tree U, class S, class... P> constexpr auto update(const U& updates, const S& state, const P&...) const {
    const auto add = [&](const auto& u, const auto& t) { return evaluated(u + as<value_type_of<decltype(u)>>(decay) * t); };
    const auto t = tree_map(add, updates, state.trace);
    const auto both = [&](const auto& u, const auto& after) { return evaluated(chosen(nesterov, add(u, after), after)); };
    return std::tuple(tree_map(both, updates, t), trace_state{t});
  }
};

/// The exponential moving average of updates; `debias`: less what its start at zero makes of it.
struct ema {
  double decay;
  bool debias = true;
  template <tree P> constexpr auto init(const P& params) const { return average_state{zero_steps(params), tree_zeros_like(params)}; }
  template <tree U, class S, class... P> constexpr auto update(const U& updates, const S& state, const P&...) const {
    const auto count = next(state.count);
    const auto average = tree_map([&](const auto& u, const auto& a) { return evaluated(moment(decay, a, u)); }, updates, state.average);
    const auto whole = [&](const auto& a) { return evaluated(chosen(debias, a / debiasing<value_type_of<decltype(a)>>(decay, count), a)); };
    return std::tuple(tree_map(whole, average), average_state{count, average});
  }
};

struct adam_options {
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0;
  bool nesterov = false;
};
/// The mean of the gradients as Adam takes it, times a number.
template <class O, class M, class G, class C, class F> constexpr auto mean_of_adam(const O& o, const M& mu, const G& g, const C& count, const F& factor) {
  using T = value_type_of<M>;
  const auto now = factor / debiasing<T>(o.b1, count);
  const auto next = factor / debiasing<T>(o.b1, count + 1);
  return chosen(o.nesterov, o.b1 * next * mu + (1 - o.b1) * now * g, now * mu);
}
/// That over sqrt(nu / (1 - b2^count) + eps_root) + eps. The root of 1 - b2^count is taken out of both, which saves a product per element.
template <class O, class M, class V, class G, class C> constexpr auto step_of_adam(const O& o, const M& mu, const V& nu, const G& g, const C& count) {
  const auto left = debiasing<value_type_of<V>>(o.b2, count);
  const auto root = sqrt(left);
  const auto squares = o.eps_root == 0 ? nu : evaluated(nu + o.eps_root * left);
  return evaluated(mean_of_adam(o, mu, g, count, root) / (sqrt(squares) + o.eps * root));
}
/// Mean over the root of the mean of squares, both less their bias (Kingma and Ba, 2015; Dozat, 2016).
struct scale_by_adam : adam_options {
  constexpr explicit scale_by_adam(adam_options o = {}) : adam_options(o) {}
  template <tree P> constexpr auto init(const P& params) const { return moments_state{zero_steps(params), tree_zeros_like(params), tree_zeros_like(params)}; }
  template <tree U, class S, class... P> constexpr auto update(const U& updates, const S& state, const P&...) const {
    const auto count = next(state.count);
    const auto mu = tree_map([&](const auto& g, const auto& m) { return evaluated(moment(b1, m, g)); }, updates, state.mu);
    const auto nu = tree_map([&](const auto& g, const auto& v) { return evaluated(moment(b2, v, g * g)); }, updates, state.nu);
    const auto step = [&](const auto& g, const auto& m, const auto& v) { return step_of_adam(*this, m, v, g, count); };
    return std::tuple(tree_map(step, updates, mu, nu), moments_state{count, mu, nu});
  }
};

struct amsgrad_options {
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0;
};
/// Adam with the largest mean of squares so far (Reddi et al., 2018).
struct scale_by_amsgrad : amsgrad_options {
  constexpr explicit scale_by_amsgrad(amsgrad_options o = {}) : amsgrad_options(o) {}
  template <tree P> constexpr auto init(const P& params) const {
    return amsgrad_state{zero_steps(params), tree_zeros_like(params), tree_zeros_like(params), tree_zeros_like(params)};
  }
  template <tree U, class S, class... P> constexpr auto update(const U& updates, const S& state, const P&...) const {
    const auto count = next(state.count);
    const auto mu = tree_map([&](const auto& g, const auto& m) { return evaluated(moment(b1, m, g)); }, updates, state.mu);
    const auto nu = tree_map([&](const auto& g, const auto& v) { return evaluated(moment(b2, v, g * g)); }, updates, state.nu);
    const auto largest = [&](const auto& v, const auto& max) { return evaluated(maximum(max, v / debiasing<value_type_of<decltype(v)>>(b2, count))); };
    const auto nu_max = tree_map(largest, nu, state.nu_max);
    const auto step = [&](const auto& m, const auto& v) {
      return evaluated(1 / debiasing<value_type_of<decltype(m)>>(b1, count) * m / (sqrt(v + eps_root) + eps));
    };
    return std::tuple(tree_map(step, mu, nu_max), amsgrad_state{count, mu, nu, nu_max});
  }
};

struct adamax_options {
  double b1 = 0.9, b2 = 0.999, eps = 1e-8;
};
/// Adam with the infinity norm (Kingma and Ba, 2015, section 7.1).
struct scale_by_adamax : adamax_options {
  constexpr explicit scale_by_adamax(adamax_options o = {}) : adamax_options(o) {}
  template <tree P> constexpr auto init(const P& params) const { return moments_state{zero_steps(params), tree_zeros_like(params), tree_zeros_like(params)}; }
  template <tree U, class S, class... P> constexpr auto update(const U& updates, const S& state, const P&...) const {
    const auto count = next(state.count);
    const auto mu = tree_map([&](const auto& g, const auto& m) { return evaluated(moment(b1, m, g)); }, updates, state.mu);
    const auto nu = tree_map([&](const auto& g, const auto& v) { return evaluated(maximum(abs(g) + eps, b2 * v)); }, updates, state.nu);
    const auto step = [&](const auto& m, const auto& v) { return evaluated(1 / debiasing<value_type_of<decltype(m)>>(b1, count) * m / v); };
    return std::tuple(tree_map(step, mu, nu), moments_state{count, mu, nu});
  }
};

struct belief_options {
  double b1 = 0.9, b2 = 0.999, eps = 1e-16, eps_root = 1e-16;
  bool nesterov = false;
};
/// Adam with the mean of squared differences from the mean (Zhuang et al., 2020).
struct scale_by_belief : belief_options {
  constexpr explicit scale_by_belief(belief_options o = {}) : belief_options(o) {}
  template <tree P> constexpr auto init(const P& params) const { return moments_state{zero_steps(params), tree_zeros_like(params), tree_zeros_like(params)}; }
  template <tree U, class S, class... P> constexpr auto update(const U& updates, const S& state, const P&...) const {
    const auto count = next(state.count);
    const auto mu = tree_map([&](const auto& g, const auto& m) { return evaluated(moment(b1, m, g)); }, updates, state.mu);
    const auto nu = tree_map([&](const auto& g, const auto& m, const auto& v) { return evaluated(moment(b2, v, (g - m) * (g - m)) + eps_root); }, updates, mu, state.nu);
    const auto step = [&](const auto& g, const auto& m, const auto& v) {
      const auto root = sqrt(debiasing<value_type_of<decltype(v)>>(b2, count));
      return evaluated(mean_of_adam(*this, m, g, count, root) / (sqrt(v) + eps * root));
    };
    return std::tuple(tree_map(step, updates, mu, nu), moments_state{count, mu, nu});
  }
};

struct yogi_options {
  double b1 = 0.9, b2 = 0.999, eps = 1e-3, eps_root = 0, initial_accumulator_value = 1e-6;
  static constexpr bool nesterov = false;
};
/// Adam whose mean of squares changes by no more than the square (Zaheer et al., 2018).
struct scale_by_yogi : yogi_options {
  constexpr explicit scale_by_yogi(yogi_options o = {}) : yogi_options(o) {}
  template <tree P> constexpr auto init(const P& params) const {
    return moments_state{zero_steps(params), tree_full_like(params, initial_accumulator_value), tree_full_like(params, initial_accumulator_value)};
  }
  template <tree U, class S, class... P> constexpr auto update(const U& updates, const S& state, const P&...) const {
    const auto count = next(state.count);
    const auto mu = tree_map([&](const auto& g, const auto& m) { return evaluated(moment(b1, m, g)); }, updates, state.mu);
    const auto nu = tree_map([&](const auto& g, const auto& v) { return evaluated(v - (1 - b2) * sign(v - g * g) * (g * g)); }, updates, state.nu);
    const auto step = [&](const auto& g, const auto& m, const auto& v) { return step_of_adam(*this, m, v, g, count); };
    return std::tuple(tree_map(step, updates, mu, nu), moments_state{count, mu, nu});
  }
};

struct radam_options {
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0, threshold = 5;
  bool nesterov = false;
};
/// Adam that takes the mean alone until the variance of its step is known (Liu et al., 2020).
struct scale_by_radam : radam_options {
  constexpr explicit scale_by_radam(radam_options o = {}) : radam_options(o) {}
  template <tree P> constexpr auto init(const P& params) const { return moments_state{zero_steps(params), tree_zeros_like(params), tree_zeros_like(params)}; }
  template <tree U, class S, class... P> constexpr auto update(const U& updates, const S& state, const P&...) const {
    const auto count = next(state.count);
    const auto mu = tree_map([&](const auto& g, const auto& m) { return evaluated(moment(b1, m, g)); }, updates, state.mu);
    const auto nu = tree_map([&](const auto& g, const auto& v) { return evaluated(moment(b2, v, g * g)); }, updates, state.nu);
    // In double: of the first steps little is left by the difference.
    const double limit = 2 / (1 - b2) - 1;
    const auto steps = evaluated(astype<double>(count));
    const auto length = evaluated(limit - 2 * steps * (1 / debiasing<double>(b2, count) - 1));
    const auto rectified = evaluated(length >= threshold);
    const auto factor = evaluated(sqrt((length - 4) * (length - 2) * (limit / ((limit - 4) * (limit - 2))) / length));
    const auto step = [&](const auto& g, const auto& m, const auto& v) {
      return evaluated(where(rectified, astype<value_type_of<decltype(g)>>(factor) * step_of_adam(*this, m, v, g, count), mean_of_adam(*this, m, g, count, 1)));
    };
    return std::tuple(tree_map(step, updates, mu, nu), moments_state{count, mu, nu});
  }
};

struct lion_options {
  double b1 = 0.9, b2 = 0.99;
};
/// The sign of a mean (Chen et al., 2023).
struct scale_by_lion : lion_options {
  constexpr explicit scale_by_lion(lion_options o = {}) : lion_options(o) {}
  template <tree P> constexpr auto init(const P& params) const { return trace_state{tree_zeros_like(params)}; }
  template <tree U, class S, class... P> constexpr auto update(const U& updates, const S& state, const P&...) const {
    const auto step = [&](const auto& g, const auto& m) { return evaluated(sign(moment(b1, m, g))); };
    const auto mu = [&](const auto& g, const auto& m) { return evaluated(moment(b2, m, g)); };
    return std::tuple(tree_map(step, updates, state.trace), trace_state{tree_map(mu, updates, state.trace)});
  }
};

struct rss_options {
  double initial_accumulator_value = 0.1, eps = 1e-7;
};
/// g over the root of the sum of all squares so far (Duchi et al., 2011).
struct scale_by_rss : rss_options {
  constexpr explicit scale_by_rss(rss_options o = {}) : rss_options(o) {}
  template <tree P> constexpr auto init(const P& params) const { return squares_state{tree_full_like(params, initial_accumulator_value)}; }
  template <tree U, class S, class... P> constexpr auto update(const U& updates, const S& state, const P&...) const {
    const auto nu = tree_map([](const auto& g, const auto& v) { return evaluated(v + g * g); }, updates, state.nu);
    const auto step = [&](const auto& g, const auto& v) { return evaluated(where(v > 0, g / sqrt(v + eps), 0)); };
    return std::tuple(tree_map(step, updates, nu), squares_state{nu});
  }
};

struct rms_options {
  double decay = 0.9, eps = 1e-8, initial_scale = 0;
  bool eps_in_sqrt = true;
};
/// 1 over the root of squares.
template <class V> constexpr auto inverse_root(const rms_options& o, const V& v) { return 1 / chosen(o.eps_in_sqrt, sqrt(v + o.eps), sqrt(v) + o.eps); }
/// g over the root of the mean of squares (Tieleman and Hinton, 2012).
struct scale_by_rms : rms_options {
  constexpr explicit scale_by_rms(rms_options o = {}) : rms_options(o) {}
  template <tree P> constexpr auto init(const P& params) const { return squares_state{tree_full_like(params, initial_scale)}; }
  template <tree U, class S, class... P> constexpr auto update(const U& updates, const S& state, const P&...) const {
    const auto nu = tree_map([&](const auto& g, const auto& v) { return evaluated(moment(decay, v, g * g)); }, updates, state.nu);
    return std::tuple(tree_map([&](const auto& g, const auto& v) { return evaluated(g * inverse_root(*this, v)); }, updates, nu), squares_state{nu});
  }
};
/// g over the deviation of the gradients from their mean (Graves, 2013).
struct scale_by_stddev : rms_options {
  constexpr explicit scale_by_stddev(rms_options o = {}) : rms_options(o) {}
  template <tree P> constexpr auto init(const P& params) const { return deviation_state{tree_zeros_like(params), tree_full_like(params, initial_scale)}; }
  template <tree U, class S, class... P> constexpr auto update(const U& updates, const S& state, const P&...) const {
    const auto mu = tree_map([&](const auto& g, const auto& m) { return evaluated(moment(decay, m, g)); }, updates, state.mu);
    const auto nu = tree_map([&](const auto& g, const auto& v) { return evaluated(moment(decay, v, g * g)); }, updates, state.nu);
    const auto step = [&](const auto& g, const auto& m, const auto& v) { return evaluated(g * inverse_root(*this, v - m * m)); };
    return std::tuple(tree_map(step, updates, mu, nu), deviation_state{mu, nu});
  }
};

/// g times the root of the mean of squared updates over that of squared gradients (Zeiler, 2012).
struct scale_by_adadelta {
  double rho = 0.9, eps = 1e-6;
  template <tree P> constexpr auto init(const P& params) const { return adadelta_state{tree_zeros_like(params), tree_zeros_like(params)}; }
  template <tree U, class S, class... P> constexpr auto update(const U& updates, const S& state, const P&...) const {
    const auto e_g = tree_map([&](const auto& g, const auto& e) { return evaluated(moment(rho, e, g * g)); }, updates, state.e_g);
    const auto step = [&](const auto& g, const auto& of_g, const auto& of_x) { return evaluated(sqrt(of_x + eps) / sqrt(of_g + eps) * g); };
    const auto u = tree_map(step, updates, e_g, state.e_x);
    const auto e_x = tree_map([&](const auto& x, const auto& e) { return evaluated(moment(rho, e, x * x)); }, u, state.e_x);
    return std::tuple(u, adadelta_state{e_g, e_x});
  }
};

/// The axes of a leaf's largest and second largest extents, if the latter is at least `Least`, for factored squares.
template <class Leaf, extent Least> struct factored_axes {
  static constexpr shape dims = leaf_traits<Leaf>::extents;
  static constexpr int largest_but(int other) {
    int best = -1;
    for (int i = 0; i < dims.rank; ++i)
      if (i != other && (best < 0 || dims[i] >= dims[best])) best = i;
    return best;
  }
  static constexpr int first = largest_but(-1), second = largest_but(first);
  static constexpr bool possible = dims.rank >= 2 && dims[second] >= Least;
};
/// The mean of squares of a leaf: along its largest axis, and along the second largest; the other axes are kept, with 1 in place of that.
template <class Row, class Column> struct factored_squares {
  Row v_row{};
  Column v_col{};
};
template <class Count, class Leaves> struct factored_state {
  Count count{};
  Leaves leaves{};  // a tuple of squares_state or factored_squares
};
struct factored_options {
  double decay_rate = 0.8, step_offset = 0, epsilon = 1e-30;
};
/// g over the root of the mean of squares, of which for large matrices the means along rows and columns alone are kept
/// (Shazeer and Stern, 2018). `Least`: the extents that count as large.
template <extent Least = 128> struct scale_by_factored_rms : factored_options {
  constexpr explicit scale_by_factored_rms(factored_options o = {}) : factored_options(o) {}
  template <tree P> constexpr auto init(const P& params) const {
    const auto one = [&]<class X>(const X& x) {
      using axes = factored_axes<X, Least>;
      if constexpr (axes::possible)
        return factored_squares{tree_zeros_like(evaluated(sum(x, axis<axes::first>, keepdims))), tree_zeros_like(evaluated(sum(x, axis<axes::second>, keepdims)))};
      else return squares_state{tree_zeros_like(x)};
    };
    return [&]<int... I>(std::integer_sequence<int, I...>) {
      return factored_state{zero_steps(params), std::tuple<decltype(one(get_leaf<I>(params)))...>(one(get_leaf<I>(params))...)};
    }(std::make_integer_sequence<int, leaf_count<P>>{});
  }
  template <tree U, class S, class... P> constexpr auto update(const U& updates, const S& state, const P&...) const {
    return [&]<int... I>(std::integer_sequence<int, I...>) {
      const std::tuple leaves(after(get_leaf<I>(updates), std::get<I>(state.leaves), state.count)...);
      const auto made = [&]<class X>(std::type_identity<X>, auto i) { return X(step(get_leaf<decltype(i)::value>(updates), std::get<decltype(i)::value>(leaves))); };
      return std::tuple(make_tree<U>(made), factored_state{next(state.count), leaves});
    }(std::make_integer_sequence<int, leaf_count<U>>{});
  }

 private:
  template <class G, class S, class C> constexpr auto after(const G& g, const S& old, const C& count) const {
    using T = value_type_of<G>;
    using axes = factored_axes<G, Least>;
    const auto decay = evaluated(1 - pow(astype<T>(count + 1) - step_offset, -decay_rate));
    const auto squares = g * g + epsilon;
    if constexpr (axes::possible)
      return factored_squares{evaluated(moment(decay, old.v_row, mean(squares, axis<axes::first>, keepdims))),
                              evaluated(moment(decay, old.v_col, mean(squares, axis<axes::second>, keepdims)))};
    else return squares_state{evaluated(moment(decay, old.nu, squares))};
  }
  template <class G, class S> static constexpr auto step(const G& g, const S& now) {
    using axes = factored_axes<G, Least>;
    if constexpr (axes::possible) return evaluated(g * rsqrt(now.v_row / mean(now.v_row, axis<axes::second>, keepdims)) * rsqrt(now.v_col));
    else return evaluated(g * rsqrt(now.nu));
  }
};

// ---- around others ----

template <class Count, class Flag, class Total, class Inner> struct finite_state {
  Count notfinite_count{};  // in a row
  Flag last_finite{};
  Total total_notfinite{};
  Inner inner_state{};
};
/// `inner`, but for updates with an element that is not finite: these are left out, as long as there are no more than
/// `max_consecutive_errors` in a row. JAX: optax.apply_if_finite.
template <class Inner> struct apply_if_finite {
  Inner inner;
  int max_consecutive_errors;
  constexpr apply_if_finite(const Inner& i, int most) : inner(i), max_consecutive_errors(most) {}
  template <tree P> constexpr auto init(const P& params) const {
    const auto steps = zero_steps(params);
    return finite_state{steps, evaluated(steps < 1), steps, inner.init(params)};
  }
  template <tree U, class S, class... P> constexpr auto update(const U& updates, const S& state, const P&... params) const {
    const auto finite = [&]<int... I>(std::integer_sequence<int, I...>) {
      return evaluated((... && all(is_finite(get_leaf<I>(updates)))));
    }(std::make_integer_sequence<int, leaf_count<U>>{});
    const auto in_a_row = evaluated(where(finite, 0, next(state.notfinite_count))), in_all = evaluated(where(finite, state.total_notfinite, next(state.total_notfinite)));
    const auto applies = evaluated(finite || in_a_row > max_consecutive_errors);
    const auto [u, s] = inner.update(updates, state.inner_state, params...);
    const auto kept = [&](const auto& made, const auto& old) { return evaluated(where(applies, made, old)); };
    return std::tuple(tree_map([&](const auto& x) { return evaluated(where(applies, x, 0)); }, u),
                      finite_state{in_a_row, finite, in_all, tree_map(kept, s, state.inner_state)});
  }
};

template <class Gradient, class Step, class Inner, class Gradients> struct multi_steps_state {
  Gradient mini_step{};  // gradients since the last step
  Step gradient_step{};  // steps done
  Inner inner_state{};
  Gradients acc_grads{};  // their mean
};
/// `inner` for the mean of every k gradients; the updates between are 0. JAX: optax.MultiSteps.
template <class Inner> struct multi_steps {
  Inner inner;
  int every_k;
  constexpr multi_steps(const Inner& i, int k) : inner(i), every_k(k) {
    if (k < 1) throw error("multi_steps: a step needs at least one gradient");
  }
  template <tree P> constexpr auto init(const P& params) const {
    const auto steps = zero_steps(params);
    return multi_steps_state{steps, steps, inner.init(params), tree_zeros_like(params)};
  }
  template <tree U, class S, class... P> constexpr auto update(const U& updates, const S& state, const P&... params) const {
    const auto add = [&](const auto& g, const auto& a) { return evaluated(a + (g - a) / astype<value_type_of<decltype(g)>>(state.mini_step + 1)); };
    const auto mean = tree_map(add, updates, state.acc_grads);
    const auto steps = evaluated(state.mini_step >= every_k - 1);
    const auto [u, s] = inner.update(mean, state.inner_state, params...);
    const auto kept = [&](const auto& made, const auto& old) { return evaluated(where(steps, made, old)); };
    return std::tuple(tree_map([&](const auto& x) { return evaluated(where(steps, x, 0)); }, u),
                      multi_steps_state{evaluated(where(steps, 0, state.mini_step + 1)), evaluated(where(steps, next(state.gradient_step), state.gradient_step)),
                                        tree_map(kept, s, state.inner_state), tree_map([&](const auto& a) { return evaluated(where(steps, 0, a)); }, mean)});
  }
};

}  // namespace cotangent::optimizers
