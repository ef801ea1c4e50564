#pragma once
/// Simplification: algebraic identities (each primitive knows its own), common subexpressions, dead code.

#include <cotangent/graph/replay.hpp>
#include <cotangent/primitives/dense.hpp>
#include <cotangent/primitives/indexing.hpp>

namespace cotangent {

/// The graph without nodes that no output needs. Inputs stay. Linear.
constexpr graph remove_dead(const graph& g) {
  flag_list live;
  live.assign(g.nodes.size(), false);
  for (int o : g.outputs) live[std::size_t(o)] = true;
  for (int n = g.size(); n-- > 0;)
    if (live[std::size_t(n)])
      for (int k = 0; k < g[n].operand_count; ++k) live[std::size_t(g.operand(n, k))] = true;
  graph r;
  r.symbols = g.symbols, r.equalities = g.equalities, r.subgraphs = g.subgraphs, r.error = g.error;
  sequence<int> place;
  place.assign(g.nodes.size(), -1);
  for (int i : g.inputs) live[std::size_t(i)] = true;
  for (int n = 0; n < g.size(); ++n) {
    if (!live[std::size_t(n)]) continue;
    node x = g[n];
    const int operands = x.operands, attributes = x.attributes;
    x.operands = int(r.operands.size()), x.attributes = int(r.attributes.size());
    for (int k = 0; k < x.operand_count; ++k) r.operands.push_back(place[std::size_t(g.operands[std::size_t(operands + k)])]);
    for (int k = 0; k < x.attribute_count; ++k) r.attributes.push_back(g.attributes[std::size_t(attributes + k)]);
    place[std::size_t(n)] = r.size();
    r.nodes.push_back(x);
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
