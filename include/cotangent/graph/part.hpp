#pragma once
/// A part of a graph as a graph of its own.

#include <cotangent/graph/results.hpp>

namespace cotangent {

/// The graph that computes the nodes `outputs` of `g` from its nodes `inputs`, in these orders. Inputs of g that it needs
/// besides, for their values or for their extents, follow as further inputs: `more` has their numbers in g. Equalities
/// between run-time extents are not repeated: what contains `g` has checked them.
constexpr graph part_of(const graph& g, const sequence<int>& inputs, const sequence<int>& outputs, sequence<int>& more) {
  const int count = g.size();
  const node* const nodes = g.nodes.items;
  flag_list given_nodes(g.nodes.count, false), needed_nodes(g.nodes.count, false);
  char *const given = given_nodes.items, *const needed = needed_nodes.items;
  for (int n : inputs) given[n] = true;
  for (int n : outputs) needed[n] = true;
  for (int n = count; n-- > 0;) {
    if (!needed[n] || given[n]) continue;
    const int* const operands = g.operands.items + nodes[n].operands;
    for (int k = 0; k < nodes[n].operand_count; ++k) needed[operands[k]] = true;
  }
  const auto need_input = [&](int i) {
    const int n = g.inputs.items[i];
    if (given[n]) return;
    given[n] = needed[n] = true;
    more.push_back(i);
  };
  for (std::size_t i = 0; i < g.inputs.count; ++i)
    if (needed[g.inputs.items[i]]) need_input(int(i));

  // The symbols in use, and where each is found among the inputs.
  flag_list used(g.symbols.count, false);
  const auto use = [&](extent e) {
    if (is_symbol(e)) used[std::size_t(e - symbol_base)] = true;
  };
  const auto use_node = [&](int n) {
    for (extent e : g[n].dims) use(e);
    if (!given[n])
      for (int k = 0; k < g[n].attribute_count; ++k) use(g.attribute(n, k));
  };
  for (int n = 0; n < count && !g.symbols.empty(); ++n)
    if (needed[n] || given[n]) use_node(n);
  for (std::size_t s = g.symbols.size(); s-- > 0;)  // operands of a symbol come before it
    if (used[s] && g.symbols[s].what != symbol::input) use(g.symbols[s].a), use(g.symbols[s].b);
  graph part;
  part.error = g.error;
  part.symbols = g.symbols;
  sequence<int> in = inputs;
  for (int i : more) in.push_back(g.inputs[std::size_t(i)]);
  for (std::size_t s = 0; s < g.symbols.size(); ++s) {
    symbol& x = part.symbols[s];
    if (!used[s]) {
      if (x.what == symbol::input) x = {symbol::sum, 0, 0};
      continue;
    }
    if (x.what != symbol::input) continue;
    bool found = false;
    for (int turn = 0; !found && turn < 2; ++turn) {
      for (std::size_t i = 0; i < in.size() && !found; ++i)
        for (int axis = 0; axis < g[in[i]].dims.rank && !found; ++axis)
          if (g[in[i]].dims[axis] == symbol_base + extent(s)) x = {symbol::input, extent(i), axis}, found = true;
      if (!found) {
        need_input(int(g.symbols[s].a));
        in.push_back(g.inputs[std::size_t(more.back())]);
      }
    }
  }

  std::size_t kept = in.size(), operands_kept = 0, attributes_kept = 0;
  for (int n = 0; n < count; ++n)
    if (needed[n] && !given[n]) ++kept, operands_kept += std::size_t(nodes[n].operand_count), attributes_kept += std::size_t(nodes[n].attribute_count);
  part.nodes.reserve(kept), part.operands.reserve(operands_kept), part.attributes.reserve(attributes_kept), part.inputs.reserve(in.count);
  sequence<int> places(g.nodes.count, -1);
  int* const place = places.items;
  for (std::size_t i = 0; i < in.count; ++i) {
    node& x = *part.nodes.extend(1);
    x.type = nodes[in.items[i]].type, x.dims = nodes[in.items[i]].dims, x.bits = i;
    place[in.items[i]] = part.size() - 1;
    part.inputs.push_back(part.size() - 1);
  }
  for (int n = 0; n < count; ++n) {
    if (!needed[n] || given[n]) continue;
    node& x = *part.nodes.extend(1);
    x = nodes[n];
    place[n] = part.size() - 1;
    const int* const from_operands = g.operands.items + x.operands;
    const extent* const from_attributes = g.attributes.items + x.attributes;
    x.operands = int(part.operands.count), x.attributes = int(part.attributes.count);
    int* const operands = part.operands.extend(std::size_t(x.operand_count));
    for (int k = 0; k < x.operand_count; ++k) operands[k] = place[from_operands[k]];
    extent* const attributes = part.attributes.extend(std::size_t(x.attribute_count));
    for (int k = 0; k < x.attribute_count; ++k) attributes[k] = from_attributes[k];
    if (x.op->kind == role::call)
      for (extent k = 1; k <= from_attributes[0]; ++k) {
        attributes[k] = extent(part.subgraphs.count);
        part.subgraphs.push_back(g.subgraphs.items[from_attributes[k]]);
      }
  }
  for (int n : outputs) part.outputs.push_back(place[n]);
  return part;
}

}  // namespace cotangent
