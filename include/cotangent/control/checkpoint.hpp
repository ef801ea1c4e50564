#pragma once
/// checkpoint: less memory in reverse mode for more computation. Values inside a checkpointed function are not kept for
/// the way back, but computed again there; a policy names those that may be kept.

#include <cotangent/control/barrier.hpp>
#include <cotangent/control/scan.hpp>

namespace cotangent {

/// The identity, with a name for policies. Attribute: the name's hash.
struct name_p : differentiable<name_p> {
  static constexpr std::string_view name = "name";
  static constexpr bool by_parts = true;
  static constexpr double flops = 0;
  static constexpr value simplify(const call& c) { return c.b->inlining ? c[0] : value(); }
  static constexpr value derivative(const call&, int, value g) { return g; }
  static constexpr bool linear(const call&, int) { return true; }
};
/// The hash of a name, which no pass takes for a symbol.
template <text Name> inline constexpr extent hash_of_name = extent(hash_of(std::string_view(Name.characters)) % std::uint64_t(symbol_base));
template <text Name> struct name_function {
  constexpr value operator()(value x) const { return emit<name_p>({x}, {hash_of_name<Name>}); }
};
/// x, with a name that policies of ct::checkpoint can refer to. JAX: checkpoint_name.
template <text Name, class X> constexpr auto checkpoint_name(const X& x) {
  if constexpr (traced<X>) return apply<name_function<Name>{}>(x);
  else {
    X named = x;
    for_each_leaf([](auto& leaf) { leaf = checkpoint_name<Name>(leaf); }, named);
    return named;
  }
}

/// What a policy is asked about: the result of one operation inside a checkpointed function.
struct checkpoint_candidate {
  std::string_view primitive;  // "dot_general", "sin", …
  dtype type = dtype::float32;
  shape dims;                  // a run-time extent is not negative and no number: see is_symbol
  extent label = 0;            // of checkpoint_name
  bool has_batch_axes = false; // of a dot_general

  template <text Name> constexpr bool is_named() const { return label == hash_of_name<Name>; }
};

/// A policy is a stateless function object: policy(const checkpoint_candidate&) says whether the value may be kept.
namespace checkpoint_policies {
struct nothing {
  constexpr bool operator()(const checkpoint_candidate&) const { return false; }
};
struct everything {
  constexpr bool operator()(const checkpoint_candidate&) const { return true; }
};
struct dots {
  constexpr bool operator()(const checkpoint_candidate& c) const { return c.primitive == dot_general_p::name; }
};
struct dots_without_batch_axes {
  constexpr bool operator()(const checkpoint_candidate& c) const { return c.primitive == dot_general_p::name && !c.has_batch_axes; }
};
template <text... Names> struct only_names {
  constexpr bool operator()(const checkpoint_candidate& c) const { return (false || ... || c.template is_named<Names>()); }
};
template <text... Names> struct any_names_but {
  constexpr bool operator()(const checkpoint_candidate& c) const { return c.label != 0 && !(false || ... || c.template is_named<Names>()); }
};
template <class A, class B> struct either {
  constexpr bool operator()(const checkpoint_candidate& c) const { return A{}(c) || B{}(c); }
};

inline constexpr nothing nothing_saveable{};
inline constexpr everything everything_saveable{};
inline constexpr dots dots_saveable{};
inline constexpr dots checkpoint_dots{};
inline constexpr dots_without_batch_axes dots_with_no_batch_dims_saveable{};
template <text... Names> inline constexpr only_names<Names...> save_only_these_names{};
template <text... Names> inline constexpr any_names_but<Names...> save_any_names_but_these{};
template <class A, class B> constexpr either<A, B> save_from_both_policies(const A&, const B&) { return {}; }
}  // namespace checkpoint_policies

/// A call whose values inside are not kept for the way back, but those that saveable_p marks. Operands: the body's
/// inputs. Attributes: those of call_form with one body.
struct checkpoint_p : several_results {
  static constexpr std::string_view name = "checkpoint";

  static constexpr sequence<value> write(builder& b, const graph& body, const sequence<value>& operands) {
    if (!body.error.empty()) b.fail(body.error);
    if (b.failed()) return {};
    call_form form;
    form.bodies.push_back(b.add_subgraph(graph(body)));
    const sequence<shape> outputs = body_shapes(b, body, shapes_of(operands));
    for (std::size_t o = 0; o < outputs.size(); ++o) form.results.push_back({body[body.outputs[o]].type, outputs[o]});
    return emit_all<checkpoint_p>(b, form, operands);
  }

  static constexpr void simplify_all(const call& c, sequence<value>& results) {
    const graph body = body_of(c, 0);
    results = inline_graph(*c.b, body, operands_of(c));
  }

  static constexpr void jvp_all(const call& c, const value* t, sequence<value>& results, sequence<value>& tangents) {
    const graph body = body_of(c, 0);
    const std::size_t m = body.outputs.size();
    flag_list active;
    sequence<value> operands = operands_of(c);
    for (int k = 0; k < c.count; ++k) {
      active.push_back(bool(t[k]));
      if (t[k]) operands.push_back(t[k]);
    }
    const flag_list out = dependent_outputs(body, active);
    const sequence<value> r = write(*c.b, jvp_graph(body, active), operands);
    if (c.b->failed()) return;
    for (std::size_t o = 0; o < m; ++o) results.push_back(r[o]), tangents.push_back(out[o] ? r[m + o] : value());
  }

  static constexpr void forward(const call& c, const flag_list& active, sequence<value>& results, saved_state& saved) {
    const graph body = body_of(c, 0);
    const graph joint = simplify(vjp_graph(body, active, false), false);
    if (!joint.error.empty()) return c.b->fail(joint.error);
    sequence<availability> inputs;
    inputs.assign(joint.inputs.size(), availability::late);
    for (std::size_t i = 0; i < body.inputs.size(); ++i) inputs[i] = availability::there;
    const halves h = split(joint, inputs, body.outputs.size(), residuals::saveable);
    const sequence<value> r = inline_graph(*c.b, h.early, operands_of(c));
    for (std::size_t o = 0; o < r.size(); ++o) (o < body.outputs.size() ? results : saved.values).push_back(r[o]);
    saved.bodies.push_back(h.late);
    saved.numbers = h.more;
    saved.flags = active;
  }

  /// Computes again what it needs, but not before the cotangents have arrived, and not merged with the way forward.
  static constexpr void backward(const call& c, const saved_state& saved, const value* cotangents, sequence<value>& parts) {
    const graph body = body_of(c, 0);
    sequence<value> kept = saved.values, awaited, given;
    for (int i : saved.numbers) kept.push_back(c[i]);
    for (std::size_t o = 0; o < body.outputs.size(); ++o)
      if (cotangents[o] && !is_constant(cotangents[o])) awaited.push_back(cotangents[o]);
    if (!awaited.empty()) {
      sequence<value> held;
      for (value v : kept)
        if (!is_constant(v)) held.push_back(v);
      if (!held.empty()) held = barrier_p::write(*c.b, held, {awaited[0]});
      if (c.b->failed()) return;
      std::size_t at = 0;
      for (value& v : kept)
        if (!is_constant(v)) v = held[at++];
    }
    for (std::size_t i = 0; i < saved.values.size(); ++i) given.push_back(kept[i]);
    const sequence<shape> outputs = body_shapes(*c.b, body, shapes_of(operands_of(c)));
    for (std::size_t o = 0; o < body.outputs.size(); ++o)
      given.push_back(cotangents[o] ? cotangents[o] : constant(*c.b, body[body.outputs[o]].type, outputs[o], 0));
    for (std::size_t i = saved.values.size(); i < kept.size(); ++i) given.push_back(kept[i]);
    const sequence<value> r = inline_graph(*c.b, saved.bodies[0], given);
    std::size_t at = 0;
    for (char a : saved.flags) parts.push_back(a && at < r.size() ? r[at++] : value());
  }

  static constexpr void batch_all(const call& c, const bool* batched, extent size, sequence<value>& results, flag_list& flags) {
    const graph body = body_of(c, 0);
    flag_list mapped;
    sequence<int> in_axes, out_axes;
    for (int k = 0; k < c.count; ++k) mapped.push_back(batched[k]), in_axes.push_back(batched[k] ? 0 : not_mapped);
    flags = reached_outputs(body, mapped, c.b->axis);
    for (char o : flags) out_axes.push_back(o ? 0 : not_mapped);
    results = write(*c.b, batch_graph(body, in_axes, out_axes, is_symbol(size) ? dyn : size, c.b->axis), operands_of(c));
  }

  static constexpr void needs(const call& c, const flag_list&, flag_list& operands) { operands.assign(std::size_t(c.count), true); }
  static constexpr void prune(const call& c, const flag_list&, sequence<value>& results) { simplify_all(c, results); }
};

/// `g` with the values that the policy lets be kept marked.
template <class Policy> constexpr graph with_marks(const graph& g, const Policy& policy) {
  builder b;
  replay r(g, b);
  copy_inputs(r);
  if (!g.error.empty()) b.fail(g.error);
  for (int n = 0; n < g.size(); ++n) {
    r.copy(n);
    const node& x = g[n];
    if (x.is_input() || x.op->kind == role::source || has_several_results(x) || b.failed()) continue;
    checkpoint_candidate c{x.op->name, x.type, x.dims};
    if (x.op_id == primitive_of<name_p>.id) c.label = g.attribute(n, 0);
    if (x.op_id == primitive_of<dot_general_p>.id) c.has_batch_axes = g.attribute(n, 0) > 0;
    if (policy(c)) r.map[std::size_t(n)] = emit<saveable_p>({r.map[std::size_t(n)]});
  }
  for (int o : g.outputs) b.g.outputs.push_back(r.map[std::size_t(o)].id);
  return b.finish();
}

template <class F, class Policy> struct checkpointed : transform_base<checkpointed<F, Policy>> {
  [[no_unique_address]] F f;
  constexpr checkpointed() = default;
  constexpr explicit checkpointed(const F& function) : f(function) {}
  template <class G> using with = checkpointed<G, Policy>;
  template <class... V> using inner_arguments = std::tuple<V...>;
  template <class... V> using result = traced_result<F, V...>;

  template <class... V> constexpr closure transformed(nesting level) const {
    closure c = trace_for_transform<V...>(f, level);
    const graph body = with_marks(c.body, Policy{});
    builder b;
    const sequence<value> operands = inputs_like(b, body, body.inputs.size());
    for (value v : checkpoint_p::write(b, body, operands)) b.g.outputs.push_back(v.id);
    c.body = b.finish();
    return c;
  }
};

/// f, whose intermediate values reverse mode computes again instead of keeping them; what f returns is the same to the
/// bit. The policy names values that may be kept: one of ct::checkpoint_policies, or a stateless function object that maps
/// a ct::checkpoint_candidate to bool. JAX: jax.checkpoint.
template <class F, class Policy = checkpoint_policies::nothing> constexpr auto checkpoint(const F& f, const Policy& = {}) {
  static_assert(stateless<Policy>, "checkpoint: a policy is a function object without state");
  return checkpointed<F, Policy>(f);
}
/// The same. JAX: jax.remat.
template <class F, class Policy = checkpoint_policies::nothing> constexpr auto remat(const F& f, const Policy& policy = {}) { return checkpoint(f, policy); }

/// A scan in `levels` nested loops, whose inner ones are computed again on the way back.
constexpr sequence<value> write_checkpointed(builder& b, const scan_call& s, int levels) {
  extent k = 1;  // steps of the inner loops together: length^((levels - 1) / levels)
  if (is_symbol(s.length)) {
    for (int i = 1; i < levels; ++i) k *= 32;
  } else {
    const auto reaches = [&](extent side) {
      extent product = 1;
      for (int i = 0; i < levels; ++i) product *= side;
      return product >= s.length;
    };
    extent side = 1;
    while (!reaches(side)) ++side;
    for (int i = 1; i < levels; ++i) k *= side;
  }
  const auto inner = [&](builder& body, const scan_call& steps) {
    // The steps as a checkpointed function of everything they take.
    const sequence<value> operands = concat(concat(steps.carries, steps.xs), steps.constants);
    const std::size_t carries = steps.carries.size(), xs = steps.xs.size();
    builder f;
    const sequence<value> in = inputs_like(f, operands);
    scan_call inside = steps;
    inside.carries = part(in, 0, carries), inside.xs = part(in, carries, xs), inside.constants = part(in, carries + xs, steps.constants.size());
    if (is_symbol(inside.length)) inside.length = inside.xs[0].dims()[0];
    sequence<value> results;  // (g++ 12 would destroy the result of a conditional expression twice)
    if (levels > 2) results = write_checkpointed(f, inside, levels - 1);
    else results = scan_p::write(f, inside);
    for (value v : results) f.g.outputs.push_back(v.id);
    return checkpoint_p::write(body, f.finish(), operands);
  };
  if (levels <= 1 || k <= 1) return scan_p::write(b, s);
  return write_in_turns(b, s, k, inner, inner);
}

template <int Levels, class F, class Options> struct checkpointed_scanned : transform_base<checkpointed_scanned<Levels, F, Options>> {
  using plain = scanned<F, Options>;
  [[no_unique_address]] F f;
  constexpr checkpointed_scanned() = default;
  constexpr explicit checkpointed_scanned(const F& function) : f(function) {}
  template <class G> using with = checkpointed_scanned<Levels, G, Options>;
  template <class Carry, class Xs> using inner_arguments = typename plain::template inner_arguments<Carry, Xs>;
  template <class Carry, class Xs> using result = typename plain::template result<Carry, Xs>;
  template <class Carry, class Xs> constexpr closure transformed(nesting level) const {
    return plain(f).template transformed_with<Carry, Xs>(level, [](builder& b, const scan_call& s) { return write_checkpointed(b, s, Levels); });
  }
};

/// ct::scan whose way back keeps the carries at the ends of nested loops only, and computes the steps between again:
/// with N steps and L levels it keeps about L N^(1/L) carries and computes L times (Griewank and Walther, "Revolve",
/// ACM TOMS 26, 2000, for the idea). Levels 1 is ct::scan. Options: `ct::reverse` and `ct::length<N>`, as of ct::scan.
template <int Levels, class F, class Init, class Xs, class... Options> constexpr auto checkpointed_scan(const F& f, const Init& init, const Xs& xs, Options...) {
  static_assert(Levels >= 1, "checkpointed_scan: there is at least 1 level");
  using options = typename with_options<scan_options<>, Options...>::type;
  static_assert(options::unroll == 1, "checkpointed_scan: there is no unroll; nest ct::scan with ct::unroll in a ct::checkpoint");
  const checkpointed_scanned<Levels, F, options> s(f);
  return s(promoted_init<scanned<F, options>>(init, xs), xs);
}

}  // namespace cotangent
