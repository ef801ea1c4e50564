#pragma once
/// Where tangents of one-hot directions are zero: an index of the direction and those of the elements that depend on it go together.
/// (A zero that is skipped is not multiplied: infinities and NaN on the other side do not spread from it.)

#include <cotangent/graph/results.hpp>
#include <cotangent/primitives/primitives.hpp>

namespace cotangent {

/// An array is zero but where first <= the sum of index[i] * factors[i] <= last. Without factors nothing is known; of an array of
/// zeros, no index will do.
struct band {
  shape factors;
  extent first = 0, last = -1;

  constexpr bool is_known() const { return factors.rank > 0; }
  constexpr bool is_zero() const { return is_known() && first > last; }
  static constexpr band unknown() { return {}; }
  static constexpr band zero(int rank) { return {filled(rank, 0), 1, 0}; }
};

/// The bands of a graph's arrays, found in one walk.
class band_finder {
 public:
  explicit constexpr band_finder(const graph& g) : g_(g) {
    bands_.assign(g.nodes.size(), band());
    for (int n = 0; n < g.size(); ++n)
      if (!g[n].is_input() && g[n].dims.rank > 0 && !has_symbol(g[n].dims)) bands_[std::size_t(n)] = of_node(n);
  }
  constexpr const band& operator[](int n) const { return bands_[std::size_t(n)]; }

 private:
  const graph& g_;
  sequence<band> bands_;

  constexpr bool is(int n, std::uint64_t op) const { return g_[n].op_id == op; }
  constexpr const band& operand(int n, int k) const { return bands_[std::size_t(g_.operand(n, k))]; }
  constexpr const shape& dims_of(int n, int k) const { return g_[g_.operand(n, k)].dims; }

  constexpr band of_node(int n) const {
    const int rank = g_[n].dims.rank;
    if (is(n, primitive_of<constant_p>.id)) return g_[n].bits == 0 ? band::zero(rank) : band::unknown();
    if (is(n, primitive_of<basis_p>.id)) return of_basis(g_[n].dims);
    if (is(n, primitive_of<concatenate_p>.id)) return of_concatenation(n);
    if (is(n, primitive_of<dot_general_p>.id)) return of_product(n);
    if (is(n, primitive_of<mul_p>.id)) return in_both(operand(n, 0), operand(n, 1));
    if (is(n, primitive_of<add_p>.id) || is(n, primitive_of<sub_p>.id)) return in_either(operand(n, 0), operand(n, 1));
    if (is(n, primitive_of<select_p>.id)) return in_either(operand(n, 1), operand(n, 2));
    if (g_[n].operand_count == 0 || !operand(n, 0).is_known()) return band::unknown();
    if (operand(n, 0).is_zero() && (g_[n].op->kind == role::view || is(n, primitive_of<reshape_p>.id))) return band::zero(rank);
    if (is(n, primitive_of<neg_p>.id) || is(n, primitive_of<div_p>.id) || is(n, primitive_of<symmetric_p>.id)) return operand(n, 0);
    if (is(n, primitive_of<broadcast_in_dim_p>.id) || is(n, primitive_of<transpose_p>.id)) return of_moved_axes(n);
    if (is(n, primitive_of<slice_p>.id)) return of_slice(n);
    if (is(n, primitive_of<reshape_p>.id)) return of_reshape(n);
    return band::unknown();
  }
  /// One where the first index is the number of the element.
  static constexpr band of_basis(const shape& dims) {
    band b{filled(dims.rank, 0), 0, 0};
    extent stride = -1;
    for (int i = dims.rank; i-- > 1; stride *= dims[i]) b.factors[i] = stride;
    b.factors[0] = 1;
    return b;
  }
  static constexpr band in_both(const band& a, const band& b) {
    if (!a.is_known() || b.is_zero()) return b;
    if (a.factors == b.factors) return {a.factors, a.first > b.first ? a.first : b.first, a.last < b.last ? a.last : b.last};
    return a;
  }
  static constexpr band in_either(const band& a, const band& b) {
    if (a.is_zero()) return b;
    if (b.is_zero()) return a;
    if (a.factors == b.factors) return {a.factors, a.first < b.first ? a.first : b.first, a.last > b.last ? a.last : b.last};
    return band::unknown();
  }
  constexpr band of_concatenation(int n) const {
    const int axis = int(g_.attribute(n, 0));
    band all = band::zero(g_[n].dims.rank);
    extent before = 0;
    for (int k = 0; k < g_[n].operand_count; ++k) {
      band b = operand(n, k);
      if (!b.is_known()) return band::unknown();
      if (!b.is_zero()) b.first += b.factors[axis] * before, b.last += b.factors[axis] * before;
      all = in_either(all, b);
      before += dims_of(n, k)[axis];
    }
    return all;
  }
  constexpr band of_moved_axes(int n) const {
    const band& x = operand(n, 0);
    const shape &from = dims_of(n, 0), &to = g_[n].dims;
    band b{filled(to.rank, 0), x.first, x.last};
    for (int i = 0; i < from.rank; ++i) {
      if (is(n, primitive_of<transpose_p>.id)) b.factors[i] = x.factors[int(g_.attribute(n, i))];
      else if (const int axis = int(g_.attribute(n, to.rank + i)); from[i] == to[axis]) b.factors[axis] = x.factors[i];
    }
    return b;
  }
  constexpr band of_slice(int n) const {
    band b = operand(n, 0);
    const int rank = g_[n].dims.rank;
    for (int i = 0; i < rank; ++i) {
      const extent start = b.factors[i] * g_.attribute(n, i);
      b.first -= start, b.last -= start, b.factors[i] *= g_.attribute(n, 2 * rank + i);
    }
    return b;
  }
  /// Axes come apart, or together, in groups of as many elements.
  constexpr band of_reshape(int n) const {
    const shape &from = dims_of(n, 0), &to = g_[n].dims;
    if (to.size() == 0) return band::zero(to.rank);
    const band& x = operand(n, 0);
    band b{filled(to.rank, 0), x.first, x.last};
    for (int i = 0, j = 0; i < from.rank || j < to.rank;) {
      const int i0 = i, j0 = j;
      extent before = 1, after = 1;
      do {
        if (i < from.rank && (before <= after || j == to.rank)) before *= from[i++];
        else after *= to[j++];
      } while (before != after);
      if (i0 == i) continue;
      // The sum over old axes as a multiple of their common index, and what is left of it.
      int first = i0;
      while (first + 1 < i && from[first] == 1) ++first;
      extent stride = before / from[first];
      if (x.factors[first] % stride != 0) return band::unknown();
      const extent multiple = x.factors[first] / stride;
      for (int k = first + 1; k < i; ++k) {
        stride /= from[k];
        widen(b, -(x.factors[k] - multiple * stride), from[k]);
      }
      stride = after;
      for (int k = j0; k < j; ++k) stride /= to[k], b.factors[k] = to[k] == 1 ? 0 : multiple * stride;
    }
    return b;
  }
  /// Without `factor` times an index below n on the other side.
  static constexpr void widen(band& b, extent factor, extent n) { (factor < 0 ? b.first : b.last) += factor * (n - 1); }

  constexpr band of_product(int n) const {
    const dot_dimensions d = dot_general_p::dimensions(call_at(g_, n));
    const int k = operand(n, 0).is_known() && !operand(n, 1).is_zero() ? 0 : 1;
    const band& x = operand(n, k);
    if (!x.is_known()) return band::unknown();
    const shape &contracted = k == 0 ? d.lhs_contracted : d.rhs_contracted, &batch = k == 0 ? d.lhs_batch : d.rhs_batch;
    const shape free = k == 0 ? d.lhs_free(dims_of(n, 0).rank) : d.rhs_free(dims_of(n, 1).rank);
    const int before = batch.rank + (k == 0 ? 0 : d.lhs_free(dims_of(n, 0).rank).rank);
    if (x.is_zero()) return band::zero(g_[n].dims.rank);
    band b{filled(g_[n].dims.rank, 0), x.first, x.last};
    for (int i = 0; i < batch.rank; ++i) b.factors[i] = x.factors[int(batch[i])];
    for (int i = 0; i < free.rank; ++i) b.factors[before + i] = x.factors[int(free[i])];
    for (extent axis : contracted) widen(b, -x.factors[int(axis)], dims_of(n, k)[int(axis)]);
    return b;
  }
};

}  // namespace cotangent
