#pragma once
/// Rows of few elements, as those of pools, colours and coordinates: reductions of them, and of what they are combined with, as
/// operations on elements, so that the lanes are many rows.

#include <cotangent/compiler/windows.hpp>
#include <cotangent/graph/replay.hpp>

namespace cotangent {

class short_rows {
  static constexpr extent wide = 8;  // what makes use of vectors

 public:
  explicit constexpr short_rows(const graph& g) : g_(g) {
    bool any = false;
    for (int n = 0; n < g.size() && !any; ++n) any = has_short_rows(g[n].dims) || (!g[n].is_input() && g[n].op->kind == role::reduction && is_short(n));
    if (!any) return;
    mixes_.assign(g.nodes.size(), false), whole_.assign(g.nodes.size(), false), viewed_.assign(g.nodes.size(), false), uses_.assign(g.nodes.size(), 0);
    for (int o : g.operands) ++uses_[std::size_t(o)];
    for (int o : g.outputs) ++uses_[std::size_t(o)], whole_[std::size_t(o)] = true;
    for (int n = 0; n < g.size(); ++n) {
      if (g[n].is_input()) continue;
      const bool by_elements = g[n].op->kind == role::pointwise || g[n].op->kind == role::reduction;
      for (int k = 0; k < g[n].operand_count; ++k) {
        const int o = g.operand(n, k);
        if (!by_elements) whole_[std::size_t(o)] = true;
        if (g[n].op->kind == role::view) viewed_[std::size_t(o)] = true;
        if (g[n].op->kind == role::pointwise && has_short_rows(g[n].dims) && (mixes_[std::size_t(o)] || breaks_rows(o) || turns_rows(o))) mixes_[std::size_t(n)] = true;
      }
    }
  }

  /// Rows of 2 to 7 elements, of which there are many.
  static constexpr bool has_short_rows(const shape& dims) {
    constexpr extent many = 64;
    if (dims.rank < 2) return false;
    const extent row = dims[dims.rank - 1], rows = dims[dims.rank - 2];
    return !is_symbol(row) && row >= 2 && row < wide && (is_symbol(rows) || (rows >= wide && (has_symbol(dims) || dims.size() >= many * row)));
  }

  /// The reduction n, which is `c` in a builder, of elements; null if it is better one of rows.
  constexpr value reduced(int n, const call& c) const {
    if (mixes_.empty()) return {};
    const int of = g_.operand(n, 0);
    const shape from = c[0].dims(), axes = attributes(n);
    const bool sums_row = axes.contains(from.rank - 1);
    if (sums_row ? !is_short(n) && !(mixes_[std::size_t(of)] && has_short_rows(from)) : !has_short_rows(from)) return {};
    shape left;  // of the axes, those that parts still have
    shape kept;
    for (int i = 0; i < from.rank; ++i)
      if (is_short(n) ? !axes.contains(i) : i + 1 < from.rank) kept.push_back(i);
    for (int i = 0; i < kept.rank; ++i)
      if (axes.contains(kept[i])) left.push_back(i);
    const bool sums = c.op->id == primitive_of<reduce_sum_p>.id && is_floating(c.type);
    const sequence<value> parts = parts_of(c[0], kept, uses_[std::size_t(of)] > 1);
    if (parts.empty()) return {};
    value all;
    sequence<value> results;
    for (const value& x : parts) {
      call d = c;
      d.operands = &x, d.attributes = left.dims, d.attribute_count = left.rank;
      const value result = left.rank > 0 ? c.b->emit(d) : x;
      if (!sums_row) results.push_back(result);
      else if (!all.b) all = result;
      else if (sums && left.rank == 0 && x.get().op_id == primitive_of<mul_p>.id) all = emit<fma_p>({operand(x, 0), operand(x, 1), all});
      else all = c.op->combine(all, result);
    }
    return sums_row ? all : assembled(*c.b, results, c.dims, axes_from(0, c.dims.rank - 1));
  }

  /// The product n, which is `c` in a builder, of short rows with a small matrix or vector, as multiply-adds of elements; null if it is
  /// none. Colours of images, points of batches: rows that one axis has are instances before (compiler/instances.hpp).
  constexpr value product(int n, const call& c) const {
    if (mixes_.empty()) return {};
    const dot_dimensions d = dot_general_p::dimensions(c);
    const shape rows = c[0].dims(), columns = d.rhs_free(c[1].rank()), kept = axes_from(0, rows.rank - 1);
    const bool by_rows = d.lhs_batch.rank == 0 && d.lhs_contracted == shape{rows.rank - 1} && has_short_rows(rows) && columns.rank <= 1;
    const extent width = columns.rank == 0 ? 1 : c[1].dims()[int(columns[0])];
    if (!by_rows || is_symbol(width) || width >= wide || width == 0) return {};
    const sequence<value> parts = parts_of(c[0], kept, uses_[std::size_t(g_.operand(n, 0))] > 1);
    if (parts.empty()) return {};
    sequence<value> results;
    for (extent j = 0; j < width; ++j) {
      value sum;
      for (std::size_t k = 0; k < parts.size(); ++k) {
        shape where = filled(c[1].rank(), j);
        where[int(d.rhs_contracted[0])] = extent(k);
        const value factor = broadcast_in_dim(emit<pick_p>({c[1]}, where), parts[k].dims(), {});
        sum = sum.b ? emit<fma_p>({parts[k], factor, sum}) : mul(parts[k], factor);
      }
      results.push_back(sum);
    }
    return columns.rank == 0 ? results[0] : assembled(*c.b, results, c.dims, kept);
  }

  /// Node n, which is v in a builder, put together of its elements; v, if it is better as it is.
  constexpr value put_together(int n, value v) const {
    if (mixes_.empty() || !whole_[std::size_t(n)] || v.get().is_input()) return v;
    const bool turns = turns_rows(n) && !viewed_[std::size_t(n)] && v.get().op_id == primitive_of<transpose_p>.id;
    if (!turns && (!mixes_[std::size_t(n)] || v.get().op->kind != role::pointwise)) return v;
    const shape dims = v.dims(), kept = axes_from(0, dims.rank - 1);
    const sequence<value> parts = parts_of(v, kept, false);
    return parts.empty() ? v : assembled(*v.b, parts, dims, kept);
  }

 private:
  const graph& g_;
  flag_list mixes_;   // per node: it has short rows, and something in it does not go on from row to row as they do
  flag_list whole_;   // per node: it is used other than by elements
  flag_list viewed_;  // per node: views look at it
  sequence<int> uses_;

  constexpr shape attributes(int n) const {
    shape s;
    for (int k = 0; k < g_[n].attribute_count; ++k) s.push_back(g_.attribute(n, k));
    return s;
  }
  /// Whether n is a broadcast along its last axis alone, or along all axes but that.
  constexpr bool breaks_rows(int n) const {
    if (g_[n].is_input() || g_[n].op_id != primitive_of<broadcast_in_dim_p>.id) return false;
    const shape &from = g_[g_.operand(n, 0)].dims, &to = g_[n].dims;
    bool along_row = false, along_rows = false;  // changes
    for (int i = 0; i < from.rank; ++i) {
      const extent axis = g_.attribute(n, to.rank + i);
      if (from[i] != to[int(axis)]) continue;
      along_row = along_row || axis == to.rank - 1;
      along_rows = along_rows || axis == to.rank - 2;
    }
    return along_row != along_rows;
  }
  /// Whether n puts arrays side by side, as short rows: planes of colours as pixels, arrays of coordinates as points.
  constexpr bool turns_rows(int n) const {
    if (g_[n].is_input() || g_[n].op_id != primitive_of<transpose_p>.id || !has_short_rows(g_[n].dims)) return false;
    const int last = g_[n].dims.rank - 1;
    return g_.attribute(n, last) != last && g_.attribute(n, last - 1) == last;
  }
  /// Whether n reduces few elements, the last axis among them, to each of many.
  constexpr bool is_short(int n) const {
    constexpr extent most = 16;
    const shape &from = g_[g_.operand(n, 0)].dims, &to = g_[n].dims;
    const shape axes = attributes(n);
    if (!axes.contains(from.rank - 1) || to.rank == 0 || (!is_symbol(to[to.rank - 1]) && to[to.rank - 1] < wide)) return false;
    extent elements = 1;
    for (extent a : axes) {
      if (is_symbol(from[int(a)])) return false;
      elements *= from[int(a)];
    }
    return elements > 1 && elements <= most;
  }

  /// x at each index of the axes that are not kept; empty if that is not better. `shared`: x has other uses.
  constexpr sequence<value> parts_of(value x, const shape& kept, bool shared) const {
    constexpr int most_operations = 128;
    search s{most_operations, shared};
    sequence<value> parts;
    each_element(x.dims(), kept, [&](const shape& where) {
      const value part = s.most < 0 ? value() : picked(x, where, s);
      if (part.b) parts.push_back(part);
      else s.most = -1;
    });
    if (s.most < 0) parts.clear();
    return parts;
  }
  struct search {
    int most;     // operations
    bool shared;  // what is reduced has other uses: what takes long is stored, not computed again
  };
  /// The elements of x at `where`, as pick_p says; null if they are not better computed by themselves.
  constexpr value picked(value x, const shape& where, search& s) const {
    if (--s.most < 0) return {};
    const node n = x.get();
    const bool reshapes = n.op_id == primitive_of<reshape_p>.id && is_pointwise(operand(x, 0));
    if (n.op_id == primitive_of<broadcast_in_dim_p>.id) return picked_of_broadcast(x, where, s);
    if (n.op_id == primitive_of<transpose_p>.id) return picked_of_transpose(x, where, s);
    if (reshapes || is_pointwise(x)) {
      const value made = reshapes ? operand(x, 0) : x;
      const shape dims = x.dims();
      if (!s.shared || made.get().op->flops <= 2) return computed(made, reshapes ? &dims : nullptr, where, s);
    } else if (!is_constant(x) && !is_in_memory(x)) return {};
    return emit<pick_p>({x}, where);
  }
  static constexpr bool is_pointwise(value x) { return !x.get().is_input() && x.get().op->kind == role::pointwise; }
  static constexpr value operand(value x, int k) { return {x.b, x.b->g.operand(x.id, k)}; }
  /// x's operation on its operands, reshaped before if x is, at `where`.
  constexpr value computed(value x, const shape* reshaped, const shape& where, search& s) const {
    copied_call c(x);
    for (value& o : c.own_operands) {
      o = picked(reshaped ? reshape(o, *reshaped) : o, where, s);
      if (!o.b || s.most < 0) return {};
    }
    return emit_again(c, c.operands);
  }
  /// How many of the axes before `axis` a part has.
  static constexpr int kept_before(const shape& where, int axis) {
    int kept = 0;
    for (int d = 0; d < axis; ++d) kept += where[d] < 0;
    return kept;
  }
  constexpr value picked_of_broadcast(value x, const shape& where, search& s) const {
    const value from = operand(x, 0);
    shape own, dims, axes;
    for (int i = 0; i < from.rank(); ++i) {
      const int axis = int(x.b->g.attribute(x.id, x.rank() + i));
      own.push_back(where[axis] < 0 ? -1 : from.dims()[i] == 1 ? 0 : where[axis]);
      if (where[axis] < 0) axes.push_back(kept_before(where, axis));
    }
    for (int d = 0; d < where.rank; ++d)
      if (where[d] < 0) dims.push_back(x.dims()[d]);
    const value part = own == filled(own.rank, -1) ? from : picked(from, own, s);
    return part.b ? broadcast_in_dim(part, dims, axes) : value();
  }
  constexpr value picked_of_transpose(value x, const shape& where, search& s) const {
    const value from = operand(x, 0);
    shape own = where, order;
    for (int j = 0; j < where.rank; ++j) own[int(x.b->g.attribute(x.id, j))] = where[j];
    for (int j = 0; j < where.rank; ++j)
      if (where[j] < 0) order.push_back(kept_before(own, int(x.b->g.attribute(x.id, j))));
    const value part = picked(from, own, s);
    return part.b ? transpose(part, order) : value();
  }
  /// Whether x lies in memory anyway, is a view of what does, or small, or counts its elements.
  static constexpr bool is_in_memory(value x) {
    constexpr extent small = 64;
    if (!has_symbol(x.dims()) && x.dims().size() <= small) return true;
    for (;;) {
      const node& n = x.get();
      if (n.is_input() || n.op_id == primitive_of<iota_p>.id) return true;
      if (n.op->kind == role::pointwise || n.op->kind == role::gather || n.op->kind == role::source) return false;
      if (n.op_id == primitive_of<reshape_p>.id) {
        const node& from = operand(x, 0).get();
        return from.is_input() || from.op_id == primitive_of<iota_p>.id || (from.op->kind != role::view && is_in_memory(operand(x, 0)));
      }
      if (n.op->kind != role::view) return true;
      x = operand(x, 0);
    }
  }
};

}  // namespace cotangent
