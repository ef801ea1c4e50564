#pragma once
/// The choice between functions at run time: switch_p and its rules. cond and switch_ become it.

#include <cotangent/control/loop.hpp>

namespace cotangent {

/// A choice, taken apart: branch `index`, an int32 scalar in [0, branches), maps the operands to the results.
struct switch_call {
  value index;
  sequence<value> operands;
  sequence<graph> branches;
  bool back = false;  // the way back of another
};

/// Operands: the index, then the branches'. Attributes: those of call_form with a body per branch.
struct switch_p : several_results {
  static constexpr std::string_view name = "switch";

  static constexpr switch_call read(const call& c) {
    const call_form form(c);
    switch_call s;
    s.index = c[0];
    for (int k = 1; k < c.count; ++k) s.operands.push_back(c[k]);
    for (std::size_t k = 0; k < form.bodies.size(); ++k) s.branches.push_back(body_of(c, int(k)));
    s.back = form.own[0] != 0;
    return s;
  }

  static constexpr sequence<value> write(builder& b, switch_call s) {
    for (const graph& g : s.branches)
      if (!g.error.empty()) b.fail(g.error);
    if (b.failed()) return {};
    call_form form;
    form.own = {s.back};
    const sequence<shape> inputs = shapes_of(s.operands);
    for (std::size_t k = 0; k < s.branches.size(); ++k) {
      graph& g = s.branches[k];
      const sequence<shape> outputs = body_shapes(b, g, inputs);
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        const dtype type = g[g.outputs[o]].type;
        if (k == 0) {
          form.results.push_back({type, outputs[o]});
          continue;
        }
        const call_form::result& first = form.results[o];
        bool same = type == first.type && outputs[o].rank == first.dims.rank;
        for (int i = 0; same && i < outputs[o].rank; ++i) same = b.symbols.unify("cond", outputs[o][i], first.dims[i]);
        if (!same) b.fail(message{} << "cond: the branches must return the same types: result " << int(o) << " is " << first.type << first.dims << " in one and " << type << outputs[o] << " in another");
      }
      form.bodies.push_back(b.add_subgraph(std::move(g)));
    }
    return emit_all<switch_p>(b, form, concat(sequence<value>{s.index}, s.operands));
  }

  static constexpr void jvp_all(const call& c, const value* t, sequence<value>& results, sequence<value>& tangents) {
    switch_call s = read(c);
    const std::size_t n = s.operands.size(), m = s.branches[0].outputs.size();
    flag_list active, out;
    for (std::size_t k = 0; k < n; ++k) active.push_back(bool(t[1 + k]));
    out.assign(m, false);
    for (const graph& g : s.branches) {
      const flag_list flows = dependent_outputs(g, active);
      for (std::size_t o = 0; o < m; ++o) out[o] = out[o] || flows[o];
    }
    for (graph& g : s.branches) {
      graph joint = jvp_graph(g, active);
      sequence<int> outputs = part(joint.outputs, 0, joint.error.empty() ? m : 0);
      for (std::size_t o = 0; o < m && joint.error.empty(); ++o)
        if (out[o]) outputs.push_back(joint.outputs[m + o]);
      joint.outputs = outputs;
      g = std::move(joint);
    }
    for (std::size_t k = 0; k < n; ++k)
      if (active[k]) s.operands.push_back(t[1 + k]);
    const sequence<value> r = write(*c.b, std::move(s));
    if (c.b->failed()) return;
    std::size_t at = m;
    for (std::size_t o = 0; o < m; ++o) results.push_back(r[o]), tangents.push_back(out[o] ? r[at++] : value());
  }

  /// Runs with the residuals of all branches as further results: those of branches that are not taken are zeros. Saved:
  /// the branches' ways back; the residuals; per branch the numbers of its residuals, and those of the operands it takes.
  static constexpr void forward(const call& c, const flag_list& given, sequence<value>& results, saved_state& saved) {
    switch_call s = read(c);
    const std::size_t n = s.operands.size(), m = s.branches[0].outputs.size();
    flag_list active;
    for (std::size_t k = 0; k < n; ++k) active.push_back(given[1 + k]);
    struct slot {
      dtype type;
      shape dims;
      std::size_t branch, output;
    };
    sequence<slot> slots;
    sequence<graph> early;
    sequence<sequence<int>> slots_of;
    for (const graph& g : s.branches) {
      const graph joint = simplify(vjp_graph(g, active, false), false);
      if (!joint.error.empty()) return c.b->fail(joint.error);
      sequence<availability> inputs;
      inputs.assign(joint.inputs.size(), availability::late);
      for (std::size_t i = 0; i < n; ++i) inputs[i] = availability::there;
      const halves h = split(joint, inputs, m, residuals::cheapest);
      sequence<int> own;
      for (std::size_t r = 0; r < h.kept; ++r) {
        const node& kept = h.early[h.early.outputs[m + r]];
        std::size_t at = 0;  // a slot of another branch, if it has this shape
        const auto fits = [&](std::size_t i) {
          if (slots[i].type != kept.type || !(slots[i].dims == kept.dims) || has_symbol(kept.dims)) return false;
          for (int taken : own)
            if (std::size_t(taken) == i) return false;
          return true;
        };
        while (at < slots.size() && !fits(at)) ++at;
        if (at == slots.size()) slots.push_back({kept.type, kept.dims, early.size(), m + r});
        own.push_back(int(at));
      }
      early.push_back(h.early), slots_of.push_back(own);
      saved.bodies.push_back(h.late);
      saved.numbers.push_back(int(own.size()));
      for (int i : own) saved.numbers.push_back(i);
      saved.numbers.push_back(int(h.more.size()));
      for (int i : h.more) saved.numbers.push_back(i);
    }
    for (std::size_t k = 0; k < early.size(); ++k) {
      builder b;
      const sequence<value> in = inputs_like(b, s.branches[k], n);
      const sequence<value> out = inline_graph(b, early[k], in);
      for (std::size_t o = 0; o < m && !b.failed(); ++o) b.g.outputs.push_back(out[o].id);
      for (std::size_t i = 0; i < slots.size() && !b.failed(); ++i) {
        value v;
        for (std::size_t r = 0; r < slots_of[k].size(); ++r)
          if (std::size_t(slots_of[k][r]) == i) v = out[m + r];
        if (!v) v = constant(b, slots[i].type, body_shapes(b, early[slots[i].branch], shapes_of(in))[slots[i].output], 0);
        b.g.outputs.push_back(v.id);
      }
      s.branches[k] = b.finish();
    }
    const sequence<value> r = write(*c.b, std::move(s));
    for (std::size_t o = 0; o < r.size(); ++o) (o < m ? results : saved.values).push_back(r[o]);
    saved.flags = active;
  }

  static constexpr void backward(const call& c, const saved_state& saved, const value* cotangents, sequence<value>& parts) {
    const switch_call s = read(c);
    const std::size_t m = s.branches[0].outputs.size();
    switch_call back;
    back.back = true;
    back.index = s.index;
    back.operands = saved.values;
    for (std::size_t o = 0; o < m; ++o)
      if (cotangents[o]) back.operands.push_back(cotangents[o]);
    const std::size_t first_operand = back.operands.size();
    back.operands = concat(back.operands, s.operands);
    std::size_t at = 0;
    for (std::size_t k = 0; k < s.branches.size(); ++k) {
      const graph& late = saved.bodies[k];
      builder b;
      const sequence<value> in = inputs_like(b, back.operands);
      sequence<value> given, operands;
      for (std::size_t i = first_operand; i < in.size(); ++i) operands.push_back(in[i]);
      for (int count = saved.numbers[at++]; count-- > 0;) given.push_back(in[std::size_t(saved.numbers[at++])]);
      std::size_t next = saved.values.size();
      const sequence<shape> results = body_shapes(b, s.branches[k], shapes_of(operands));
      for (std::size_t o = 0; o < m; ++o)
        given.push_back(cotangents[o] ? in[next++] : constant(b, s.branches[k][s.branches[k].outputs[o]].type, results[o], 0));
      for (int count = saved.numbers[at++]; count-- > 0;) given.push_back(operands[std::size_t(saved.numbers[at++])]);
      for (value v : inline_graph(b, late, given)) b.g.outputs.push_back(v.id);
      back.branches.push_back(b.finish());
    }
    const sequence<value> r = write(*c.b, std::move(back));
    if (c.b->failed()) return;
    parts.push_back({});
    std::size_t next = 0;
    for (char a : saved.flags) parts.push_back(a ? r[next++] : value());
  }

  /// With one index for all instances the branches are mapped. With an index per instance all branches run, and each
  /// instance takes its own: operands of the others are cut off, so that no cotangent flows into them; but
  /// not under a collective, which all instances take part in.
  static constexpr void batch_all(const call& c, const bool* batched, extent size, sequence<value>& results, flag_list& flags) {
    switch_call s = read(c);
    const std::size_t n = s.operands.size(), m = s.branches[0].outputs.size();
    const extent own = is_symbol(size) ? dyn : size;
    const bool differs = batched[0];
    flag_list mapped, out;
    out.assign(m, differs);
    for (std::size_t k = 0; k < n; ++k) mapped.push_back(batched[1 + k] || (differs && has_tangent(s.operands[k].type())));
    for (const graph& g : s.branches) {
      const flag_list reached = reached_outputs(g, mapped, c.b->axis);
      for (std::size_t o = 0; o < m; ++o) out[o] = out[o] || reached[o];
    }
    sequence<int> in_axes, out_axes;
    for (char a : mapped) in_axes.push_back(a ? 0 : not_mapped);
    for (char o : out) out_axes.push_back(o ? 0 : not_mapped);
    bool collective = false;
    for (const graph& g : s.branches) collective = collective || works_along(g, c.b->axis);
    if (differs && collective && s.back)
      return c.b->fail(message{} << "cond: reverse mode inside of a mapped function does not work through a branch with a collective that only some instances take; compute the collective before the branch, or differentiate the mapped function");
    const bool any = [&] {
      for (char a : mapped)
        if (a) return true;
      return collective;
    }();
    for (graph& g : s.branches)
      if (any) g = batch_graph(g, in_axes, out_axes, own, c.b->axis);
    for (std::size_t k = 0; k < n; ++k)
      if (mapped[k]) s.operands[k] = batched_operand(s.operands[k], batched[1 + k], size);
    flags = out;
    if (!differs) {
      results = write(*c.b, std::move(s));
      return;
    }
    for (std::size_t k = s.branches.size(); k-- > 0;) {
      const value here = eq(s.index, full_like(s.index, double(k)));
      const auto chosen_here = [&](const shape& dims) { return broadcast_in_dim(here, dims, {0}); };
      sequence<value> operands = s.operands;
      for (std::size_t i = 0; i < n; ++i)
        if (has_tangent(operands[i].type()) && !collective) operands[i] = select(chosen_here(operands[i].dims()), operands[i], stop_gradient(operands[i]));
      const sequence<value> r = inline_graph(*c.b, s.branches[k], operands);
      if (c.b->failed()) return;
      for (std::size_t o = 0; o < m; ++o) {
        const value mine = any ? r[o] : batched_operand(r[o], false, size);
        if (k + 1 == s.branches.size()) results.push_back(mine);
        else results[o] = select(chosen_here(mine.dims()), mine, results[o]);
      }
    }
  }

  /// A known index takes its branch.
  static constexpr void simplify_all(const call& c, sequence<value>& results) {
    switch_call s = read(c);
    if (is_constant(s.index)) {
      results = inline_graph(*c.b, s.branches[std::size_t(constant_value(s.index))], s.operands);
      return;
    }
    for (graph& g : s.branches) g = simplify(specialized(g, shapes_of(s.operands)));
    results = write(*c.b, std::move(s));
  }

  static constexpr void needs(const call& c, const flag_list& used, flag_list& operands) {
    operands.assign(std::size_t(c.count), false);
    operands[0] = true;
    const std::size_t branches = call_form(c).bodies.size();
    for (std::size_t k = 0; k < branches; ++k) {
      const graph g = body_of(c, int(k));
      const flag_list needed = needed_inputs(g, used);
      for (std::size_t i = 0; i < needed.size(); ++i) operands[1 + i] = operands[1 + i] || needed[i] || !g.symbols.empty();
    }
  }
  static constexpr void prune(const call& c, const flag_list& used, sequence<value>& results) {
    switch_call s = read(c);
    flag_list needed, all;
    needed.assign(s.operands.size(), false);
    for (graph& g : s.branches) {
      g = prune_results(g, used);
      all.assign(g.outputs.size(), true);
      const flag_list of_branch = needed_inputs(g, all);
      for (std::size_t i = 0; i < needed.size(); ++i) needed[i] = needed[i] || of_branch[i] || !g.symbols.empty();
    }
    switch_call t;
    t.index = s.index, t.back = s.back;
    for (std::size_t i = 0; i < needed.size(); ++i)
      if (needed[i]) t.operands.push_back(s.operands[i]);
    for (const graph& g : s.branches) {
      sequence<int> more;
      t.branches.push_back(part_of(g, chosen(g.inputs, needed), g.outputs, more));
    }
    const sequence<value> r = write(*c.b, std::move(t));
    if (c.b->failed()) return;
    std::size_t at = 0;
    for (char u : used) results.push_back(u ? r[at++] : value());
  }
};

}  // namespace cotangent
