#pragma once
/// Per-instance programs: a function of small arrays that vmap has batched, as a program of scalars with one instance per
/// lane. Every array of instances, an axis of many beside axes of few elements, becomes its elements, each a vector of the
/// instances. Then there is one kernel, in which structural zeros and common subexpressions of elements are gone.

#include <cotangent/compiler/canonicalize.hpp>
#include <cotangent/graph/freeze.hpp>

namespace cotangent {

/// Whether one kernel of arrays cannot do what node n does to arrays of instances.
constexpr bool gains_by_elements(const graph& g, int n) {
  const node& x = g[n];
  if (x.is_input() || x.operand_count == 0) return false;
  const role kind = x.op->kind;
  if (kind == role::gather) {
    const element_form form(x.dims);
    return form.axis >= 0 && form.count > 1;
  }
  if (kind != role::reduction && (kind != role::opaque || !x.op->has.elements || x.op_id == primitive_of<reshape_p>.id)) return false;
  for (int k = 0; k < x.operand_count; ++k) {
    const element_form from(g[g.operand(n, k)].dims);
    if (from.axis >= 0 && (from.count > 1 || element_form(x.dims).count > 1)) return true;
  }
  return false;
}

/// Whether a graph should be a per-instance program: every array has few elements beside an axis of instances, or is read
/// and written whole by gathers and scatters; and something in it gains by that.
constexpr bool is_per_instance(const graph& g) {
  constexpr extent most_elements = 1 << 14;  // before structural zeros are gone
  constexpr extent longest_row = 16;         // of a reduction; longer ones are better spread over lanes
  if (!g.error.empty() || !g.subgraphs.empty()) return false;
  bool gains = false;
  for (int n = 0; n < g.size() && !gains; ++n) gains = gains_by_elements(g, n);
  if (!gains) return false;
  flag_list whole;  // tables of gathers and scatters
  whole.assign(g.nodes.size(), false);
  for (int n = 0; n < g.size(); ++n)
    if (!g[n].is_input() && (g[n].op->kind == role::gather || is_scatter(g[n].op_id))) whole[std::size_t(g.operand(n, 0))] = true;
  extent total = 0;
  for (int n = 0; n < g.size(); ++n) {
    const node& x = g[n];
    const element_form form(x.dims);
    if (x.is_input() ? form.fits || whole[std::size_t(n)] : is_scatter(x.op_id) || (whole[std::size_t(n)] && x.op->kind == role::source)) continue;
    if (!form.fits || x.is_input()) return false;
    const role kind = x.op->kind;
    if (kind != role::pointwise && kind != role::view && kind != role::reduction && kind != role::gather && !x.op->has.elements) return false;
    if (kind == role::reduction && element_form(g[g.operand(n, 0)].dims).count > longest_row * form.count) return false;
    total += form.count;
  }
  return total <= most_elements;
}

/// Rewrites a graph element by element.
class per_instance_program {
 public:
  constexpr explicit per_instance_program(const graph& g) : g_(g) {
    whole_.assign(g.nodes.size(), value());
    first_.assign(g.nodes.size(), -1);
    original_.take_symbols(g);
    original_.g.nodes = sequence<node>::borrow(g.nodes.items, g.nodes.count);
    original_.g.operands = sequence<int>::borrow(g.operands.items, g.operands.count);
    original_.g.attributes = sequence<extent>::borrow(g.attributes.items, g.attributes.count);
  }

  /// The graph of elements; the graph as it was if that cannot be.
  constexpr graph run() {
    b_.simplifying = true;
    b_.take_symbols(g_);
    for (int i : g_.inputs) whole_[std::size_t(i)] = b_.input(g_[i].type, g_[i].dims);
    for (int n = 0; n < g_.size(); ++n) {
      if (g_[n].is_input()) continue;
      rewrite(n);
      if (!fits_) return g_;
    }
    for (int o : g_.outputs) b_.g.outputs.push_back(whole(o).id);
    if (b_.failed()) return g_;
    graph r = remove_dead(b_.finish());
    if (r.nodes.size() > most_nodes) return g_;
    return r;
  }

 private:
  static constexpr std::size_t most_nodes = 2000;  // compilers take about 5 ms for each
  const graph& g_;
  builder original_;      // of the nodes of g_, for rules that look at whole arrays
  builder b_;
  sequence<value> whole_;  // per node: its array, if there is one
  sequence<int> first_;    // per node: its first element in parts_, or -1
  sequence<value> parts_;
  sequence<value> operands_;
  bool fits_ = true;

  constexpr call call_of(int n) {
    const node& x = g_[n];
    operands_.clear();
    for (int k = 0; k < x.operand_count; ++k) operands_.push_back({&original_, g_.operand(n, k)});
    call c;
    c.b = &original_, c.op = x.op, c.bits = x.bits, c.type = x.type, c.dims = x.dims, c.result = {&original_, n};
    c.operands = operands_.data(), c.count = x.operand_count;
    c.attributes = g_.attributes.data() + x.attributes, c.attribute_count = x.attribute_count;
    return c;
  }

  /// The elements of node n.
  constexpr element_array elements(int n) {
    element_array a{g_[n].dims, element_form(g_[n].dims), nullptr};
    if (first_[std::size_t(n)] < 0) {
      sequence<value> parts;
      const value x = whole_[std::size_t(n)];
      shape places[max_rank];
      for (int i = 0; i < a.dims.rank; ++i) places[i] = filled(a.dims.rank, 0), places[i][i] = 1;
      element_call::each(a.dims, a.form.axis, places, [&](const extent* at) {
        shape where;
        for (int i = 0; i < a.dims.rank; ++i) where.push_back(i == a.form.axis ? -1 : at[i]);
        parts.push_back(a.dims.rank == int(a.form.axis >= 0) ? x : emit<pick_p>({x}, where));
      });
      keep(n, parts);
    }
    a.parts = parts_.data() + first_[std::size_t(n)];
    return a;
  }
  constexpr void keep(int n, const sequence<value>& parts) {
    first_[std::size_t(n)] = int(parts_.size());
    for (value v : parts) parts_.push_back(v);
  }

  /// The array of node n.
  constexpr value whole(int n) {
    value& x = whole_[std::size_t(n)];
    if (x) return x;
    const shape& dims = g_[n].dims;
    const element_array a = elements(n);
    sequence<value> parts;
    for (extent i = 0; i < a.form.count; ++i) {
      const value part = a.parts[i] ? a.parts[i] : zero(g_[n].type);
      parts.push_back(a.form.axis >= 0 ? as_vector(part, dims[a.form.axis]) : part);
    }
    if (parts.empty()) return x = constant(b_, g_[n].type, dims, 0);
    if (dims.rank == int(a.form.axis >= 0)) return x = parts[0];
    shape attributes = dims;
    attributes.push_back(a.form.axis);
    call c;
    c.op = &primitive_of<assemble_p>, c.operands = parts.data(), c.count = int(parts.size());
    c.attributes = attributes.dims, c.attribute_count = attributes.rank;
    return x = b_.emit(c);
  }
  constexpr value zero(dtype type) { return constant(b_, type, {}, 0); }

  constexpr void rewrite(int n) {
    const call c = call_of(n);
    if (is_scatter(c.op->id) || !element_form(c.dims).fits) return copy(c, n);
    switch (c.op->kind) {
      case role::pointwise: return pointwise(c, n);
      case role::view: return view(c, n);
      case role::reduction: return reduce(c, n);
      case role::gather: return gather_elements(c, n);
      default: return by_rule(c, n);
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
    element_call e{c, b_, operands.data(), element_form(c.dims), {}, true};
    c.op->elements(e);
    fits_ = e.fits;
    if (fits_) keep(n, e.parts);
  }

  constexpr void pointwise(const call& c, int n) {
    const element_form form(c.dims);
    for (int k = 0; k < c.count; ++k) static_cast<void>(elements(c[k].id));
    sequence<value> parts;
    for (extent i = 0; i < form.count; ++i) {
      value operands[4];
      for (int k = 0; k < c.count; ++k) operands[k] = elements_of(c[k].id)[i];
      parts.push_back(apply(c, operands));
    }
    keep(n, parts);
  }
  constexpr const value* elements_of(int n) const { return parts_.data() + first_[std::size_t(n)]; }

  /// A pointwise operation on elements, of which some may be structural zeros.
  constexpr value apply(const call& c, value (&operands)[4]) {
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
    for (int k = 1; k < c.count; ++k) match_ranks(operands[0], operands[k]);
    for (int k = 1; k < c.count; ++k) match_ranks(operands[0], operands[k]);
    call d = c;
    d.b = &b_, d.operands = operands, d.result = {}, d.dims = operands[0].dims();
    if (!zeros) return b_.emit_inferred(d);
    for (int k = 0; k < c.count; ++k)
      if (tangents[k]) d.result = tangents[k] = operands[k];  // (rules ask the result for its shape)
    return c.op->jvp(d, tangents);  // of what is linear: the operation without the zeros
  }

  constexpr void view(const call& c, int n) {
    constexpr extent instance = extent(1) << 40;  // stands for the stride of the instances
    const element_array x = elements(c[0].id);
    const element_form form(c.dims);
    shape strides = x.form.strides;
    if (x.form.axis >= 0) strides[x.form.axis] = instance;
    buffer_access a = c.op->view(c, {0, strides});
    fits_ = !is_symbol(a.offset) && a.offset < instance / 2 && a.offset > -instance / 2;
    for (int i = 0; i < c.dims.rank; ++i) {
      const extent s = a.strides[i];
      const bool along = !is_symbol(s) && s == instance;
      if (along) a.strides[i] = 0, fits_ = fits_ && i == form.axis && same_extent(c.dims[i], x.dims[x.form.axis]);
      else fits_ = fits_ && !is_symbol(s) && s < instance / 2 && s > -instance / 2;
      if (i == form.axis && !along && s != 0) fits_ = false;
    }
    if (!fits_) return;
    sequence<value> parts;
    element_call::each(c.dims, form.axis, {a.strides}, [&](const extent* at) { parts.push_back(x.parts[a.offset + at[0]]); });
    keep(n, parts);
  }
  constexpr bool same_extent(extent a, extent b) const { return original_.symbols.resolve(a) == original_.symbols.resolve(b); }

  constexpr void reduce(const call& c, int n) {
    const element_array x = elements(c[0].id);
    shape kept = filled(0, 0), kept_strides, reduced, reduced_strides;
    bool over_instances = false, linear = c.op->has.linear;
    for (int i = 0; i < x.dims.rank; ++i) {
      const bool is_reduced = c.list(0, c.attribute_count).contains(i);
      if (is_reduced && i == x.form.axis) over_instances = true;
      else if (is_reduced) reduced.push_back(x.dims[i]), reduced_strides.push_back(x.form.strides[i]);
      else kept.push_back(x.dims[i]), kept_strides.push_back(x.form.strides[i]);
    }
    for (extent e : reduced) fits_ = fits_ && e > 0;
    if (!fits_) return;
    sequence<value> parts;
    element_call::each(kept, element_form(c.dims).axis, {kept_strides}, [&](const extent* at) {
      value sum;
      bool first = true;
      element_call::each(reduced, -1, {reduced_strides}, [&](const extent* k) {
        value part = x.parts[at[0] + k[0]];
        if (!part && linear) return;
        if (!part) part = zero(c.type);
        if (first) sum = part;
        else match_ranks(sum, part), sum = c.op->combine(sum, part);
        first = false;
      });
      if (over_instances && sum) {
        value vector = as_vector(sum, x.dims[x.form.axis]);
        const extent axis = 0;
        call d = c;
        d.b = &b_, d.operands = &vector, d.result = {}, d.dims = {}, d.attributes = &axis, d.attribute_count = 1;
        sum = b_.emit_inferred(d);
      }
      parts.push_back(sum);
    });
    keep(n, parts);
  }

  /// Each element is a gather from the part of the table that its place among the elements says.
  constexpr void gather_elements(const call& c, int n) {
    const element_form form(c.dims);
    const addressing a = gather_p::addresses(c);
    const value table = whole(c[0].id);
    for (int k = 1; k < c.count; ++k) static_cast<void>(elements(c[k].id));
    shape places[max_rank];
    for (int i = 0; i < c.dims.rank; ++i) places[i] = filled(c.dims.rank, 0), places[i][i] = 1;
    sequence<value> parts;
    extent part = 0;
    element_call::each(c.dims, form.axis, places, [&](const extent* at) {
      shape where;
      addressing of_part;
      sequence<value> indices;
      for (int i = 0; i < a.rank; ++i) {
        const axis_address axis = a.axes[i];
        const bool along = axis.dimension >= 0 && axis.dimension == form.axis;
        const extent fixed = axis.dimension >= 0 && !along ? at[axis.dimension] : 0;
        where.push_back(axis.index >= 0 || along ? -1 : fixed);
        if (where[i] >= 0) continue;
        axis_address address{along ? 0 : -1, -1};
        if (axis.index >= 0) {
          value index = elements_of(c[axis.index + 1].id)[part];
          if (!index) index = zero(c[axis.index + 1].type());
          if (fixed > 0) index = index + full_like(index, double(fixed));
          address.index = int(indices.size());
          indices.push_back(form.axis >= 0 ? as_vector(index, c.dims[form.axis]) : index);
        }
        of_part.push(address);
      }
      const value column = where == filled(where.rank, -1) ? table : emit<pick_p>({table}, where);
      const shape dims = form.axis >= 0 ? shape{c.dims[form.axis]} : shape{};
      parts.push_back(indices.empty() && of_part.rank == dims.rank ? column : gather(column, indices, dims, of_part));
      ++part;
    });
    keep(n, parts);
  }
};

/// The graph that `Make` returns as a per-instance program.
template <class Make> struct make_per_instance {
  constexpr graph operator()() const {
    const graph g = Make{}();
    return per_instance_program(g).run();
  }
};
template <class Make> inline constexpr auto per_instance_graph = freeze<make_per_instance<Make>{}>();
template <class Make> inline constexpr bool is_per_instance_graph = is_per_instance(Make{}());

/// The canonical graph of what `Make` returns.
template <class Make> struct make_canonical_of {
  constexpr graph operator()() const {
    if constexpr (is_per_instance_graph<Make>) return canonicalize(thaw(per_instance_graph<Make>));
    else return canonicalize(Make{}());
  }
};

}  // namespace cotangent
