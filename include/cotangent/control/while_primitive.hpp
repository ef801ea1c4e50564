#pragma once
/// The loop that runs as long as a condition holds: while_p and its rules.

#include <cotangent/control/loop.hpp>

namespace cotangent {

/// A while loop, taken apart. The condition maps (the first `tested` carries, its constants) to a boolean scalar; the
/// body maps (carries, its constants) to carries.
struct while_call {
  graph condition, body;
  std::size_t tested = 0;
  sequence<value> carries, condition_constants, body_constants;
  /// Whether the leading axis is one of instances, each with a condition of its own: the loop runs while it holds for any, and the
  /// body leaves those alone for which it does not.
  bool by_instance = false;
};

/// Attributes: those of call_form with two bodies, then the numbers of carries, of tested carries, of the condition's constants,
/// by_instance.
struct while_p : several_results {
  static constexpr std::string_view name = "while";

  static constexpr while_call read(const call& c) {
    const call_form form(c);
    while_call w;
    w.condition = body_of(c, 0), w.body = body_of(c, 1);
    w.tested = std::size_t(form.own[1]), w.by_instance = form.own[3] != 0;
    for (int k = 0; k < c.count; ++k) {
      sequence<value>& to = k < form.own[0] ? w.carries : k < form.own[0] + form.own[2] ? w.condition_constants : w.body_constants;
      to.push_back(c[k]);
    }
    return w;
  }

  static constexpr sequence<value> write(builder& b, while_call w) {
    for (const graph* g : {&w.condition, &w.body})
      if (!g->error.empty()) b.fail(g->error);
    if (b.failed()) return {};
    static_cast<void>(body_shapes(b, w.condition, shapes_of(concat(part(w.carries, 0, w.tested), w.condition_constants))));
    const sequence<shape> after = body_shapes(b, w.body, shapes_of(concat(w.carries, w.body_constants)));
    for (std::size_t k = 0; k < w.carries.size(); ++k) check_carry(b, "while_loop", k, w.carries[k], w.body[w.body.outputs[k]].type, after[k]);
    call_form form;
    form.bodies = {b.add_subgraph(std::move(w.condition)), b.add_subgraph(std::move(w.body))};
    for (value v : w.carries) form.results.push_back({v.type(), v.dims()});
    form.own = {extent(w.carries.size()), extent(w.tested), extent(w.condition_constants.size()), w.by_instance};
    return emit_all<while_p>(b, form, concat(concat(w.carries, w.condition_constants), w.body_constants));
  }

  static constexpr void jvp_all(const call& c, const value* t, sequence<value>& results, sequence<value>& tangents) {
    const while_call w = read(c);
    const std::size_t n = w.carries.size(), first_constant = n + w.condition_constants.size();
    flag_list active;
    for (std::size_t k = 0; k < n; ++k) active.push_back(bool(t[k]));
    for (std::size_t k = 0; k < w.body_constants.size(); ++k) active.push_back(bool(t[first_constant + k]));
    spread_over_carries(w.body, 0, n, active, dependent_outputs);
    const graph joint = jvp_graph(w.body, active);
    while_call d = w;
    sequence<int> inputs = part(joint.inputs, 0, n), outputs = part(joint.outputs, 0, n), constant_tangents;
    std::size_t next = w.body.inputs.size();
    for (std::size_t i = 0; i < active.size(); ++i) {
      if (!active[i]) continue;
      const int in = joint.inputs[next++];
      if (i < n) {
        inputs.push_back(in), outputs.push_back(joint.outputs[n + i]);
        d.carries.push_back(t[i] ? t[i] : zeros_like(w.carries[i]));
      } else constant_tangents.push_back(in), d.body_constants.push_back(t[first_constant + i - n]);
    }
    sequence<int> more;
    d.body = part_of(joint, concat(concat(inputs, part(joint.inputs, n, w.body_constants.size())), constant_tangents), outputs, more);
    const sequence<value> r = write(*c.b, std::move(d));
    if (c.b->failed()) return;
    std::size_t at = n;
    for (std::size_t k = 0; k < n; ++k) results.push_back(r[k]), tangents.push_back(active[k] ? r[at++] : value());
  }

  static constexpr void forward(const call& c, const flag_list&, sequence<value>& results, saved_state&) { results = write(*c.b, read(c)); }
  static constexpr void backward(const call& c, const saved_state&, const value*, sequence<value>&) {
    c.b->fail(message{} << "while_loop: reverse-mode differentiation does not work for while_loop, or for fori_loop with run-time bounds; use scan, or fori_loop with static bounds");
  }

  /// A condition that differs between instances: the loop runs while it holds for any, and those that are done keep
  /// their carries.
  static constexpr void batch_all(const call& c, const bool* batched, extent size, sequence<value>& results, flag_list& flags) {
    while_call w = read(c);
    const std::size_t n = w.carries.size(), conditions = w.condition_constants.size();
    const extent own = is_symbol(size) ? dyn : size;
    flag_list active, tested;
    for (std::size_t k = 0; k < n; ++k) active.push_back(batched[k]);
    for (std::size_t k = 0; k < w.body_constants.size(); ++k) active.push_back(batched[n + conditions + k]);
    const auto reached = [&](const graph& g, const flag_list& from) { return reached_outputs(g, from, c.b->axis); };
    spread_over_carries(w.body, 0, n, active, reached);
    const auto tests = [&] {
      tested.clear();
      for (std::size_t k = 0; k < w.tested; ++k) tested.push_back(active[k]);
      for (std::size_t k = 0; k < conditions; ++k) tested.push_back(batched[n + k]);
      return reached(w.condition, tested)[0] != 0;
    };
    const bool differs = tests();
    for (std::size_t k = 0; differs && k < n; ++k) active[k] = true;
    if (differs) tests();
    for (std::size_t k = 0; k < n; ++k)
      if (active[k]) w.carries[k] = batched_operand(w.carries[k], batched[k], size);
    const auto axes = [](const flag_list& which) {
      sequence<int> a;
      for (char x : which) a.push_back(x ? 0 : not_mapped);
      return a;
    };
    sequence<int> carry_axes;
    for (std::size_t k = 0; k < n; ++k) carry_axes.push_back(active[k] ? 0 : not_mapped);
    const graph condition = batch_graph(w.condition, axes(tested), {differs ? 0 : not_mapped}, own, c.b->axis);
    graph body = batch_graph(w.body, axes(active), carry_axes, own, c.b->axis);
    if (differs && !w.by_instance) {  // (else the body leaves alone what is done, instance by instance)
      builder held;  // its own carries where the condition held before the step
      const sequence<value> state = inputs_like(held, body, n), tested_constants = inputs_like(held, condition, conditions, w.tested),
                            constants = inputs_like(held, body, w.body_constants.size(), n);
      const sequence<value> holds = inline_graph(held, condition, concat(part(state, 0, w.tested), tested_constants));
      const sequence<value> next = inline_graph(held, body, concat(state, constants));
      for (std::size_t k = 0; k < n && !held.failed(); ++k) {
        const value p_here = broadcast_in_dim(holds[0], next[k].dims(), {0});
        held.g.outputs.push_back(select(p_here, next[k], state[k]).id);
      }
      body = held.finish();
      w.body_constants = concat(w.condition_constants, w.body_constants);
    }
    w.condition = condition, w.body = std::move(body);
    if (differs) {
      builder any;
      const sequence<value> in = inputs_like(any, condition, condition.inputs.size());
      const sequence<value> p = inline_graph(any, condition, in);
      if (!any.failed()) any.g.outputs.push_back(emit<reduce_or_p>({p[0]}, shape{0}).id);
      w.condition = any.finish();
    }
    w.by_instance = differs;
    results = write(*c.b, std::move(w));
    for (std::size_t k = 0; k < n; ++k) flags.push_back(active[k]);
  }

  static constexpr void simplify_all(const call& c, sequence<value>& results) {
    while_call w = read(c);
    const std::size_t n = w.carries.size();
    w.condition = simplify(specialized(w.condition, shapes_of(concat(part(w.carries, 0, w.tested), w.condition_constants))));
    w.body = simplify(specialized(w.body, shapes_of(concat(w.carries, w.body_constants))));
    for (const graph* g : {&w.condition, &w.body})
      if (!g->error.empty()) return c.b->fail(g->error);
    flag_list constant_inputs, every;
    for (std::size_t i = 0; i < w.body.inputs.size(); ++i) constant_inputs.push_back(i >= n);
    every.assign(n, true);
    const auto operand = [&](int i) { return std::size_t(i) < n ? w.carries[std::size_t(i)] : w.body_constants[std::size_t(i) - n]; };
    const sequence<int> hoisted = loop_constants(w.body, constant_inputs, every);
    while_call t = w;
    t.body_constants = computed_before(*c.b, w.body, hoisted, operand);
    sequence<int> more;
    t.body = part_of(w.body, concat(part(w.body.inputs, 0, n), hoisted), w.body.outputs, more);
    for (int i : more) t.body_constants.push_back(operand(i));
    results = write(*c.b, std::move(t));
  }

  /// A loop that has these carries among its own, and the same condition.
  static constexpr sequence<int> found_in(const call& c, const call& whole) {
    const while_call s = read(c), w = read(whole);
    for (const graph* g : {&s.condition, &s.body, &w.condition, &w.body})
      if (!g->symbols.empty()) return {};
    const sequence<int> carries = places_of(s.carries, w.carries, 0, true);
    for (std::size_t k = 0; k < carries.size(); ++k)
      if (carries[k] < 0 || (k < s.tested && std::size_t(carries[k]) >= w.tested)) return {};
    const sequence<int> tests = found_within(w.condition, s.condition, concat(part(carries, 0, s.tested), places_of(s.condition_constants, w.condition_constants, w.tested)));
    const sequence<int> nodes = found_within(w.body, s.body, concat(carries, places_of(s.body_constants, w.body_constants, w.carries.size())));
    if (tests[0] != w.condition.outputs[0]) return {};
    for (std::size_t k = 0; k < nodes.size(); ++k)
      if (nodes[k] != w.body.outputs[std::size_t(carries[k])]) return {};
    return carries;
  }

  /// The carries that the used results and the condition need.
  static constexpr flag_list wanted_carries(const graph& condition, const graph& body, std::size_t tested, const flag_list& used) {
    flag_list wanted = used, all;
    all.assign(1, true);
    const flag_list needed = needed_inputs(condition, all);
    for (std::size_t k = 0; k < tested; ++k)
      if (needed[k]) wanted[k] = true;
    static_cast<void>(add_needed_carries(body, 0, wanted.size(), wanted));
    return wanted;
  }
  static constexpr void needs(const call& c, const flag_list& used, flag_list& operands) {
    const call_form form(c);
    const graph condition = body_of(c, 0), body = body_of(c, 1);
    const std::size_t n = std::size_t(form.own[0]), tested = std::size_t(form.own[1]), conditions = std::size_t(form.own[2]);
    const flag_list wanted = wanted_carries(condition, body, tested, used);
    flag_list all;
    all.assign(1, true);
    const flag_list of_condition = needed_inputs(condition, all), of_body = needed_inputs(body, wanted);
    for (std::size_t k = 0; k < std::size_t(c.count); ++k)
      operands.push_back(!condition.symbols.empty() || !body.symbols.empty() || (k < n ? wanted[k] : k < n + conditions ? of_condition[tested + k - n] : of_body[k - conditions]));
  }
  static constexpr void prune(const call& c, const flag_list& used, sequence<value>& results) {
    const while_call w = read(c);
    const std::size_t n = w.carries.size();
    const flag_list wanted = wanted_carries(w.condition, w.body, w.tested, used);
    while_call t;
    t.by_instance = w.by_instance;
    const graph body = prune_results(w.body, wanted);
    sequence<int> inputs, test_inputs, more, more_tested;
    for (std::size_t k = 0; k < n; ++k) {
      if (!wanted[k]) continue;
      t.carries.push_back(w.carries[k]), inputs.push_back(body.inputs[k]);
      if (k < w.tested) test_inputs.push_back(w.condition.inputs[k]);
    }
    t.tested = test_inputs.size();
    t.condition = part_of(w.condition, test_inputs, w.condition.outputs, more_tested);
    for (int i : more_tested) t.condition_constants.push_back(std::size_t(i) < w.tested ? w.carries[std::size_t(i)] : w.condition_constants[std::size_t(i) - w.tested]);
    t.body = part_of(body, inputs, body.outputs, more);
    for (int i : more) t.body_constants.push_back(std::size_t(i) < n ? w.carries[std::size_t(i)] : w.body_constants[std::size_t(i) - n]);
    const sequence<value> r = write(*c.b, std::move(t));
    if (c.b->failed()) return;
    std::size_t at = 0;
    for (std::size_t k = 0; k < n; ++k) results.push_back(wanted[k] ? r[at++] : value());
  }
};

}  // namespace cotangent
