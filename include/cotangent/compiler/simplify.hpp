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
  return g;
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
