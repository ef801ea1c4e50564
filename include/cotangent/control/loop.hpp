#pragma once
/// What the rules of loops share: how values flow through a body, and what does not change inside it.

#include <cotangent/transforms/batch.hpp>
#include <cotangent/transforms/bodies.hpp>
#include <cotangent/transforms/share.hpp>
#include <cotangent/transforms/split.hpp>

namespace cotangent {

/// Which outputs of `g` depend on the inputs that `active` names, through values that have tangents.
constexpr flag_list dependent_outputs(const graph& g, const flag_list& active) {
  const flag_list dependent = dependent_nodes(g, active);
  flag_list r;
  for (int o : g.outputs) r.push_back(dependent[std::size_t(o)]);
  return r;
}
/// The same for dependence of any kind. (Of calls with large bodies each result depends on every operand: to look would cost
/// constant evaluation too much.) Along `axis` collectives are of one value for all instances, or of one for each.
constexpr flag_list reached_outputs(const graph& g, const flag_list& from, const shape& axis = {}) {
  constexpr std::size_t small = 100;  // nodes
  const auto has_small_bodies = [&](int call) {
    std::size_t nodes = 0;
    for (extent b : call_form(g, call).bodies) nodes += g.subgraphs[std::size_t(b)].nodes.size();
    return nodes <= small;
  };
  flag_list reached(g.nodes.count, false), r;
  for (std::size_t i = 0; i < g.inputs.size(); ++i) reached[std::size_t(g.inputs[i])] = from[i];
  for (int n = 0; n < g.size(); ++n) {
    if (g[n].is_input()) continue;
    if (works_along(g, n, axis)) {
      reached[std::size_t(n)] = g[n].op->varies;
      continue;
    }
    const bool is_element = g[n].op->kind == role::element && has_small_bodies(g.operand(n, 0));
    const int of = is_element ? g.operand(n, 0) : n;
    if (body_works_along(g, of, axis)) reached[std::size_t(n)] = true;
    flag_list needs;
    if (is_element) {
      flag_list used(std::size_t(result_count(g, of)), false);
      used[std::size_t(g.attribute(n, 0))] = true;
      g[of].op->all->needs(call_at(g, of), used, needs);
    }
    for (int k = 0; k < g[of].operand_count; ++k)
      if ((!is_element || needs[std::size_t(k)]) && reached[std::size_t(g.operand(of, k))]) reached[std::size_t(n)] = true;
  }
  for (int o : g.outputs) r.push_back(reached[std::size_t(o)]);
  return r;
}
/// Which inputs the outputs that `wanted` names need.
constexpr flag_list needed_inputs(const graph& g, const flag_list& wanted) {
  const flag_list needed = needed_nodes(g, wanted);
  flag_list r;
  for (int i : g.inputs) r.push_back(needed[std::size_t(i)]);
  return r;
}
/// Adds to `wanted` the carries that the wanted outputs of a body need, step after step; returns the needed inputs. The
/// carries are the inputs from `first` on and the first outputs.
constexpr flag_list add_needed_carries(const graph& body, std::size_t first, std::size_t carries, flag_list& wanted) {
  for (;;) {
    const flag_list needed = needed_inputs(body, wanted);
    bool changed = false;
    for (std::size_t k = 0; k < carries; ++k)
      if (needed[first + k] && !wanted[k]) wanted[k] = changed = true;
    if (!changed) return needed;
  }
}

/// The nodes that are inputs and outputs of `g`, to be chosen from.
constexpr sequence<int> chosen(const sequence<int>& nodes, const flag_list& flags) {
  sequence<int> r;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (flags[i]) r.push_back(nodes[i]);
  return r;
}
constexpr sequence<int> concat(sequence<int> a, const sequence<int>& b) {
  for (int i : b) a.push_back(i);
  return a;
}
template <class T> constexpr sequence<T> part(const sequence<T>& list, std::size_t first, std::size_t count) {
  sequence<T> r;
  for (std::size_t i = 0; i < count; ++i) r.push_back(list[first + i]);
  return r;
}

/// Whether n is cheap and larger than what it is computed from: reading it would take longer than computing it.
constexpr bool makes_much_of_little(const graph& g, int n) {
  if (g[n].is_input() || g[n].op->kind != role::pointwise || g[n].op->flops > 2 || has_symbol(g[n].dims)) return false;
  extent read = 0;
  for (int i = 0; i < g[n].operand_count; ++i) {
    int o = g.operand(n, i);
    while (!g[o].is_input() && g[o].op->kind == role::view) o = g.operand(o, 0);
    if (has_symbol(g[o].dims)) return false;
    if (g[o].is_input() || g[o].op->kind != role::source) read += g[o].dims.size();
  }
  return 2 * read < g[n].dims.size();
}

/// Per node, whether it is a small array that is known while compiling, as far as cheap operations show: the zeros and ones of a unit
/// vector simplify what they are used in.
constexpr flag_list known_arrays(const graph& g) {
  constexpr extent few = 256;
  flag_list known(g.nodes.count, false);
  for (int n = 0; n < g.size(); ++n) {
    const node& x = g.nodes.items[n];
    if (x.is_input() || has_symbol(x.dims) || x.dims.size() > few) continue;
    bool all = x.op->kind == role::source || x.op->kind == role::view || x.op_id == primitive_of<reshape_p>.id || (x.op->kind == role::pointwise && x.op->flops <= 2);
    for (int k = 0; k < x.operand_count && all; ++k) all = known[std::size_t(g.operand(n, k))];
    known[std::size_t(n)] = all;
  }
  return known;
}

/// The nodes of a body that depend on constant inputs alone, and that the rest of it uses: they can be computed before
/// the loop. Views of them are taken inside, and what is cheap to compute from little is computed again, as is what is known. Outputs that
/// are not in `wanted` do not count.
constexpr sequence<int> loop_constants(const graph& g, const flag_list& constant_inputs, const flag_list& wanted) {
  const int count = g.size();
  flag_list constants(g.nodes.count, true);
  char* const constant = constants.items;
  for (std::size_t i = 0; i < g.inputs.count; ++i) constant[g.inputs.items[i]] = constant_inputs.items[i];
  for (int n = 0; n < count; ++n) {
    const node& x = g.nodes.items[n];
    const int* const operands = g.operands.items + x.operands;
    for (int k = 0; k < x.operand_count; ++k)
      if (!constant[operands[k]]) constant[n] = false;
    if (constant[n] && makes_much_of_little(g, n)) constant[n] = false;
  }
  const flag_list known = known_arrays(g);
  sequence<int> hoisted;
  const auto use = [&](int n) {
    if (!constant[n]) return;
    while (!g[n].is_input() && g[n].op->kind == role::view) n = g.operand(n, 0);
    if (g[n].is_input() || known[std::size_t(n)] || g[n].op->kind == role::source || g[n].op_id == primitive_of<dense_p>.id) return;
    for (int h : hoisted)
      if (h == n) return;
    hoisted.push_back(n);
  };
  for (int n = 0; n < count; ++n) {
    if (constant[n]) continue;
    const node& x = g.nodes.items[n];
    const int* const operands = g.operands.items + x.operands;
    for (int k = 0; k < x.operand_count; ++k)
      if (constant[operands[k]]) use(operands[k]);
  }
  for (std::size_t o = 0; o < g.outputs.size(); ++o)
    if (o >= wanted.size() || wanted[o]) use(g.outputs[o]);
  return hoisted;
}

/// The values of `nodes` of the body `g`; operand_of(i) is the operand that its input i stands for.
template <class Operand> constexpr sequence<value> computed_before(builder& b, const graph& g, const sequence<int>& nodes, const Operand& operand_of) {
  if (nodes.empty()) return {};
  sequence<int> more;
  const graph before = part_of(g, {}, nodes, more);
  sequence<value> inputs;
  for (int i : more) inputs.push_back(operand_of(i));
  return inline_graph(b, before, inputs);
}

constexpr sequence<value> concat(sequence<value> a, const sequence<value>& b) {
  for (value v : b) a.push_back(v);
  return a;
}

constexpr sequence<shape> shapes_of(const sequence<value>& v) {
  sequence<shape> r;
  for (value x : v) r.push_back(x.dims());
  return r;
}

/// Marks the carries that an active value flows into, step after step. The body's inputs are `before` others, the
/// carries, and more; its outputs begin with the carries.
constexpr void spread_over_carries(const graph& body, std::size_t before, std::size_t carries, flag_list& active, const auto& flow) {
  for (bool changed = true; changed;) {
    changed = false;
    const flag_list out = flow(body, active);
    for (std::size_t k = 0; k < carries; ++k)
      if (out[k] && !active[before + k]) active[before + k] = changed = true;
  }
}

/// Where the values of `part` are in `whole`, counted from `first`; if in order, each behind the one before. -1: nowhere.
constexpr sequence<int> places_of(const sequence<value>& part, const sequence<value>& whole, std::size_t first, bool in_order = false) {
  sequence<int> places;
  std::size_t at = 0;
  for (value v : part) {
    if (!in_order) at = 0;
    while (at < whole.size() && !(whole[at] == v)) ++at;
    places.push_back(at < whole.size() ? int(first + at++) : -1);
  }
  return places;
}

/// The shapes of a body's outputs for inputs of these shapes. What the body demands of run-time extents, `b` does then.
constexpr sequence<shape> body_shapes(builder& b, const graph& body, const sequence<shape>& inputs) {
  sequence<extent> symbols;
  const auto translate = [&](extent e) { return is_symbol(e) ? symbols[std::size_t(e - symbol_base)] : e; };
  for (const symbol& s : body.symbols)
    symbols.push_back(s.what == symbol::input ? inputs[std::size_t(s.a)][int(s.b)] : b.symbols.combine(s.what, translate(s.a), translate(s.b)));
  for (const equality& e : body.equalities)
    if (!b.symbols.unify(e.of, translate(e.a), translate(e.b))) b.fail(message{} << "loop: extents " << translate(e.a) << " and " << translate(e.b) << " in the body differ");
  sequence<shape> r;
  for (int o : body.outputs) {
    shape dims;
    for (extent e : body[o].dims) dims.push_back(translate(e));
    r.push_back(dims);
  }
  return r;
}

/// Checks that a carry has one type before a step and after it.
constexpr void check_carry(builder& b, std::string_view who, std::size_t k, value before, dtype type, const shape& after) {
  const shape want = before.dims();
  bool same = want.rank == after.rank && type == before.type();
  for (int i = 0; same && i < want.rank; ++i) same = b.symbols.unify(who, want[i], after[i]);
  if (!same) b.fail(message{} << who << ": the carry must keep its type: array " << int(k) << " of it is " << before.type() << want << " before a step and " << type << after << " after it");
}

/// A new input of `b` of this type; run-time extents are symbols of their own.
constexpr value input_like(builder& b, dtype type, shape dims) {
  for (int k = 0; k < dims.rank; ++k)
    if (is_symbol(dims[k])) dims[k] = b.input_extent(k);
  return b.input(type, dims);
}
/// The same for `count` inputs of `g` from `from` on, and for values of another builder.
constexpr sequence<value> inputs_like(builder& b, const graph& g, std::size_t count, std::size_t from = 0) {
  sequence<value> r;
  for (std::size_t i = from; i < from + count; ++i) r.push_back(input_like(b, g[g.inputs[i]].type, g[g.inputs[i]].dims));
  return r;
}
constexpr sequence<value> inputs_like(builder& b, const sequence<value>& values) {
  sequence<value> r;
  for (value v : values) r.push_back(input_like(b, v.type(), v.dims()));
  return r;
}

/// The body for inputs of these shapes, without run-time extents if they have none.
constexpr graph specialized(const graph& body, const sequence<shape>& inputs) {
  if (body.symbols.empty()) return body;
  for (const shape& s : inputs)
    if (has_symbol(s)) return body;
  builder b;
  sequence<value> in;
  for (std::size_t i = 0; i < inputs.size(); ++i) in.push_back(b.input(body[body.inputs[i]].type, inputs[i]));
  for (value v : inline_graph(b, body, in)) b.g.outputs.push_back(v.id);
  return b.finish();
}

}  // namespace cotangent
