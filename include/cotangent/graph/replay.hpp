#pragma once
/// Reading a graph node by node into a builder: what every pass from graph to graph does.

#include <cotangent/graph/results.hpp>

namespace cotangent {

/// Walks `from` and keeps, for each of its nodes, the value that stands for it in the builder.
struct replay {
  const graph& from;
  builder& to;
  sequence<value> map;       // per node of `from`
  sequence<extent> symbols;  // per symbol of `from`; empty: they mean the same in both

  constexpr replay(const graph& g, builder& b) : from(g), to(b) { map.assign(g.nodes.size(), value{}); }

  constexpr extent translate(extent e) const { return symbols.empty() || !is_symbol(e) ? e : symbols[std::size_t(e - symbol_base)]; }

  /// Node n as an application to the values that stand for its operands. The lists live until the next `at`.
  constexpr call at(int n) {
    const node& x = from.nodes.items[n];
    const int* ids = from.operands.items + x.operands;
    operands.count = 0;
    value* mapped = operands.extend(std::size_t(x.operand_count));
    for (int k = 0; k < x.operand_count; ++k) mapped[k] = map.items[ids[k]];
    call c;
    c.b = &to, c.op = x.op, c.bits = x.bits, c.type = x.type, c.dims = x.dims, c.operands = mapped, c.count = x.operand_count,
    c.attributes = from.attributes.items + x.attributes, c.attribute_count = x.attribute_count;
    if (x.op->kind == role::call) c.bodies = &from.subgraphs;
    if (symbols.count > 0) {
      attributes.clear();
      for (int k = 0; k < x.attribute_count; ++k) attributes.push_back(translate(c.attributes[k]));
      c.attributes = attributes.data();
    }
    return c;
  }

  /// Emits node n in the builder, unless it is an input.
  constexpr void copy(int n) {
    const node& x = from.nodes.items[n];
    if (x.op_id == 0) return;
    if (x.op->kind == role::element) {
      map.items[n] = result(from.operand(n, 0), int(from.attribute(n, 0)));
      return;
    }
    const call c = at(n);
    if (x.op->has.several) {
      sequence<value> values;
      if (to.simplifying && to.inlining) x.op->all->simplify(c, values);
      if (values.empty()) values = results_of(to.emit_inferred(c));
      return set_results(n, values);
    }
    // Where symbols mean the same, so do the extents: nothing is to be inferred again.
    map.items[n] = symbols.count == 0 ? to.emit_inferred(c) : to.emit(c);
  }

  /// What stands for the results of node n of `from`, an operation with several.
  constexpr void set_results(int n, const sequence<value>& values) {
    map.items[n] = values.empty() ? to.dead() : values[0];
    several.push_back(n);
    results.push_back(values);
  }
  constexpr value result(int n, int k) const {
    for (std::size_t i = several.count; i-- > 0;)
      if (several.items[i] == n) return std::size_t(k) < results.items[i].count ? results.items[i].items[k] : to.dead();
    return to.dead();
  }

 private:
  sequence<value> operands;
  sequence<extent> attributes;
  sequence<int> several;  // nodes with several results
  sequence<sequence<value>> results;
};

/// Node n of a finished graph as an application to its own operands, which are values of a builder that holds the graph's nodes. The
/// operands live in the list.
constexpr call call_at(const graph& g, builder& b, int n, sequence<value>& operands) {
  const node& x = g.nodes.items[n];
  operands.clear();
  for (int k = 0; k < x.operand_count; ++k) operands.push_back({&b, g.operand(n, k)});
  call c;
  c.b = &b, c.op = x.op, c.bits = x.bits, c.type = x.type, c.dims = x.dims, c.result = {&b, n};
  c.operands = operands.data(), c.count = x.operand_count;
  c.attributes = g.attributes.data() + x.attributes, c.attribute_count = x.attribute_count;
  return c;
}

/// How often each value is an operand or an output.
constexpr sequence<int> uses_of(const graph& g) {
  sequence<int> uses;
  uses.assign(g.nodes.size(), 0);
  for (int o : g.operands) ++uses.items[o];
  for (int o : g.outputs) ++uses.items[o];
  return uses;
}

/// The application that computes a value, with lists of its own: those of its builder move when it grows.
struct copied_call : call {
  sequence<value> own_operands;
  sequence<extent> own_attributes;

  constexpr explicit copied_call(value v) {
    static_cast<call&>(*this) = call_at(v.b->g, *v.b, v.id, own_operands);
    for (int k = 0; k < attribute_count; ++k) own_attributes.push_back(attribute(k));
    attributes = own_attributes.data();
  }
  copied_call(const copied_call&) = delete;
};

/// Appends `g` to the builder with these inputs. Extents of the inputs that g relies on are unified.
constexpr sequence<value> inline_graph(builder& b, const graph& g, const sequence<value>& inputs) {
  sequence<value> outputs;
  if (!g.error.empty()) b.fail(g.error);
  replay r(g, b);
  for (const symbol& s : g.symbols) {
    if (s.what == symbol::input) r.symbols.push_back(inputs[std::size_t(s.a)].dims()[int(s.b)]);
    else r.symbols.push_back(b.symbols.combine(s.what, r.translate(s.a), r.translate(s.b)));
  }
  for (const equality& e : g.equalities)
    if (!b.symbols.unify(e.of, r.translate(e.a), r.translate(e.b))) b.fail(message{} << "call: extents " << r.translate(e.a) << " and " << r.translate(e.b) << " of the arguments differ");
  for (std::size_t i = 0; i < g.inputs.size(); ++i) {
    const shape want = g[g.inputs[i]].dims, have = inputs[i].dims();
    for (int k = 0; k < want.rank; ++k)
      if (!b.symbols.unify("call", r.translate(want[k]), have[k])) b.fail(message{} << "call: an argument has shape " << have << " where " << want << " is needed");
    r.map[std::size_t(g.inputs[i])] = inputs[i];
  }
  for (int n = 0; n < g.size(); ++n) r.copy(n);
  for (int o : g.outputs) outputs.push_back(r.map[std::size_t(o)]);
  return outputs;
}

/// Copies the whole graph into the replay's empty builder, node by node in place.
constexpr void copy_graph(replay& r) {
  r.to.start_from(r.from);
  for (int n = 0; n < r.from.size(); ++n) r.map[std::size_t(n)] = {&r.to, n};
}

/// A builder that continues from the inputs and symbols of `g`.
constexpr void copy_inputs(replay& r) {
  r.to.take_symbols(r.from);
  r.to.reserve(r.from, 1);
  for (int i : r.from.inputs) r.map[std::size_t(i)] = r.to.input(r.from[i].type, r.from[i].dims);
}

}  // namespace cotangent
