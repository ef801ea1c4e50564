#pragma once
/// The indices of extrema, as argmax and argmin compute them: the least index at which x is its extremum, or NaN.

#include <limits>

#include <cotangent/primitives/primitives.hpp>

namespace cotangent {

/// x and the reduction along the last axis that gives its extremum in every place of a row; -1 if the comparison is of something else.
struct compared_extremum {
  int of = -1, extremum = -1;
};
/// What node `equal`, a comparison of the kind Compare, finds the places of.
template <class Compare> constexpr compared_extremum extremum_compared(const graph& g, int equal) {
  if (g[equal].op_id != primitive_of<Compare>.id) return {};
  const shape& dims = g[equal].dims;
  const int axis = dims.rank - 1;
  for (int k = 0; k < 2; ++k) {
    const int x = g.operand(equal, k), spread = g.operand(equal, 1 - k);
    if (g[spread].op_id != primitive_of<broadcast_in_dim_p>.id) continue;
    const int m = g.operand(spread, 0);
    const bool is_extremum = g[m].op_id == primitive_of<reduce_min_p>.id || g[m].op_id == primitive_of<reduce_max_p>.id;
    if (!is_extremum || g.operand(m, 0) != x || g[m].attribute_count != 1 || g.attribute(m, 0) != axis) continue;
    for (int d = 0; d < axis; ++d)
      if (g.attribute(spread, dims.rank + d) != d) return {};
    return {x, m};
  }
  return {};
}

/// The reduction that gives the extremum whose least index along the last axis is node n, or -1.
constexpr int placed_extremum(const graph& g, int n) {
  if (g[n].op_id != primitive_of<reduce_min_p>.id || g[n].type != dtype::int32 || g[g.operand(n, 0)].op_id != primitive_of<select_p>.id) return -1;
  const int chosen = g.operand(n, 0), found = g.operand(chosen, 0), index = g.operand(chosen, 1), none = g.operand(chosen, 2);
  const shape& dims = g[chosen].dims;
  const int axis = dims.rank - 1;
  if (g[n].attribute_count != 1 || g.attribute(n, 0) != axis) return -1;
  if (g[index].op_id != primitive_of<iota_p>.id || !(g[index].dims == dims) || g.attribute(index, g[index].attribute_count - 1) != axis) return -1;
  if (g[none].op_id != primitive_of<constant_p>.id || g[none].bits != constant_bits(dtype::int32, double(std::numeric_limits<std::int32_t>::max()))) return -1;
  if (g[found].op_id != primitive_of<or_p>.id) {
    const int m = extremum_compared<eq_p>(g, found).extremum;
    return m >= 0 && is_floating(g[m].type) ? -1 : m;
  }
  for (int k = 0; k < 2; ++k) {
    const auto [x, m] = extremum_compared<eq_p>(g, g.operand(found, k));
    const int unequal = g.operand(found, 1 - k);
    if (m >= 0 && g[unequal].op_id == primitive_of<ne_p>.id && g.operand(unequal, 0) == x && g.operand(unequal, 1) == x) return m;
  }
  return -1;
}

}  // namespace cotangent
