#pragma once
/// Simplification: algebraic identities (each primitive knows its own), common subexpressions, dead code.

#include <cotangent/graph/replay.hpp>
#include <cotangent/primitives/dense.hpp>
#include <cotangent/primitives/indexing.hpp>

namespace cotangent {

/// The graph without nodes that no output needs. Inputs stay. Linear.
constexpr graph remove_dead(const graph& g) {
  flag_list live(g.nodes.count, 0);
  for (int o : g.outputs) live.items[o] = 1;
  for (int n = g.size(); n-- > 0;) {
    const node& x = g.nodes.items[n];
    if (live.items[n])
      for (int k = 0; k < x.operand_count; ++k) live.items[g.operands.items[x.operands + k]] = 1;
  }
  for (int i : g.inputs) live.items[i] = 1;
  graph r;
  r.symbols = g.symbols, r.equalities = g.equalities, r.subgraphs = g.subgraphs, r.error = g.error;
  r.nodes.reserve(g.nodes.count), r.operands.reserve(g.operands.count), r.attributes.reserve(g.attributes.count);
  sequence<int> place(g.nodes.count, -1);
  for (int n = 0; n < g.size(); ++n) {
    if (!live.items[n]) continue;
    node x = g.nodes.items[n];
    const int* operands = g.operands.items + x.operands;
    const extent* attributes = g.attributes.items + x.attributes;
    x.operands = int(r.operands.count), x.attributes = int(r.attributes.count);
    for (int k = 0; k < x.operand_count; ++k) r.operands.items[r.operands.count++] = place.items[operands[k]];
    for (int k = 0; k < x.attribute_count; ++k) r.attributes.items[r.attributes.count++] = attributes[k];
    place.items[n] = int(r.nodes.count);
    r.nodes.items[r.nodes.count++] = x;
  }
  for (int i : g.inputs) r.inputs.push_back(place[std::size_t(i)]);
  for (int o : g.outputs) r.outputs.push_back(place[std::size_t(o)]);
  return r;
}

/// An equal graph with fewer nodes: every primitive's simplify rule applied once in topological order, equal nodes
/// merged, calls replaced by their bodies, dead nodes removed. Linear in the nodes.
constexpr graph simplify(const graph& g) {
  if (!g.error.empty()) return g;
  builder b;
  b.simplifying = true;
  replay r(g, b);
  copy_inputs(r);
  for (int n = 0; n < g.size(); ++n) r.copy(n);
  for (int o : g.outputs) b.g.outputs.push_back(r.map[std::size_t(o)].id);
  return remove_dead(b.finish());
}

}  // namespace cotangent
