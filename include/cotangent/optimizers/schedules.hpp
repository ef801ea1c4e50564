#pragma once
/// Rates that change with the steps, in the names and meanings of optax: functions of the number of steps done, which may be a number (the
/// result is a double), or an array or a traced value of rank 0 (the result has its dtype; float for an integer).

#include <array>

#include <cotangent/optimizers/transformation.hpp>

namespace cotangent::optimizers {

/// A function of a floating step, for numbers and integers too.
template <class F> struct schedule {
  F f;
  template <class C> constexpr auto operator()(const C& step) const {
    if constexpr (number<C>) return double(array<double>(f(array<double>(double(step)))));
    else if constexpr (std::is_integral_v<value_type_of<C>>) return evaluated(f(astype<float>(step)));
    else return evaluated(f(step));
  }
};
template <class X> inline constexpr bool is_schedule = !number<X> && !tensor<X>;

/// Always the same.
constexpr auto constant_schedule(double v) {
  return schedule{[=](const auto& t) { return number_like(t, v); }};
}
/// (init - end) (1 - t)^power + end, where t goes from 0 to 1 in `transition_steps` steps behind `transition_begin`.
constexpr auto polynomial_schedule(double init, double end, double power, double transition_steps, double transition_begin = 0) {
  return schedule{[=](const auto& t) {
    const double begin = transition_begin > 0 ? transition_begin : 0, steps = transition_steps > 0 ? transition_steps : 1;
    const auto left = 1 - clip(t - begin, 0, transition_steps > 0 ? steps : 0) / steps;
    return (init - end) * pow(left, power) + end;
  }};
}
/// From init to end in `transition_steps` steps behind `transition_begin`.
constexpr auto linear_schedule(double init, double end, double transition_steps, double transition_begin = 0) {
  return schedule{[=](const auto& t) {
    const double begin = transition_begin > 0 ? transition_begin : 0, steps = transition_steps > 0 ? transition_steps : 1;
    return init + (end - init) * (clip(t - begin, 0, transition_steps > 0 ? steps : 0) / steps);
  }};
}

struct exponential_decay_options {
  double transition_begin = 0;
  bool staircase = false;                                        // the exponent is a whole number
  double end_value = std::numeric_limits<double>::quiet_NaN();  // not beyond it; NaN: without an end
};
/// init rate^(t / transition_steps), from `transition_begin` on.
constexpr auto exponential_decay(double init, double transition_steps, double decay_rate, exponential_decay_options o = {}) {
  return schedule{[=](const auto& t) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    const double begin = o.transition_begin > 0 ? o.transition_begin : 0;
    const bool is_constant = !(transition_steps > 0) || decay_rate == 0, ends = o.end_value == o.end_value && !is_constant;
    const auto p = clip(t - begin, 0, inf) / (is_constant ? 1 : transition_steps);
    const auto v = init * pow(is_constant ? 1 : decay_rate, chosen(o.staircase, floor(p), p));
    return clip(v, ends && decay_rate < 1 ? o.end_value : -inf, ends && decay_rate >= 1 ? o.end_value : inf);
  }};
}

/// Half a cosine from init to alpha init in `decay_steps` steps (Loshchilov and Hutter, 2016).
constexpr auto cosine_decay_schedule(double init, double decay_steps, double alpha = 0, double exponent = 1) {
  if (!(decay_steps > 0)) throw error("cosine_decay_schedule: decay_steps must be positive");
  return schedule{[=](const auto& t) {
    constexpr double pi = 3.14159265358979323846;
    const auto half = 0.5 * (1 + cos(pi / decay_steps * minimum(t, decay_steps)));
    return init * ((1 - alpha) * chosen(exponent == 1, half, pow(half, exponent)) + alpha);
  }};
}

/// `First` up to a step, then `Second`, whose steps count from there. JAX: optax.join_schedules of two.
template <class First, class Second> constexpr auto join_schedules(const First& first, const Second& second, double boundary) {
  return schedule{[=](const auto& t) { return where(t < boundary, first(t), second(t - boundary)); }};
}

/// A line from init to peak in `warmup_steps`, then a cosine to `end_value` up to step `decay_steps`.
constexpr auto warmup_cosine_decay_schedule(double init, double peak, double warmup_steps, double decay_steps, double end_value = 0, double exponent = 1) {
  return join_schedules(linear_schedule(init, peak, warmup_steps),
                        cosine_decay_schedule(peak, decay_steps - warmup_steps, peak == 0 ? 0 : end_value / peak, exponent), warmup_steps);
}
/// A line from init to peak in `warmup_steps`, then an exponential decay.
constexpr auto warmup_exponential_decay_schedule(double init, double peak, double warmup_steps, double transition_steps, double decay_rate,
                                                 exponential_decay_options o = {}) {
  return join_schedules(linear_schedule(init, peak, warmup_steps), exponential_decay(peak, transition_steps, decay_rate, o), warmup_steps);
}
/// A line from init to peak in `warmup_steps`, which then stays.
constexpr auto warmup_constant_schedule(double init, double peak, double warmup_steps) { return linear_schedule(init, peak, warmup_steps); }

/// At a step the value is scaled.
struct boundary_and_scale {
  double boundary, scale;
};
/// init times the scales of all boundaries that are reached. Boundaries rise: piecewise_constant_schedule(1, {{100, 0.1}, {200, 0.1}}).
template <std::size_t N> constexpr auto piecewise_constant_schedule(double init, const boundary_and_scale (&list)[N]) {
  return schedule{[=, steps = std::to_array(list)](const auto& t) {
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      return (init * ... * where(t < steps[K].boundary, 1, number_like(t, steps[K].scale)));
    }(std::make_index_sequence<N>{});
  }};
}

enum class interpolation { linear, cosine };
/// Between boundaries from one scaled value to the next. Boundaries rise. piecewise_interpolate_schedule(interpolation::linear, 1, {{5, 0.1}, {10, 0.1}})
template <std::size_t N> constexpr auto piecewise_interpolate_schedule(interpolation how, double init, const boundary_and_scale (&list)[N]) {
  return schedule{[=, steps = std::to_array(list)](const auto& t) {
    constexpr double pi = 3.14159265358979323846;
    const auto rise = [&](std::size_t k) {
      double from = init;
      for (std::size_t i = 0; i < k; ++i) from *= steps[i].scale;
      const double begin = k == 0 ? 0 : steps[k - 1].boundary, length = steps[k].boundary > begin ? steps[k].boundary - begin : 1;
      const auto part = clip((t - begin) / length, 0, 1);
      return from * (steps[k].scale - 1) * chosen(how == interpolation::cosine, 0.5 - 0.5 * cos(pi * part), part);
    };
    return [&]<std::size_t... K>(std::index_sequence<K...>) { return (init + ... + rise(K)); }(std::make_index_sequence<N>{});
  }};
}

struct linear_onecycle_options {
  double pct_start = 0.3, pct_final = 0.85, div_factor = 25, final_div_factor = 1e4;
};
/// Up to the peak, down again, and lower (Smith and Topin, 2017).
constexpr auto linear_onecycle_schedule(int transition_steps, double peak, linear_onecycle_options o = {}) {
  if (transition_steps <= 0) throw error("linear_onecycle_schedule: transition_steps must be positive");
  return piecewise_interpolate_schedule(interpolation::linear, peak / o.div_factor,
                                        {{double(int(o.pct_start * transition_steps)), o.div_factor},
                                         {double(int(o.pct_final * transition_steps)), 1 / o.div_factor},
                                         {double(transition_steps), 1 / o.final_div_factor}});
}
struct cosine_onecycle_options {
  double pct_start = 0.3, div_factor = 25, final_div_factor = 1e4;
};
constexpr auto cosine_onecycle_schedule(int transition_steps, double peak, cosine_onecycle_options o = {}) {
  if (transition_steps <= 0) throw error("cosine_onecycle_schedule: transition_steps must be positive");
  return piecewise_interpolate_schedule(interpolation::cosine, peak / o.div_factor,
                                        {{double(int(o.pct_start * transition_steps)), o.div_factor}, {double(transition_steps), 1 / (o.div_factor * o.final_div_factor)}});
}

}  // namespace cotangent::optimizers
