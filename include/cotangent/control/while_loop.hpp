#pragma once
/// while_loop, and fori_loop with bounds that are known only at run time.

#include <cotangent/control/scan.hpp>
#include <cotangent/control/while_primitive.hpp>
#include <cotangent/transforms/captures.hpp>

namespace cotangent {

template <class Condition, class Body> struct looped : transform_base<looped<Condition, Body>> {
  [[no_unique_address]] Condition condition;
  [[no_unique_address]] Body body;
  constexpr looped() = default;
  constexpr looped(const Condition& c, const Body& b) : condition(c), body(b) {}

  template <class Carry> struct why_wrong {
    constexpr message operator()() const {
      using test = traced_result<Condition, Carry>;
      if constexpr (!traced<test>) return message{} << "while_loop: the condition must return a boolean scalar, but it returns a tree of arrays";
      else if (test::type != dtype::boolean || test::rank() != 0)
        return message{} << "while_loop: the condition must return a boolean scalar, but it returns " << test::type << test::type_shape();
      return carry_difference<Carry, traced_result<Body, Carry>>("while_loop");
    }
  };
  template <class Carry> using result = Carry;

  template <class Carry> constexpr closure transformed(nesting level) const {
    if (const message why = why_wrong<Carry>{}(); !why.empty()) return {failed_graph<Carry, Carry>(why), {}};
    closure test = trace_for_transform<Carry>(condition, level), step = trace_for_transform<Carry>(body, level);
    builder b;
    static_cast<void>(input_tree<Carry>(b));
    while_call w;
    const std::size_t n = std::size_t(leaf_count<Carry>);
    for (int i : b.g.inputs) w.carries.push_back({&b, i});
    w.tested = n;
    for (const message& e : {test.body.error, step.body.error})
      if (!e.empty()) b.fail(e);
    w.condition_constants = inputs_like(b, test.body, test.body.inputs.size() - n, n);
    w.body_constants = inputs_like(b, step.body, step.body.inputs.size() - n, n);
    w.condition = std::move(test.body), w.body = std::move(step.body);
    for (value v : while_p::write(b, w)) b.g.outputs.push_back(v.id);
    sequence<value> captured = test.captured;
    for (value v : step.captured) captured.push_back(v);
    return {b.finish(), captured};
  }
};

template <class Condition, class Body, class Carry>
struct vars_captured<looped<Condition, Body>, Carry> : std::bool_constant<returns_vars<Condition, std::tuple<Carry>> || returns_vars<Body, std::tuple<Carry>>> {};
template <class Condition, class Body, class Carry> struct captured_trace<looped<Condition, Body>, Carry> {
  static constexpr builder* of(const looped<Condition, Body>& loop) {
    builder* b = trace_captured(loop.body, std::type_identity<std::tuple<Carry>>{});
    return b ? b : trace_captured(loop.condition, std::type_identity<std::tuple<Carry>>{});
  }
};

/// carry = body(carry) as long as condition(carry), a boolean scalar, is true; returns the last carry, whose shapes and
/// dtypes stay. Forward mode works; reverse mode does not (use scan, or fori_loop with static bounds). Under vmap the loop
/// runs while the condition holds for any instance, and finished instances keep their carry. JAX: jax.lax.while_loop.
template <class Condition, class Body, class Init> constexpr auto while_loop(const Condition& condition, const Body& body, const Init& init) {
  const looped<Condition, Body> loop(condition, body);
  if constexpr (has_number<Init>()) return loop(as_carry<traced_result<Body, argument_tree<Init>>>(init));
  else return loop(init);
}

/// The condition and the body of a counting loop: the carry is (i, end, carry).
struct not_at_end {
  template <class State> constexpr auto operator()(const State& s) const { return std::get<0>(s) < std::get<1>(s); }
};
template <class F> struct counting {
  [[no_unique_address]] F body;
  template <class State> constexpr auto operator()(const State& s) const {
    return std::tuple(std::get<0>(s) + 1, std::get<1>(s), body(std::get<0>(s), std::get<2>(s)));
  }
};

/// A bound as an int32 scalar.
template <class X> constexpr auto as_bound(const X& x) {
  if constexpr (number<X>) {
    static_assert(std::is_integral_v<X>, "fori_loop: a bound must be an integer");
    return std::int32_t(x);
  } else {
    static_assert(X::rank() == 0 && !is_floating(X::type) && !is_complex(X::type), "fori_loop: a bound must be an integer scalar");
    if constexpr (X::type == dtype::int32) return x;
    else return astype<std::int32_t>(x);
  }
}

/// carry = body(i, carry) for i = low, …, high - 1, with i an int32 scalar; returns the last carry. The bounds are integers
/// or integer scalars of the trace. Forward mode works; for reverse mode give the bounds as fori_loop<Low, High>.
/// JAX: jax.lax.fori_loop.
template <class Low, class High, class F, class Init> constexpr auto fori_loop(const Low& low, const High& high, const F& body, const Init& init) {
  const auto first = as_bound(low);
  const auto last = as_bound(high);
  const auto run = [&](const auto& start) {
    using init_type = std::remove_cvref_t<decltype(start)>;
    return std::get<2>(while_loop(not_at_end{}, counting<F>{body}, std::tuple<decltype(first), decltype(last), init_type>(first, last, start)));
  };
  if constexpr (has_number<Init>()) return run(as_carry<traced_result<F, var<std::int32_t>, argument_tree<Init>>>(init));
  else return run(init);
}

}  // namespace cotangent
