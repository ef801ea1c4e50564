#pragma once
/// What optimizers are made of, in the names and meanings of optax: a transformation has
///
///     init(params) -> state                              a tree; for arrays, or inside a trace
///     update(gradients, state, params) -> (updates, state)
///
/// and apply_updates(params, updates) adds. Trees of any shape, of float, double and 16-bit leaves. A transformation is a value that may be
/// constexpr, so that a stateless function can use it; a rate may also be a traced value or a schedule (schedules.hpp). Outside a trace
/// every leaf is computed at once; `ct::jit` of a whole step is one pass over the leaves. For parameters on a device the state is made by
/// ct::jit([](const auto& params) { return optimizer.init(params); }).

#include <cotangent/core/tree.hpp>
#include <cotangent/numpy/elementwise.hpp>

namespace cotangent::optimizers {

template <class Leaf> using value_type_of = typename leaf_traits<std::remove_cvref_t<Leaf>>::value_type;

/// A hyperparameter beside arrays of T: a number adopts T, a traced one becomes T.
template <class T, class H> constexpr auto as(const H& h) {
  if constexpr (number<H>) return h;
  else return astype<T>(h);
}
/// a if a hyperparameter says so, else b.
template <class A, class B> constexpr auto chosen(bool first, const A& a, const B& b) { return where(first, a, b); }

/// A number of x's dtype, of rank 0 as x is.
template <class X> constexpr auto number_like(const X& x, double v) {
  if constexpr (is_expression<X>) return x * 0 + v;
  else return full_like(x, v);
}

/// Arrays like the leaves of params, full of a number.
template <tree P> constexpr auto tree_full_like(const P& params, double v) {
  return tree_map(
      [v]<class X>(const X& x) {
        if constexpr (number<X>) return array<X>(X(v));
        else return full_like(x, v);
      },
      params);
}
template <tree P> constexpr auto tree_zeros_like(const P& params) { return tree_full_like(params, 0); }
/// A counter of steps, at 0, beside these parameters.
template <tree P> constexpr auto zero_steps(const P& params) {
  static_assert(leaf_count<P> > 0, "optimizers: the parameters have no leaves");
  if constexpr (traced<first_leaf<P>>) return var<std::int32_t>(constant(*get_leaf<0>(params).b, dtype::int32, {}, 0));
  else return array<std::int32_t>(0);
}
/// The next step; it stays at the largest number.
template <class C> constexpr auto next(const C& count) {
  return evaluated(where(count < std::numeric_limits<std::int32_t>::max(), count + 1, count));
}

/// decay m + (1 - decay) x
template <class H, class M, class X> constexpr auto moment(const H& decay, const M& m, const X& x) {
  using T = value_type_of<M>;
  static_assert(is_floating(dtype_of<T>), "optimizers: this one is for parameters of real floating-point numbers");
  return as<T>(decay) * m + as<T>(1 - decay) * x;
}
/// The logarithm of a number in [0, 1), which compilers do not all know while they compile: log b = 2 artanh((b - 1) / (b + 1)).
constexpr double log_of(double b) {
  if (!(b > 0)) return -std::numeric_limits<double>::infinity();
  const double z = (b - 1) / (b + 1);
  double sum = 0, power = z;
  for (int k = 1; k < 4000 && sum + power / k != sum; k += 2) sum += power / k, power *= z * z;
  return 2 * sum;
}
/// 1 - decay^count: what a moment that started at zero has of a mean. Exact to roundings, also for a decay near 1.
template <class T, class H, class C> constexpr auto debiasing(const H& decay, const C& count) {
  const auto steps = astype<T>(count);
  if constexpr (number<H>) return -expm1(steps * log_of(double(decay)));
  else return -expm1(steps * log1p(as<T>(decay - 1)));
}

/// The square root of the sum of all squares.
template <tree U> constexpr auto global_norm(const U& updates) {
  static_assert(leaf_count<U> > 0, "optimizers: the tree has no leaves");
  const auto total = [&]<int... I>(std::integer_sequence<int, I...>) {
    return (... + sum(get_leaf<I>(updates) * get_leaf<I>(updates)));
  }(std::make_integer_sequence<int, leaf_count<U>>{});
  return evaluated(sqrt(total));
}

/// params + updates, in the dtypes of params. JAX: optax.apply_updates.
template <tree P, tree U> constexpr auto apply_updates(const P& params, const U& updates) {
  return tree_map([](const auto& p, const auto& u) { return evaluated(astype<value_type_of<decltype(p)>>(p + u)); }, params, updates);
}
/// step_size new_params + (1 - step_size) old_params, as of a slowly following average. JAX: optax.incremental_update.
template <tree N, tree O, class H> constexpr auto incremental_update(const N& new_params, const O& old_params, const H& step_size) {
  return tree_map([&](const auto& n, const auto& o) { return evaluated(moment(1 - step_size, o, n)); }, new_params, old_params);
}

/// A transformation without a state that maps updates, or updates and params, leaf by leaf.
template <class F> struct leaf_transformation {
  F f;
  template <tree P> constexpr std::tuple<> init(const P&) const { return {}; }
  template <tree U, class S, class... P> constexpr auto update(const U& updates, const S& state, const P&... params) const {
    constexpr bool alone = std::is_invocable_v<F, const first_leaf<U>&>;
    static_assert(alone || sizeof...(P) == 1, "optimizers: this one needs the parameters: update(gradients, state, params)");
    if constexpr (alone) return std::tuple(tree_map(f, updates), state);
    else if constexpr (sizeof...(P) == 1) return std::tuple(tree_map(f, updates, params...), state);
    else return std::tuple(updates, state);
  }
};

/// One transformation after the other; the state is a tuple of theirs. JAX: optax.chain.
template <class... T> struct chain {
  std::tuple<T...> parts;
  constexpr explicit chain(const T&... part) : parts(part...) {}

  template <tree P> constexpr auto init(const P& params) const {
    return std::apply([&](const T&... part) { return std::tuple<decltype(part.init(params))...>(part.init(params)...); }, parts);
  }
  template <tree U, class... S, class... P> constexpr auto update(const U& gradients, const std::tuple<S...>& state, const P&... params) const {
    static_assert(sizeof...(S) == sizeof...(T), "optimizers: this is not the state of this chain, which has another number of transformations");
    if constexpr (sizeof...(S) == sizeof...(T)) return from<0>(gradients, state, std::tuple<>(), params...);
    else return std::tuple(gradients, state);
  }

 private:
  template <std::size_t K, class U, class S, class Made, class... P>
  constexpr auto from(const U& updates, const S& state, const Made& made, const P&... params) const {
    if constexpr (K == sizeof...(T)) return std::tuple(updates, made);
    else {
      const auto [u, s] = std::get<K>(parts).update(updates, std::get<K>(state), params...);
      return from<K + 1>(u, state, std::tuple_cat(made, std::tuple<std::remove_cvref_t<decltype(s)>>(s)), params...);
    }
  }
};

/// A transformation that leaves updates alone. JAX: optax.identity.
constexpr auto identity() {
  return leaf_transformation{[](const auto& u) { return u; }};
}

}  // namespace cotangent::optimizers
