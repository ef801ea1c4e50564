#pragma once
/// Sums over all pairs of what the exchange of a pair leaves alone or changes the sign of, as what particles do to each other: each pair
/// is computed once (Newton's third law).

#include <cotangent/transforms/simplify.hpp>

namespace cotangent {

/// Finds the square arrays of pairs that only such sums use, and computes their halves instead.
class pair_pass {
 public:
  explicit constexpr pair_pass(const graph& g) : g_(g) {
    if (find()) drop_shared(), find_sums_of_sums();
  }
  constexpr bool changes() const {
    for (const char effect : sums_)
      if (effect != 0) return true;
    return false;
  }
  constexpr graph run() {
    builder b;
    replay r(g_, b);
    copy_inputs(r);
    for (int n = 0; n < g_.size(); ++n) {
      if (g_[n].is_input()) continue;
      if (summed_again_.items[n]) {
        const int rows = g_.operand(n, 0);
        r.map.items[n] = sum_of_all(r.map.items[g_.operand(rows, 0)]);
      } else if (sums_.items[n] != 0) r.map.items[n] = sum_of_halves(r.map.items[g_.operand(n, 0)], axes(n), sums_.items[n] == exchanged_pairs::changes_sign);
      else r.copy(n);
    }
    return replayed(r);
  }

 private:
  static constexpr extent fewest = 128;  // of both axes
  static constexpr int least_work = 6;   // operations on a pair: halves cost some
  const graph& g_;
  flag_list sums_;  // per node: what the exchange does to what it sums, if it is to be computed by halves
  flag_list summed_again_;  // per node: whether it adds up such sums along rows or columns, which it alone uses

  constexpr shape axes(int n) const {
    shape list;
    for (int k = 0; k < g_[n].attribute_count; ++k) list.push_back(g_.attribute(n, k));
    return list;
  }
  constexpr bool is_square(const node& x) const {
    return x.dims.rank == 2 && x.dims[0] == x.dims[1] && (is_symbol(x.dims[0]) || x.dims[0] >= fewest);
  }
  constexpr bool computes(int n) const { return !g_[n].is_input() && g_[n].op->kind == role::pointwise && g_[n].operand_count > 0; }

  constexpr bool find() {
    bool some = false;
    for (int n = 0; n < g_.size() && !some; ++n) some = g_.nodes.items[n].op_id == primitive_of<reduce_sum_p>.id && is_sum(n);
    if (!some) return false;
    sums_.assign(g_.nodes.size(), 0);
    builder whole;
    replay r(g_, whole);
    copy_graph(r);
    exchanged_pairs pairs(whole);
    for (int n = 0; n < g_.size(); ++n) {
      if (!is_sum(n)) continue;
      const int effect = pairs.effect(r.map[std::size_t(g_.operand(n, 0))].id);
      if ((effect & exchanged_pairs::nothing) != 0) sums_.items[n] = exchanged_pairs::nothing;
      else if (effect != 0 && axes(n).rank == 1) sums_.items[n] = exchanged_pairs::changes_sign;
    }
    return true;
  }
  constexpr bool is_sum(int n) const {
    const node& x = g_[n];
    return x.op_id == primitive_of<reduce_sum_p>.id && is_floating(x.type) && is_square(g_[g_.operand(n, 0)]) && computes(g_.operand(n, 0));
  }
  /// Drops the sums of all arrays of a shape of which others need the whole, or which take little work.
  constexpr void drop_shared() {
    const auto drop = [this](const shape& dims) {
      for (int n = 0; n < g_.size(); ++n)
        if (sums_.items[n] != 0 && g_[g_.operand(n, 0)].dims == dims) sums_.items[n] = 0;
    };
    for (int o : g_.outputs)
      if (is_square(g_[o])) drop(g_[o].dims);
    for (int n = 0; n < g_.size(); ++n) {
      int work = 0;
      for (int m = 0; m < g_.size() && sums_.items[n] != 0; ++m) work += computes(m) && g_[m].dims == g_[g_.operand(n, 0)].dims;
      if (sums_.items[n] != 0 && work < least_work) drop(g_[g_.operand(n, 0)].dims);
      for (int k = 0; k < g_[n].operand_count && sums_.items[n] == 0; ++k)
        if (const int x = g_.operand(n, k); is_square(g_[x]) && computes(x) && !(computes(n) && g_[n].dims == g_[x].dims)) drop(g_[x].dims);
    }
  }

  constexpr void find_sums_of_sums() {
    const sequence<int> uses = uses_of(g_);
    summed_again_.assign(g_.nodes.size(), false);
    for (int n = 0; n < g_.size(); ++n) {
      if (g_[n].op_id != primitive_of<reduce_sum_p>.id) continue;
      const int x = g_.operand(n, 0);
      summed_again_.items[n] = sums_.items[x] == exchanged_pairs::nothing && uses.items[x] == 1 && g_[x].dims.rank == 1 && g_[n].dims.rank == 0;
    }
  }

  /// Twice the pairs (i, j) of j > i, and those of j == i.
  static constexpr value sum_of_all(value x) {
    const shape dims = x.dims();
    const value i = iota(*x.b, dtype::int32, dims, 0), j = iota(*x.b, dtype::int32, dims, 1);
    const value ahead = reduce_sum(select(lt(i, j), x, zeros_like(x)), {0, 1});
    return 2.0 * ahead + reduce_sum(select(eq(i, j), x, zeros_like(x)), {0, 1});
  }
  /// Pairs (i, j) of j >= i along the rows, and of j > i along the columns.
  static constexpr value sum_of_halves(value x, const shape& axes, bool changes_sign) {
    if (axes.rank == 2 && !changes_sign) return sum_of_all(x);
    const shape dims = x.dims(), rows{1}, columns{0};
    const value i = iota(*x.b, dtype::int32, dims, 0), j = iota(*x.b, dtype::int32, dims, 1);
    const value own = reduce_sum(select(le(i, j), x, zeros_like(x)), rows);
    const value other = reduce_sum(select(lt(i, j), x, zeros_like(x)), columns);
    if (!changes_sign) return own + other;
    return axes[0] == 1 ? own - other : other - own;
  }
};

/// The graph with each pair of such sums computed once.
constexpr graph with_each_pair_once(graph g) {
  pair_pass pass(g);
  if (pass.changes()) return pass.run();
  return g;
}

}  // namespace cotangent
