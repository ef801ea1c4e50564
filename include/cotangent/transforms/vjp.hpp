#pragma once
/// Reverse-mode differentiation of a graph, and transposition of a linear one.

#include <cotangent/transforms/jvp.hpp>

namespace cotangent {

/// Which nodes depend on the inputs that `active` names, through values that have tangents.
constexpr flag_list dependent_nodes(const graph& g, const flag_list& active) {
  flag_list dependent;
  dependent.assign(g.nodes.size(), false);
  for (std::size_t i = 0; i < g.inputs.size(); ++i)
    if (active[i] && has_tangent(g[g.inputs[i]].type)) dependent[std::size_t(g.inputs[i])] = true;
  for (int n = 0; n < g.size(); ++n) {
    if (g[n].is_input() || g[n].op->constant || (!has_tangent(g[n].type) && !has_several_results(g[n]))) continue;
    for (int k = 0; k < g[n].operand_count; ++k)
      if (dependent[std::size_t(g.operand(n, k))]) dependent[std::size_t(n)] = true;
  }
  return dependent;
}

/// The same by any way: of a linear function nothing else may depend on the inputs, such as conditions.
constexpr flag_list reached_nodes(const graph& g) {
  flag_list reached(g.nodes.count, false);
  for (int i : g.inputs) reached[std::size_t(i)] = true;
  for (int n = 0; n < g.size(); ++n)
    for (int k = 0; k < g[n].operand_count && !g[n].op->of_extents; ++k)
      if (reached[std::size_t(g.operand(n, k))]) reached[std::size_t(n)] = true;
  return reached;
}

/// What reverse mode keeps of each operation with several results.
struct saved_states {
  sequence<int> nodes;
  sequence<saved_state> states;
  sequence<sequence<value>> cotangents;  // of the results

  constexpr int find(int n) const {
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (nodes[i] == n) return int(i);
    return -1;
  }
};

/// Copies the graph into the replay's empty builder; operations with several results run in their forward form.
constexpr saved_states copy_forward(replay& r, const flag_list& dependent) {
  saved_states saved;
  if (!any_has_several_results(r.from)) {
    copy_graph(r);
    return saved;
  }
  copy_inputs(r);
  for (int n = 0; n < r.from.size() && !r.to.failed(); ++n) {
    if (!dependent[std::size_t(n)] || !has_several_results(r.from[n])) {
      r.copy(n);
      continue;
    }
    flag_list active;
    for (int k = 0; k < r.from[n].operand_count; ++k) active.push_back(dependent[std::size_t(r.from.operand(n, k))]);
    saved_state state;
    sequence<value> results, none;
    r.from[n].op->all->forward(r.at(n), active, results, state);
    r.set_results(n, results);
    none.assign(std::size_t(result_count(r.from, n)), value{});
    saved.nodes.push_back(n), saved.states.push_back(state), saved.cotangents.push_back(none);
  }
  return saved;
}

/// Adds cotangents backwards through `r`, whose nodes are all mapped; `saved` is what copy_forward kept. On entry `cotangent` has those of the outputs,
/// per node of the graph; on return those of every node that needs one. Null is zero.
constexpr void pull_back(replay& r, const flag_list& dependent, sequence<value>& cotangent, saved_states& saved) {
  const graph& g = r.from;
  const auto accumulate = [&](int to, value part) {
    if (part.b) cotangent.items[to] = cotangent.items[to].b ? add(cotangent.items[to], part) : part;
  };
  const auto accumulate_all = [&](int n, const sequence<value>& parts) {
    for (std::size_t k = 0; k < parts.size(); ++k)
      if (const int to = g.operand(n, int(k)); dependent.items[to]) accumulate(to, parts[k]);
  };
  for (int n = g.size(); n-- > 0;) {
    const node& x = g.nodes.items[n];
    if (has_several_results(x) && dependent.items[n]) {
      const int i = saved.find(n);
      bool any = false;
      if (i < 0) r.to.fail(message{} << x.op->name << ": cannot be transposed");
      else
        for (value v : saved.cotangents[std::size_t(i)]) any = any || v;
      if (r.to.failed()) return;
      if (!any) continue;
      sequence<value> parts;
      x.op->all->backward(r.at(n), saved.states[std::size_t(i)], saved.cotangents[std::size_t(i)].data(), parts);
      accumulate_all(n, parts);
      continue;
    }
    const value ct = cotangent.items[n];
    if (!ct.b || !dependent.items[n] || x.op_id == 0) continue;
    if (x.op->kind == role::element) {
      if (const int i = saved.find(g.operand(n, 0)); i >= 0) saved.cotangents[std::size_t(i)][std::size_t(g.attribute(n, 0))] = ct;
      continue;
    }
    if (!x.op->has.vjp && !x.op->has.vjp_all) r.to.fail(message{} << x.op->name << ": has no reverse-mode rule (vjp)");
    if (r.to.failed()) return;
    call c = r.at(n);
    c.result = r.map.items[n];
    if (x.op->has.vjp_all) {
      sequence<value> parts;
      x.op->vjp_all(c, ct, parts);
      accumulate_all(n, parts);
      continue;
    }
    for (int k = 0; k < x.operand_count; ++k) {
      const int to = g.operands.items[x.operands + k];
      if (dependent.items[to]) accumulate(to, x.op->vjp(c, k, ct));
    }
  }
}

/// The cotangents of the inputs that `active` names, as outputs; zero where none arrived.
constexpr void output_cotangents(replay& r, const flag_list& active, const sequence<value>& cotangent) {
  for (std::size_t i = 0; i < r.from.inputs.size(); ++i) {
    if (!active[i]) continue;
    const std::size_t n = std::size_t(r.from.inputs[i]);
    r.to.g.outputs.push_back(cotangent[n] ? cotangent[n].id : zeros_like(r.map[n]).id);
  }
  if (r.to.failed()) r.to.g.outputs.clear();
}

/// The graph of (outputs, cotangents of the inputs that `active` names) from (inputs, cotangents of the outputs).
/// With `of_scalar` the first output is the scalar to differentiate: its cotangent is 1 and the others' are 0.
constexpr graph vjp_graph(const graph& g, const flag_list& active, bool of_scalar) {
  builder b;
  replay r(g, b);
  const flag_list dependent = dependent_nodes(g, active);
  saved_states saved = copy_forward(r, dependent);
  sequence<value> cotangent;
  cotangent.assign(g.nodes.size(), value{});
  for (std::size_t i = 0; i < g.outputs.size() && !b.failed(); ++i) {
    const std::size_t o = std::size_t(g.outputs[i]);
    b.g.outputs.push_back(r.map[o].id);
    value seed;
    if (!of_scalar) seed = b.input(r.map[o].type(), r.map[o].dims());
    else if (i == 0) seed = constant(b, r.map[o].type(), {}, 1);
    if (seed) cotangent[o] = cotangent[o] ? add(cotangent[o], seed) : seed;
  }
  if (!b.failed()) pull_back(r, dependent, cotangent, saved);
  output_cotangents(r, active, cotangent);
  return b.finish();
}

/// The transpose of a graph that is linear in all its inputs: cotangents of the inputs from those of the outputs.
constexpr graph transpose_graph(const graph& g) {
  flag_list all;
  all.assign(g.inputs.size(), true);
  const flag_list dependent = reached_nodes(g);
  builder b;
  replay r(g, b);
  b.take_symbols(g);
  // The inputs' values do not exist: only what does not depend on them may be computed.
  for (int i : g.inputs) r.map[std::size_t(i)] = constant(b, g[i].type, g[i].dims, 0);
  for (int n = 0; n < g.size(); ++n) {
    r.copy(n);
    if (g[n].is_input() || !dependent[std::size_t(n)]) continue;
    const call c = r.at(n);
    int count = 0;
    bool linear = true;
    for (int k = 0; k < c.count; ++k) {
      if (!dependent[std::size_t(g.operand(n, k))]) continue;
      ++count;
      linear = linear && c.op->has.linear && c.op->linear(c, k);
    }
    if (!linear || (c.op->bilinear && count > 1)) b.fail(message{} << "linear_transpose: the function is not linear: " << c.op->name << " of its inputs");
  }
  sequence<value> cotangent;
  cotangent.assign(g.nodes.size(), value{});
  for (int o : g.outputs) {
    const value seed = b.input(g[o].type, g[o].dims);
    value& ct = cotangent[std::size_t(o)];
    ct = ct ? add(ct, seed) : seed;
  }
  saved_states none;
  if (!b.failed()) pull_back(r, dependent, cotangent, none);
  output_cotangents(r, all, cotangent);
  return b.finish();
}

}  // namespace cotangent
