#pragma once
/// Windows: arrays read at a constant distance from the point that is computed, as stencils and their adjoints do.
///
/// What is rolled is read around the end, and what is padded with zeros reads as zero outside: both cost a kernel no
/// memory. So that it need not be computed and stored before it is read at another place, a window moves towards what is
/// in memory: a roll of a pointwise result becomes the same operation on rolled operands where that is cheap, or where nothing else
/// uses the result.

#include <cotangent/compiler/canonical_operations.hpp>
#include <cotangent/transforms/simplify.hpp>

namespace cotangent {

/// x at another index: along each axis index i of the result is i + offset of x; where that lies outside of x, it is wrapped
/// around on axes that wrap, and zero on others. Attributes: the result's extents, the offsets, and whether each axis wraps.
struct window_p : view_primitive {
  static constexpr std::string_view name = "window";
  static constexpr shape part(const call& c, int k) { return c.list(k * (c.attribute_count / 3), c.attribute_count / 3); }
  static constexpr void infer(call& c) { c.type = c[0].type(), c.dims = part(c, 0); }
  static constexpr buffer_access view(const call&, const buffer_access& in) { return in; }
};

/// What a window does with an array.
struct window_form {
  shape dims, offsets, wraps;

  /// Whether axis i, of extent n before, is left as it is.
  constexpr bool keeps(int i, extent n) const { return offsets[i] == 0 && dims[i] == n; }
  /// Whether all of it is there in the result.
  constexpr bool shows_all(int i, extent n) const { return !is_symbol(n) && !is_symbol(dims[i]) && offsets[i] <= 0 && n <= dims[i] + offsets[i]; }
  constexpr bool only_wraps() const { return !wraps.contains(0); }
};

/// Whether the primitive with this id shows a window of an array.
constexpr bool shows_window(std::uint64_t id) { return id == primitive_of<pad_p>.id || id == primitive_of<roll_p>.id; }
/// Whether it may write one.
constexpr bool is_window_update(std::uint64_t id) { return id == primitive_of<scatter_p>.id || id == primitive_of<scatter_add_p>.id; }

/// Values of a graph in the making that one window shows and nothing else uses, directly or through pointwise operations.
class shown_once {
 public:
  /// Finds them in a graph with pads or rolls, given how often each node is used.
  constexpr void find(const graph& g, const sequence<int>& uses) {
    of_graph_.assign(g.nodes.size(), false);
    for (int n = g.size(); n-- > 0;) {
      const node& x = g.nodes.items[n];
      const bool updates = is_window_update(x.op_id), window = updates || shows_window(x.op_id);
      if (!window && (!of_graph_.items[n] || x.is_input() || x.op->kind != role::pointwise)) continue;
      for (int k = updates; k < (updates ? 2 : x.operand_count); ++k) of_graph_.items[g.operand(n, k)] = uses.items[g.operand(n, k)] == 1;
    }
  }
  /// Value v was made for node n of the graph.
  constexpr void made(int n, value v) {
    if (!of_graph_.items[n]) return;
    while (int(made_.size()) <= v.id) made_.push_back(false);
    made_[std::size_t(v.id)] = true;
  }
  constexpr bool contains(value v) const { return v.id < int(made_.size()) && made_[std::size_t(v.id)]; }

 private:
  flag_list of_graph_, made_;  // per node of the graph, and of the one in the making
};

/// How many operations it takes to compute x again from what is in memory, as far as that is not more than `most`.
constexpr double cost_again(value x, const shown_once& once, double most) {
  const node& n = x.get();
  if (n.op_id == primitive_of<window_p>.id || n.op_id == primitive_of<broadcast_in_dim_p>.id) return cost_again({x.b, x.b->g.operand(x.id, 0)}, once, most);
  if (n.is_input() || n.op->kind != role::pointwise) return 0;
  double cost = once.contains(x) ? 0 : n.op->flops;
  for (int k = 0; k < n.operand_count && cost <= most; ++k) cost += cost_again({x.b, x.b->g.operand(x.id, k)}, once, most - cost);
  return cost;
}

/// Whether a pointwise operation is zero where its operands are, but for those that are numbers.
constexpr bool keeps_zero(const value& x) {
  const copied_call c(x);
  for (const value& v : c.own_operands)
    if (is_constant(v) && !is_calculable(constant_value(v))) return false;
  if (c.op->bilinear) return true;
  if (c.op->id == primitive_of<fma_p>.id) return !is_constant(c[2]);
  for (int k = 0; k < c.count; ++k)
    if (is_constant(c[k]) == (c.op->has.linear && c.op->linear(c, k))) return false;
  return true;
}

/// An iota of extents that are numbers, whose axis wraps: i + offset, or less or more by n where that lies outside of [0, n).
constexpr value wrapped_iota(value x, const window_form& w) {
  const int axis = int(x.b->g.attribute(x.id, x.rank()));
  const value i = iota(*x.b, x.type(), w.dims, axis);
  const extent n = x.dims()[axis], offset = wrapped_index(w.offsets[axis], n);
  if (offset == 0) return i;
  const value distance = full_like(i, double(offset)), back = full_like(i, double(offset - n));
  return select(lt(i, full_like(i, double(n - offset))), i + distance, i + back);
}

/// Whether an index of the result shows an element of an array of these extents. Null if extents are not numbers.
constexpr value shows_element(builder& b, const shape& dims, const window_form& w) {
  if (has_symbol(dims) || has_symbol(w.dims) || w.dims.size() >= extent(1) << 31) return {};
  value inside;
  for (int i = 0; i < w.dims.rank; ++i) {
    if (w.wraps[i] != 0) continue;
    const value index = iota(b, dtype::int32, w.dims, i);
    if (w.offsets[i] < 0) inside = both_hold(inside, ge(index, full_like(index, double(-w.offsets[i]))));
    if (w.dims[i] + w.offsets[i] > dims[i]) inside = both_hold(inside, lt(index, full_like(index, double(dims[i] - w.offsets[i]))));
  }
  return inside;
}

/// x through a window.
constexpr value windowed(value x, const window_form& w, const shown_once& once) {
  constexpr double cheap = 8;
  const node n = x.get();
  bool keeps_all = true;
  for (int i = 0; i < w.dims.rank; ++i) keeps_all = keeps_all && w.keeps(i, n.dims[i]);
  if (keeps_all) return x;
  if (n.op_id == primitive_of<constant_p>.id && w.only_wraps()) return constant_from_bits(*x.b, n.type, w.dims, n.bits);
  if (n.op_id == primitive_of<iota_p>.id && w.only_wraps() && !has_symbol(n.dims)) return wrapped_iota(x, w);
  if (n.op_id == primitive_of<window_p>.id) {  // one window in place of two, unless one wraps what the other cuts
    const copied_call c(x);
    const window_form inner{window_p::part(c, 0), window_p::part(c, 1), window_p::part(c, 2)};
    window_form both = w;
    bool fits = true;
    shape first = filled(w.dims.rank, 0), shown = c[0].dims();  // the part that the inner window shows, where that is not all
    for (int i = 0; i < w.dims.rank && fits; ++i) {
      const extent inside = shown[i];
      if (w.keeps(i, n.dims[i])) both.wraps[i] = inner.wraps[i];
      else if (!inner.keeps(i, inside)) {
        fits = inner.wraps[i] == w.wraps[i];
        if (w.wraps[i] != 0) fits = fits && n.dims[i] == inside;
        else if (fits && !inner.shows_all(i, inside)) {
          first[i] = std::max(inner.offsets[i], extent(0)), shown[i] = std::min(inside, inner.dims[i] + inner.offsets[i]) - first[i];
          fits = !is_symbol(inside) && !is_symbol(inner.dims[i]) && shown[i] > 0;
        }
      }
      both.offsets[i] += inner.offsets[i] - first[i];
    }
    if (fits) return windowed(shown == c[0].dims() ? c[0] : slice(c[0], first, shown, filled(first.rank, 1)), both, once);
  }
  if (!n.is_input() && n.op->kind == role::pointwise && n.operand_count > 0 && cost_again(x, once, cheap) <= cheap) {
    const bool zero_outside = w.only_wraps() || keeps_zero(x);
    const value inside = !zero_outside && once.contains(x) && w.dims.size() <= 2 * n.dims.size() ? shows_element(*x.b, n.dims, w) : value();
    if (zero_outside || inside.b) {
      copied_call c(x);
      for (value& v : c.own_operands) v = is_constant(v) ? constant_from_bits(*v.b, v.type(), w.dims, v.get().bits) : windowed(v, w, once);
      c.dims = w.dims;
      const value r = x.b->emit_inferred(c);
      return inside.b ? select(inside, r, full_like(r, 0)) : r;
    }
  }
  return emit<window_p>({x}, attribute_list{}.push(w.dims).push(w.offsets).push(w.wraps));
}

/// Whether a window along the last axis would meet an end of a row in most vectors.
constexpr bool has_short_rows(const shape& dims) { return dims.rank > 0 && !is_symbol(dims[dims.rank - 1]) && dims[dims.rank - 1] < 32; }

/// A roll by a number as a window, or as two slices put together along a short last axis; null if the number is not known.
constexpr value rolled(const call& c, const shown_once& once) {
  if (!is_constant(c[1])) return {};
  const int axis = int(roll_p::axis(c));
  const extent by = extent(constant_value(c[1])) * (roll_p::back(c) ? 1 : -1), n = c.dims[axis];
  window_form w{c.dims, filled(c.dims.rank, 0), filled(c.dims.rank, 1)};
  w.offsets[axis] = is_symbol(n) ? by : n == 0 ? 0 : wrapped_index(by, n);
  if (axis + 1 < c.dims.rank || !has_short_rows(c.dims) || w.offsets[axis] == 0) return windowed(c[0], w, once);
  const shape ones = filled(c.dims.rank, 1);
  shape head = c.dims, tail = c.dims;
  head[axis] = n - w.offsets[axis], tail[axis] = w.offsets[axis];
  return concatenate({slice(c[0], w.offsets, head, ones), slice(c[0], filled(c.dims.rank, 0), tail, ones)}, axis);
}
/// A pad with zeros, none between the elements, as a window, or null.
constexpr value padded_window(const call& c, const shown_once& once) {
  const shape low = pad_p::part(c, 0);
  if (!is_constant(c[1]) || constant_value(c[1]) != 0 || has_symbol(low) || !(pad_p::part(c, 2) == filled(low.rank, 0))) return {};
  if (low.rank > 0 && has_short_rows(c.dims) && !(c.dims[low.rank - 1] == c[0].dims()[low.rank - 1] && low[low.rank - 1] == 0)) return {};
  window_form w{c.dims, low, filled(low.rank, 0)};
  for (int i = 0; i < low.rank; ++i) w.offsets[i] = -low[i];
  return windowed(c[0], w, once);
}
/// Updates of much of an array, in a window at a place that is known, as a choice between them and what was there; or null.
constexpr value updated_window(const call& c, const shown_once& once) {
  constexpr extent much = 4;
  const shape updates = c[1].dims();
  if (!is_window_update(c.op->id) || has_symbol(c.dims) || has_symbol(updates) || updates.size() == 0 || updates.size() * much < c.dims.size()) return {};
  window_form w{c.dims, filled(c.dims.rank, 0), filled(c.dims.rank, 0)};
  shape dims;  // of the updates, with the axes along which they are one
  int next = 0;
  const addressing a = address_from(c, 1);
  for (int i = 0; i < a.rank; ++i) {
    const axis_address axis = a.axes[i];
    if (axis.index >= 0 && !is_constant(c[2 + axis.index])) return {};
    const extent start = axis.index >= 0 ? extent(constant_value(c[2 + axis.index])) : 0;
    if (axis.dimension >= 0 && axis.dimension != next++) return {};
    dims.push_back(axis.dimension >= 0 ? updates[axis.dimension] : 1), w.offsets[i] = -start;
    if (start < 0 || start + dims[i] > c.dims[i]) return {};
  }
  const int last = c.dims.rank - 1;
  if (next != updates.rank || (has_short_rows(c.dims) && !w.keeps(last, dims[last]))) return {};
  const value shown = is_constant(c[1]) ? constant_from_bits(*c.b, c.type, c.dims, c[1].get().bits) : windowed(reshape(c[1], dims), w, once);
  const value there = c.op->id == primitive_of<scatter_add_p>.id ? c[0] + shown : shown, inside = shows_element(*c.b, dims, w);
  return inside.b ? select(inside, there, c[0]) : there;
}
/// Whether x is a window, or computed from one point by point.
constexpr bool is_from_window(value x) {
  const node& n = x.get();
  if (n.op_id == primitive_of<window_p>.id) return true;
  if (n.is_input() || n.op->kind != role::pointwise) return false;
  for (int k = 0; k < n.operand_count; ++k)
    if (is_from_window({x.b, x.b->g.operand(x.id, k)})) return true;
  return false;
}
/// The part of x of extents `dims` that begins at `start`, from parts of the windows that x is computed from.
constexpr value part_of_windows(value x, const shape& start, const shape& dims, const shown_once& once) {
  if (is_constant(x)) return constant_from_bits(*x.b, x.type(), dims, x.get().bits);
  if (!is_from_window(x)) return slice(x, start, dims, filled(dims.rank, 1));
  copied_call c(x);
  if (c.op->id == primitive_of<window_p>.id) {
    window_form w{dims, window_p::part(c, 1), window_p::part(c, 2)};
    for (int i = 0; i < dims.rank; ++i) w.offsets[i] += start[i];
    return windowed(c[0], w, once);
  }
  for (value& v : c.own_operands) v = part_of_windows(v, start, dims, once);
  c.dims = dims;
  return x.b->emit_inferred(c);
}
/// Whether a call is a slice that can be one of windows.
constexpr bool cuts_window(const call& c) {
  return c.op->id == primitive_of<slice_p>.id && !has_symbol(slice_p::part(c, 0)) && slice_p::part(c, 2) == filled(c.dims.rank, 1);
}
/// A slice of what is cheap to compute again from windows, computed from parts of them: it need not be stored to be cut. Or null.
constexpr value sliced_window(const call& c, const shown_once& once) {
  constexpr double cheap = 16;
  if (!cuts_window(c) || cost_again(c[0], once, cheap) > cheap || !is_from_window(c[0])) return {};
  return part_of_windows(c[0], slice_p::part(c, 0), c.dims, once);
}

}  // namespace cotangent
