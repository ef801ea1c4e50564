#pragma once
/// custom_jvp and custom_vjp: functions that bring their own derivative.

#include <cotangent/transforms/bodies.hpp>
#include <cotangent/transforms/vmap.hpp>

namespace cotangent {

/// The result of a call whose bodies are mapped over the front axis of every operand and result.
constexpr value batched_call(const call& c, const bool* batched, extent size) {
  sequence<value> operands;
  for (int k = 0; k < c.count; ++k) operands.push_back(batched_operand(c[k], batched[k], size));
  sequence<extent> attributes;
  for (int k = 0; k < c.attribute_count; ++k) attributes.push_back(c.attribute(k));
  for (extent k = 1; k <= attributes[0]; ++k) {
    const graph body = body_of(c, int(k) - 1);
    sequence<int> in, out;
    in.assign(body.inputs.size(), 0);
    out.assign(body.outputs.size(), 0);
    attributes[std::size_t(k)] = c.b->add_subgraph(batch_graph(body, in, out, is_symbol(size) ? dyn : size, c.b->axis));
  }
  call d = c;
  d.operands = operands.data(), d.attributes = attributes.data(), d.bodies = nullptr;
  return c.b->emit(d);
}

/// One output of a function with its own forward rule. Attributes: 2, the function, its rule (primals and tangents to
/// outputs and output tangents), the number of the output.
struct custom_jvp_p {
  static constexpr std::string_view name = "custom_jvp";
  static constexpr role kind = role::call;
  static constexpr int output(const call& c) { return int(c.attribute(3)); }
  static constexpr void infer(call& c) {
    const graph f = body_of(c, 0);
    const int o = f.outputs[std::size_t(output(c))];
    c.type = f[o].type;
    c.dims = output_extents(c, f, o);
  }
  static constexpr value simplify(const call& c) {
    const graph f = body_of(c, 0);
    return inline_graph(*c.b, f, operands_of(c))[std::size_t(output(c))];
  }
  static constexpr value jvp(const call& c, const value* t) {
    const graph rule = body_of(c, 1);
    sequence<value> inputs = operands_of(c);
    for (int k = 0; k < c.count; ++k) inputs.push_back(t[k] ? t[k] : zeros_like(c[k]));
    return inline_graph(*c.b, rule, inputs)[rule.outputs.size() / 2 + std::size_t(output(c))];
  }
  /// The rule is linear in the tangents: its transpose there maps the cotangent back.
  static constexpr void vjp_all(const call& c, value g, sequence<value>& cotangents) {
    const graph rule = body_of(c, 1);
    const std::size_t n = std::size_t(c.count), outputs = rule.outputs.size();
    flag_list tangents;
    for (std::size_t i = 0; i < 2 * n; ++i) tangents.push_back(i >= n);
    const graph pulled = vjp_graph(rule, tangents, false);
    sequence<value> inputs = operands_of(c);
    for (std::size_t i = 0; i < n; ++i) inputs.push_back(zeros_like(inputs[i]));
    for (std::size_t o = 0; o < outputs; ++o) {
      if (o == outputs / 2 + std::size_t(output(c))) inputs.push_back(g);
      else {
        const int out = rule.outputs[o];
        call of_output = c;
        sequence<value> primal_and_tangent = inputs;
        of_output.operands = primal_and_tangent.data(), of_output.count = int(2 * n);
        inputs.push_back(constant(*c.b, rule[out].type, output_extents(of_output, rule, out), 0));
      }
    }
    const sequence<value> all = inline_graph(*c.b, pulled, inputs);
    for (std::size_t i = 0; i < n; ++i) cotangents.push_back(all[outputs + i]);
  }
  static constexpr value batch(const call& c, const bool* batched, extent size) { return batched_call(c, batched, size); }
};

/// A function with its own forward and backward pass. Its outputs are packed into one. Attributes: 3, the function,
/// the forward pass (to packed outputs and residuals), the backward pass (from residuals and packed cotangent).
struct custom_vjp_p {
  static constexpr std::string_view name = "custom_vjp";
  static constexpr role kind = role::call;
  static constexpr void infer(call& c) {
    const graph f = body_of(c, 0);
    c.type = f[f.outputs[0]].type;
    c.dims = output_extents(c, f, f.outputs[0]);
  }
  static constexpr value simplify(const call& c) {
    const graph f = body_of(c, 0);
    return inline_graph(*c.b, f, operands_of(c))[0];
  }
  static constexpr value jvp(const call& c, const value*) {
    c.b->fail(message{} << "custom_vjp: forward-mode differentiation (jvp) cannot be applied to a function with a custom vjp");
    return {};
  }
  static constexpr void vjp_all(const call& c, value g, sequence<value>& cotangents) {
    const graph forward = body_of(c, 1), backward = body_of(c, 2);
    sequence<value> residuals = inline_graph(*c.b, forward, operands_of(c)), inputs;
    for (std::size_t i = 1; i < residuals.size(); ++i) inputs.push_back(residuals[i]);
    inputs.push_back(g);
    cotangents = inline_graph(*c.b, backward, inputs);
  }
  static constexpr value batch(const call& c, const bool* batched, extent size) { return batched_call(c, batched, size); }
};

/// Several values as one vector; one value as it is.
constexpr value pack_values(const sequence<value>& v) {
  if (v.size() == 1) return v[0];
  sequence<value> parts;
  for (value x : v) {
    if (x.type() != v[0].type()) x.b->fail(message{} << "custom_vjp: the outputs have different dtypes, " << v[0].type() << " and " << x.type());
    parts.push_back(ravel_function{}(x));
  }
  return parts[0].b->failed() ? v[0] : concatenate(parts, 0);
}
/// The parts of a packed value, with these shapes.
constexpr sequence<value> unpack_value(value packed, const sequence<shape>& shapes) {
  if (shapes.size() == 1) return {packed};
  sequence<value> r;
  extent at = 0;
  for (const shape& s : shapes) {
    extent n = 1;
    for (extent e : s) n = packed.b->symbols.combine(symbol::product, n, e);
    r.push_back(reshape(slice(packed, {at}, {n}, {1}), s));
    at = packed.b->symbols.combine(symbol::sum, at, n);
  }
  return r;
}

/// The graph with its first `count` outputs packed into one.
constexpr graph with_packed_outputs(const graph& g, std::size_t count) {
  builder b;
  replay r(g, b);
  copy_inputs(r);
  for (int n = 0; n < g.size(); ++n) r.copy(n);
  sequence<value> first;
  for (std::size_t i = 0; i < count; ++i) first.push_back(r.map[std::size_t(g.outputs[i])]);
  b.g.outputs.push_back(pack_values(first).id);
  for (std::size_t i = count; i < g.outputs.size(); ++i) b.g.outputs.push_back(r.map[std::size_t(g.outputs[i])].id);
  graph packed = b.finish();
  if (!g.error.empty()) packed.error = g.error;
  return packed;
}
/// The graph with its inputs from `first` on taken from one packed input.
constexpr graph with_packed_inputs(const graph& g, std::size_t first) {
  if (g.inputs.size() - first == 1 || !g.error.empty()) return g;
  builder b;
  replay r(g, b);
  b.take_symbols(g);
  sequence<shape> shapes;
  extent n = 0;
  for (std::size_t i = 0; i < g.inputs.size(); ++i) {
    const node& x = g[g.inputs[i]];
    if (i < first) {
      r.map[std::size_t(g.inputs[i])] = b.input(x.type, x.dims);
      continue;
    }
    extent size = 1;
    for (extent e : x.dims) size = b.symbols.combine(symbol::product, size, e);
    n = b.symbols.combine(symbol::sum, n, size);
    shapes.push_back(x.dims);
  }
  const sequence<value> parts = unpack_value(b.input(g[g.inputs[first]].type, {n}), shapes);
  for (std::size_t i = first; i < g.inputs.size(); ++i) r.map[std::size_t(g.inputs[i])] = parts[i - first];
  for (int k = 0; k < g.size(); ++k) r.copy(k);
  for (int o : g.outputs) b.g.outputs.push_back(r.map[std::size_t(o)].id);
  return b.finish();
}

template <class F, class Rule> struct custom_forward : transform_base<custom_forward<F, Rule>> {
  static_assert(stateless<F> && stateless<Rule>, "custom_jvp: the function and its rule may not capture variables; pass them as arguments");
  template <class... V> using result = traced_result<F, V...>;
  template <class... V> constexpr closure transformed(int) const {
    using out = traced_result<F, V...>;
    using primals = std::tuple<V...>;
    using made = traced_result<Rule, primals, primals>;
    static_assert(std::is_same_v<made, std::tuple<out, out>>, "custom_jvp: the rule must return (out, out_tangent), both like the function's result");
    const graph f = thaw(traced_function<F, V...>), rule = thaw(traced_function<Rule, primals, primals>);
    builder b;
    replay r(f, b);
    copy_inputs(r);
    if (!f.error.empty()) b.fail(f.error);
    if (!rule.error.empty()) b.fail(rule.error);
    sequence<value> operands;
    for (int i : f.inputs) operands.push_back(r.map[std::size_t(i)]);
    extent attributes[] = {2, b.add_subgraph(graph(f)), b.add_subgraph(graph(rule)), 0};
    for (std::size_t o = 0; o < f.outputs.size(); ++o) {
      attributes[3] = extent(o);
      call c;
      c.op = &primitive_of<custom_jvp_p>, c.operands = operands.data(), c.count = int(operands.size());
      c.attributes = attributes, c.attribute_count = 4;
      b.g.outputs.push_back(b.emit(c).id);
    }
    return {b.finish(), {}};
  }
};

template <class F, class Forward, class Backward> struct custom_backward : transform_base<custom_backward<F, Forward, Backward>> {
  static_assert(stateless<F> && stateless<Forward> && stateless<Backward>,
                "custom_vjp: the function and its passes may not capture variables; pass them as arguments");
  template <class... V> using result = traced_result<F, V...>;
  template <class... V> constexpr closure transformed(int) const {
    using out = traced_result<F, V...>;
    using forward_result = traced_result<Forward, V...>;
    static_assert(std::tuple_size_v<forward_result> == 2, "custom_vjp: fwd must return (out, residuals)");
    using residuals = std::tuple_element_t<1, forward_result>;
    static_assert(std::is_same_v<std::tuple_element_t<0, forward_result>, out>, "custom_vjp: fwd must return (out, residuals) with out like the function's result");
    static_assert(std::is_same_v<traced_result<Backward, residuals, out>, std::tuple<V...>>,
                  "custom_vjp: bwd must return a tuple with the cotangent of each argument");
    constexpr std::size_t outputs = std::size_t(leaf_count<out>), kept = std::size_t(leaf_count<residuals>);
    const graph f = thaw(traced_function<F, V...>);
    builder b;
    replay r(f, b);
    copy_inputs(r);
    sequence<value> operands;
    sequence<shape> shapes;
    for (int i : f.inputs) operands.push_back(r.map[std::size_t(i)]);
    for (int o : f.outputs) shapes.push_back(f[o].dims);
    const graph packed = with_packed_outputs(f, outputs);
    const graph forward = with_packed_outputs(thaw(traced_function<Forward, V...>), outputs);
    const graph backward = with_packed_inputs(thaw(traced_function<Backward, residuals, out>), kept);
    for (const graph* g : {&packed, &forward, &backward})
      if (!g->error.empty()) b.fail(g->error);
    const extent attributes[] = {3, b.add_subgraph(graph(packed)), b.add_subgraph(graph(forward)), b.add_subgraph(graph(backward))};
    call c;
    c.op = &primitive_of<custom_vjp_p>, c.operands = operands.data(), c.count = int(operands.size());
    c.attributes = attributes, c.attribute_count = 4;
    const value v = b.emit(c);
    if (!b.failed())
      for (value part : unpack_value(v, shapes)) b.g.outputs.push_back(part.id);
    return {b.finish(), {}};
  }
};

/// f with its own forward derivative: rule(primals tuple, tangents tuple) -> (out, out_tangent), linear in the
/// tangents, so that reverse mode can transpose it. JAX: jax.custom_jvp.
template <class F, class Rule> constexpr auto custom_jvp(const F&, const Rule&) { return custom_forward<F, Rule>{}; }

/// f with its own reverse derivative: fwd(arguments...) -> (out, residuals), bwd(residuals, cotangent) -> tuple of the
/// arguments' cotangents. Forward mode through it is an error. JAX: jax.custom_vjp.
template <class F, class Forward, class Backward> constexpr auto custom_vjp(const F&, const Forward&, const Backward&) {
  return custom_backward<F, Forward, Backward>{};
}

}  // namespace cotangent
