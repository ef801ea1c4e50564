#pragma once
/// Operations with several results. Such a node is of role call; its attributes begin with the bodies and the results.

#include <cotangent/graph/builder.hpp>

namespace cotangent {

/// The attributes of a call with several results: the number of bodies and their numbers; the number of results and, per
/// result, its dtype, rank and extents; then what the primitive adds.
struct call_form {
  struct result {
    dtype type = dtype::float32;
    shape dims;
  };
  sequence<extent> bodies;
  sequence<result> results;
  sequence<extent> own;

  constexpr call_form() = default;
  constexpr explicit call_form(const call& c) { read(c.attributes, c.attribute_count); }
  constexpr call_form(const graph& g, int n) { read(g.attributes.items + g[n].attributes, g[n].attribute_count); }

  constexpr sequence<extent> attributes() const {
    sequence<extent> a;
    a.push_back(extent(bodies.size()));
    for (extent b : bodies) a.push_back(b);
    a.push_back(extent(results.size()));
    for (const result& r : results) {
      a.push_back(extent(r.type)), a.push_back(r.dims.rank);
      for (extent e : r.dims) a.push_back(e);
    }
    for (extent e : own) a.push_back(e);
    return a;
  }

 private:
  constexpr void read(const extent* a, int count) {
    const extent* const end = a + count;
    for (extent n = *a++; n-- > 0;) bodies.push_back(*a++);
    for (extent n = *a++; n-- > 0;) {
      result r;
      r.type = dtype(*a++);
      for (extent rank = *a++; rank-- > 0;) r.dims.push_back(*a++);
      results.push_back(r);
    }
    while (a != end) own.push_back(*a++);
  }
};

/// One result of an operation with several. Attribute: its number.
struct element_p {
  static constexpr std::string_view name = "element";
  static constexpr role kind = role::element;
  static constexpr void infer(call& c) {
    const call_form form(c.b->g, c[0].id);
    const call_form::result& r = form.results[std::size_t(c.attribute(0))];
    c.type = r.type, c.dims = r.dims;
  }
};

constexpr bool has_several_results(const node& x) { return x.op_id != 0 && x.op->has.several; }
constexpr bool any_has_several_results(const graph& g) {
  for (const node& x : g.nodes)
    if (has_several_results(x)) return true;
  return false;
}

/// How many results node n has, an operation with several.
constexpr extent result_count(const graph& g, int n) {
  const extent* a = g.attributes.items + g.nodes.items[n].attributes;
  return a[1 + a[0]];
}

/// All results of the node `v`, an operation with several.
constexpr sequence<value> results_of(value v) {
  sequence<value> r;
  if (v.b->failed() || !has_several_results(v.get())) return r;
  const call_form form(v.b->g, v.id);  // read once
  call c;
  c.b = v.b, c.op = &primitive_of<element_p>, c.operands = &v, c.count = 1;
  for (extent k = 0; k < extent(form.results.size()); ++k) {
    c.type = form.results[std::size_t(k)].type, c.dims = form.results[std::size_t(k)].dims, c.attributes = &k, c.attribute_count = 1;
    r.push_back(v.b->emit_inferred(c));
  }
  return r;
}

/// Applies P, whose results are given by `form`.
template <class P> constexpr sequence<value> emit_all(builder& b, const call_form& form, const sequence<value>& operands) {
  const sequence<extent> attributes = form.attributes();
  call c;
  c.op = &primitive_of<P>, c.operands = operands.data(), c.count = int(operands.size());
  c.attributes = attributes.data(), c.attribute_count = int(attributes.size());
  return results_of(b.emit(c));
}

/// What the primitives with several results share: the node's own dtype and shape mean nothing.
struct several_results {
  static constexpr role kind = role::call;
  static constexpr void infer(call& c) { c.type = dtype::boolean, c.dims = {}; }
};

/// Node n of a graph as a call without operands.
constexpr call call_at(const graph& g, int n) {
  const node& x = g[n];
  call c;
  c.op = x.op, c.type = x.type, c.dims = x.dims, c.count = x.operand_count;
  if (!x.is_input() && x.op->kind == role::call) c.bodies = &g.subgraphs;
  c.attributes = g.attributes.items + x.attributes, c.attribute_count = x.attribute_count;
  return c;
}

/// Which nodes the outputs that `wanted` names need; of an operation with several results, only what its needed results
/// need. `used`, per node of that kind in their order, has which results are needed.
constexpr flag_list needed_nodes(const graph& g, const flag_list& wanted, sequence<flag_list>* used = nullptr) {
  const node* const nodes = g.nodes.items;
  flag_list needed(g.nodes.count, false);
  char* const need = needed.items;
  for (std::size_t o = 0; o < g.outputs.count; ++o)
    if (wanted.items[o]) need[g.outputs.items[o]] = true;
  sequence<int> with_results;
  sequence<flag_list> results;
  const int count = g.size();
  for (int n = 0; n < count; ++n)
    if (nodes[n].op_id != 0 && nodes[n].op->has.several) with_results.push_back(n), results.push_back(flag_list(std::size_t(result_count(g, n)), false));
  std::size_t next = with_results.count;
  for (int n = count; n-- > 0;) {
    const bool several = next > 0 && with_results.items[next - 1] == n;
    if (several) --next;
    if (!need[n]) continue;
    const node& x = nodes[n];
    const int* const operands = g.operands.items + x.operands;
    if (several) {
      flag_list of_results;
      x.op->all->needs(call_at(g, n), results.items[next], of_results);
      for (int k = 0; k < x.operand_count; ++k)
        if (of_results.items[k]) need[operands[k]] = true;
      continue;
    }
    for (int k = 0; k < x.operand_count; ++k) need[operands[k]] = true;
    if (x.op_id != primitive_of<element_p>.id) continue;
    for (std::size_t i = 0; i < with_results.count; ++i)
      if (with_results.items[i] == operands[0]) results.items[i].items[g.attribute(n, 0)] = true;
  }
  if (used) *used = std::move(results);
  return needed;
}

}  // namespace cotangent
