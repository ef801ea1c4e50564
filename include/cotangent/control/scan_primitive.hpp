#pragma once
/// The loop with a known number of steps: scan_p and its rules. scan, fori_loop and map become it.

#include <cotangent/control/loop.hpp>

namespace cotangent {

/// A scan, taken apart: the body maps ([index], carries, elements of xs, constants) to (carries, elements of ys). All
/// the index of an iteration, the elements of xs and the elements of ys belong to the same place of the leading axis.
struct scan_call {
  graph body;
  sequence<value> carries, xs, constants;  // carries: at the start
  extent length = 0;
  bool reverse = false;  // from the last element to the first
  bool indexed = false;  // the body's first input is the index, int32

  constexpr std::size_t inputs() const { return std::size_t(indexed) + carries.size() + xs.size() + constants.size(); }
  constexpr std::size_t ys() const { return body.outputs.size() - carries.size(); }
  /// The number among the body's inputs of carry, element or constant k.
  constexpr std::size_t carry(std::size_t k) const { return std::size_t(indexed) + k; }
  constexpr std::size_t element(std::size_t k) const { return carry(carries.size()) + k; }
  constexpr std::size_t constant(std::size_t k) const { return element(xs.size()) + k; }
  constexpr sequence<shape> input_shapes() const {
    sequence<shape> r;
    if (indexed) r.push_back({});
    for (value v : carries) r.push_back(v.dims());
    for (value v : xs) r.push_back(erase(v.dims(), 0));
    for (value v : constants) r.push_back(v.dims());
    return r;
  }
  /// The body's inputs by operand: carries, xs, constants.
  constexpr value operand(std::size_t k) const {
    if (k < carries.size()) return carries[k];
    k -= carries.size();
    return k < xs.size() ? xs[k] : constants[k - xs.size()];
  }
};

/// Attributes: those of call_form with one body, then the length, the numbers of carries and of xs, reverse, indexed.
struct scan_p : several_results {
  static constexpr std::string_view name = "scan";

  static constexpr scan_call read(const call& c) {
    const call_form form(c);
    scan_call s;
    s.body = body_of(c, 0);
    s.length = form.own[0], s.reverse = form.own[3] != 0, s.indexed = form.own[4] != 0;
    for (int k = 0; k < c.count; ++k) {
      sequence<value>& to = k < form.own[1] ? s.carries : k < form.own[1] + form.own[2] ? s.xs : s.constants;
      to.push_back(c[k]);
    }
    return s;
  }

  /// The results of a scan. The extents of carries and the equalities of the body are checked.
  static constexpr sequence<value> write(builder& b, scan_call s) {
    if (!s.body.error.empty()) b.fail(s.body.error);
    if (b.failed()) return {};
    const sequence<shape> outputs = body_shapes(b, s.body, s.input_shapes());
    call_form form;
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const dtype type = s.body[s.body.outputs[o]].type;
      if (o < s.carries.size()) check_carry(b, "scan", o, s.carries[o], type, outputs[o]);
      form.results.push_back({type, o < s.carries.size() ? s.carries[o].dims() : insert(outputs[o], 0, s.length)});
    }
    for (value x : s.xs)
      if (!b.symbols.unify("scan", x.dims()[0], s.length)) b.fail(message{} << "scan: the length is " << s.length << ", but an argument has " << x.dims()[0] << " elements: " << x.dims());
    form.own = {s.length, extent(s.carries.size()), extent(s.xs.size()), s.reverse, s.indexed};
    sequence<value> operands;
    for (std::size_t k = 0; k < s.carries.size() + s.xs.size() + s.constants.size(); ++k) operands.push_back(s.operand(k));
    form.bodies.push_back(b.add_subgraph(std::move(s.body)));
    return emit_all<scan_p>(b, form, operands);
  }

  /// Per input of the body, whether it is active, when the operands that `active` names are: carries that an active
  /// value flows into are too.
  static constexpr flag_list active_inputs(const scan_call& s, const flag_list& active, const auto& flow) {
    flag_list flags;
    flags.reserve(active.size() + 1);
    if (s.indexed) flags.push_back(false);
    for (char a : active) flags.push_back(a);
    spread_over_carries(s.body, s.carry(0), s.carries.size(), flags, flow);
    return flags;
  }

  static constexpr void jvp_all(const call& c, const value* t, sequence<value>& results, sequence<value>& tangents) {
    const scan_call s = read(c);
    flag_list given;
    for (int k = 0; k < c.count; ++k) given.push_back(bool(t[k]));
    const flag_list active = active_inputs(s, given, dependent_outputs), out = dependent_outputs(s.body, active);
    const graph joint = jvp_graph(s.body, active);
    scan_call d;
    d.length = s.length, d.reverse = s.reverse, d.indexed = s.indexed;
    // The joint graph has the tangents of the active inputs behind all inputs, and those of all outputs behind all outputs.
    sequence<int> tangent_inputs[3], inputs, outputs;
    std::size_t next = s.inputs();
    for (std::size_t k = 0; k < std::size_t(c.count); ++k) {
      const std::size_t kind = k < s.carries.size() ? 0 : k < s.carries.size() + s.xs.size() ? 1 : 2;
      if (active[k + std::size_t(s.indexed)]) tangent_inputs[kind].push_back(joint.inputs[next++]);
    }
    d.carries = s.carries, d.xs = s.xs, d.constants = s.constants;
    for (std::size_t k = 0; k < std::size_t(c.count); ++k) {
      if (!active[k + std::size_t(s.indexed)]) continue;
      sequence<value>& to = k < s.carries.size() ? d.carries : k < s.carries.size() + s.xs.size() ? d.xs : d.constants;
      to.push_back(t[k] ? t[k] : zeros_like(c[int(k)]));
    }
    inputs = part(joint.inputs, 0, s.carry(s.carries.size()));
    inputs = concat(inputs, tangent_inputs[0]);
    inputs = concat(concat(inputs, part(joint.inputs, s.element(0), s.xs.size())), tangent_inputs[1]);
    inputs = concat(concat(inputs, part(joint.inputs, s.constant(0), s.constants.size())), tangent_inputs[2]);
    const std::size_t n = s.carries.size(), m = s.body.outputs.size();
    for (std::size_t o = 0; o < n; ++o) outputs.push_back(joint.outputs[o]);
    for (std::size_t o = 0; o < n; ++o)
      if (active[s.carry(o)]) outputs.push_back(joint.outputs[m + o]);
    for (std::size_t o = n; o < m; ++o) outputs.push_back(joint.outputs[o]);
    for (std::size_t o = n; o < m; ++o)
      if (out[o]) outputs.push_back(joint.outputs[m + o]);
    sequence<int> more;
    d.body = part_of(joint, inputs, outputs, more);
    const sequence<value> r = write(*c.b, std::move(d));
    if (c.b->failed()) return;
    std::size_t at = n;
    sequence<value> carry_tangents;
    for (std::size_t o = 0; o < n; ++o) {
      results.push_back(r[o]);
      carry_tangents.push_back(active[s.carry(o)] ? r[at++] : value());
    }
    for (std::size_t o = n; o < m; ++o) results.push_back(r[at++]);
    for (value v : carry_tangents) tangents.push_back(v);
    for (std::size_t o = n; o < m; ++o) tangents.push_back(out[o] ? r[at++] : value());
  }

  /// Runs with the residuals as further stacked results. Saved: the body of the way back; per body input whether it is
  /// active; the residuals; the numbers of the body's inputs that the way back takes.
  static constexpr void forward(const call& c, const flag_list& given, sequence<value>& results, saved_state& saved) {
    scan_call s = read(c);
    const flag_list active = active_inputs(s, given, dependent_outputs);
    const graph joint = simplify(vjp_graph(s.body, active, false), false);
    sequence<availability> inputs;
    inputs.assign(joint.inputs.size(), availability::late);
    for (std::size_t i = 0; i < s.inputs(); ++i)
      inputs[i] = i >= s.constant(0) ? availability::invariant : i >= s.element(0) || i < s.carry(0) ? availability::there : availability::stored;
    if (!joint.error.empty()) return c.b->fail(joint.error);
    const halves h = split(joint, inputs, s.body.outputs.size(), residuals::cheapest, s.length);
    s.body = h.early;
    const sequence<value> r = write(*c.b, std::move(s));
    if (c.b->failed()) return;
    const std::size_t own = r.size() - h.kept;
    for (std::size_t i = 0; i < own; ++i) results.push_back(r[i]);
    for (std::size_t i = own; i < r.size(); ++i) saved.values.push_back(r[i]);
    saved.bodies.push_back(h.late);
    saved.flags = active;
    saved.numbers = h.more;
  }

  /// The scan in the other direction. Its carries are the cotangents of carries and the sums of those of constants, its ys
  /// the cotangents of xs.
  static constexpr void backward(const call& c, const saved_state& saved, const value* cotangents, sequence<value>& parts) {
    const scan_call s = read(c);
    const flag_list& active = saved.flags;
    const std::size_t n = s.carries.size(), m = s.body.outputs.size(), residual_count = saved.values.size();
    const graph body = way_back(s, saved, cotangents);
    scan_call back;
    back.reverse = !s.reverse, back.length = s.length;

    // The inputs of `body` (residuals, cotangents of the outputs, the saved numbers, sums), sorted by what they become.
    sequence<int> index, carries, elements, constants;
    for (std::size_t k = 0; k < n; ++k)
      if (active[s.carry(k)]) {
        carries.push_back(body.inputs[residual_count + k]);
        back.carries.push_back(cotangents[k] ? cotangents[k] : zeros_like(s.carries[k]));
      }
    std::size_t next = residual_count + m + saved.numbers.size();
    for (std::size_t k = 0; k < s.constants.size(); ++k)
      if (active[s.constant(k)]) carries.push_back(body.inputs[next++]), back.carries.push_back(zeros_like(s.constants[k]));
    for (std::size_t k = 0; k < residual_count; ++k) elements.push_back(body.inputs[k]), back.xs.push_back(saved.values[k]);
    for (std::size_t o = n; o < m; ++o)
      if (cotangents[o]) elements.push_back(body.inputs[residual_count + o]), back.xs.push_back(cotangents[o]);
    for (std::size_t k = 0; k < saved.numbers.size(); ++k) {
      const int in = body.inputs[residual_count + m + k];
      const std::size_t i = std::size_t(saved.numbers[k]);
      if (i < s.carry(0)) index.push_back(in);
      else if (i >= s.constant(0)) constants.push_back(in), back.constants.push_back(s.constants[i - s.constant(0)]);
      else if (i >= s.element(0)) elements.push_back(in), back.xs.push_back(s.xs[i - s.element(0)]);
      else constants.push_back(in), back.constants.push_back(s.carries[i - s.carry(0)]);  // for its extents
    }
    back.indexed = !index.empty();

    // The outputs, per active input of the forward body.
    sequence<int> of_carries, of_constants, of_xs;
    next = 0;
    for (std::size_t i = 0; i < s.inputs(); ++i)
      if (active[i]) (i < s.element(0) ? of_carries : i < s.constant(0) ? of_xs : of_constants).push_back(body.outputs[next++]);
    const sequence<int> outputs = concat(concat(of_carries, of_constants), of_xs);

    sequence<int> missing, none;  // cotangents that are zero, but taken for their extents
    static_cast<void>(part_of(body, concat(concat(concat(index, carries), elements), constants), outputs, missing));
    for (int i : missing) {
      const std::size_t o = std::size_t(i) - residual_count;
      if (o < n) constants.push_back(body.inputs[std::size_t(i)]), back.constants.push_back(s.carries[o]);
      else {
        const call_form::result of_y = call_form(c).results[o];
        elements.push_back(body.inputs[std::size_t(i)]), back.xs.push_back(constant(*c.b, of_y.type, of_y.dims, 0));
      }
    }
    back.body = part_of(body, concat(concat(concat(index, carries), elements), constants), outputs, none);
    const sequence<value> r = write(*c.b, std::move(back));
    if (c.b->failed()) return;
    std::size_t at_carry = 0, at_constant = of_carries.size(), at_x = at_constant + of_constants.size();
    for (std::size_t i = std::size_t(s.indexed); i < s.inputs(); ++i)
      parts.push_back(!active[i] ? value() : i < s.element(0) ? r[at_carry++] : i < s.constant(0) ? r[at_x++] : r[at_constant++]);
  }

  static constexpr void batch_all(const call& c, const bool* batched, extent size, sequence<value>& results, flag_list& flags) {
    scan_call s = read(c);
    flag_list given;
    for (int k = 0; k < c.count; ++k) given.push_back(batched[k]);
    const auto reached = [&](const graph& g, const flag_list& from) { return reached_outputs(g, from, c.b->axis); };
    const flag_list active = active_inputs(s, given, reached), out = reached(s.body, active);
    sequence<int> in_axes, out_axes;
    for (char a : active) in_axes.push_back(a ? 0 : not_mapped);
    for (char o : out) out_axes.push_back(o ? 0 : not_mapped);
    for (std::size_t k = 0; k < s.carries.size(); ++k)
      if (active[s.carry(k)]) s.carries[k] = batched_operand(s.carries[k], batched[k], size), out_axes[k] = 0;
    for (std::size_t k = 0; k < s.xs.size(); ++k)
      if (batched[s.carries.size() + k]) s.xs[k] = move_axis(s.xs[k], 0, 1);
    s.body = batch_graph(s.body, in_axes, out_axes, is_symbol(size) ? dyn : size, c.b->axis);
    const std::size_t carries = s.carries.size();
    const sequence<value> r = write(*c.b, std::move(s));
    for (std::size_t o = 0; o < r.size(); ++o) {
      const bool mapped = out_axes[o] == 0;
      results.push_back(mapped && o >= carries ? move_axis(r[o], 1, 0) : r[o]);
      flags.push_back(mapped);
    }
  }

  /// Views of what is outside that the turns had better take: what repeats a constant, so that they read the smaller array, and can tell that it
  /// repeats; and a transpose of xs that all of them undo.
  static constexpr void take_views_inside(scan_call& s) {
    const auto is = [](const node& x, std::uint64_t op) { return x.op_id == op; };
    const auto repeats = [&](value v) { return is(v.get(), primitive_of<broadcast_in_dim_p>.id) && !has_symbol(v.dims()); };
    if (!s.body.symbols.empty()) return;
    const flag_list undone = undone_transposes(s);
    bool any = false;
    for (char u : undone) any = any || u;
    for (value v : s.constants) any = any || repeats(v);
    if (!any) return;
    const graph body = std::move(s.body);
    builder inside;
    inside.simplifying = true, inside.inlining = false;
    sequence<value> inputs;
    for (std::size_t i = 0; i < body.inputs.size(); ++i) {
      const node& x = body[body.inputs[i]];
      const bool is_constant = i >= s.constant(0), is_element = !is_constant && i >= s.element(0);
      if (is_constant && repeats(s.constants[i - s.constant(0)])) {
        value& v = s.constants[i - s.constant(0)];
        const shape axes = broadcast_in_dim_p::axes(call_at(v.b->g, v.id));
        v = {v.b, v.b->g.operand(v.id, 0)};
        inputs.push_back(broadcast_in_dim(inside.input(v.type(), v.dims()), x.dims, axes));
      } else if (is_element && undone[i - s.element(0)]) {
        value& v = s.xs[i - s.element(0)];
        const shape order = order_in_turn(v);
        v = {v.b, v.b->g.operand(v.id, 0)};
        inputs.push_back(transpose(inside.input(v.type(), erase(v.dims(), 0)), order));
      } else
        inputs.push_back(inside.input(x.type, x.dims));
    }
    for (value v : inline_graph(inside, body, inputs)) inside.g.outputs.push_back(v.id);
    s.body = remove_dead(inside.finish());
  }
  /// The order of axes of a transpose that leaves the first one where it is, without that.
  static constexpr shape order_in_turn(value transposed) {
    shape order;
    for (int i = 1; i < transposed.rank(); ++i) order.push_back(transposed.b->g.attribute(transposed.id, i) - 1);
    return order;
  }
  /// Per array of xs, whether it is a transpose that leaves the axis of the turns in front, and that all turns undo.
  static constexpr flag_list undone_transposes(const scan_call& s) {
    flag_list undone;
    undone.assign(s.xs.size(), false);
    sequence<int> which;  // per node of the body, which of these xs, from 1 on
    which.assign(s.body.nodes.size(), 0);
    bool any = false;
    for (std::size_t k = 0; k < s.xs.size(); ++k) {
      const node& x = s.xs[k].get();
      if (x.op_id != primitive_of<transpose_p>.id || s.xs[k].b->g.attribute(s.xs[k].id, 0) != 0) continue;
      which[std::size_t(s.body.inputs[s.element(k)])] = int(k) + 1, undone[k] = any = true;
    }
    if (!any) return undone;
    for (int o : s.body.outputs)
      if (const int k = which[std::size_t(o)]) undone[std::size_t(k - 1)] = false;
    for (int n = 0; n < s.body.size(); ++n)
      for (int i = 0; i < s.body[n].operand_count; ++i) {
        const int k = which[std::size_t(s.body.operand(n, i))];
        if (k == 0) continue;
        bool undoes = s.body[n].op_id == primitive_of<transpose_p>.id;
        const shape order = order_in_turn(s.xs[std::size_t(k - 1)]);
        for (int j = 0; j < order.rank && undoes; ++j) undoes = order[int(s.body.attribute(n, j))] == j;
        if (!undoes) undone[std::size_t(k - 1)] = false;
      }
    return undone;
  }
  /// Takes the transposes that ys are outside, where they may meet others. Returns, per y, the order of axes that it is to have of the loop's result; none
  /// if it is that.
  static constexpr sequence<shape> take_transposes_outside(scan_call& s) {
    sequence<shape> orders;
    sequence<int> outputs = s.body.outputs;
    for (std::size_t o = s.carries.size(); o < outputs.size(); ++o) {
      shape order;
      if (const int y = outputs[o]; s.body[y].op_id == primitive_of<transpose_p>.id) {
        order.push_back(0);
        for (int i = 0; i < s.body[y].dims.rank; ++i) order.push_back(s.body.attribute(y, i) + 1);
        outputs[o] = s.body.operand(y, 0);
      }
      orders.push_back(order);
    }
    s.body.outputs = outputs;
    return orders;
  }

  /// No step, one step, carries that do not change, and what does not change inside the body.
  static constexpr void simplify_all(const call& c, sequence<value>& results) {
    scan_call s = read(c);
    builder& b = *c.b;
    const std::size_t n = s.carries.size();
    if (s.length == 0) {
      const call_form form(c);
      for (value v : s.carries) results.push_back(v);
      for (std::size_t o = n; o < form.results.size(); ++o) results.push_back(constant(b, form.results[o].type, form.results[o].dims, 0));
      return;
    }
    if (s.length == 1) {
      sequence<value> inputs;
      if (s.indexed) inputs.push_back(constant(b, dtype::int32, {}, 0));
      for (value v : s.carries) inputs.push_back(v);
      for (value v : s.xs) inputs.push_back(reshape(v, erase(v.dims(), 0)));
      for (value v : s.constants) inputs.push_back(v);
      results = inline_graph(b, s.body, inputs);
      for (std::size_t o = n; o < results.size(); ++o) results[o] = reshape(results[o], insert(results[o].dims(), 0, 1));
      return;
    }
    s.body = simplify(specialized(s.body, s.input_shapes()));
    if (!s.body.error.empty()) return b.fail(s.body.error);
    take_views_inside(s);
    const sequence<shape> orders = take_transposes_outside(s);
    const graph& g = s.body;
    flag_list kept_carries;  // those that change
    for (std::size_t k = 0; k < n; ++k) kept_carries.push_back(g.outputs[k] != g.inputs[s.carry(k)]);

    flag_list constant_inputs;
    for (std::size_t i = 0; i < s.inputs(); ++i) constant_inputs.push_back(i >= s.constant(0) || (i >= s.carry(0) && i < s.element(0) && !kept_carries[i - s.carry(0)]));
    const sequence<int> hoisted = loop_constants(g, constant_inputs, kept_carries);
    const auto operand_of_input = [&](int i) { return s.operand(std::size_t(i) - std::size_t(s.indexed)); };
    scan_call t;
    t.length = s.length, t.reverse = s.reverse;
    const sequence<value> hoisted_values = computed_before(b, g, hoisted, operand_of_input);
    flag_list all;
    all.assign(g.outputs.size(), true);
    const flag_list needed = needed_inputs(g, all);
    sequence<int> inputs, outputs, more;
    if (s.indexed && needed[0]) inputs.push_back(g.inputs[0]), t.indexed = true;
    for (std::size_t k = 0; k < n; ++k)
      if (kept_carries[k]) inputs.push_back(g.inputs[s.carry(k)]), outputs.push_back(g.outputs[k]), t.carries.push_back(s.carries[k]);
    for (std::size_t o = n; o < g.outputs.size(); ++o) outputs.push_back(g.outputs[o]);
    for (std::size_t k = 0; k < s.xs.size(); ++k)
      if (needed[s.element(k)] || !g.symbols.empty()) inputs.push_back(g.inputs[s.element(k)]), t.xs.push_back(s.xs[k]);
    for (std::size_t k = 0; k < hoisted.size(); ++k) inputs.push_back(hoisted[k]), t.constants.push_back(hoisted_values[k]);
    t.body = part_of(g, inputs, outputs, more);
    for (int i : more) t.constants.push_back(operand_of_input(i));
    const sequence<value> r = write(b, std::move(t));
    if (b.failed()) return;
    std::size_t at = 0;
    for (std::size_t o = 0; o < g.outputs.size(); ++o) {
      value v = o < n && !kept_carries[o] ? s.carries[o] : r[at++];
      if (o >= n && orders[o - n].rank > 0) v = transpose(v, orders[o - n]);
      results.push_back(v);
    }
  }

  /// A loop that has these carries among its own, and these ys among its own.
  static constexpr sequence<int> found_in(const call& c, const call& whole) {
    const scan_call s = read(c), w = read(whole);
    const sequence<int> carries = places_of(s.carries, w.carries, 0, true);
    if (!s.body.symbols.empty() || !w.body.symbols.empty() || s.length != w.length || s.reverse != w.reverse || (s.indexed && !w.indexed)) return {};
    sequence<int> inputs, found;
    if (s.indexed) inputs.push_back(0);
    for (int k : carries) {
      if (k < 0) return {};
      inputs.push_back(int(w.carry(std::size_t(k))));
    }
    inputs = concat(concat(inputs, places_of(s.xs, w.xs, w.element(0))), places_of(s.constants, w.constants, w.constant(0)));
    const sequence<int> nodes = found_within(w.body, s.body, inputs);
    for (std::size_t o = 0; o < nodes.size(); ++o) {
      const bool carried = o < s.carries.size();
      std::size_t at = carried ? std::size_t(carries[o]) : w.carries.size();
      while (!carried && at < w.body.outputs.size() && w.body.outputs[at] != nodes[o]) ++at;
      if (at == w.body.outputs.size() || w.body.outputs[at] != nodes[o]) return {};
      found.push_back(int(at));
    }
    return found;
  }

  static constexpr void needs(const call& c, const flag_list& used, flag_list& operands) {
    const call_form form(c);
    const bool indexed = form.own[4] != 0;
    flag_list wanted = used;
    const graph body = body_of(c, 0);
    const flag_list inputs = add_needed_carries(body, indexed, std::size_t(form.own[1]), wanted);
    for (int k = 0; k < c.count; ++k) operands.push_back(inputs[std::size_t(k) + indexed] || (k < form.own[1] && wanted[std::size_t(k)]) || !body.symbols.empty());
  }
  static constexpr void prune(const call& c, const flag_list& used, sequence<value>& results) {
    scan_call s = read(c);
    const std::size_t n = s.carries.size();
    flag_list wanted = used;
    static_cast<void>(add_needed_carries(s.body, s.carry(0), n, wanted));
    const graph body = prune_results(s.body, wanted);
    flag_list all;
    all.assign(body.outputs.size(), true);
    const flag_list needed = needed_inputs(body, all);
    scan_call t;
    t.length = s.length, t.reverse = s.reverse, t.indexed = s.indexed && needed[0];
    sequence<int> inputs, outputs, more, place;  // per output of the body: its number among `outputs`
    if (t.indexed) inputs.push_back(body.inputs[0]);
    for (std::size_t k = 0; k < n; ++k)
      if (wanted[k]) inputs.push_back(body.inputs[s.carry(k)]), t.carries.push_back(s.carries[k]);
    for (std::size_t k = 0; k < s.xs.size(); ++k)
      if (needed[s.element(k)] || !body.symbols.empty()) inputs.push_back(body.inputs[s.element(k)]), t.xs.push_back(s.xs[k]);
    for (int o : body.outputs) {
      std::size_t at = t.carries.size();  // equal ys are one
      while (at < outputs.size() && outputs[at] != o) ++at;
      if (outputs.size() < t.carries.size()) at = outputs.size();
      place.push_back(int(at));
      if (at >= outputs.size()) outputs.push_back(o);
    }
    t.body = part_of(body, inputs, outputs, more);
    for (int i : more) t.constants.push_back(s.operand(std::size_t(i) - std::size_t(s.indexed)));
    const sequence<value> r = write(*c.b, std::move(t));
    if (c.b->failed()) return;
    std::size_t at = 0;
    for (std::size_t o = 0; o < used.size(); ++o) results.push_back(wanted[o] ? r[std::size_t(place[at++])] : value());
  }

 private:
  /// The body of the way back with a structural zero for each y without a cotangent. Cotangents of constants are added to
  /// sums, which are further inputs at the end.
  static constexpr graph way_back(const scan_call& s, const saved_state& saved, const value* cotangents) {
    const graph& late = saved.bodies[0];
    builder b;
    replay r(late, b);
    copy_inputs(r);
    for (std::size_t o = s.carries.size(); o < s.body.outputs.size(); ++o) {
      if (cotangents[o]) continue;
      value& ct = r.map[std::size_t(late.inputs[saved.values.size() + o])];
      ct = zeros_like(ct);
    }
    for (int n = 0; n < late.size(); ++n) r.copy(n);
    std::size_t next = 0;
    for (std::size_t i = 0; i < s.inputs(); ++i) {
      if (!saved.flags[i]) continue;
      value ct = r.map[std::size_t(late.outputs[next++])];
      if (i >= s.constant(0)) ct = add(b.input(ct.type(), ct.dims()), ct);
      b.g.outputs.push_back(ct.id);
    }
    return b.finish();
  }
};

}  // namespace cotangent
