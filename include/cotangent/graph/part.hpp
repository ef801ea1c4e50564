#pragma once
/// A part of a graph as a graph of its own.

#include <cotangent/graph/results.hpp>

namespace cotangent {

/// The graph that computes the nodes `outputs` of `g` from its nodes `inputs`, in these orders. Inputs of g that it needs
/// besides, for their values or for their extents, follow as further inputs: `more` has their numbers in g. Equalities
/// between run-time extents are not repeated: what contains `g` has checked them.
constexpr graph part_of(const graph& g, const sequence<int>& inputs, const sequence<int>& outputs, sequence<int>& more) {
  const std::size_t count = g.nodes.size();
  flag_list given, needed;
  given.assign(count, false), needed.assign(count, false);
  for (int n : inputs) given[std::size_t(n)] = true;
  for (int n : outputs) needed[std::size_t(n)] = true;
  for (int n = g.size(); n-- > 0;)
    if (needed[std::size_t(n)] && !given[std::size_t(n)])
      for (int k = 0; k < g[n].operand_count; ++k) needed[std::size_t(g.operand(n, k))] = true;
  const auto need_input = [&](int i) {
    const int n = g.inputs[std::size_t(i)];
    if (given[std::size_t(n)]) return;
    given[std::size_t(n)] = needed[std::size_t(n)] = true;
    more.push_back(i);
  };
  for (std::size_t i = 0; i < g.inputs.size(); ++i)
    if (needed[std::size_t(g.inputs[i])]) need_input(int(i));

  // The symbols in use, and where each is found among the inputs.
  flag_list used;
  used.assign(g.symbols.size(), false);
  const auto use = [&](extent e) {
    if (is_symbol(e)) used[std::size_t(e - symbol_base)] = true;
  };
  const auto use_node = [&](int n) {
    for (extent e : g[n].dims) use(e);
    if (!given[std::size_t(n)])
      for (int k = 0; k < g[n].attribute_count; ++k) use(g.attribute(n, k));
  };
  for (int n = 0; n < g.size(); ++n)
    if (needed[std::size_t(n)] || given[std::size_t(n)]) use_node(n);
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

  std::size_t nodes = in.size();
  for (int n = 0; n < g.size(); ++n) nodes += needed[std::size_t(n)] && !given[std::size_t(n)];
  part.nodes.reserve(nodes), part.operands.reserve(2 * nodes), part.attributes.reserve(nodes);
  sequence<int> place;
  place.assign(count, -1);
  const auto append = [&](const node& x) {
    part.nodes.push_back(x);
    return part.size() - 1;
  };
  for (std::size_t i = 0; i < in.size(); ++i) {
    node x;
    x.type = g[in[i]].type, x.dims = g[in[i]].dims, x.bits = i;
    place[std::size_t(in[i])] = append(x);
    part.inputs.push_back(part.size() - 1);
  }
  for (int n = 0; n < g.size(); ++n) {
    if (!needed[std::size_t(n)] || given[std::size_t(n)]) continue;
    node x = g[n];
    x.operands = int(part.operands.size()), x.attributes = int(part.attributes.size());
    for (int k = 0; k < x.operand_count; ++k) part.operands.push_back(place[std::size_t(g.operand(n, k))]);
    for (int k = 0; k < x.attribute_count; ++k) part.attributes.push_back(g.attribute(n, k));
    if (x.op->kind == role::call)
      for (extent k = 1; k <= g.attribute(n, 0); ++k) {
        part.attributes[std::size_t(x.attributes + k)] = extent(part.subgraphs.size());
        part.subgraphs.push_back(g.subgraphs[std::size_t(g.attribute(n, int(k)))]);
      }
    place[std::size_t(n)] = append(x);
  }
  for (int n : outputs) part.outputs.push_back(place[std::size_t(n)]);
  return part;
}

}  // namespace cotangent
