#pragma once
/// Which axes of an operation's operands go along which of its result.

#include <cotangent/primitives/primitives.hpp>

namespace cotangent {

/// Whether the axes of a call's operands are those of its result.
constexpr bool keeps_axes(const call& c) {
  if (c.op->kind == role::pointwise) return true;
  const auto is_any_of = [&](auto... ids) { return (false || ... || (c.op->id == ids)); };
  return is_any_of(primitive_of<slice_p>.id, primitive_of<reverse_p>.id, primitive_of<pad_p>.id, primitive_of<concatenate_p>.id, primitive_of<roll_p>.id);
}

/// f(k, i, j) for each axis i of operand k of a call that goes along axis j of the result.
template <class F> constexpr void each_axis_of(const call& c, const F& f) {
  if (c.count == 0) return;
  const auto is = [&](std::uint64_t op) { return c.op->id == op; };
  const shape& from = c[0].dims();
  if (c.op->kind == role::reduction) {
    const shape kept = complement(c.list(0, c.attribute_count), from.rank);
    for (int j = 0; j < kept.rank; ++j) f(0, int(kept[j]), j);
  } else if (is(primitive_of<broadcast_in_dim_p>.id)) {
    const shape axes = broadcast_in_dim_p::axes(c);
    for (int i = 0; i < axes.rank; ++i) f(0, i, int(axes[i]));
  } else if (is(primitive_of<transpose_p>.id)) {
    for (int j = 0; j < c.dims.rank; ++j) f(0, int(c.attribute(j)), j);
  } else if (is(primitive_of<reshape_p>.id)) {
    for (int i = 0; i < from.rank && i < c.dims.rank && from[i] == c.dims[i]; ++i) f(0, i, i);
  } else if (is(primitive_of<dot_general_p>.id)) {
    const dot_dimensions d = dot_general_p::dimensions(c);
    const shape left = d.lhs_free(c[0].rank()), right = d.rhs_free(c[1].rank());
    int j = 0;
    for (int i = 0; i < d.lhs_batch.rank; ++i, ++j) f(0, int(d.lhs_batch[i]), j), f(1, int(d.rhs_batch[i]), j);
    for (extent i : left) f(0, int(i), j++);
    for (extent i : right) f(1, int(i), j++);
  } else if (c.op->kind == role::gather) {
    const addressing all = gather_p::addresses(c);
    for (int i = 0; i < all.rank; ++i)
      if (all.axes[i].index < 0) f(0, i, all.axes[i].dimension);
    for (int k = 1; k < c.count; ++k)
      for (int i = 0; i < c.dims.rank; ++i) f(k, i, i);
  } else if (keeps_axes(c)) {
    for (int k = 0; k < c.count; ++k)
      for (int i = 0; i < c[k].rank(); ++i) f(k, i, i);
  }
}

}  // namespace cotangent
