#ifndef COTANGENT_PRIMITIVES_IN_ORDER
#include <cotangent/primitives/primitives.hpp>
#elif !defined(COTANGENT_PRIMITIVES_SYMMETRY)
#define COTANGENT_PRIMITIVES_SYMMETRY
/// Arrays of all pairs that stay as they are, or change their sign, if the first two axes are exchanged, as what particles do to each
/// other: their sums along one of these axes are those along the other.

namespace cotangent {

/// What the exchange of the first two axes does to the arrays of a graph, as far as their operations show.
class exchanged_pairs {
 public:
  static constexpr int nothing = 1, changes_sign = 2;  // as bits: zeros have both

  constexpr explicit exchanged_pairs(builder& b) : b_(b) { known_.assign(b.g.nodes.size(), unknown); }

  constexpr int effect(int n) {
    if (known_[std::size_t(n)] == unknown) {
      const int found = look(n);
      known_[std::size_t(n)] = found;
    }
    return known_[std::size_t(n)];
  }

 private:
  static constexpr int unknown = -1;
  builder& b_;
  sequence<int> known_;

  constexpr bool is(int n, std::uint64_t op) const { return b_.g[n].op_id == op; }
  constexpr bool is_pointwise(int n) const { return !b_.g[n].is_input() && b_.g[n].op->kind == role::pointwise; }
  /// Whether n reduces axes behind the first two.
  constexpr bool reduces_others(int n) const {
    const node& x = b_.g[n];
    return !x.is_input() && x.op->kind == role::reduction && x.attribute_count > 0 && b_.g.attribute(n, 0) >= 2;
  }
  /// The axis of a broadcast n that axis i of its operand is.
  constexpr extent axis_of(int n, int i) const { return b_.g.attribute(n, b_.g[n].dims.rank + i); }
  constexpr int axes_of(int n) const { return b_.g[n].attribute_count - b_.g[n].dims.rank; }

  constexpr int look(int n) {
    const node& x = b_.g[n];
    if (is(n, primitive_of<constant_p>.id)) return is_constant(x, 0) ? nothing | changes_sign : nothing;
    if (is(n, primitive_of<broadcast_in_dim_p>.id)) {
      int leading = 0;
      for (int i = 0; i < axes_of(n); ++i) leading += axis_of(n, i) < 2;
      if (leading < 2) return leading == 0 ? nothing : 0;
      const shape& dims = b_.g[b_.g.operand(n, 0)].dims;
      return dims[0] == dims[1] ? effect(b_.g.operand(n, 0)) : 0;
    }
    if (reduces_others(n)) return effect(b_.g.operand(n, 0)) & (is(n, primitive_of<reduce_sum_p>.id) ? nothing | changes_sign : nothing);
    return is_pointwise(n) ? of_pointwise(n) : 0;
  }
  constexpr int of_pointwise(int n) {
    if (b_.g[n].operand_count == 2 && is_exchanged(b_.g.operand(n, 0), b_.g.operand(n, 1))) {
      if (is(n, primitive_of<sub_p>.id)) return changes_sign;
      for (std::uint64_t either_order : {primitive_of<add_p>.id, primitive_of<mul_p>.id, primitive_of<max_p>.id, primitive_of<min_p>.id})
        if (is(n, either_order)) return nothing;
    }
    sequence<value> operands;
    const call c = call_at(b_.g, b_, n, operands);
    int all = nothing, product = nothing, linear = changes_sign;
    for (int k = 0; k < c.count; ++k) {
      const int own = effect(b_.g.operand(n, k));
      all &= own;
      product = effect_on_product(product, own);
      if (!c.op->has.linear || !(c.op->linear(c, k) ? own & changes_sign : own & nothing)) linear = 0;
    }
    return all | (c.op->bilinear ? product : c.type == dtype::boolean ? 0 : linear);
  }
  static constexpr int effect_on_product(int a, int b) {
    const bool differ = ((a & nothing) != 0 && (b & changes_sign) != 0) || ((a & changes_sign) != 0 && (b & nothing) != 0);
    return ((a & b) != 0 ? nothing : 0) | (differ ? changes_sign : 0);
  }
  /// Whether b is a with the first two axes exchanged, by at most `depth` operations.
  constexpr bool is_exchanged(int a, int b, int depth = 6) {
    if (a == b) return (effect(a) & nothing) != 0;
    const node &x = b_.g[a], &y = b_.g[b];
    if (depth == 0 || x.is_input() || x.op_id != y.op_id || x.operand_count != y.operand_count || x.attribute_count != y.attribute_count) return false;
    --depth;
    if (is(a, primitive_of<broadcast_in_dim_p>.id)) {
      if (axes_of(a) == 0 || axes_of(a) != axes_of(b)) return false;
      const bool is_pair = axes_of(a) > 1 && axis_of(a, 1) < 2;  // of arrays with both axes, of which one has extent 1
      for (int i = 0; i < axes_of(a); ++i)
        if (axis_of(b, i) != (axis_of(a, i) < 2 && !is_pair ? 1 - axis_of(a, i) : axis_of(a, i))) return false;
      return is_pair ? is_exchanged(b_.g.operand(a, 0), b_.g.operand(b, 0), depth) : b_.g.operand(a, 0) == b_.g.operand(b, 0);
    }
    if (!is_pointwise(a) && !reduces_others(a)) return false;
    for (int k = 0; k < x.attribute_count; ++k)
      if (b_.g.attribute(a, k) != b_.g.attribute(b, k)) return false;
    for (int k = 0; k < x.operand_count; ++k)
      if (!is_exchanged(b_.g.operand(a, k), b_.g.operand(b, k), depth)) return false;
    return true;
  }
};

/// The sum of x along its first axis, and perhaps axes behind the second, as that along the second, which others may need as well.
/// Null if the exchange of these axes is not known to be nothing or a change of sign.
constexpr value sum_of_exchanged(value x, shape axes) {
  const shape& dims = x.dims();
  if (axes.rank == 0 || axes[0] != 0 || axes.contains(1) || x.rank() < 2 || dims[0] == 1 || x.b->symbols.resolve(dims[0]) != x.b->symbols.resolve(dims[1])) return {};
  bool negative = false;
  for (; x.get().op_id == primitive_of<neg_p>.id; negative = !negative) x = {x.b, x.b->g.operand(x.id, 0)};
  const int effect = exchanged_pairs(*x.b).effect(x.id);
  if (effect == 0) return {};
  if ((effect & exchanged_pairs::nothing) == 0) negative = !negative;
  axes[0] = 1;
  const value sum = reduce_sum(x, axes);
  return negative ? -sum : sum;
}

}  // namespace cotangent

#endif
