#pragma once
/// Reductions over rows of few elements, as pools and sums over a short last axis have, as operations on the elements: lanes are
/// then those of the results.

#include <cotangent/graph/replay.hpp>
#include <cotangent/compiler/windows.hpp>

namespace cotangent {

class short_rows {
 public:
  explicit constexpr short_rows(const graph& g) : g_(g) {
    bool any = false;
    for (int n = 0; n < g.size() && !any; ++n) any = is_short(n);
    if (!any) return;
    short_.assign(g.nodes.size(), false), uses_.assign(g.nodes.size(), 0);
    for (int o : g.operands) ++uses_[std::size_t(o)];
    for (int o : g.outputs) ++uses_[std::size_t(o)];
    for (int n = 0; n < g.size(); ++n) short_[std::size_t(n)] = is_short(n);
  }

  /// The reduction n, which is `c` in a builder, of elements; null if it is better one of rows.
  constexpr value reduced(int n, const call& c) const {
    constexpr int most_operations = 64;
    if (short_.empty() || !short_[std::size_t(n)]) return {};
    search s{most_operations, uses_[std::size_t(g_.operand(n, 0))] > 1};
    const shape kept = complement(axes(n), c[0].rank());
    value all;
    each_element(c[0].dims(), kept, [&](const shape& where) {
      const value x = s.most < 0 ? value() : picked(c[0], where, s);
      const bool multiplies = x.b && all.b && c.op->id == primitive_of<reduce_sum_p>.id && is_floating(c.type) && x.get().op_id == primitive_of<mul_p>.id;
      if (!x.b) s.most = -1;
      else if (multiplies) all = emit<fma_p>({operand(x, 0), operand(x, 1), all});
      else all = all.b ? c.op->combine(all, x) : x;
    });
    return s.most < 0 ? value() : all;
  }

 private:
  const graph& g_;
  flag_list short_;
  sequence<int> uses_;

  constexpr shape axes(int n) const {
    shape s;
    for (int k = 0; k < g_[n].attribute_count; ++k) s.push_back(g_.attribute(n, k));
    return s;
  }
  /// Whether n reduces few elements, the last axis among them, to each of many.
  constexpr bool is_short(int n) const {
    constexpr extent most = 16, wide = 8;
    if (g_[n].is_input() || g_[n].op->kind != role::reduction) return false;
    const shape &from = g_[g_.operand(n, 0)].dims, &to = g_[n].dims;
    const shape reduced = axes(n);
    if (!reduced.contains(from.rank - 1) || to.rank == 0 || (!is_symbol(to[to.rank - 1]) && to[to.rank - 1] < wide)) return false;
    extent elements = 1;
    for (extent a : reduced) {
      if (is_symbol(from[int(a)])) return false;
      elements *= from[int(a)];
    }
    return elements > 1 && elements <= most;
  }

  struct search {
    int most;     // operations
    bool shared;  // what is reduced has other uses: what takes long is stored, not computed again
  };
  /// The elements of x at `where`, as pick_p says; null if they are not better computed by themselves.
  constexpr value picked(value x, const shape& where, search& s) const {
    const node n = x.get();
    if (--s.most < 0) return {};
    if (is_constant(x)) return emit<pick_p>({x}, where);
    if (n.is_input() || n.op->kind == role::view || n.op_id == primitive_of<reshape_p>.id) {
      if (n.op_id == primitive_of<broadcast_in_dim_p>.id) return picked_of_broadcast(x, where, s);
      if (n.op_id == primitive_of<reshape_p>.id && operand(x, 0).get().op_id != 0 && operand(x, 0).get().op->kind == role::pointwise) return picked_of_reshape(x, where, s);
      return is_in_memory(x) ? emit<pick_p>({x}, where) : value();
    }
    if (n.op->kind != role::pointwise) return is_in_memory(x) ? emit<pick_p>({x}, where) : value();
    if (s.shared && n.op->flops > 2) return emit<pick_p>({x}, where);
    return computed(x, s, [&](value o) { return picked(o, where, s); });
  }
  static constexpr value operand(value x, int k) { return {x.b, x.b->g.operand(x.id, k)}; }
  /// x's operation on what `of` gives for its operands.
  template <class Of> static constexpr value computed(value x, search& s, const Of& of) {
    sequence<value> own, operands;
    for (int k = 0; k < x.get().operand_count; ++k) {
      const value v = of(operand(x, k));
      if (!v.b || s.most < 0) return {};
      operands.push_back(v);
    }
    return emit_again(call_at(x.b->g, *x.b, x.id, own), operands.data());
  }
  constexpr value picked_of_reshape(value x, const shape& where, search& s) const {
    const shape dims = x.dims();
    const value from = operand(x, 0);
    if (s.shared && from.get().op->flops > 2) return emit<pick_p>({x}, where);
    return computed(from, s, [&](value o) { return picked(reshape(o, dims), where, s); });
  }
  constexpr value picked_of_broadcast(value x, const shape& where, search& s) const {
    const value from = operand(x, 0);
    shape own, dims, axes;
    for (int i = 0; i < from.rank(); ++i) {
      const int axis = int(x.b->g.attribute(x.id, x.rank() + i));
      own.push_back(where[axis] < 0 ? -1 : from.dims()[i] == 1 ? 0 : where[axis]);
      if (where[axis] < 0) {
        int place = 0;
        for (int d = 0; d < axis; ++d) place += where[d] < 0;
        axes.push_back(place);
      }
    }
    for (int d = 0; d < where.rank; ++d)
      if (where[d] < 0) dims.push_back(x.dims()[d]);
    const value part = own == filled(own.rank, -1) ? from : picked(from, own, s);
    return part.b ? broadcast_in_dim(part, dims, axes) : value();
  }
  /// Whether x lies in memory anyway, or is a view of what does.
  static constexpr bool is_in_memory(value x) {
    for (;;) {
      const node& n = x.get();
      if (n.is_input()) return true;
      if (n.op->kind == role::pointwise || n.op->kind == role::gather || n.op->kind == role::source) return false;
      if (n.op_id == primitive_of<reshape_p>.id) {
        const node& from = operand(x, 0).get();
        return from.is_input() || (from.op->kind != role::view && is_in_memory(operand(x, 0)));
      }
      if (n.op->kind != role::view) return true;
      x = operand(x, 0);
    }
  }
};

}  // namespace cotangent
