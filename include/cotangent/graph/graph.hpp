#pragma once
/// The graph: this library's intermediate representation, a flat list of nodes in topological order.

#include <cstdint>

#include <cotangent/core/text.hpp>
#include <cotangent/graph/symbols.hpp>

namespace cotangent {

struct primitive;

/// One operation without the rules of its primitive. Its operands are earlier nodes; both lists lie in pools of the graph.
struct bare_node {
  std::uint64_t op_id = 0;  // 0: an input of the graph
  dtype type = dtype::float32;
  shape dims;
  std::uint64_t bits = 0;  // the value of a constant; for an input, its number
  int operands = 0, operand_count = 0;
  int attributes = 0, attribute_count = 0;

  constexpr bool is_input() const { return op_id == 0; }
  constexpr bool operator==(const bare_node&) const = default;
};
/// One operation.
struct node : bare_node {
  const primitive* op = nullptr;
};

/// A function of arrays. Plain data: passes are functions from graph to graph.
struct graph {
  sequence<node> nodes;
  sequence<int> operands;        // pool
  sequence<extent> attributes;   // pool; a value >= symbol_base is a symbol
  sequence<int> inputs;          // node numbers
  sequence<int> outputs;
  sequence<symbol> symbols;
  sequence<equality> equalities;
  sequence<graph> subgraphs;     // bodies of calls
  message error;                    // if not empty, what is wrong with the function

  constexpr int operand(int n, int k) const { return operands.items[nodes.items[n].operands + k]; }
  constexpr extent attribute(int n, int k) const { return attributes.items[nodes.items[n].attributes + k]; }
  constexpr const node& operator[](int n) const { return nodes.items[n]; }
  constexpr int size() const { return int(nodes.count); }
};

/// The graph without a copy of its lists, which must outlive it and are not written to.
constexpr graph borrowed(const graph& g) {
  graph r;
  const auto borrow = []<class T>(const sequence<T>& list) { return sequence<T>::borrow(list.items, list.count); };
  r.nodes = borrow(g.nodes), r.operands = borrow(g.operands), r.attributes = borrow(g.attributes);
  r.inputs = borrow(g.inputs), r.outputs = borrow(g.outputs);
  r.symbols = borrow(g.symbols), r.equalities = borrow(g.equalities), r.subgraphs = borrow(g.subgraphs);
  r.error = g.error;
  return r;
}
/// Makes copies of what is borrowed.
constexpr void own(graph& g) {
  g.nodes.own(), g.operands.own(), g.attributes.own(), g.inputs.own(), g.outputs.own(), g.symbols.own(), g.equalities.own();
  g.subgraphs.own();
  for (graph& s : g.subgraphs) own(s);
}

/// Whether two graphs have the same lists, and so do the same.
constexpr bool are_same(const graph& a, const graph& b) {
  const auto equal = []<class T>(const sequence<T>& x, const sequence<T>& y, const auto& same) {
    if (x.count != y.count) return false;
    for (std::size_t i = 0; i < x.count; ++i)
      if (!same(x.items[i], y.items[i])) return false;
    return true;
  };
  const auto same = [](const auto& x, const auto& y) { return x == y; };
  const auto same_node = [](const node& x, const node& y) { return static_cast<const bare_node&>(x) == static_cast<const bare_node&>(y); };
  return equal(a.nodes, b.nodes, same_node) && equal(a.operands, b.operands, same) && equal(a.attributes, b.attributes, same) &&
         equal(a.inputs, b.inputs, same) && equal(a.outputs, b.outputs, same) && equal(a.symbols, b.symbols, same) &&
         equal(a.equalities, b.equalities, same) && equal(a.subgraphs, b.subgraphs, are_same) && a.error.view() == b.error.view();
}

}  // namespace cotangent
