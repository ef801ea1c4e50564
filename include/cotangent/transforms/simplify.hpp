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
    sequence<extent> number(g.subgraphs.count, -1);  // per body: its new number
    for (int n = 0; n < g.size(); ++n) {
      if (nodes[n].op_id == 0 || nodes[n].op->kind != role::call) continue;
      extent* const a = attributes + nodes[n].attributes;
      for (extent k = 1; k <= a[0]; ++k) {
        extent& now = number[std::size_t(a[k])];
        if (now < 0) {
          bodies.push_back(std::move(g.subgraphs[std::size_t(a[k])]));
          now = extent(bodies.size()) - 1;
        }
        a[k] = now;
      }
    }
    g.subgraphs = std::move(bodies);
  }
  return g;
}
/// The graph that a replay of all nodes has made, with the outputs of the one it reads, without what they do not need.
constexpr graph replayed(replay& r) {
  for (int o : r.from.outputs) r.to.g.outputs.push_back(r.map[std::size_t(o)].id);
  return remove_dead(r.to.finish());
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
  return replayed(r);
}

/// The graph with the outputs that `wanted` names, in which operations with several results compute only what is needed.
constexpr graph prune_results(graph g, const flag_list& wanted) {
  if (!g.error.empty()) return g;
  if (any_has_several_results(g)) {
    sequence<flag_list> used;
    const flag_list needed = needed_nodes(g, wanted, &used);
    builder b;
    replay r(g, b);
    copy_inputs(r);
    std::size_t next = 0;
    for (int n = 0; n < g.size(); ++n) {
      const bool several = has_several_results(g[n]);
      if (several) ++next;
      if (!needed[std::size_t(n)]) continue;
      if (!several) {
        r.copy(n);
        continue;
      }
      sequence<value> results;
      g[n].op->all->prune(r.at(n), used[next - 1], results);
      r.set_results(n, results);
    }
    for (std::size_t o = 0; o < g.outputs.size(); ++o)
      if (wanted[o]) b.g.outputs.push_back(r.map[std::size_t(g.outputs[o])].id);
    return remove_dead(b.finish());
  }
  sequence<int> outputs;
  for (std::size_t o = 0; o < g.outputs.size(); ++o)
    if (wanted[o]) outputs.push_back(g.outputs[o]);
  own(g);
  g.outputs = outputs;
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
