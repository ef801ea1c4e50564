#pragma once
/// Simplification: algebraic identities (each primitive knows its own), common subexpressions, dead code.

#include <cotangent/graph/replay.hpp>
#include <cotangent/primitives/dense.hpp>
#include <cotangent/primitives/indexing.hpp>

namespace cotangent {

/// The graph without nodes that no output needs, in place. Inputs stay. Linear.
constexpr graph remove_dead(graph g) {
  node* const nodes = g.nodes.items;
  int* const operands = g.operands.items;
  extent* const attributes = g.attributes.items;
  const int count = g.size();
  sequence<int> place(g.nodes.count, 0);  // 1: live; then the node's new number
  for (int o : g.outputs) place.items[o] = 1;
  for (int n = count; n-- > 0;) {
    if (place.items[n] == 0) continue;
    const node& x = nodes[n];
    for (int k = 0; k < x.operand_count; ++k) place.items[operands[x.operands + k]] = 1;
  }
  for (int i : g.inputs) place.items[i] = 1;
  int kept = 0, operands_kept = 0, attributes_kept = 0;
  for (int n = 0; n < count; ++n) {
    if (place.items[n] == 0) continue;
    place.items[n] = kept;
    if (n > kept) nodes[kept] = nodes[n];
    node& x = nodes[kept++];
    const int first_operand = x.operands, first_attribute = x.attributes;
    x.operands = operands_kept, x.attributes = attributes_kept;
    for (int k = 0; k < x.operand_count; ++k) operands[operands_kept++] = place.items[operands[first_operand + k]];
    for (int k = 0; k < x.attribute_count; ++k) attributes[attributes_kept++] = attributes[first_attribute + k];
  }
  g.nodes.count = std::size_t(kept), g.operands.count = std::size_t(operands_kept), g.attributes.count = std::size_t(attributes_kept);
  for (int& i : g.inputs) i = place.items[i];
  for (int& o : g.outputs) o = place.items[o];
  if (!g.subgraphs.empty()) {
    sequence<graph> bodies;
    for (int n = 0; n < g.size(); ++n) {
      if (nodes[n].op_id == 0 || nodes[n].op->kind != role::call) continue;
      extent* const a = attributes + nodes[n].attributes;
      for (extent k = 1; k <= a[0]; ++k) {
        bodies.push_back(std::move(g.subgraphs[std::size_t(a[k])]));
        a[k] = extent(bodies.size()) - 1;
      }
    }
    g.subgraphs = std::move(bodies);
  }
  return g;
}

/// An equal graph with fewer nodes: every primitive's simplify rule applied once in topological order, equal nodes
/// merged, calls replaced by their bodies, dead nodes removed. Linear in the nodes. With `inlining` off calls stay, so
/// that the graph can still be differentiated by their rules.
constexpr graph simplify(const graph& g, bool inlining = true) {
  if (!g.error.empty()) return g;
  builder b;
  b.simplifying = true, b.inlining = inlining;
  replay r(g, b);
  copy_inputs(r);
  for (int n = 0; n < g.size(); ++n) r.copy(n);
  for (int o : g.outputs) b.g.outputs.push_back(r.map[std::size_t(o)].id);
  return remove_dead(b.finish());
}

/// The graph with the outputs that `wanted` names, in which operations with several results compute only what is needed.
constexpr graph prune_results(graph g, const flag_list& wanted) {
  sequence<int> outputs;
  for (std::size_t o = 0; o < g.outputs.size(); ++o)
    if (wanted[o]) outputs.push_back(g.outputs[o]);
  g.outputs = outputs;
  // What a loop no longer takes may be all that another one computes: again, until nothing changes.
  for (bool changed = any_has_several_results(g) && g.error.empty(); changed;) {
    changed = false;
    flag_list needed;
    needed.assign(g.nodes.size(), false);
    for (int o : g.outputs) needed[std::size_t(o)] = true;
    for (int n = g.size(); n-- > 0;)
      if (needed[std::size_t(n)])
        for (int k = 0; k < g[n].operand_count; ++k) needed[std::size_t(g.operand(n, k))] = true;
    builder b;
    replay r(g, b);
    copy_inputs(r);
    for (int n = 0; n < g.size(); ++n) {
      if (!needed[std::size_t(n)]) continue;
      if (!has_several_results(g[n])) {
        r.copy(n);
        continue;
      }
      const std::size_t count = call_form(g, n).results.size();
      flag_list used;
      used.assign(count, false);
      for (int m = n + 1; m < g.size(); ++m)
        if (needed[std::size_t(m)] && g[m].op_id == primitive_of<element_p>.id && g.operand(m, 0) == n) used[std::size_t(g.attribute(m, 0))] = true;
      sequence<value> results;
      const int before = g[n].operand_count;
      g[n].op->all->prune(r.at(n), used, results);
      r.set_results(n, results);
      for (value v : results)
        if (v && v.get().operand_count > 0) {
          const value tuple{&b, b.g.operand(v.id, 0)};
          changed = changed || tuple.get().operand_count < before;
          break;
        }
    }
    for (int o : g.outputs) b.g.outputs.push_back(r.map[std::size_t(o)].id);
    g = b.finish();
  }
  return remove_dead(std::move(g));
}
/// The same with all outputs.
constexpr graph prune_results(graph g) {
  if (!any_has_several_results(g)) return g;
  flag_list all;
  all.assign(g.outputs.size(), true);
  return prune_results(std::move(g), all);
}

}  // namespace cotangent
