#pragma once
/// Chunks of a batch: where a batch of products, the heads of attention, sums over a long axis of what other products make, each element of the
/// batch goes through all of it by itself, in chunks of that axis.
///
/// The long axis may be as long as another one, queries as many as keys. It is told from that by a name: an extent that no other axis has.

#include <cotangent/compiler/trajectories.hpp>

namespace cotangent {

/// Finds, for the axis that a product of a canonical graph sums over, those of other arrays that go along with it.
class axis_namer {
 public:
  constexpr axis_namer(const graph& g, int product) : g_(g) {
    axes_.assign(g.nodes.size(), -1);
    for (int k = 0; k < 2; ++k) set(g.operand(product, k), int(g.attribute(product, k == 0 ? 2 : 4)));
    rows_ = g[g.operand(product, 0)].dims[int(g.attribute(product, 2))];
    while (changed_ && fits_) {
      changed_ = false;
      for (int n = 0; n < g.size() && fits_; ++n) visit(n);
      for (int n = g.size(); n-- > 0 && fits_;) visit(n);
    }
  }

  /// Whether each array has at most one such axis, and all that has to do with it is known to leave it as it is.
  constexpr bool fits() const { return fits_; }
  constexpr extent named() const { return named_axis + rows_; }

  /// The graph with the name in place of the extents.
  constexpr graph run() const {
    graph r = borrowed(g_);
    own(r);
    for (int n = 0; n < r.size(); ++n) {
      const int axis = axes_[std::size_t(n)];
      if (axis < 0) continue;
      node& x = r.nodes[std::size_t(n)];
      x.dims[axis] = named();
      if (is(n, primitive_of<broadcast_in_dim_p>.id) || is(n, primitive_of<reshape_p>.id)) r.attributes[std::size_t(x.attributes + axis)] = named();
    }
    return r;
  }
  /// Puts the extents in place of the name.
  constexpr void undo(graph& r) const {
    for (node& x : r.nodes)
      for (int i = 0; i < x.dims.rank; ++i)
        if (x.dims[i] == named()) x.dims[i] = rows_;
    for (extent& a : r.attributes)
      if (a == named()) a = rows_;
  }

 private:
  const graph& g_;
  extent rows_ = 0;
  sequence<int> axes_;  // per node, or -1
  bool fits_ = true, changed_ = true;

  constexpr bool is(int n, std::uint64_t op) const { return g_[n].op_id == op; }
  constexpr void set(int n, int axis) {
    int& a = axes_[std::size_t(n)];
    fits_ = fits_ && (a < 0 || a == axis);
    changed_ = changed_ || a < 0;
    a = axis;
  }
  /// Axis i of node a and axis j of node b are the same.
  constexpr void link(int a, extent i, int b, extent j) {
    if (i < 0 || j < 0) return;
    if (axes_[std::size_t(a)] == i) set(b, int(j));
    else if (axes_[std::size_t(b)] == j) set(a, int(i));
  }
  constexpr void visit(int n) {
    const node& x = g_.nodes.items[n];
    if (x.is_input() || is(n, primitive_of<constant_p>.id) || !is_concerned(n)) return;
    const auto operand = [&](int k) { return g_.operand(n, k); };
    const auto attribute = [&](int k) { return g_.attribute(n, k); };
    if (x.op->kind == role::pointwise) {
      for (int k = 0; k < x.operand_count; ++k)
        for (int i = 0; i < x.dims.rank; ++i) link(operand(k), i, n, i);
    } else if (is(n, primitive_of<gemm_p>.id)) {
      link(operand(0), attribute(0), n, 0), link(operand(1), attribute(3), n, 0);
      link(operand(0), attribute(1), n, 1), link(operand(1), attribute(5), n, 2);
      link(operand(0), attribute(2), operand(1), attribute(4));
      // Some rows of a triangle are none.
      if (gemm_p::triangles(g_.attributes.items + x.attributes, x.attribute_count).any()) fits_ = false;
    } else if (x.op->kind == role::reduction) {
      shape axes;
      for (int k = 0; k < x.attribute_count; ++k) axes.push_back(attribute(k));
      const shape kept = complement(axes, g_[operand(0)].dims.rank);
      for (int i = 0; i < kept.rank; ++i) link(operand(0), kept[i], n, i);
    } else if (is(n, primitive_of<broadcast_in_dim_p>.id)) {
      const shape& from = g_[operand(0)].dims;
      for (int i = 0; i < from.rank; ++i) link(operand(0), i, n, attribute(x.dims.rank + i));
    } else if (is(n, primitive_of<transpose_p>.id)) {
      for (int i = 0; i < x.dims.rank; ++i) link(operand(0), attribute(i), n, i);
    } else if (is(n, primitive_of<reshape_p>.id)) {
      const shape& from = g_[operand(0)].dims;
      bool linked = false;
      extent before = 1, before_to = 1;
      for (int i = 0, j = 0; i < from.rank && j < x.dims.rank;) {
        if (before == before_to && from[i] == x.dims[j] && from[i] != 1) {
          link(operand(0), i, n, j);
          linked = linked || axes_[std::size_t(n)] == j;
          before *= from[i++], before_to *= x.dims[j++];
        } else if (before <= before_to && from[i] != 1) before *= from[i++];
        else if (from[i] == 1) ++i;
        else before_to *= x.dims[j++];
      }
      fits_ = fits_ && linked;
    } else fits_ = false;
  }
  /// Whether node n or an operand of it has such an axis.
  constexpr bool is_concerned(int n) const {
    const node& x = g_.nodes.items[n];
    const int* const operands = g_.operands.items + x.operands;
    for (int k = 0; k < x.operand_count; ++k)
      if (axes_.items[operands[k]] >= 0) return true;
    return axes_.items[n] >= 0;
  }
};

/// The extent of the axis that product n of a canonical graph sums over, if it is a long one of what others compute; else 0.
constexpr extent long_sum(const graph& g, int n) {
  constexpr extent least = 256;
  if (g[n].op_id != primitive_of<gemm_p>.id || g.attribute(n, 2) < 0 || has_symbol(g[n].dims)) return 0;
  const int left = g.operand(n, 0);
  const extent rows = g[left].dims[int(g.attribute(n, 2))];
  return is_symbol(rows) || rows < least || (g[left].is_input() && g[g.operand(n, 1)].is_input()) ? 0 : rows;
}

/// A canonical graph with one pass in chunks over a long axis, with a name of its own, of what products make and others sum over; no nodes if
/// nothing gains.
constexpr graph in_chunks_of_named_axis(const graph& g, extent most_sums) {
  graph best;
  extent most = 0;
  for (int n = 0; n < g.size(); ++n) {
    if (long_sum(g, n) == 0) continue;
    const axis_namer names(g, n);
    if (!names.fits()) continue;
    const graph named = names.run();
    chunk_program chunks(named, names.named(), {.most_sums = most_sums, .much = 4});
    if (chunks.passes() != 1 || chunks.gain() <= most) continue;
    most = chunks.gain(), best = chunks.run();
    own(best);  // before `named` goes
    names.undo(best);
  }
  return best;
}

/// The same with so many sums at most.
template <extent Tasks> constexpr graph in_some_tasks(const graph& g) { return in_chunks_of_named_axis(g, Tasks); }

/// The graph with chunks of a batch, or of a named axis; no nodes if nothing gains.
constexpr graph in_chunks_of_batch(const graph& g) {
  constexpr extent tasks = 8;  // if the batch has as many, its elements have one task each
  extent tried = 0;
  for (int n = 0; n < g.size(); ++n) {
    const extent batch = g[n].dims.rank > 0 ? g[n].dims[0] : 0;
    if (long_sum(g, n) == 0 || batch < 1 || batch == tried) continue;
    tried = batch;
    graph r;
    if (batch == 1) r = in_chunks_of_named_axis(g, 64);
    else if (batch < tasks) r = chunk_program(g, batch, {.by_element = true, .in_chunks = in_some_tasks<tasks / 2>}).run();
    else r = chunk_program(g, batch, {.by_element = true, .in_chunks = in_some_tasks<1>}).run();
    if (r.size() > 0) return r;
  }
  return {};
}

/// Whether products of a graph may sum over a long axis of a batch, or over one that is as long as another of the same array.
constexpr bool may_have_batch_chunks(const graph& g) {
  constexpr extent least = 256;
  for (int n = 0; n < g.size(); ++n) {
    if (g[n].op_id != primitive_of<dot_general_p>.id || has_symbol(g[n].dims)) continue;
    const dot_dimensions d = dot_general_p::dimensions(call_at(g, n));
    if (g[g.operand(n, 0)].is_input() && g[g.operand(n, 1)].is_input()) continue;
    for (int k = 0; k < 2; ++k)
      for (extent a : k == 0 ? d.lhs_contracted : d.rhs_contracted) {
        const shape& dims = g[g.operand(n, k)].dims;
        const extent rows = dims[int(a)];
        if (!is_symbol(rows) && rows >= least && (d.lhs_batch.rank > 0 || only_axis(dims, rows) < 0)) return true;
      }
  }
  return false;
}
template <class Made, bool Cpu> inline constexpr bool may_have_batch_chunks_graph = false;
template <class Made> inline constexpr bool may_have_batch_chunks_graph<Made, true> = may_have_batch_chunks(Made{}());

/// The canonical graph of what `Made` returns. `Cpu`: it is for a backend that runs packets and chunks.
template <class Made, bool Cpu> struct make_canonical_of {
  constexpr graph operator()() const {
    using whole = make_unchunked<Made, Cpu>;
    constexpr extent rows = chunked_rows_of<whole, may_have_chunks_graph<Made, Cpu>>;
    constexpr extent instances = trajectories_of<whole, rows == 0 && may_have_trajectories_graph<Made, Cpu>>;
    if constexpr (rows != 0) return chunk_program(thaw(unchunked_graph<whole>), rows).run();
    else if constexpr (instances != 0) return chunk_program(thaw(sums_apart_graph<whole, instances>), instances, {.trajectories = true}).run();
    else {
      if constexpr (may_have_batch_chunks_graph<Made, Cpu>) {
        graph chunked = in_chunks_of_batch(thaw(unchunked_graph<whole>));
        if (chunked.size() > 0) return chunked;
      }
      if constexpr (may_have_zones_graph<Made, Cpu>) return with_zones(thaw(unchunked_graph<whole>));
      else return whole{}();
    }
  }
};

}  // namespace cotangent
