#pragma once
/// Rows that nothing takes are not computed: where all that uses an array takes rows of it by the same indices, fewer than there are, the
/// rows of what it is made of are taken instead, and what is computed row by row is computed of those.

#include <cotangent/compiler/by_instance.hpp>
#include <cotangent/transforms/simplify.hpp>

namespace cotangent {

/// What a gather takes of its operand: rows along one axis, one for each element of an array of indices, whose axes stand in place of that
/// one. No indices: it is another gather, or the number of rows is known at run time only.
struct row_taking {
  int indices = -1;  // a node
  int axis = 0;
  extent rows = 0, taken = 0;

  constexpr row_taking(const graph& g, int n) {
    if (g[n].is_input() || g[n].op_id != primitive_of<gather_p>.id || g[n].operand_count != 2) return;
    const shape& of = g[g.operand(n, 0)].dims;
    int by = g.operand(n, 1);
    if (has_symbol(of) || has_symbol(g[n].dims)) return;
    shape along = axes_from(0, g[by].dims.rank);  // of the result, where the axes of the indices lie
    if (g[by].op_id == primitive_of<broadcast_in_dim_p>.id) along = broadcast_in_dim_p::axes(call_at(g, by)), by = g.operand(by, 0);
    const addressing all = gather_p::addresses(call_at(g, n));
    axis = -1;
    for (int i = 0; i < all.rank; ++i) {
      if (all.axes[i].index < 0) continue;
      if (axis >= 0 || all.axes[i].dimension >= 0) return;
      axis = i;
    }
    if (axis < 0) return;
    for (int i = 0; i < all.rank; ++i)
      if (i != axis && all.axes[i].dimension != (i < axis ? i : i - 1 + along.rank)) return;
    for (int i = 0; i < along.rank; ++i)
      if (along[i] != axis + i) return;
    indices = by, rows = of[axis], taken = g[by].dims.size();
  }
};

class taken_rows : by_instance {
 public:
  /// Whether a graph, or one of its bodies, takes much fewer rows than there are of something computed.
  static constexpr bool concerns(const graph& g) {
    for (int n = 0; n < g.size(); ++n)
      if (is_worth_while(g, row_taking(g, n), n)) return true;
    for (const graph& body : g.subgraphs)
      if (concerns(body)) return true;
    return false;
  }
  /// The graph, and its bodies, with rows taken where that saves computing others. Linear in the nodes, for each of a few arrays of indices.
  static constexpr graph of(const graph& g) {
    graph result = borrowed(g);
    int tries = 8;
    for (int n = 0; n < result.size() && tries > 0; ++n) {
      const row_taking t(result, n);
      if (!is_worth_while(result, t, n)) continue;
      --tries;
      taken_rows pass(result, t);
      if (!pass.computes_) continue;
      graph next = pass.run();
      own(next);
      result = std::move(next), n = -1;
    }
    own(result);
    for (graph& body : result.subgraphs) body = of(borrowed(body));
    return result;
  }

 private:
  const row_taking taking_;
  bool computes_ = false;  // something, of rows that can be left out

  static constexpr bool is_worth_while(const graph& g, const row_taking& t, int n) {
    return t.indices >= 0 && t.taken > 0 && 2 * t.taken <= t.rows && !g[g.operand(n, 0)].is_input();
  }

  constexpr taken_rows(const graph& g, const row_taking& t) : by_instance(g, t.rows, 1 << 16), taking_(t) {
    flag_list used, by_takers;  // per node: whether there are uses; whether all of them take these rows, or are inside
    used.assign(g.nodes.size(), false), by_takers.assign(g.nodes.size(), true);
    for (int o : g.outputs) by_takers[std::size_t(o)] = false;
    for (int n = g.size(); n-- > 0;) {
      if (g[n].is_input()) continue;
      const bool takes = takes_these(n);
      char& inside = inside_[std::size_t(n)];
      inside = used[std::size_t(n)] && by_takers[std::size_t(n)] && works_by_instance(n);
      computes_ = computes_ || (inside && g[n].op->kind != role::view && g[n].op->kind != role::source);
      for (int k = 0; k < g[n].operand_count; ++k) {
        const std::size_t o = std::size_t(g.operand(n, k));
        used[o] = true;
        if (!(inside && is_aligned(n, k)) && !(takes && k == 0)) by_takers[o] = false;
      }
    }
  }
  /// Whether node n takes these rows.
  constexpr bool takes_these(int n) const {
    const row_taking t(g_, n);
    return t.indices == taking_.indices && t.rows == taking_.rows && t.axis == axis_of(g_.operand(n, 0));
  }

  constexpr graph run() {
    part_body part(g_, instances_, taking_.taken);
    part.body.simplifying = true, part.body.inlining = false;
    replay r(g_, part.body);
    copy_inputs(r);
    flag_list first;  // what the indices are made of
    first.assign(g_.nodes.size(), false);
    first[std::size_t(taking_.indices)] = true;
    for (int n = taking_.indices; n >= 0; --n)
      for (int k = 0; first[std::size_t(n)] && k < g_[n].operand_count; ++k) first[std::size_t(g_.operand(n, k))] = true;
    for (int n = 0; n <= taking_.indices; ++n)
      if (first[std::size_t(n)]) r.copy(n);
    const value indices = reshape(r.map[std::size_t(taking_.indices)], {taking_.taken});

    sequence<value> mapped;
    const auto rows_of = [&](int o) {
      value& v = part[o];
      if (!v) v = is_number(o) ? part.again(o, {}) : rows_at(r.map[std::size_t(o)], axis_of(o), indices);
      return v;
    };
    for (int n = 0; n < g_.size(); ++n) {
      if (first[std::size_t(n)]) continue;
      if (inside_[std::size_t(n)]) {
        mapped.clear();
        for (int k = 0; k < g_[n].operand_count; ++k) mapped.push_back(is_aligned(n, k) ? rows_of(g_.operand(n, k)) : r.map[std::size_t(g_.operand(n, k))]);
        part[n] = part.again(n, mapped);
      } else if (!g_[n].is_input() && takes_these(n) && inside_[std::size_t(g_.operand(n, 0))]) r.map[std::size_t(n)] = reshape(part[g_.operand(n, 0)], g_[n].dims);
      else r.copy(n);
    }
    return replayed(r);
  }
  /// The rows of x along an axis that indices name.
  static constexpr value rows_at(value x, int axis, value indices) {
    shape dims = x.dims();
    dims[axis] = indices.dims()[0];
    addressing all;
    for (int i = 0; i < dims.rank; ++i) all.push(i == axis ? axis_address{-1, 0} : axis_address{i, -1});
    return gather(x, {broadcast_in_dim(indices, dims, {axis})}, dims, all);
  }
};

}  // namespace cotangent
