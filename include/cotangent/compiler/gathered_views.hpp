#pragma once
/// Views of what is gathered. Where arrays that gathers make, and what is computed of them element by element, are used through
/// views alone, the views move to the operands: parts are gathered by parts of the indices instead of cut out of an array in memory,
/// and rows of a table that are used in another order of their axes lie in that order.

#include <cotangent/graph/freeze.hpp>
#include <cotangent/graph/replay.hpp>
#include <cotangent/primitives/primitives.hpp>
#include <cotangent/transforms/simplify.hpp>

namespace cotangent {

/// Moves the views in a graph one operation up, through as many operations as possible.
class gathered_views {
 public:
  explicit constexpr gathered_views(const graph& g) : g_(g) {
    shown_.assign(g.nodes.size(), views{});
    for (int o : g.outputs) shown_[std::size_t(o)].otherwise = true;
    for (int n = g.size(); n-- > 0;) {
      if (g[n].is_input()) continue;
      const bool moves = shown_[std::size_t(n)].move = views_move_through(n);
      any_ = any_ || (moves && g[n].op->kind == role::gather);
      for (int k = 0; k < g[n].operand_count; ++k) {
        views& of = shown_[std::size_t(g.operand(n, k))];
        if (k == 0 && is_view(n)) of.add(n, *this);
        else if (moves && (k > 0 || g[n].op->kind == role::pointwise))
          for (int i = 0; i < shown_[std::size_t(n)].count; ++i) of.add(shown_[std::size_t(n)].of[i], *this);
        else of.otherwise = true;
      }
    }
  }
  /// Whether views of a gather move.
  constexpr bool any() const { return any_; }

  constexpr graph run() {
    builder b;
    b.simplifying = true, b.inlining = false;
    replay r(g_, b);
    copy_inputs(r);
    for (int n = 0; n < g_.size(); ++n) {
      if (shown_[std::size_t(n)].move) continue;
      if (is_view(n) && shown_[std::size_t(g_.operand(n, 0))].move) r.map[std::size_t(n)] = viewed(r, g_.operand(n, 0), n);
      else r.copy(n);
    }
    return replayed(r);
  }

 private:
  /// How a node is used.
  struct views {
    static constexpr int most = 4;
    int of[most] = {};    // views, each another one
    value made[most];     // what they show, once it is made
    int count = 0;
    bool otherwise = false, move = false;  // whether it has other uses; whether these move through it
    constexpr void add(int view, const gathered_views& in) {
      for (int i = 0; i < count; ++i)
        if (in.same_view(of[i], view)) return;
      if (count == most) otherwise = true;
      else of[count++] = view;
    }
  };
  const graph& g_;
  sequence<views> shown_;
  bool any_ = false;

  constexpr bool is(int n, std::uint64_t op) const { return g_[n].op_id == op; }
  constexpr shape attributes(int n, int first, int count) const {
    shape s;
    for (int k = 0; k < count; ++k) s.push_back(g_.attribute(n, first + k));
    return s;
  }
  constexpr const shape& dims_before(int view) const { return g_[g_.operand(view, 0)].dims; }
  /// The axes, all of one element, that a reshape leaves out; all of them if it does something else.
  constexpr shape left_out(int reshape) const {
    const shape &from = dims_before(reshape), &to = g_[reshape].dims;
    shape axes;
    int j = 0;
    for (int i = 0; i < from.rank; ++i) {
      if (j < to.rank && from[i] == to[j]) ++j;
      else if (from[i] == 1) axes.push_back(i);
      else return axes_from(0, from.rank);
    }
    return j == to.rank ? axes : axes_from(0, from.rank);
  }
  constexpr bool is_view(int n) const {
    if (is(n, primitive_of<slice_p>.id)) {
      const shape& to = g_[n].dims;
      for (int d = 0; d < to.rank; ++d)
        if (to[d] != dims_before(n)[d] && (is_symbol(to[d]) || is_symbol(g_.attribute(n, d)))) return false;
      return true;
    }
    if (is(n, primitive_of<reshape_p>.id)) return left_out(n).rank < dims_before(n).rank;
    return is(n, primitive_of<transpose_p>.id);
  }
  constexpr bool same_view(int a, int b) const {
    if (g_[a].op_id != g_[b].op_id || g_[a].attribute_count != g_[b].attribute_count) return false;
    for (int k = 0; k < g_[a].attribute_count; ++k)
      if (g_.attribute(a, k) != g_.attribute(b, k)) return false;
    return true;
  }

  /// Whether all that is used of node n are views that can move to its operands, of no more elements than it has.
  constexpr bool views_move_through(int n) const {
    const node& x = g_[n];
    const views& v = shown_[std::size_t(n)];
    if (x.is_input() || v.otherwise || v.count == 0 || (x.op->kind != role::pointwise && x.op->kind != role::gather)) return false;
    extent elements = 0;
    for (int i = 0; i < v.count; ++i) {
      elements += elements_of(g_[v.of[i]].dims);
      if (x.op->kind == role::gather && !moves_to_indices(n, v.of[i])) return false;
    }
    return elements <= elements_of(x.dims);
  }
  static constexpr extent elements_of(const shape& dims) {
    constexpr extent of_run_time = 1 << 10;
    extent n = 1;
    for (extent e : dims) n *= is_symbol(e) ? of_run_time : e;
    return n;
  }
  constexpr addressing addresses(int gather) const { return gather_p::addresses(call_at(g_, gather)); }
  constexpr bool moves_to_indices(int gather, int view) const {
    if (is(view, primitive_of<transpose_p>.id)) return turns_table(gather, view);
    const addressing a = addresses(gather);
    const shape axes = is(view, primitive_of<reshape_p>.id) ? left_out(view) : shape();
    for (int i = 0; i < a.rank; ++i) {
      const int d = a.axes[i].dimension;
      if (d < 0) continue;
      if (is(view, primitive_of<reshape_p>.id) ? axes.contains(d) : g_[view].dims[d] != g_[gather].dims[d]) return false;
    }
    return true;
  }
  /// Whether n is computed, in whatever order of axes, for gathers alone.
  constexpr bool is_made_for_gathers(int n) const {
    if (g_[n].is_input() || (g_[n].op->kind != role::pointwise && !is(n, primitive_of<dot_general_p>.id))) return false;
    for (int o : g_.outputs)
      if (o == n) return false;
    for (int m = n + 1; m < g_.size(); ++m)
      for (int k = 0; k < g_[m].operand_count; ++k)
        if (g_.operand(m, k) == n && g_[m].op->kind != role::gather) return false;
    return true;
  }
  /// Whether rows of the table lie in another order than the view shows them in, and there is more to read than to turn, or it is made so.
  constexpr bool turns_table(int gather, int view) const {
    const int from = g_.operand(gather, 0);
    const shape& table = g_[from].dims;
    const addressing a = addresses(gather);
    if (has_symbol(table) || (elements_of(table) > elements_of(g_[gather].dims) && !is_made_for_gathers(from))) return false;
    const extent last = g_.attribute(view, g_[view].attribute_count - 1);
    for (int i = 0; i + 1 < a.rank; ++i)
      if (a.axes[i].dimension == last && a.axes[i].index < 0) return g_[view].dims[g_[view].dims.rank - 1] > 1;
    return false;
  }

  /// What `view` shows of node n, which is not made itself.
  constexpr value viewed(replay& r, int n, int view) {
    views& v = shown_[std::size_t(n)];
    int i = 0;
    while (!same_view(v.of[i], view)) ++i;
    if (!v.made[i].b) v.made[i] = make_viewed(r, n, view);
    return v.made[i];
  }
  constexpr value make_viewed(replay& r, int n, int view) {
    const node& x = g_[n];
    const bool gathers = x.op->kind == role::gather;
    sequence<value> operands;  // but for the table
    for (int k = gathers; k < x.operand_count; ++k) {
      const int o = g_.operand(n, k);
      operands.push_back(shown_[std::size_t(o)].move ? viewed(r, o, view) : view_of(r.map[std::size_t(o)], view));
    }
    const call c = r.at(n);
    if (!gathers) return emit_again(c, operands.data());
    const value table = c[0];
    addressing a = addresses(n);
    if (is(view, primitive_of<slice_p>.id)) return gather(table, operands, g_[view].dims, a);
    if (is(view, primitive_of<reshape_p>.id)) {
      const shape axes = left_out(view);
      for (int i = 0; i < a.rank; ++i)
        if (a.axes[i].dimension >= 0) a.axes[i].dimension -= count_below(axes, a.axes[i].dimension);
      return gather(table, operands, g_[view].dims, a);
    }
    shape order;  // of the table's axes: those that indices choose from, then those of rows
    addressing turned;
    const auto put = [&](int axis, int dimension) {
      order.push_back(axis), turned.push({dimension, a.axes[axis].index});
    };
    const shape to = attributes(view, 0, g_[view].attribute_count);
    const auto is_row = [&](int axis) { return a.axes[axis].dimension >= 0 && a.axes[axis].index < 0; };
    for (int i = 0; i < a.rank; ++i)
      if (!is_row(i)) put(i, place(to, a.axes[i].dimension));
    for (int d = 0; d < to.rank; ++d)
      for (int i = 0; i < a.rank; ++i)
        if (is_row(i) && a.axes[i].dimension == to[d]) put(i, d);
    return gather(transpose(table, order), operands, g_[view].dims, turned);
  }
  static constexpr int count_below(const shape& axes, extent axis) {
    int n = 0;
    for (extent a : axes) n += a < axis;
    return n;
  }
  static constexpr int place(const shape& axes, extent axis) {
    for (int i = 0; i < axes.rank; ++i)
      if (axes[i] == axis) return i;
    return -1;
  }
  /// The view of another array; of a broadcast, a broadcast.
  constexpr value view_of(value x, int view) const {
    const shape dims = g_[view].dims;
    if (x.get().op_id == primitive_of<broadcast_in_dim_p>.id) return view_of_broadcast(x, view);
    if (is(view, primitive_of<transpose_p>.id)) return transpose(x, attributes(view, 0, dims.rank));
    if (is(view, primitive_of<reshape_p>.id)) return reshape(x, dims);
    return slice(x, attributes(view, 0, dims.rank), dims, attributes(view, 2 * dims.rank, dims.rank));
  }
  constexpr value view_of_broadcast(value x, int view) const {
    const shape dims = g_[view].dims;
    const graph& made = x.b->g;
    value from{x.b, made.operand(x.id, 0)};
    shape axes;
    for (int i = 0; i < from.rank(); ++i) axes.push_back(made.attribute(x.id, x.rank() + i));
    if (is(view, primitive_of<transpose_p>.id)) {
      shape order, to;
      for (int d = 0; d < dims.rank; ++d)
        if (const int i = place(axes, g_.attribute(view, d)); i >= 0) order.push_back(i), to.push_back(d);
      return broadcast_in_dim(transpose(from, order), dims, to);
    }
    shape start, size, stride, kept, to;
    const bool slices = is(view, primitive_of<slice_p>.id);
    const shape leaves_out = slices ? shape() : left_out(view);
    for (int i = 0; i < axes.rank; ++i) {
      const int d = int(axes[i]);
      const bool whole = !slices || from.dims()[i] == 1;
      start.push_back(whole ? 0 : g_.attribute(view, d)), size.push_back(whole ? from.dims()[i] : dims[d]);
      stride.push_back(whole ? 1 : g_.attribute(view, 2 * dims.rank + d));
      if (leaves_out.contains(d)) continue;
      kept.push_back(size[i]), to.push_back(d - count_below(leaves_out, d));
    }
    return broadcast_in_dim(reshape(slice(from, start, size, stride), kept), dims, to);
  }
};

/// The graph with views of what is gathered moved as far as they can.
constexpr graph with_gathered_views(graph g) {
  constexpr int most_operations = 8;  // between a gather and its last view
  for (int i = 0; i < most_operations; ++i) {
    gathered_views views(g);
    if (!views.any()) break;
    g = views.run();
  }
  return g;
}

template <class Make> inline constexpr bool has_gathered_views = gathered_views(Make{}()).any();
template <class Make> struct make_gathered_views {
  constexpr graph operator()() const { return with_gathered_views(Make{}()); }
};
template <class Make> inline constexpr auto gathered_views_graph = freeze<make_gathered_views<Make>{}>();
template <class Make> struct thaw_gathered_views {
  constexpr graph operator()() const { return thaw(gathered_views_graph<Make>); }
};
/// What makes the graph of `Make` with its views moved.
template <class Make> using with_views_moved = std::conditional_t<has_gathered_views<Make>, thaw_gathered_views<Make>, Make>;

}  // namespace cotangent
