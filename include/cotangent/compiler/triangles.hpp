#pragma once
/// Which matrices of a product are triangular: what a comparison of indices puts zeros into, and products of which a comparison of
/// indices chooses a part. (A zero that is skipped is not multiplied: infinities and NaN on the other side do not spread from it.)

#include <cotangent/core/triangle.hpp>
#include <cotangent/graph/replay.hpp>
#include <cotangent/primitives/primitives.hpp>

namespace cotangent {

/// The elements (i, j) of a matrix with first <= i - j <= last.
struct diagonals {
  static constexpr extent far = extent(1) << 40;
  extent first = -far, last = far;

  constexpr bool empty() const { return first > last; }
  friend constexpr diagonals operator&(diagonals a, diagonals b) { return {a.first > b.first ? a.first : b.first, a.last < b.last ? a.last : b.last}; }
  /// All between the two.
  friend constexpr diagonals operator|(diagonals a, diagonals b) {
    if (a.empty() || b.empty()) return a.empty() ? b : a;
    return {a.first < b.first ? a.first : b.first, a.last > b.last ? a.last : b.last};
  }
};
inline constexpr diagonals no_diagonals{1, 0};

/// Answers questions about two axes, the rows and columns of matrices, of a graph's arrays. Each is a walk of bounded depth.
class triangle_finder {
 public:
  explicit constexpr triangle_finder(const graph& g) : g_(g) {
    first_use_.assign(g.nodes.size(), -1), next_use_.assign(g.operands.size(), -1), user_.assign(g.operands.size(), -1), returned_.assign(g.nodes.size(), false);
    for (int n = 0; n < g.size(); ++n)
      for (int k = 0; k < g[n].operand_count; ++k) {
        const int use = g[n].operands + k, of = g.operand(n, k);
        user_.items[use] = n, next_use_.items[use] = first_use_.items[of], first_use_.items[of] = use;
      }
    for (int o : g.outputs) returned_[std::size_t(o)] = true;
  }

  /// Of the dot_general n.
  constexpr product_triangles of_product(int n) const {
    const dot_dimensions d = dot_general_p::dimensions(call_at(g_, n));
    const int left = g_.operand(n, 0), right = g_.operand(n, 1);
    const shape of_left = d.lhs_free(g_[left].dims.rank), of_right = d.rhs_free(g_[right].dims.rank);
    product_triangles r;
    if (of_left.rank == 1 && d.lhs_contracted.rank == 1) r.a = part_of(nonzero(left, {int(of_left[0]), int(d.lhs_contracted[0])}, depth));
    if (of_right.rank == 1 && d.rhs_contracted.rank == 1) r.b = part_of(nonzero(right, {int(d.rhs_contracted[0]), int(of_right[0])}, depth));
    if (of_left.rank == 1 && of_right.rank == 1) r.c = part_of(used(n, {d.lhs_batch.rank, d.lhs_batch.rank + 1}, depth));
    return r;
  }

 private:
  static constexpr int depth = 12;
  const graph& g_;
  sequence<int> first_use_, next_use_, user_;  // per node its last use; per use the one before it, and who it is
  flag_list returned_;

  /// Axes of an array: the index along `row` is i, that along `column` is j. -1: the array does not change there.
  struct axes {
    int row, column;
  };
  /// r i + s j + offset; unknown if it is not such a number.
  struct index_sum {
    bool known = false;
    extent r = 0, s = 0, offset = 0;
  };

  static constexpr matrix_part part_of(diagonals d) { return d.first >= 0 ? matrix_part::lower : d.last <= 0 ? matrix_part::upper : matrix_part::whole; }
  constexpr bool is(int n, std::uint64_t op) const { return g_[n].op_id == op; }

  /// Where the axes of node n are in operand 0 of a broadcast or transpose.
  constexpr axes in_operand(int n, axes a) const {
    const bool transpose = is(n, primitive_of<transpose_p>.id);
    const shape& from = g_[g_.operand(n, 0)].dims;
    axes r{-1, -1};
    for (int i = 0; i < from.rank; ++i) {
      const extent to = transpose ? i : g_.attribute(n, g_[n].dims.rank + i);
      const int axis = transpose ? int(g_.attribute(n, i)) : i;
      if (from[axis] != g_[n].dims[int(to)]) continue;
      if (to == a.row) r.row = axis;
      if (to == a.column) r.column = axis;
    }
    return r;
  }
  constexpr bool moves_axes(int n) const { return is(n, primitive_of<broadcast_in_dim_p>.id) || is(n, primitive_of<transpose_p>.id); }

  constexpr index_sum index(int n, axes a, int depth) const {
    if (depth == 0 || !is_integer(g_[n].type)) return {};
    if (is(n, primitive_of<constant_p>.id)) return {true, 0, 0, extent(std::int64_t(g_[n].bits))};
    if (is(n, primitive_of<iota_p>.id)) {
      const extent axis = g_.attribute(n, g_[n].attribute_count - 1);
      if (axis != a.row && axis != a.column) return {};
      return {true, axis == a.row, axis == a.column, 0};
    }
    if (moves_axes(n)) return index(g_.operand(n, 0), in_operand(n, a), depth - 1);
    if (!is(n, primitive_of<add_p>.id) && !is(n, primitive_of<sub_p>.id)) return {};
    const index_sum x = index(g_.operand(n, 0), a, depth - 1), y = index(g_.operand(n, 1), a, depth - 1);
    const extent sign = is(n, primitive_of<add_p>.id) ? 1 : -1;
    return {x.known && y.known, x.r + sign * y.r, x.s + sign * y.s, x.offset + sign * y.offset};
  }

  /// Where the condition n may be `wanted`.
  constexpr diagonals where(int n, bool wanted, axes a, int depth) const {
    if (depth == 0) return {};
    if (moves_axes(n)) return where(g_.operand(n, 0), wanted, in_operand(n, a), depth - 1);
    if (is(n, primitive_of<constant_p>.id)) return (g_[n].bits != 0) == wanted ? diagonals{} : no_diagonals;
    if (is(n, primitive_of<not_p>.id)) return where(g_.operand(n, 0), !wanted, a, depth - 1);
    if (g_[n].operand_count != 2) return {};
    const int x = g_.operand(n, 0), y = g_.operand(n, 1);
    if (is(n, primitive_of<and_p>.id) || is(n, primitive_of<or_p>.id)) {
      const diagonals p = where(x, wanted, a, depth - 1), q = where(y, wanted, a, depth - 1);
      return is(n, primitive_of<and_p>.id) == wanted ? p & q : p | q;
    }
    struct truth {
      std::uint64_t op;
      bool less, equal, greater;  // x < y, x = y, x > y
    };
    constexpr truth truths[] = {{primitive_of<eq_p>.id, false, true, false}, {primitive_of<ne_p>.id, true, false, true}, {primitive_of<lt_p>.id, true, false, false},
                                {primitive_of<le_p>.id, true, true, false},  {primitive_of<gt_p>.id, false, false, true}, {primitive_of<ge_p>.id, false, true, true}};
    for (const truth& t : truths) {
      if (!is(n, t.op)) continue;
      const index_sum p = index(x, a, depth - 1), q = index(y, a, depth - 1);
      const extent r = p.r - q.r, s = p.s - q.s, offset = p.offset - q.offset;
      if (!p.known || !q.known || r + s != 0 || (r != 1 && r != -1)) return {};
      // x - y = r (i - j) + offset is less than, equal to or greater than zero at these:
      const extent equal = -r * offset;
      const diagonals below{-diagonals::far, equal - 1}, above{equal + 1, diagonals::far};
      diagonals d = no_diagonals;
      if (t.less == wanted) d = d | (r > 0 ? below : above);
      if (t.equal == wanted) d = d | diagonals{equal, equal};
      if (t.greater == wanted) d = d | (r > 0 ? above : below);
      return d;
    }
    return {};
  }

  /// Where array n may be other than zero.
  constexpr diagonals nonzero(int n, axes a, int depth) const {
    if (depth == 0) return {};
    if (is(n, primitive_of<constant_p>.id)) return g_[n].bits == 0 ? no_diagonals : diagonals{};
    const auto operand = [&](int k) { return nonzero(g_.operand(n, k), a, depth - 1); };
    if (moves_axes(n)) return nonzero(g_.operand(n, 0), in_operand(n, a), depth - 1);
    if (is(n, primitive_of<neg_p>.id) || is(n, primitive_of<convert_p>.id)) return operand(0);
    if (is(n, primitive_of<mul_p>.id)) return operand(0) & operand(1);
    if (is(n, primitive_of<add_p>.id) || is(n, primitive_of<sub_p>.id)) return operand(0) | operand(1);
    if (is(n, primitive_of<select_p>.id)) return (operand(1) & where(g_.operand(n, 0), true, a, depth - 1)) | (operand(2) & where(g_.operand(n, 0), false, a, depth - 1));
    return {};
  }

  /// Where array n is used.
  constexpr diagonals used(int n, axes a, int depth) const {
    if (depth == 0 || returned_[std::size_t(n)]) return {};
    diagonals all = no_diagonals;
    for (int use = first_use_.items[n]; use >= 0; use = next_use_.items[use]) {
      const int by = user_.items[use], k = use - g_[by].operands;
      if (is(by, primitive_of<select_p>.id) && k > 0) all = all | (used(by, a, depth - 1) & where(g_.operand(by, 0), k == 1, a, depth - 1));
      else if (is(by, primitive_of<neg_p>.id)) all = all | used(by, a, depth - 1);
      else if (is(by, primitive_of<mul_p>.id)) all = all | (used(by, a, depth - 1) & nonzero(g_.operand(by, 1 - k), a, depth - 1));
      else return {};
    }
    return all;
  }
};

}  // namespace cotangent
