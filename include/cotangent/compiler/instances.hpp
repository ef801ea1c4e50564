#pragma once
/// Per-instance programs: a function of small arrays that vmap has batched, as a program of scalars with one instance per
/// lane. Every array of instances, an axis of many beside axes of few elements, becomes its elements, each a vector of the
/// instances. Then there is one kernel, in which structural zeros and common subexpressions of elements are gone.

#include <cotangent/compiler/canonicalize.hpp>
#include <cotangent/control/scan_primitive.hpp>
#include <cotangent/control/while_primitive.hpp>
#include <cotangent/graph/freeze.hpp>

namespace cotangent {

/// Whether node n reads rows of a table that are long enough for vectors along them.
constexpr bool gathers_long_rows(const graph& g, int n) {
  constexpr extent least_last = 8, least = 16;
  const node& x = g[n];
  const addressing a = gather_p::addresses(call_at(g, n));
  extent elements = 1;
  int d = x.dims.rank;
  for (int i = a.rank; i > 0 && d > 0; --i, --d) {
    const axis_address last = a.axes[i - 1];
    if (last.dimension != d - 1 || last.index >= 0 || is_symbol(x.dims[d - 1])) break;
    elements *= x.dims[d - 1];
  }
  return elements >= least && x.dims[x.dims.rank - 1] >= least_last;
}

/// Per node, whether it is made of such rows element by element.
constexpr flag_list made_of_long_rows(const graph& g) {
  flag_list made;
  made.assign(g.nodes.size(), false);
  for (int n = 0; n < g.size(); ++n) {
    if (g[n].is_input()) continue;
    if (g[n].op->kind == role::gather) made[std::size_t(n)] = gathers_long_rows(g, n);
    for (int k = 0; g[n].op->kind == role::pointwise && k < g[n].operand_count; ++k) made[std::size_t(n)] = made[std::size_t(n)] || made[std::size_t(g.operand(n, k))];
  }
  return made;
}

/// Whether a view shows a few elements of each instance in another order, for which a kernel of arrays reads across vectors, or short rows
/// where the elements of all instances were rows, or the other way round.
constexpr bool turns_elements(const graph& g, int n, const element_limits& limits) {
  constexpr extent few = 32, short_row = 8;
  const node& x = g[n];
  const element_form form(x.dims, limits);
  if (form.axes.rank != 1 || form.count < 2 || form.count > few) return false;
  const call c = call_at(g, n);
  if (x.op_id == primitive_of<reverse_p>.id) return !c.list(0, c.attribute_count).contains(form.axes[0]);
  if (x.op_id != primitive_of<transpose_p>.id) return false;
  const int last_axis = x.dims.rank - 1, axis = int(form.axes[0]);
  if ((axis == last_axis) != (c.attribute(axis) == last_axis) && form.count <= short_row) return true;
  extent last = -1;  // of the axes of elements, as the operand has them
  for (int i = 0; i < x.dims.rank; ++i) {
    if (i == form.axes[0] || x.dims[i] == 1) continue;
    if (c.attribute(i) < last) return true;
    last = c.attribute(i);
  }
  return false;
}

/// Whether the elements of opaque node n are done by a rule.
constexpr bool has_element_rule(const graph& g, int n, const element_limits& limits) {
  const primitive& op = *g[n].op;
  if (!op.by_lines || !op.has.elements) return op.has.elements;
  const shape& dims = g[g.operand(n, 0)].dims;
  return are_few_lines(dims, element_form(dims, limits), g.attribute(n, 0), op.most_elements);
}

/// Whether one kernel of arrays cannot do what node n does to arrays of instances.
constexpr bool gains_by_elements(const graph& g, int n, const element_limits& limits, const flag_list& of_long_rows) {
  const node& x = g[n];
  if (x.is_input() || x.operand_count == 0) return false;
  const role kind = x.op->kind;
  if (kind == role::gather) {
    const element_form form(x.dims, limits);
    return form.axes.rank > 0 && form.count > 1 && !of_long_rows[std::size_t(n)];
  }
  if (kind == role::view) return turns_elements(g, n, limits);
  if (kind == role::reduction && of_long_rows[std::size_t(g.operand(n, 0))]) return false;
  if (kind != role::reduction && (kind != role::opaque || !has_element_rule(g, n, limits) || x.op_id == primitive_of<reshape_p>.id)) return false;
  const element_form made(x.dims, limits);
  for (int k = 0; k < x.operand_count; ++k) {
    const shape& dims = g[g.operand(n, k)].dims;
    const element_form from(dims, limits);
    // A reduction over instances along the lanes of an array does well as it is.
    if (kind == role::reduction && made.axes.rank < from.axes.rank && from.axes.contains(dims.rank - 1)) continue;
    if (from.axes.rank > 0 && (from.count > 1 || made.count > 1)) return true;
  }
  return false;
}

/// How many products each element of node n, a product, is the sum of, per instance.
constexpr extent terms_of_product(const graph& g, int n, const element_limits& limits) {
  extent terms = 1;
  for (extent axis : dot_general_p::dimensions(call_at(g, n)).lhs_contracted)
    if (const extent e = g[g.operand(n, 0)].dims[int(axis)]; !limits.is_instances(e)) terms *= e;
  return terms;
}
/// Whether node n is a product of all instances with one matrix, of two batches of instances, or a sum of products over the
/// instances, that is large enough for a matrix product.
constexpr bool is_matrix_product(const graph& g, int n, const element_limits& limits) {
  constexpr extent few_products = 64, few_terms = 8;  // per instance
  const node& x = g[n];
  if (x.op_id != primitive_of<dot_general_p>.id) return false;
  const dot_dimensions d = dot_general_p::dimensions(call_at(g, n));
  const shape &l = g[g.operand(n, 0)].dims, &r = g[g.operand(n, 1)].dims;
  const auto any_instances = [&](const shape& axes, const shape& dims) {
    for (extent axis : axes)
      if (limits.is_instances(dims[int(axis)])) return true;
    return false;
  };
  const bool over = any_instances(d.lhs_contracted, l), batch = any_instances(d.lhs_batch, l);
  const bool of_left = any_instances(d.lhs_free(l.rank), l), of_right = any_instances(d.rhs_free(r.rank), r);
  const extent terms = terms_of_product(g, n, limits);
  if (over && (of_left || of_right)) return true;
  if (of_left && of_right) return terms > few_terms;
  return !batch && (over || of_left || of_right) && terms * element_form(x.dims, limits).count > few_products;
}

/// Whether a node factors matrices or solves by factors.
constexpr bool is_factorization(const node& x) { return x.op->kind == role::opaque && x.op->has.elements && !x.op->by_lines && x.op->flops > 2; }

/// Whether a graph can be rewritten element by element: every array has few elements beside two axes of instances at most, inputs
/// that do not come as elements (`apart`) one element beside two or few beside one, or is read and written whole: by gathers and
/// scatters, and, if `all` is not asked for, by what runs by itself, such as a sort.
constexpr bool has_elements(const graph& g, const element_limits& limits, bool all = false, bool apart = false) {
#ifdef __clang__  // whose constant evaluation stops after fewer steps
  constexpr extent most_elements = 1 << 12, terms_worth = 0;  // before structural zeros are gone
#else
  constexpr extent most_elements = 1 << 14, terms_worth = 5;  // of two more terms of a product, in elements
#endif
  extent longest_row = 16;                   // of a reduction of instances; longer ones are better spread over lanes
  if (!g.error.empty() || !g.subgraphs.empty()) return false;
  flag_list whole;  // tables of gathers and scatters
  whole.assign(g.nodes.size(), false);
  for (int n = 0; n < g.size(); ++n)
    if (!g[n].is_input()) {
      if (g[n].op->kind == role::gather || is_scatter(g[n].op_id)) whole[std::size_t(g.operand(n, 0))] = true;
      if (is_factorization(g[n])) longest_row = 64;  // which elements do far better than arrays, of whatever is beside it
    }
  extent total = 0;
  for (int n = 0; n < g.size(); ++n) {
    const node& x = g[n];
    const element_form form(x.dims, limits);
    if (x.is_input() ? (form.fits && (form.axes.rank <= 1 || form.count == 1 || (apart && form.axes.rank == 2))) || whole[std::size_t(n)] : is_scatter(x.op_id) || (whole[std::size_t(n)] && x.op->kind == role::source)) continue;
    if (!form.fits || form.axes.rank > 2 || x.is_input()) return false;
    const role kind = x.op->kind;
    if (kind != role::pointwise && kind != role::view && kind != role::reduction && kind != role::gather && (kind == role::opaque ? !has_element_rule(g, n, limits) : !x.op->has.elements)) {
      if (all || kind != role::opaque) return false;
      continue;
    }
    for (int k = kind == role::gather; k < x.operand_count; ++k)
      if (const element_form operand(g[g.operand(n, k)].dims, limits); !operand.fits || operand.axes.rank > 2) return false;
    if (is_matrix_product(g, n, limits)) return false;
    if (kind == role::reduction) {
      const element_form from(g[g.operand(n, 0)].dims, limits);
      const bool instances = from.axes.rank > 0 && limits.extents.rank == 0;  // two axes of them have lanes enough
      if (from.count > (instances ? 1 : 4) * longest_row * form.count) return false;
    }
    total += form.count;
    if (x.op_id == primitive_of<dot_general_p>.id) total += form.count * (terms_of_product(g, n, limits) - 1) * terms_worth / 2;
  }
  return total <= most_elements;
}
constexpr bool gains_by_elements(const graph& g, const element_limits& limits) {
  const flag_list of_long_rows = made_of_long_rows(g);
  for (int n = 0; n < g.size(); ++n)
    if (gains_by_elements(g, n, limits, of_long_rows)) return true;
  return false;
}

/// The leading two extents of the largest array of three axes or more: those of a vmap in a vmap.
constexpr shape leading_extents(const graph& g) {
  constexpr extent at_run_time = 1 << 12;  // what an extent is taken for
  extent most = 0;
  shape r;
  for (int n = 0; n < g.size(); ++n) {
    const shape& dims = g[n].dims;
    if (dims.rank < 3) continue;
    extent size = 1;
    for (extent e : dims) size *= is_symbol(e) ? at_run_time : e;
    if (size > most) most = size, r = {dims[0], dims[1]};
  }
  return r;
}

/// Whether a graph should be a per-instance program: it can, and something in it gains by that.
constexpr bool is_per_instance(const graph& g, const element_limits& limits = {}) { return gains_by_elements(g, limits) && has_elements(g, limits); }
/// One instance alone: no axis is one of instances, and arrays are of few elements.
inline constexpr element_limits single_instance{extent(1) << 30, 49, {}};
/// Whether a graph is of so few numbers that one kernel of them is better than several of small arrays: what begins a kernel costs
/// more than dozens of operations. Library functions of several elements are better vectors, and so are larger products.
constexpr bool is_single_instance(const graph& g) {
  constexpr extent few_calls = 4, very_few = 8, most_terms = 128;
  constexpr extent few = 40;  // where nothing is factored
  int ends = 0;               // of kernels, if it stays as it is
  bool factors = false;
  extent most = 0;
  flag_list computed;  // or a view of something computed
  computed.assign(g.nodes.size(), false);
  for (int n = 0; n < g.size(); ++n) {
    if (has_symbol(g[n].dims) || g[n].dims.size() > single_instance.few) return false;
    const extent size = g[n].dims.size();
    if (size > most) most = size;
    if (g[n].is_input() || g[n].op->kind == role::source) continue;
    const role kind = g[n].op->kind;
    if (kind == role::pointwise && g[n].op->flops > 2 && size > few_calls) return false;
    if (g[n].op_id == primitive_of<dot_general_p>.id && size * dot_general_p::dimensions(call_at(g, n)).terms(g[g.operand(n, 0)].dims) > most_terms) return false;
    const bool looks = kind == role::view || g[n].op_id == primitive_of<reshape_p>.id;
    computed[std::size_t(n)] = !looks || computed[std::size_t(g.operand(n, 0))];
    factors = factors || is_factorization(g[n]);
    ends += is_factorization(g[n]) || g[n].op->by_lines ? 2 : kind == role::reduction || kind == role::gather || kind == role::opaque || (looks && computed[std::size_t(n)]);
  }
  return ends >= (most <= very_few ? 1 : 2) && (most <= few || factors) && has_elements(g, single_instance, true);
}
/// The instances of a graph that should be a per-instance program; else `few` is 0.
constexpr element_limits instances_of(const graph& g) {
  if (is_per_instance(g)) return {};
  if (is_single_instance(g)) return single_instance;
  const shape extents = leading_extents(g);
  if (!has_symbol(extents) && extents.size() < element_limits().many) return {0, 0, {}};
  element_limits pairs{0, 1024, extents};
  for (int i : g.inputs) pairs.in_order = pairs.in_order || element_form(g[i].dims, pairs).axes.rank == 2;
  if (extents[0] > 1 && extents[1] > 1 && is_per_instance(g, pairs)) return pairs;
  return {0, 0, {}};
}

/// The same for the body of a loop. One without matrix products may have its last axis as its instances: a state of a few
/// vectors, whose turns are then one kernel over the vectors' elements.
constexpr element_limits instances_of_body(const graph& g) {
  if (gains_by_elements(g, {}) && has_elements(g, {}, false, true)) return {};
  if (is_single_instance(g)) return single_instance;
  constexpr extent least = 4;
  extent most = 0, last = 0;
  for (int n = 0; n < g.size(); ++n) {
    const shape& dims = g[n].dims;
    if (g[n].op_id == primitive_of<dot_general_p>.id) return {0, 0, {}};
    if (dims.rank < 2 || has_symbol(dims) || dims.size() <= most) continue;
    most = dims.size(), last = dims[dims.rank - 1];
  }
  element_limits vectors;
  vectors.extents.push_back(last);
  if (last >= least && is_per_instance(g, vectors)) return vectors;
  return {0, 0, {}};
}

/// Rewrites a graph element by element, or a part of one.
class per_instance_program {
 public:
  enum way : char { whole_array, by_elements, both };  // both: of what is cheap, such as numbers known now

  /// `ways`: per node, how it is rewritten; without them, all are by elements.
  constexpr explicit per_instance_program(const graph& g, const element_limits& limits = {}, const way* ways = nullptr) : g_(g), limits_(limits), ways_(ways) {
    whole_.assign(g.nodes.size(), value());
    first_.assign(g.nodes.size(), -1);
    original_.take_symbols(g);
    original_.g = borrowed(g);
    b_.simplifying = b_.of_elements = true;
    b_.take_symbols(g);
  }

  /// The graph of elements; empty if it does not fit.
  constexpr graph run() {
    for (int i : g_.inputs) add_whole(i);
    rewrite_all();
    for (std::size_t o = 0; o < g_.outputs.size() && fits_; ++o) b_.g.outputs.push_back(whole(g_.outputs[o]).id);
    return finish();
  }
  /// The same where the inputs and outputs that `split_inputs` and `split_outputs` name come and go as elements.
  constexpr graph run(const flag_list& split_inputs, const flag_list& split_outputs) {
    sequence<extent> number;  // of each input, or of its first element
    for (std::size_t i = 0; i < g_.inputs.size(); ++i) {
      const int n = g_.inputs[i];
      number.push_back(extent(b_.g.inputs.size()));
      if (split_inputs[i]) {
        const element_form form = form_of(g_[n].dims);
        sequence<value> parts;
        for (extent k = 0; k < form.count; ++k) parts.push_back(b_.input(g_[n].type, form.instances));
        keep(n, parts);
      } else add_whole(n);
    }
    for (symbol& x : b_.symbols.symbols)
      if (x.what == symbol::input) x = {symbol::input, number[std::size_t(x.a)], split_inputs[std::size_t(x.a)] ? 0 : x.b};
    rewrite_all();
    for (std::size_t o = 0; o < g_.outputs.size() && fits_; ++o) {
      if (!split_outputs[o]) b_.g.outputs.push_back(whole(g_.outputs[o]).id);
      else
        for (value v : vectors(g_.outputs[o])) b_.g.outputs.push_back(v.id);
    }
    return finish();
  }
  constexpr bool fits() const { return fits_; }

 private:
#ifdef __clang__  // whose constant evaluation of the later passes stops earlier
  static constexpr std::size_t most_nodes = 1000, most_written = 2 * most_nodes;
#else
  static constexpr std::size_t most_nodes = 2000, most_written = 5 * most_nodes / 2;  // compilers take about 5 ms for each node
#endif
  /// The nodes that an operation takes as long to compile as, besides its own.
  static constexpr std::size_t nodes_beside(const primitive& op) { return op.kind == role::pointwise && op.flops >= 10 ? 8 : 0; }
  const graph& g_;
  const element_limits limits_;
  const way* const ways_;
  builder original_;      // of the nodes of g_, for rules that look at whole arrays
  builder b_;
  sequence<value> whole_;  // per node: its array, if there is one
  sequence<int> first_;    // per node: its first element in parts_, or -1
  sequence<value> parts_;
  sequence<value> operands_;
  std::size_t beside_ = 0;  // see nodes_beside
  bool fits_ = true;

  constexpr void add_whole(int n) { whole_[std::size_t(n)] = b_.input(g_[n].type, g_[n].dims); }
  constexpr void rewrite_all() {
    for (int n = 0; n < g_.size() && fits_; ++n) {
      if (!g_[n].is_input()) rewrite(n);
      fits_ = fits_ && !is_too_long();
    }
  }
  constexpr bool is_too_long() const { return b_.g.nodes.count + beside_ > most_written; }  // of which some are dead in the end
  constexpr graph finish() {
    fits_ = fits_ && !b_.failed();
    if (!fits_) return {};
    graph r = remove_dead(b_.finish());
    std::size_t cost = r.nodes.size();
    for (const node& x : r.nodes) cost += x.is_input() ? 0 : nodes_beside(*x.op);
    fits_ = cost <= most_nodes;
    if (!fits_) return {};
    return r;
  }

  constexpr element_form form_of(const shape& dims) const { return element_form(dims, limits_); }

  /// The elements of node n.
  constexpr element_array elements(int n) {
    element_array a{g_[n].dims, form_of(g_[n].dims), nullptr};
    if (first_[std::size_t(n)] < 0) {
      sequence<value> parts = picked(whole_[std::size_t(n)], a.form.axes);
      for (value& part : parts) part = reordered(part, a.form);
      keep(n, parts);
    }
    a.parts = parts_.data() + first_[std::size_t(n)];
    return a;
  }
  constexpr void keep(int n, const sequence<value>& parts) {
    first_[std::size_t(n)] = int(parts_.size());
    for (value v : parts) parts_.push_back(v);
  }

  /// An element with the axes of the instances as an array has them, or from there in their own order.
  static constexpr value reordered(value part, const element_form& form) {
    return form.axes.rank == 2 && form.axes[0] > form.axes[1] ? transpose(part, {1, 0}) : part;
  }

  /// The array of node n.
  constexpr value whole(int n) {
    value& x = whole_[std::size_t(n)];
    if (x) return x;
    sequence<value> parts = vectors(n);
    for (value& part : parts) part = reordered(part, form_of(g_[n].dims));
    if (parts.empty()) return x = constant(b_, g_[n].type, g_[n].dims, 0);
    return x = assembled(b_, parts, g_[n].dims, form_of(g_[n].dims).axes);
  }
  /// The elements of node n, each as an array of its own.
  constexpr sequence<value> vectors(int n) {
    const element_array a = elements(n);
    sequence<value> parts;
    for (extent i = 0; i < a.form.count; ++i) {
      const value part = a.parts[i] ? a.parts[i] : zero(g_[n].type);
      parts.push_back(as_instances(part, a.form.instances));
    }
    return parts;
  }
  constexpr value zero(dtype type) { return constant(b_, type, {}, 0); }

  constexpr void rewrite(int n) {
    const call c = call_at(g_, original_, n, operands_);
    const way how = ways_ ? ways_[n] : by_elements;
    if (how != by_elements) copy(c, n);
    if (how == whole_array) return;
    if (is_scatter(c.op->id)) return adds_by_element(c) ? add_by_element(c, n) : copy(c, n);
    if (!form_of(c.dims).fits) return copy(c, n);
    if (c.op->id == primitive_of<symmetric_p>.id) return symmetric(c, n);
    switch (c.op->kind) {
      case role::pointwise: return pointwise(c, n);
      case role::view: return view(c, n);
      case role::reduction: return reduce(c, n);
      case role::gather: return gather_elements(c, n);
      default: return c.op->has.elements ? by_rule(c, n) : copy(c, n);
    }
  }

  /// The node on whole arrays.
  constexpr void copy(const call& c, int n) {
    sequence<value> operands;
    for (int k = 0; k < c.count; ++k) operands.push_back(whole(c[k].id));
    call d = c;
    d.b = &b_, d.operands = operands.data(), d.result = {};
    whole_[std::size_t(n)] = b_.emit_inferred(d);
  }

  constexpr void by_rule(const call& c, int n) {
    sequence<element_array> operands;
    for (int k = 0; k < c.count; ++k) static_cast<void>(elements(c[k].id));
    for (int k = 0; k < c.count; ++k) operands.push_back(elements(c[k].id));
    element_call e{c, b_, operands.data(), form_of(c.dims), {}, true, false, limits_.many == single_instance.many};
    c.op->elements(e);
    if (e.whole) return copy(c, n);
    fits_ = e.fits;
    if (fits_) keep(n, e.parts);
  }

  constexpr void pointwise(const call& c, int n) {
    const element_form form = form_of(c.dims);
    for (int k = 0; k < c.count; ++k) static_cast<void>(elements(c[k].id));
    sequence<value> parts;
    for (extent i = 0; i < form.count; ++i) {
      if (is_too_long()) return;
      value operands[4];
      for (int k = 0; k < c.count; ++k) operands[k] = elements_of(c[k].id)[i];
      const std::size_t before = b_.g.nodes.count;
      parts.push_back(apply(c, operands));
      if (b_.g.nodes.count > before) beside_ += nodes_beside(*c.op);
    }
    keep(n, parts);
  }
  constexpr const value* elements_of(int n) const { return parts_.data() + first_[std::size_t(n)]; }

  /// A pointwise operation on elements, of which some may be structural zeros. A zero that a mask known now leaves is one.
  constexpr value apply(const call& c, value (&operands)[4]) {
    if (c.op->id == primitive_of<select_p>.id && operands[0] && is_constant(operands[0])) {
      const value chosen = operands[is_constant(operands[0], 0) ? 2 : 1];
      return chosen && is_constant(chosen, 0) ? value{} : chosen;
    }
    bool zeros = false, all_zeros = true;
    value tangents[4];
    for (int k = 0; k < c.count; ++k) {
      const bool linear = c.op->has.linear && c.op->linear(c, k);
      if (linear) tangents[k] = operands[k], all_zeros = all_zeros && !operands[k];
      if (!operands[k] && (c.op->bilinear && linear)) return {};
      zeros = zeros || (!operands[k] && linear);
    }
    if (zeros && all_zeros) return {};
    for (int k = 0; k < c.count; ++k)
      if (!operands[k]) operands[k] = zero(c[k].type());
    for (int round = 0; round < 2; ++round)  // the first makes a vector of the first operand if one is, the second of all
      for (int k = 1; k < c.count; ++k) match_ranks(operands[0], operands[k]);
    call d = c;
    d.b = &b_, d.operands = operands, d.result = {}, d.dims = operands[0].dims();
    if (!zeros) return b_.emit_inferred(d);
    for (int k = 0; k < c.count; ++k)
      if (tangents[k]) d.result = tangents[k] = operands[k];  // (rules ask the result for its shape)
    return c.op->jvp(d, tangents);  // of what is linear: the operation without the zeros
  }

  constexpr void view(const call& c, int n) {
    const element_array x = elements(c[0].id);
    const element_form form = form_of(c.dims);
    const int m = x.form.axes.rank;
    const auto marker = [](int place) { return extent(1) << (40 + place); };  // stands for the stride of an axis of the instances
    shape strides = x.form.strides, places = filled(m, -1);
    for (int j = 0; j < m; ++j) strides[int(x.form.axes[j])] = marker(j);
    buffer_access a = c.op->view(c, {0, strides});
    const auto among_elements = [&](extent e) { return !is_symbol(e) && e < marker(0) / 2 && e > -marker(0) / 2; };
    fits_ = among_elements(a.offset);
    for (int i = 0; i < c.dims.rank; ++i) {
      const int to = form.place(i);
      int from = -1;
      for (int j = 0; j < m; ++j)
        if (a.strides[i] == marker(j)) from = j;
      if (from >= 0) {
        fits_ = fits_ && to >= 0 && same_extent(c.dims[i], x.form.instances[from]);
        places[from] = to, a.strides[i] = 0;
      } else fits_ = fits_ && (to < 0 ? among_elements(a.strides[i]) : a.strides[i] == 0);
    }
    fits_ = fits_ && !places.contains(-1);
    if (!fits_) return;
    sequence<value> parts;
    element_call::each(c.dims, form.axes, {a.strides}, [&](const extent* at) {
      const value part = x.parts[a.offset + at[0]];
      parts.push_back(part ? placed(part, places, form.instances) : part);
    });
    keep(n, parts);
  }
  constexpr bool same_extent(extent a, extent b) const { return original_.symbols.resolve(a) == original_.symbols.resolve(b); }

  /// Elements that are equal are the one that comes first.
  constexpr void symmetric(const call& c, int n) {
    const element_array x = elements(c[0].id);
    const int first = int(c.attribute(0)), count = int(c.attribute(1));
    bool exchanges = true;
    for (int i = 0; i < count; ++i) exchanges = exchanges && x.form.place(first + i) < 0 && x.form.place(first + count + i) < 0;
    shape exchanged = x.form.strides;
    for (int i = 0; exchanges && i < count; ++i) exchanged[first + i] = x.form.strides[first + count + i], exchanged[first + count + i] = x.form.strides[first + i];
    sequence<value> parts;
    element_call::each(c.dims, x.form.axes, {x.form.strides, exchanged}, [&](const extent* at) { parts.push_back(x.parts[at[0] < at[1] ? at[0] : at[1]]); });
    keep(n, parts);
  }

  constexpr void reduce(const call& c, int n) {
    const element_array x = elements(c[0].id);
    shape kept, kept_strides, reduced, reduced_strides, over;  // over: among the axes of the instances
    const bool linear = c.op->has.linear;
    for (int i = 0; i < x.dims.rank; ++i) {
      const bool is_reduced = c.list(0, c.attribute_count).contains(i);
      if (is_reduced && x.form.place(i) >= 0) over.push_back(x.form.place(i));
      else if (is_reduced) reduced.push_back(x.dims[i]), reduced_strides.push_back(x.form.strides[i]);
      else kept.push_back(x.dims[i]), kept_strides.push_back(x.form.strides[i]);
    }
    for (extent e : reduced) fits_ = fits_ && e > 0;
    if (!fits_) return;
    sequence<value> parts;
    element_call::each(kept, form_of(c.dims).axes, {kept_strides}, [&](const extent* at) {
      value sum;
      bool first = true;
      element_call::each(reduced, shape{}, {reduced_strides}, [&](const extent* k) {
        value part = x.parts[at[0] + k[0]];
        if (!part && linear) return;
        if (!part) part = zero(c.type);
        if (first) sum = part;
        else match_ranks(sum, part), sum = c.op->combine(sum, part);
        first = false;
      });
      if (over.rank > 0 && sum) {
        value instances = as_instances(sum, x.form.instances);
        if (over.rank == 2) over = {0, 1};
        call d = c;
        d.b = &b_, d.operands = &instances, d.result = {}, d.dims = form_of(c.dims).instances, d.attributes = over.dims, d.attribute_count = over.rank;
        sum = b_.emit_inferred(d);
      }
      parts.push_back(sum);
    });
    keep(n, parts);
  }

  /// The index of an element in a table along an axis, or -1 if it is known only at run time or goes along the instances.
  constexpr extent known_place(const call& c, const axis_address& axis, const element_form& form, const shape& at, extent part, int first_index) {
    if (axis.dimension >= 0 && form.place(axis.dimension) >= 0) return -1;
    const extent fixed = axis.dimension >= 0 ? at[axis.dimension] : 0;
    if (axis.index < 0) return fixed;
    const value index = elements_of(c[axis.index + first_index].id)[part];
    if (!index) return fixed;
    return is_constant(index) ? fixed + extent(constant_value(index)) : -1;
  }

  /// The element of a table of few that an index of the instance names: element `at` of gather c, number `part`.
  constexpr value chosen(const call& c, const addressing& a, const element_form& of_table, const shape& at, extent part) {
    const element_arithmetic x{b_, c.type};
    static_cast<void>(elements(c[0].id));
    value r;
    bool any = false;
    extent from = 0;
    each_element(c[0].dims(), of_table.axes, [&](const shape& place) {
      value condition;
      const value own = elements_of(c[0].id)[from++];
      if (!may_be_at(c, a, of_table, place, at, part, 1, condition)) return;
      r = any && condition ? x.chosen(condition, own, r) : own;
      any = true;
    });
    return r;
  }

  /// Each element is a gather from the part of the table that its place among the elements says; or an element of the table.
  constexpr void gather_elements(const call& c, int n) {
    constexpr extent most_choices = 9;
    const element_form form = form_of(c.dims), of_table = form_of(c[0].dims());
    const addressing a = gather_p::addresses(c);
    const bool chooses = of_table.fits && of_table.count <= most_choices && form.axes.rank > 0 && same_instances(a, of_table, form);
    for (int k = 1; k < c.count; ++k) static_cast<void>(elements(c[k].id));
    sequence<value> parts;
    extent part = 0;
    each_element(c.dims, form.axes, [&](const shape& at) {
      shape where, places = filled(of_table.axes.rank, 0);
      addressing of_part;
      sequence<value> indices;
      bool known = of_table.fits;
      extent offset = 0;
      for (int i = 0; i < a.rank; ++i) {
        const axis_address axis = a.axes[i];
        where.push_back(known_place(c, axis, form, at, part, 1));
        const int place = axis.dimension >= 0 ? form.place(axis.dimension) : -1;
        if (const int of = of_table.place(i); of >= 0) places[of] = place, known = known && place >= 0 && axis.index < 0;
        else offset += where[i] * of_table.strides[i], known = known && where[i] >= 0;
        if (where[i] >= 0) continue;
        axis_address address{place, -1};
        if (axis.index >= 0) {
          value index = elements_of(c[axis.index + 1].id)[part];
          if (!index) index = zero(c[axis.index + 1].type());
          const extent fixed = axis.dimension >= 0 && place < 0 ? at[axis.dimension] : 0;
          if (fixed > 0) index = index + full_like(index, double(fixed));
          address.index = int(indices.size());
          indices.push_back(as_instances(index, form.instances));
        }
        of_part.push(address);
      }
      ++part;
      if (known) {
        const value x = elements(c[0].id).parts[offset];
        parts.push_back(x ? placed(x, places, form.instances) : x);
        return;
      }
      if (chooses) return parts.push_back(chosen(c, a, of_table, at, part - 1));
      const value table = whole(c[0].id), column = where == filled(where.rank, -1) ? table : emit<pick_p>({table}, where);
      bool in_order = indices.empty() && of_part.rank == form.axes.rank;
      for (int i = 0; i < of_part.rank; ++i) in_order = in_order && of_part.axes[i].dimension == i;
      parts.push_back(in_order ? column : gather(column, indices, form.instances, of_part));
    });
    keep(n, parts);
  }

  /// Whether element `at` of an array of form `of`, of which an address names the place along each axis, may be the one that element number
  /// `part` of node c's indices names, which is `element` of its own array; the condition, if it depends on indices, is added to `condition`.
  constexpr bool may_be_at(const call& c, const addressing& a, const element_form& of, const shape& at, const shape& element, extent part, int first_index, value& condition) {
    for (int i = 0; i < a.rank; ++i) {
      if (of.place(i) >= 0) continue;
      const axis_address axis = a.axes[i];
      const extent fixed = axis.dimension >= 0 && element[axis.dimension] >= 0 ? element[axis.dimension] : 0, to = at[i] - fixed;
      const value index = axis.index < 0 ? value() : elements_of(c[axis.index + first_index].id)[part];
      if (!index || is_constant(index)) {
        if (to != (index ? extent(constant_value(index)) : 0)) return false;
        continue;
      }
      value here = eq(index, full_like(index, double(to)));
      if (condition) match_ranks(condition, here);
      condition = both_hold(condition, here);
    }
    return true;
  }
  /// Whether the instances of an array of form `of` that addresses name are those of the elements.
  static constexpr bool same_instances(const addressing& a, const element_form& of, const element_form& elements) {
    for (int i = 0; i < a.rank; ++i) {
      const int place = a.axes[i].dimension >= 0 ? elements.place(a.axes[i].dimension) : -1;
      if (of.place(i) != place || (place >= 0 && a.axes[i].index >= 0)) return false;
    }
    return of.axes.rank == elements.axes.rank;
  }
  constexpr bool are_known(const call& c, int first_index) {
    for (int k = first_index; k < c.count; ++k) {
      const element_array index = elements(c[k].id);
      for (extent i = 0; i < index.form.count; ++i)
        if (index.parts[i] && !is_constant(index.parts[i])) return false;
    }
    return true;
  }

  /// Whether a scatter adds each element of the updates to elements of the operand, instance by instance: to one that is known now, or to each
  /// of a few, where the indices say so.
  constexpr bool adds_by_element(const call& c) {
    constexpr extent most_choices = 96;
    const element_form form = form_of(c.dims), of_updates = form_of(c[1].dims());
    if (c.op->id != primitive_of<scatter_add_p>.id || !form.fits || !of_updates.fits || !same_instances(scatter_add_p::addresses(c), form, of_updates)) return false;
    return are_known(c, 2) || (of_updates.axes.rank > 0 && form.count * of_updates.count <= most_choices);
  }
  constexpr void add_by_element(const call& c, int n) {
    const element_form form = form_of(c.dims), of_updates = form_of(c[1].dims());
    const addressing a = scatter_add_p::addresses(c);
    const element_arithmetic x{b_, c.type};
    sequence<value> parts;
    for (extent i = 0; i < form.count; ++i) parts.push_back(elements(c[0].id).parts[i]);
    static_cast<void>(elements(c[1].id));
    const auto add = [&](value& sum, value added) {
      if (!sum || is_constant(sum, 0)) sum = added;
      else match_ranks(sum, added), sum = sum + added;
    };
    extent part = 0;
    each_element(c[1].dims(), of_updates.axes, [&](const shape& element) {
      const value update = elements_of(c[1].id)[part++];
      if (!update) return;
      extent known = 0;  // which element it is added to, or -1
      for (int i = 0; i < a.rank && known >= 0; ++i) {
        if (form.place(i) >= 0) continue;
        const extent place = known_place(c, a.axes[i], of_updates, element, part - 1, 2);
        known = place >= 0 && place < c.dims[i] ? known + place * form.strides[i] : -1;
      }
      if (known >= 0) return add(parts[std::size_t(known)], update);
      extent to = 0;
      each_element(c.dims, form.axes, [&](const shape& at) {
        value& sum = parts[std::size_t(to++)];
        value condition;
        if (may_be_at(c, a, form, at, element, part - 1, 2, condition)) add(sum, x.chosen(condition, update, {}));
      });
    });
    keep(n, parts);
  }
};

/// Whether an array inside a loop is one of instances that have several elements.
constexpr bool splits(const node& x, const element_limits& limits) {
  const element_form f(x.dims, limits);
  return f.fits && f.axes.rank > 0 && f.count > 1;
}
/// The axes that the elements of an array of instances keep; if it is stacked, of a stack of them.
constexpr shape instance_axes(const shape& dims, const element_limits& limits, bool stacked = false) {
  shape axes = element_form(stacked ? erase(dims, 0) : dims, limits).axes;
  if (!stacked) return axes;
  for (int j = 0; j < axes.rank; ++j) ++axes[j];
  return insert(axes, 0, 0);
}
/// How many arrays a loop over elements would have of each turn and of the one before, which compilers take as long for as for some dozens of
/// operations each, and which are as many places in memory.
constexpr extent arrays_of_elements(const graph& body, const flag_list& inputs, const flag_list& outputs, const element_limits& limits) {
  extent arrays = 0;
  const auto count = [&](const sequence<int>& nodes, const flag_list& split) {
    for (std::size_t i = 0; i < nodes.size(); ++i) arrays += split[i] ? element_form(body[nodes[i]].dims, limits).count : 1;
  };
  count(body.inputs, inputs), count(body.outputs, outputs);
  return arrays;
}
/// Values of which those that `split` names, from `first` on, are taken apart.
constexpr sequence<value> taken_apart(const sequence<value>& values, const flag_list& split, const element_limits& limits, std::size_t first, bool stacked = false) {
  sequence<value> r;
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (split[first + k]) r = concat(r, picked(values[k], instance_axes(values[k].dims(), limits, stacked)));
    else r.push_back(values[k]);
  }
  return r;
}
/// The results of a loop from those of one over elements. They are like the body's outputs, of which `split` names some; from
/// number `stacks` on they are stacks of `length`.
constexpr sequence<value> put_together(builder& b, const graph& body, const sequence<value>& results, const flag_list& split, const element_limits& limits,
                                       std::size_t stacks, extent length) {
  sequence<value> r;
  std::size_t at = 0;
  for (std::size_t o = 0; o < body.outputs.size() && !b.failed(); ++o) {
    if (!split[o]) {
      r.push_back(results[at++]);
      continue;
    }
    const bool stacked = o >= stacks;
    shape dims = body[body.outputs[o]].dims;
    const element_form form(dims, limits);
    const sequence<value> list = part(results, at, std::size_t(form.count));
    at += list.size();
    for (int j = 0; j < form.axes.rank; ++j) dims[int(form.axes[j])] = list[0].dims()[j + int(stacked)];  // the body's symbols mean nothing here
    if (stacked) dims = insert(dims, 0, length);
    r.push_back(assembled(b, list, dims, instance_axes(dims, limits, stacked)));
  }
  return r;
}

/// The results of a scan, or null values if it should stay as it is: where its body is a per-instance program, carries, xs and
/// ys that are arrays of instances become their elements.
constexpr sequence<value> split_loop(builder& b, const scan_call& s) {
  const element_limits limits = instances_of_body(s.body);
  if (limits.few == 0) return {};
  flag_list inputs, outputs;
  bool any = false;
  for (std::size_t i = 0; i < s.body.inputs.size(); ++i) inputs.push_back(i >= s.carry(0) && i < s.constant(0) && splits(s.body[s.body.inputs[i]], limits));
  for (std::size_t o = 0; o < s.body.outputs.size(); ++o) {
    outputs.push_back(o < s.carries.size() ? inputs[s.carry(o)] : splits(s.body[s.body.outputs[o]], limits));
    any = any || outputs[o];
  }
#ifdef __clang__
  constexpr extent most_arrays = 256;
#else
  constexpr extent most_arrays = 512;
#endif
  if (!any || arrays_of_elements(s.body, inputs, outputs, limits) > most_arrays) return {};
  per_instance_program elements(s.body, limits);
  scan_call t = s;
  t.body = elements.run(inputs, outputs);
  if (!elements.fits()) return {};
  t.carries = taken_apart(s.carries, inputs, limits, s.carry(0)), t.xs = taken_apart(s.xs, inputs, limits, s.element(0), true);
  return put_together(b, s.body, scan_p::write(b, t), outputs, limits, s.carries.size(), s.length);
}
/// The same of a while loop.
constexpr sequence<value> split_loop(builder& b, const while_call& w) {
  const element_limits limits = instances_of_body(w.body);
  if (limits.few == 0 || !has_elements(w.condition, limits)) return {};
  flag_list inputs, tested, none{false};
  bool any = false;
  while_call t = w;
  t.tested = 0;
  for (std::size_t i = 0; i < w.body.inputs.size(); ++i) {
    const node& x = w.body[w.body.inputs[i]];
    inputs.push_back(i < w.carries.size() && splits(x, limits));
    any = any || inputs[i];
    if (i < w.tested) t.tested += inputs[i] ? std::size_t(element_form(x.dims, limits).count) : 1;
  }
  for (std::size_t i = 0; i < w.condition.inputs.size(); ++i) tested.push_back(i < w.tested && inputs[i]);
  if (!any) return {};
  per_instance_program body(w.body, limits), condition(w.condition, limits);
  t.body = body.run(inputs, inputs), t.condition = condition.run(tested, none);
  if (!body.fits() || !condition.fits()) return {};
  t.carries = taken_apart(w.carries, inputs, limits, 0);
  return put_together(b, w.body, while_p::write(b, t), inputs, limits, w.carries.size(), 0);
}

constexpr bool is_loop(const node& x) { return x.op_id == primitive_of<scan_p>.id || x.op_id == primitive_of<while_p>.id; }
constexpr int loops_in(const graph& g) {
  int loops = 0;
  for (const node& x : g.nodes) loops += is_loop(x);
  return loops;
}
/// The graph with its loop number `which` over elements; no nodes if that stays as it is.
constexpr graph split_loop(const graph& g, int which) {
  builder b;
  b.simplifying = true, b.inlining = false;
  replay r(g, b);
  copy_inputs(r);
  int loop = 0;
  for (int n = 0; n < g.size(); ++n) {
    sequence<value> results;
    if (is_loop(g[n]) && loop++ == which) {
      if (g[n].op_id == primitive_of<scan_p>.id) results = split_loop(b, scan_p::read(r.at(n)));
      else results = split_loop(b, while_p::read(r.at(n)));
      if (results.empty()) return {};
    }
    if (results.empty()) r.copy(n);
    else r.set_results(n, results);
  }
  return replayed(r);
}
/// Whether a loop in the graph could be split.
constexpr bool may_split_loops(const graph& g) {
  for (const graph& body : g.subgraphs)
    if (instances_of_body(body).few > 0) return true;
  return false;
}

/// The graph that `Make` returns as a per-instance program, empty if it is none; or with its loops over elements.
template <class Make> struct make_per_instance {
  constexpr graph operator()() const {
    const graph g = Make{}();
    const element_limits limits = instances_of(g);
    if (limits.few == 0) return {};
    return per_instance_program(g, limits).run();
  }
};
template <class Make> inline constexpr auto per_instance_graph = freeze<make_per_instance<Make>{}>();
template <class Make> inline constexpr bool is_per_instance_graph = std::remove_cvref_t<decltype(per_instance_graph<Make>)>::sizes.outputs > 0;
/// The graph that `Make` returns with its loops from number First on over elements. Each is an evaluation of its own: compilers limit those.
template <class Make, int First> struct make_split_loop {
  constexpr graph operator()() const { return split_loop(Make{}(), First); }
};
template <class Make, int First> inline constexpr auto split_loop_graph = freeze<make_split_loop<Make, First>{}>();
template <class Make, int First> struct thaw_split_loop {
  constexpr graph operator()() const { return thaw(split_loop_graph<Make, First>); }
};
template <class Make, int First, int Loops> struct split_loops_from {
  static constexpr bool splits = std::remove_cvref_t<decltype(split_loop_graph<Make, First>)>::sizes.outputs > 0;
  using make = typename split_loops_from<std::conditional_t<splits, thaw_split_loop<Make, First>, Make>, First + 1, Loops>::make;
};
template <class Make, int Loops> struct split_loops_from<Make, Loops, Loops> {
  using make = Make;
};
template <class Make> inline constexpr int loops_of = loops_in(Make{}());
template <class Make> using with_loops_split = typename split_loops_from<Make, 0, loops_of<Make>>::make;
template <class Make, bool May> inline constexpr bool splits_loops = false;
template <class Make> inline constexpr bool splits_loops<Make, true> = !std::is_same_v<with_loops_split<Make>, Make>;
template <class Make> inline constexpr bool may_split_graph = may_split_loops(Make{}());

}  // namespace cotangent
