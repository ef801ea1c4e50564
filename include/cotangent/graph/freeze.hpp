#pragma once
/// Graphs as values that constexpr variables can hold, so that a constant evaluation can start from the result of another.

#include <array>

#include <cotangent/graph/builder.hpp>

namespace cotangent {

/// The sizes of a graph's lists, all subgraphs included.
struct graph_sizes {
  std::size_t graphs = 0, nodes = 0, operands = 0, attributes = 0, inputs = 0, outputs = 0, symbols = 0, equalities = 0;
};

/// A list of numbers that a constant evaluation can return without knowing its length beforehand: zeros at the end of
/// an array of numbers cost compilers next to nothing. What exceeds the capacity is only counted.
template <std::size_t Capacity> struct packed_words {
  extent words[Capacity] = {};
  std::size_t count = 0;

  /// Room for n more words: where they begin, or null.
  constexpr extent* extend(std::size_t n) {
    count += n;
    return count <= Capacity ? words + (count - n) : nullptr;
  }
};

/// A graph as a list of numbers: graph by graph, depth first, each node followed by its lists.
template <std::size_t Capacity> struct packed_graph {
  static constexpr std::size_t node_words = 5;  // of a node without lists
  static constexpr extent has_primitive = 256;  // (comparing the pointer with null is not constant under -fsanitize)
  packed_words<Capacity> data;
  const primitive* primitives[Capacity / node_words] = {};  // of the nodes
  graph_sizes sizes;
  message error;

  constexpr explicit packed_graph(const graph& g) : error(g.error) { append(g); }

 private:
  constexpr void append(const graph& g) {
    sizes.graphs += 1, sizes.inputs += g.inputs.count, sizes.outputs += g.outputs.count;
    sizes.symbols += g.symbols.count, sizes.equalities += g.equalities.count;
    if (extent* to = data.extend(6)) {
      to[0] = extent(g.nodes.count), to[1] = extent(g.inputs.count), to[2] = extent(g.outputs.count);
      to[3] = extent(g.symbols.count), to[4] = extent(g.equalities.count), to[5] = extent(g.subgraphs.count);
    }
    for (std::size_t n = 0; n < g.nodes.count; ++n) append(g, g.nodes.items[n]);
    if (extent* to = data.extend(g.inputs.count))
      for (std::size_t i = 0; i < g.inputs.count; ++i) to[i] = g.inputs.items[i];
    if (extent* to = data.extend(g.outputs.count))
      for (std::size_t i = 0; i < g.outputs.count; ++i) to[i] = g.outputs.items[i];
    if (extent* to = data.extend(3 * g.symbols.count))
      for (std::size_t i = 0; i < g.symbols.count; ++i, to += 3) to[0] = g.symbols[i].what, to[1] = g.symbols[i].a, to[2] = g.symbols[i].b;
    if (extent* to = data.extend(sizeof(equality) / sizeof(extent) * g.equalities.count))
      for (const equality& e : g.equalities) {
        *to++ = e.a, *to++ = e.b;
        for (extent word : e.of.words) *to++ = word;
      }
    for (const graph& s : g.subgraphs) append(s);
  }
  constexpr void append(const graph& g, const node& x) {
    const int rank = x.dims.rank, operand_count = x.operand_count, attribute_count = x.attribute_count;
    const std::size_t at = data.count;
    data.count += node_words + std::size_t(rank + operand_count + attribute_count);
    if (data.count <= Capacity) {
      primitives[sizes.nodes] = x.op;
      extent* to = data.words + at;
      to[0] = extent(x.type) + (x.op_id != 0 ? has_primitive : 0), to[1] = extent(x.bits), to[2] = rank, to[3] = operand_count, to[4] = attribute_count;
      to += node_words;
      for (int i = 0; i < rank; ++i) to[i] = x.dims.dims[i];
      to += rank;
      const int* operands = g.operands.items + x.operands;
      for (int i = 0; i < operand_count; ++i) to[i] = operands[i];
      to += operand_count;
      const extent* attributes = g.attributes.items + x.attributes;
      for (int i = 0; i < attribute_count; ++i) to[i] = attributes[i];
    }
    sizes.nodes += 1, sizes.operands += std::size_t(operand_count), sizes.attributes += std::size_t(attribute_count);
  }
};

struct frozen_header {
  graph_sizes own;
  std::size_t subgraphs = 0;
};

/// A graph as a constexpr value: every graph's lists one after the other, depth first.
template <graph_sizes S> struct frozen_graph {
  static constexpr graph_sizes sizes = S;  // of all graphs in it
  std::array<frozen_header, S.graphs> headers{};
  std::array<node, S.nodes> nodes{};
  std::array<int, S.operands> operands{};
  std::array<extent, S.attributes> attributes{};
  std::array<int, S.inputs> inputs{};
  std::array<int, S.outputs> outputs{};
  std::array<symbol, S.symbols> symbols{};
  std::array<equality, S.equalities> equalities{};
  message error;

  template <std::size_t Capacity> constexpr explicit frozen_graph(const packed_graph<Capacity>& packed) : error(packed.error) {
    const extent* from = packed.data.words;
    const primitive* const* op = packed.primitives;
    node* x = nodes.data();
    int* operand = operands.data();
    extent* attribute = attributes.data();
    int *input = inputs.data(), *output = outputs.data();
    symbol* s = symbols.data();
    equality* e = equalities.data();
    for (frozen_header& h : headers) {
      h.own = {1, std::size_t(from[0]), 0, 0, std::size_t(from[1]), std::size_t(from[2]), std::size_t(from[3]), std::size_t(from[4])};
      h.subgraphs = std::size_t(from[5]);
      from += 6;
      int operand_count = 0, attribute_count = 0;
      for (std::size_t n = 0; n < h.own.nodes; ++n, ++x, ++op) {
        if (from[0] >= packed_graph<Capacity>::has_primitive) x->op = *op, x->op_id = (*op)->id;
        const int rank = int(from[2]), own_operands = int(from[3]), own_attributes = int(from[4]);
        x->type = dtype(from[0] % packed_graph<Capacity>::has_primitive), x->bits = std::uint64_t(from[1]), x->dims.rank = rank;
        x->operands = operand_count, x->operand_count = own_operands, x->attributes = attribute_count, x->attribute_count = own_attributes;
        from += packed_graph<Capacity>::node_words;
        for (int i = 0; i < rank; ++i) x->dims.dims[i] = from[i];
        from += rank;
        for (int i = 0; i < own_operands; ++i) operand[i] = int(from[i]);
        from += own_operands, operand += own_operands, operand_count += own_operands;
        for (int i = 0; i < own_attributes; ++i) attribute[i] = from[i];
        from += own_attributes, attribute += own_attributes, attribute_count += own_attributes;
      }
      h.own.operands = std::size_t(operand_count), h.own.attributes = std::size_t(attribute_count);
      for (std::size_t i = 0; i < h.own.inputs; ++i) *input++ = int(*from++);
      for (std::size_t i = 0; i < h.own.outputs; ++i) *output++ = int(*from++);
      for (std::size_t i = 0; i < h.own.symbols; ++i, from += 3) *s++ = {symbol::kind(from[0]), from[1], from[2]};
      for (std::size_t i = 0; i < h.own.equalities; ++i, ++e) {
        e->a = *from++, e->b = *from++;
        for (extent& word : e->of.words) word = *from++;
      }
    }
  }

  /// The graph at a place in the lists, which it borrows.
  constexpr graph extract(graph_sizes& at) const {
    const frozen_header& h = headers[at.graphs++];
    graph g;
    const auto take = [](const auto& list, std::size_t& from, std::size_t count) {
      using element = typename std::remove_cvref_t<decltype(list)>::value_type;
      from += count;
      return sequence<element>::borrow(list.data() + (from - count), count);
    };
    g.nodes = take(nodes, at.nodes, h.own.nodes);
    g.operands = take(operands, at.operands, h.own.operands);
    g.attributes = take(attributes, at.attributes, h.own.attributes);
    g.inputs = take(inputs, at.inputs, h.own.inputs);
    g.outputs = take(outputs, at.outputs, h.own.outputs);
    g.symbols = take(symbols, at.symbols, h.own.symbols);
    g.equalities = take(equalities, at.equalities, h.own.equalities);
    for (std::size_t i = 0; i < h.subgraphs; ++i) g.subgraphs.push_back(extract(at));
    return g;
  }
};

/// A frozen graph as running programs read it: without pointers to primitives, which would take their rules, and all that those
/// call, into the object file.
template <graph_sizes S> struct bare_graph {
  static constexpr graph_sizes sizes = S;
  std::array<frozen_header, S.graphs> headers;
  std::array<bare_node, S.nodes> nodes{};
  std::array<int, S.operands> operands;
  std::array<extent, S.attributes> attributes;
  std::array<int, S.inputs> inputs;
  std::array<int, S.outputs> outputs;

  constexpr explicit bare_graph(const frozen_graph<S>& f)
      : headers(f.headers), operands(f.operands), attributes(f.attributes), inputs(f.inputs), outputs(f.outputs) {
    for (std::size_t n = 0; n < S.nodes; ++n) nodes[n] = f.nodes[n];
  }
};

#ifdef __clang__
/// Clang would evaluate a variable of `freeze` once more in each call; g++ would keep this one in unoptimized objects.
template <auto Make, std::size_t Capacity> inline constexpr packed_graph<Capacity> packed_graph_of(Make());
#endif

/// The graph as a value that a constexpr variable can hold. `Make` is a captureless constexpr function object; it is
/// evaluated once, or twice if the graph is very large.
template <auto Make, std::size_t Capacity = 1 << 16> consteval auto freeze() {
#ifdef __clang__
  constexpr const auto& packed = packed_graph_of<Make, Capacity>;
#else
  constexpr packed_graph<Capacity> packed(Make());
#endif
  if constexpr (packed.data.count > Capacity) return freeze<Make, packed.data.count>();
  else return frozen_graph<packed.sizes>(packed);
}

/// The graph that was frozen. Its lists are those of `f`: they can be replaced, but not written to.
template <graph_sizes S> constexpr graph thaw(const frozen_graph<S>& f) {
  graph_sizes at;
  graph g = f.extract(at);
  g.error = f.error;
  return g;
}

/// What a pass makes of a graph, frozen. `Pass` returns a graph without outputs where it changes nothing.
template <class Pass> inline constexpr auto passed_graph = freeze<Pass{}>();
template <class Pass> struct thaw_passed {
  constexpr graph operator()() const { return thaw(passed_graph<Pass>); }
};
template <class Pass, bool May> inline constexpr bool has_changes = false;
template <class Pass> inline constexpr bool has_changes<Pass, true> = std::remove_cvref_t<decltype(passed_graph<Pass>)>::sizes.outputs > 0;
/// The maker of the graph that `Pass` makes of that of `Make`, or `Make` where there are no changes; without `May` there are none.
template <class Pass, class Make, bool May> using with_changes = std::conditional_t<has_changes<Pass, May>, thaw_passed<Pass>, Make>;

}  // namespace cotangent
