#pragma once
/// The graph: this library's intermediate representation, a flat list of nodes in topological order.

#include <array>
#include <cstdint>

#include <cotangent/core/text.hpp>
#include <cotangent/graph/symbols.hpp>

namespace cotangent {

struct primitive;

/// One operation. Its operands are earlier nodes; both lists lie in pools of the graph.
struct node {
  const primitive* op = nullptr;
  std::uint64_t op_id = 0;  // 0: an input of the graph
  dtype type = dtype::float32;
  shape dims;
  std::uint64_t bits = 0;  // the value of a constant; for an input, its number
  int operands = 0, operand_count = 0;
  int attributes = 0, attribute_count = 0;

  constexpr bool is_input() const { return op_id == 0; }
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

/// The sizes of a graph's lists, all subgraphs included.
struct graph_sizes {
  std::size_t graphs = 0, nodes = 0, operands = 0, attributes = 0, inputs = 0, outputs = 0, symbols = 0, equalities = 0;

  constexpr void add(const graph& g) {
    graphs += 1, nodes += g.nodes.size(), operands += g.operands.size(), attributes += g.attributes.size();
    inputs += g.inputs.size(), outputs += g.outputs.size(), symbols += g.symbols.size(), equalities += g.equalities.size();
    for (const graph& s : g.subgraphs) add(s);
  }
};

/// A graph as a constexpr value: every graph's lists one after the other, depth first.
template <graph_sizes S> struct frozen_graph {
  struct header {
    graph_sizes own;
    std::size_t subgraphs = 0;
  };
  std::array<header, S.graphs> headers{};
  std::array<node, S.nodes> nodes{};
  std::array<int, S.operands> operands{};
  std::array<extent, S.attributes> attributes{};
  std::array<int, S.inputs> inputs{};
  std::array<int, S.outputs> outputs{};
  std::array<symbol, S.symbols> symbols{};
  std::array<equality, S.equalities> equalities{};
  message error;

  constexpr void append(const graph& g, graph_sizes& at) {
    headers[at.graphs++] = {{0, g.nodes.size(), g.operands.size(), g.attributes.size(), g.inputs.size(), g.outputs.size(),
                             g.symbols.size(), g.equalities.size()},
                            g.subgraphs.size()};
    const auto copy = [](auto& to, const auto& from, std::size_t& at_) {
      auto* target = to.data() + at_;
      for (std::size_t i = 0; i < from.count; ++i) target[i] = from.items[i];
      at_ += from.count;
    };
    copy(nodes, g.nodes, at.nodes), copy(operands, g.operands, at.operands), copy(attributes, g.attributes, at.attributes);
    copy(inputs, g.inputs, at.inputs), copy(outputs, g.outputs, at.outputs);
    copy(symbols, g.symbols, at.symbols), copy(equalities, g.equalities, at.equalities);
    for (const graph& s : g.subgraphs) append(s, at);
  }

  constexpr graph extract(graph_sizes& at) const {
    const header& h = headers[at.graphs++];
    graph g;
    const auto copy = [](auto& to, const auto& from, std::size_t& at_, std::size_t count) {
      auto* items = to.extend(count);
      const auto* source = from.data() + at_;
      for (std::size_t i = 0; i < count; ++i) items[i] = source[i];
      at_ += count;
    };
    copy(g.nodes, nodes, at.nodes, h.own.nodes);
    copy(g.operands, operands, at.operands, h.own.operands);
    copy(g.attributes, attributes, at.attributes, h.own.attributes);
    copy(g.inputs, inputs, at.inputs, h.own.inputs);
    copy(g.outputs, outputs, at.outputs, h.own.outputs);
    copy(g.symbols, symbols, at.symbols, h.own.symbols);
    copy(g.equalities, equalities, at.equalities, h.own.equalities);
    for (std::size_t i = 0; i < h.subgraphs; ++i) g.subgraphs.push_back(extract(at));
    return g;
  }
};

/// The graph as a value that a constexpr variable can hold. `Make` is a captureless constexpr function object.
template <auto Make> constexpr auto freeze() {
  constexpr graph_sizes sizes = [] {
    graph_sizes s;
    s.add(Make());
    return s;
  }();
  const graph g = Make();
  frozen_graph<sizes> f;
  graph_sizes at;
  f.append(g, at);
  f.error = g.error;
  return f;
}

/// The graph that was frozen.
template <graph_sizes S> constexpr graph thaw(const frozen_graph<S>& f) {
  graph_sizes at;
  graph g = f.extract(at);
  g.error = f.error;
  return g;
}

}  // namespace cotangent
