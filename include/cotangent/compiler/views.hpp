#pragma once
/// Views of computed values become computations on views, where views are all that reads them and no element is read twice: the
/// whole is never stored, and each part is computed where it is needed, in the order in which it is needed.

#include <algorithm>

#include <cotangent/transforms/simplify.hpp>

namespace cotangent {

class view_pass {
 public:
  explicit constexpr view_pass(const graph& g) : g_(g), r_(g, to_) {
    to_.simplifying = true, to_.inlining = false;
    find();
  }
  /// Whether there are such values.
  constexpr bool changes() const {
    for (int n = 0; n < g_.size(); ++n)
      if (in_views_.items[n] && g_[n].op->kind == role::pointwise) return true;
    return false;
  }
  constexpr graph run() {
    copy_inputs(r_);
    for (int n = 0; n < g_.size(); ++n) {
      if (g_[n].is_input()) continue;
      if (looks(n)) r_.map.items[n] = through(r_.at(n), r_.map.items[g_.operand(n, 0)]);
      else r_.copy(n);
      if (in_views_.items[n]) note(r_.map.items[n]);
    }
    return replayed(r_);
  }

 private:
  const graph& g_;
  builder to_;
  replay r_;
  flag_list in_views_;    // per node: whether all that reads it are views
  sequence<int> chains_;  // per node of the new graph: how many such computations follow each other; 0: it is none

  /// Slices, transposes, and reshapes that drop axes of one element.
  constexpr bool looks(int n) const {
    const std::uint64_t op = g_[n].op_id;
    if (op == primitive_of<slice_p>.id || op == primitive_of<transpose_p>.id) return true;
    if (op != primitive_of<reshape_p>.id) return false;
    const shape &from = g_[g_.operand(n, 0)].dims, &to = g_[n].dims;
    int kept = 0;
    for (int i = 0; i < from.rank; ++i)
      if (kept < to.rank && to[kept] == from[i]) ++kept;
      else if (from[i] != 1) return false;
    return kept == to.rank;
  }

  constexpr void find() {
    constexpr extent all = extent(1) << 60;
    sequence<extent> read;  // per node: how many of its elements
    flag_list stored;       // per node: whether what reads it wants it in memory
    read.assign(g_.nodes.size(), 0), stored.assign(g_.nodes.size(), false), in_views_.assign(g_.nodes.size(), false);
    for (int o : g_.outputs) read.items[o] = all;
    for (int n = g_.size(); n-- > 0;) {
      const node& x = g_[n];
      if (x.is_input()) continue;
      const bool view = looks(n), known = !has_symbol(x.dims);
      in_views_.items[n] = (view || x.op->kind == role::pointwise) && known && read.items[n] > 0 && read.items[n] <= x.dims.size();
      const extent reads = in_views_.items[n] ? read.items[n] : view && known && !stored.items[n] ? x.dims.size() : all;
      for (int k = 0; k < x.operand_count; ++k) {
        const int o = g_.operand(n, k);
        read.items[o] = read.items[o] + reads < all ? read.items[o] + reads : all;
        stored.items[o] = stored.items[o] || (x.op->kind != role::pointwise && (!view || stored.items[n]));
      }
    }
  }

  constexpr void note(value v) {
    constexpr int longest = 32;  // through() goes along a chain
    if (v.get().is_input() || v.get().op->kind != role::pointwise) return;
    int chain = 1;
    for (int k = 0; k < v.get().operand_count; ++k)
      if (const int before = chain_of(to_.g.operand(v.id, k)); before >= chain) chain = before + 1;
    while (chains_.size() <= std::size_t(v.id)) chains_.push_back(0);
    chains_.items[v.id] = chain <= longest ? chain : 0;
  }
  constexpr int chain_of(int id) const { return std::size_t(id) < chains_.size() ? chains_.items[id] : 0; }

  /// A view of a value of the new graph.
  constexpr value through(const call& view, value v) {
    if (chain_of(v.id) == 0) {
      call c = view;
      c.operands = &v, c.type = v.type();
      return to_.emit_inferred(c);
    }
    copied_call c(v);
    for (value& o : c.own_operands) o = through(view, o);
    c.dims = view.dims, c.result = {};
    const value made = to_.emit_inferred(c);
    note(made);
    return made;
  }
};

/// The graph with computations on views in place of views of computed values. Linear in the nodes, and for each view in the ways to
/// what is computed before it: at most as many as its slice goes into the whole.
constexpr graph with_views_inside(const graph& g) {
  view_pass pass(g);
  if (pass.changes()) return pass.run();
  return g;
}

/// Transposes of what is computed from transposes alone, as where the Jacobian of a product with a matrix has the directions last, which were the
/// first axis before: the computation on the transposed operands, which are then none.
class transpose_pass {
 public:
  explicit constexpr transpose_pass(const graph& g) : g_(g), r_(g, to_), uses_(uses_of(g)) {
    to_.simplifying = true, to_.inlining = false;
  }
  /// Whether there are such transposes.
  constexpr bool changes() const {
    for (int n = 0; n < g_.size(); ++n)
      if (is_undone(n)) return true;
    return false;
  }
  constexpr graph run() {
    copy_inputs(r_);
    for (int n = 0; n < g_.size(); ++n) {
      if (g_[n].is_input()) continue;
      if (is_undone(n)) r_.map.items[n] = transposed(g_.operand(n, 0), permutation(n));
      else r_.copy(n);
    }
    return replayed(r_);
  }

 private:
  const graph& g_;
  builder to_;
  replay r_;
  sequence<int> uses_;

  constexpr bool is_transpose(int n) const { return g_[n].op_id == primitive_of<transpose_p>.id; }
  constexpr bool is_computed(int n) const { return !g_[n].is_input() && g_[n].op->kind == role::pointwise; }
  constexpr shape permutation(int n) const {
    shape p;
    for (int i = 0; i < g_[n].dims.rank; ++i) p.push_back(g_.attribute(n, i));
    return p;
  }
  constexpr bool is_undone(int n) const {
    if (!is_transpose(n) || !is_computed(g_.operand(n, 0))) return false;
    bool any = false;
    int most = 64;
    return undoes(permutation(n), g_.operand(n, 0), any, most) && any;
  }
  /// Whether x may as well be transposed where it is computed; `any`: whether something is then no longer transposed. Looks at `most` nodes.
  constexpr bool undoes(const shape& p, int x, bool& any, int& most) const {
    if (--most < 0) return false;
    const node& v = g_[x];
    if (v.dims.rank == 0) return true;
    if (v.is_input()) return false;
    if (v.op_id == primitive_of<constant_p>.id || v.op_id == primitive_of<iota_p>.id) return true;
    if (is_transpose(x)) {
      for (int i = 0; i < v.dims.rank; ++i)
        if (g_.attribute(x, int(p[i])) != i) return false;
      return any = true;
    }
    if (v.op_id == primitive_of<broadcast_in_dim_p>.id) {
      extent last = -1;  // what is broadcast keeps the order of its axes
      for (int i = 0; i < g_[g_.operand(x, 0)].dims.rank; ++i) {
        const extent to = std::find(p.begin(), p.end(), g_.attribute(x, v.dims.rank + i)) - p.begin();
        if (to < last) return false;
        last = to;
      }
      return true;
    }
    if (!is_computed(x) || uses_.items[x] != 1) return false;
    for (int k = 0; k < v.operand_count; ++k)
      if (!undoes(p, g_.operand(x, k), any, most)) return false;
    return true;
  }
  constexpr value transposed(int x, const shape& p) {
    if (g_[x].dims.rank == 0) return r_.map.items[x];
    if (!is_computed(x)) return transpose(r_.map.items[x], p);
    sequence<value> operands;
    for (int k = 0; k < g_[x].operand_count; ++k) operands.push_back(transposed(g_.operand(x, k), p));
    call c = r_.at(x);
    c.operands = operands.data();
    return to_.emit(c);
  }
};

/// The graph with such transposes undone.
constexpr graph with_transposes_undone(graph g) {
  transpose_pass pass(g);
  if (pass.changes()) return pass.run();
  return g;
}

}  // namespace cotangent
