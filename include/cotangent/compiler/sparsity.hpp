#pragma once
/// Where tangents of one-hot directions are zero: which elements a direction has to do with is known from the indices of both.
/// (A zero that is skipped is not multiplied: infinities and NaN on the other side do not spread from it.)

#include <cotangent/graph/elements.hpp>
#include <cotangent/graph/results.hpp>
#include <cotangent/primitives/primitives.hpp>

namespace cotangent {

/// A sparsity pattern: an element may differ from zero if the number of its indices along `axes`, whose extents are `dims`, is marked. One of
/// too many marks is not known.
struct sparsity {
  bool is_known = false;
  shape axes, dims;
  sequence<extent> marked;

  constexpr bool is_zero() const { return is_known && marked.empty(); }
  constexpr bool contains(const shape& index) const {
    const extent number = number_of(index);
    for (extent m : marked)
      if (m == number) return true;
    return false;
  }
  /// Marks an element; what its indices along other axes are does not matter.
  constexpr void mark(const shape& index) {
    constexpr std::size_t most = 256;
    if (!is_known || contains(index)) return;
    marked.push_back(number_of(index));
    is_known = marked.size() <= most;
  }
  /// visit(index) for each mark; the indices along other axes are 0.
  template <class Visit> constexpr void each(int rank, const Visit& visit) const {
    for (extent m : marked) {
      shape index = filled(rank, 0);
      for (int i = axes.rank; i-- > 0; m /= dims[i]) index[int(axes[i])] = m % dims[i];
      visit(index);
    }
  }
  /// Of arrays with these extents, along these axes as far as they do not have too many elements: inner ones are left out.
  static constexpr sparsity along(const shape& axes, const shape& extents) {
    constexpr extent most = 1 << 10;
    sparsity s;
    s.is_known = true;
    for (int i = 0; i < extents.rank; ++i) {
      if (!axes.contains(i) || extents[i] == 1) continue;
      if (s.dims.size() * extents[i] > most) break;
      s.axes.push_back(i), s.dims.push_back(extents[i]);
    }
    return s;
  }

 private:
  constexpr extent number_of(const shape& index) const {
    extent n = 0;
    for (int i = 0; i < axes.rank; ++i) n = n * dims[i] + index[int(axes[i])];
    return n;
  }
};

/// The patterns of a graph's arrays, found in one walk. One that leaves more than half of an array says nothing.
class sparsity_finder {
 public:
  explicit constexpr sparsity_finder(const graph& g) : g_(g) {
    known_.assign(g_.nodes.size(), sparsity());
    for (int n = 0; n < g.size(); ++n) {
      if (g[n].is_input() || g[n].dims.rank == 0 || has_symbol(g[n].dims)) continue;
      sparsity& s = known_[std::size_t(n)];
      s = of_node(n);
      if (2 * extent(s.marked.size()) > s.dims.size()) s = sparsity();
    }
  }
  constexpr const sparsity& operator[](int n) const { return known_[std::size_t(n)]; }

 private:
  const graph& g_;
  sequence<sparsity> known_;

  constexpr bool is(int n, std::uint64_t op) const { return g_[n].op_id == op; }
  constexpr const sparsity& operand(int n, int k) const { return known_[std::size_t(g_.operand(n, k))]; }
  constexpr const shape& dims_of(int n, int k) const { return g_[g_.operand(n, k)].dims; }

  constexpr sparsity of_node(int n) const {
    const shape& dims = g_[n].dims;
    if (is_constant(g_[n], 0)) return sparsity::along({}, dims);
    if (is(n, primitive_of<basis_p>.id)) return of_basis(dims);
    if (is(n, primitive_of<concatenate_p>.id)) return of_concatenation(n);
    if (is(n, primitive_of<dot_general_p>.id)) return of_product(n);
    if (is(n, primitive_of<mul_p>.id)) return in_both(operand(n, 0), operand(n, 1));
    if (is(n, primitive_of<add_p>.id) || is(n, primitive_of<sub_p>.id)) return in_either(operand(n, 0), operand(n, 1), dims);
    if (is(n, primitive_of<select_p>.id)) return in_either(operand(n, 1), operand(n, 2), dims);
    if (g_[n].operand_count == 0 || !operand(n, 0).is_known) return {};
    if (is(n, primitive_of<neg_p>.id) || is(n, primitive_of<div_p>.id) || is(n, primitive_of<symmetric_p>.id)) return operand(n, 0);
    if (is(n, primitive_of<broadcast_in_dim_p>.id) || is(n, primitive_of<transpose_p>.id)) return of_moved_axes(n);
    if (is(n, primitive_of<slice_p>.id)) return of_slice(n);
    if (is(n, primitive_of<reshape_p>.id)) return of_reshape(n);
    if (operand(n, 0).is_zero() && g_[n].op->kind == role::view) return sparsity::along({}, dims);
    return {};
  }
  /// One where the first index is the number of the element.
  static constexpr sparsity of_basis(const shape& dims) {
    sparsity s = sparsity::along(axes_from(0, dims.rank), dims);
    extent number = 0;
    each_element(dims, {0}, [&](shape index) {
      index[0] = number++;
      s.mark(index);
    });
    return s;
  }
  static constexpr shape of_either(shape a, const shape& b) {
    for (extent i : b)
      if (!a.contains(i)) a.push_back(i);
    return a;
  }
  static constexpr sparsity in_both(const sparsity& a, const sparsity& b) {
    if (!a.is_known || b.is_zero()) return b;
    if (!b.is_known || a.axes != b.axes) return a;
    sparsity s = a;
    s.marked.clear();
    for (extent m : a.marked)
      for (extent other : b.marked)
        if (m == other) s.marked.push_back(m);
    return s;
  }
  /// Adds to `to`, of arrays with these extents, what `from` marks, at `distance` along an axis, where it is `length` long.
  static constexpr void add(sparsity& to, const sparsity& from, const shape& dims, int axis = -1, extent distance = 0, extent length = 0) {
    shape missing, extents;  // axes along which `from` repeats itself
    for (int i = 0; i < to.axes.rank; ++i)
      if (!from.axes.contains(to.axes[i])) missing.push_back(to.axes[i]), extents.push_back(to.axes[i] == axis ? length : to.dims[i]);
    from.each(dims.rank, [&](shape index) {
      if (axis >= 0) index[axis] += distance;
      each_element(extents, {}, [&](const shape& at) {
        for (int i = 0; i < at.rank; ++i) index[int(missing[i])] = at[i] + (missing[i] == axis ? distance : 0);
        to.mark(index);
      });
    });
  }
  static constexpr sparsity in_either(const sparsity& a, const sparsity& b, const shape& dims) {
    if (a.is_zero()) return b;
    if (b.is_zero()) return a;
    if (!a.is_known || !b.is_known) return {};
    sparsity s = sparsity::along(of_either(a.axes, b.axes), dims);
    add(s, a, dims), add(s, b, dims);
    return s;
  }
  constexpr sparsity of_concatenation(int n) const {
    const int axis = int(g_.attribute(n, 0));
    const shape& dims = g_[n].dims;
    shape axes{axis};
    for (int k = 0; k < g_[n].operand_count; ++k) {
      if (!operand(n, k).is_known) return {};
      axes = of_either(axes, operand(n, k).axes);
    }
    sparsity s = sparsity::along(axes, dims);
    extent before = 0;
    for (int k = 0; k < g_[n].operand_count; ++k) {
      const extent own = dims_of(n, k)[axis];
      add(s, operand(n, k), dims, axis, before, own);
      before += own;
    }
    return s;
  }
  constexpr sparsity of_moved_axes(int n) const {
    const int rank = dims_of(n, 0).rank;
    shape places = filled(rank, 0);
    for (int i = 0; i < rank; ++i)
      if (is(n, primitive_of<transpose_p>.id)) places[int(g_.attribute(n, i))] = i;
      else places[i] = g_.attribute(n, g_[n].dims.rank + i);
    return moved(operand(n, 0), places, g_[n].dims);
  }
  /// That of an array with extents `to` of which x's axes are those that `places` says; -1: none.
  static constexpr sparsity moved(const sparsity& x, const shape& places, const shape& to) {
    shape axes;
    for (extent i : x.axes)
      if (places[int(i)] >= 0) axes.push_back(places[int(i)]);
    sparsity s = sparsity::along(axes, to);
    shape own = filled(to.rank, 0);
    x.each(places.rank, [&](const shape& index) {
      for (extent i : x.axes)
        if (places[int(i)] >= 0) own[int(places[int(i)])] = index[int(i)];
      s.mark(own);
    });
    return s;
  }
  constexpr sparsity of_slice(int n) const {
    const sparsity& x = operand(n, 0);
    const shape& dims = g_[n].dims;
    sparsity s = sparsity::along(x.axes, dims);
    x.each(dims.rank, [&](shape index) {
      bool inside = true;
      for (extent i : x.axes) {
        const extent stride = g_.attribute(n, 2 * dims.rank + int(i)), from_start = index[int(i)] - g_.attribute(n, int(i));
        index[int(i)] = from_start / stride;
        inside = inside && from_start >= 0 && from_start % stride == 0 && index[int(i)] < dims[int(i)];
      }
      if (inside) s.mark(index);
    });
    return s;
  }
  /// Axes come apart, or together, in groups of as many elements.
  constexpr sparsity of_reshape(int n) const {
    const sparsity& x = operand(n, 0);
    const shape &from = dims_of(n, 0), &to = g_[n].dims;
    if (to.size() == 0) return sparsity::along({}, to);
    shape axes, own_axes;  // of groups that matter
    for (int i = 0, j = 0; i < from.rank || j < to.rank;) {
      const int i0 = i, j0 = j;
      extent before = 1, after = 1;
      bool matters = false;
      do {
        if (i < from.rank && (before <= after || j == to.rank)) matters = matters || x.axes.contains(i), before *= from[i++];
        else after *= to[j++];
      } while (before != after);
      for (int k = j0; k < j && matters; ++k) axes.push_back(k);
      for (int k = i0; k < i && matters; ++k)
        if (from[k] != 1) own_axes.push_back(k);
    }
    sparsity s = sparsity::along(axes, to), whole = sparsity::along(own_axes, from);
    add(whole, x, from);
    if (!whole.is_known || whole.axes != own_axes) return {};
    whole.each(from.rank, [&](const shape& index) {
      extent number = 0;
      for (int i = 0; i < from.rank; ++i) number = number * from[i] + index[i];
      shape own = filled(to.rank, 0);
      for (int i = to.rank; i-- > 0; number /= to[i]) own[i] = number % to[i];
      s.mark(own);
    });
    return s;
  }
  constexpr sparsity of_product(int n) const {
    const dot_dimensions d = dot_general_p::dimensions(call_at(g_, n));
    const int k = operand(n, 0).is_known && !operand(n, 1).is_zero() ? 0 : 1, rank = dims_of(n, k).rank;
    const sparsity& x = operand(n, k);
    if (!x.is_known) return {};
    const shape &batch = k == 0 ? d.lhs_batch : d.rhs_batch, free = k == 0 ? d.lhs_free(rank) : d.rhs_free(rank);
    const int before = batch.rank + (k == 0 ? 0 : d.lhs_free(dims_of(n, 0).rank).rank);
    shape places = filled(rank, -1);
    for (int i = 0; i < batch.rank; ++i) places[int(batch[i])] = i;
    for (int i = 0; i < free.rank; ++i) places[int(free[i])] = before + i;
    return moved(x, places, g_[n].dims);
  }
};

}  // namespace cotangent
