#pragma once
/// Extrema along long rows of computed arrays, as of all distances between two lists of points, in two steps: those of the zones of a row,
/// and the extremum of these. Where it lies, what is summed there alone, and the first few of a row are then found by looking again
/// at the zones that have it, and the array is never in memory.

#include <limits>

#include <cotangent/compiler/places.hpp>
#include <cotangent/graph/replay.hpp>
#include <cotangent/transforms/simplify.hpp>

namespace cotangent {

/// Rewrites the extrema of arrays [rows, length] that are computed of what a row has and what a column has.
class zone_pass {
 public:
  explicit constexpr zone_pass(const graph& g) : g_(g), r_(g, b_) {}

  /// The graph with zones, if nothing needs such an array otherwise.
  constexpr graph run() {
    zones_.assign(g_.nodes.size(), value{}), sorted_.assign(g_.nodes.size(), false);
    copy_inputs(r_);
    sequence<shape> replaced;
    for (int n = 0; n < g_.size(); ++n) {
      if (g_[n].is_input()) continue;
      const value v = rewritten(n);
      if (!v.b) r_.copy(n);
      else r_.map.items[n] = v;
      if (v.b && g_[g_.operand(n, 0)].dims.rank == 2) replaced.push_back(g_[g_.operand(n, 0)].dims);
    }
    if (replaced.empty()) return g_;
    graph with = replayed(r_);
    for (const node& n : with.nodes)
      for (const shape& dims : replaced)
        if (n.dims == dims) return g_;
    return with;
  }

 private:
  static constexpr extent fewest_rows = 64, most_first = 32;
  static constexpr int most_operations = 48;
  const graph& g_;
  builder b_;
  replay r_;
  sequence<value> zones_;  // per node: of an extremum, those of zones, [zones, rows]
  flag_list sorted_;       // per node: the first few of its rows are found in zones

  constexpr bool is(int n, std::uint64_t id) const { return g_[n].op_id == id; }
  constexpr value operand(int n, int k) const { return r_.map.items[g_.operand(n, k)]; }
  /// How long zones are: about 512 elements and a number of whole vectors, or 0.
  static constexpr extent length_of_zones(extent length) {
    constexpr extent middle = 512, farthest = 256, step = 16, fewest = 8;
    for (extent d = 0; d <= farthest && length >= fewest * middle; d += step)
      for (extent zone : {middle - d, middle + d})
        if (length % zone == 0) return zone;
    return 0;
  }

  constexpr value rewritten(int n) {
    if (is(n, primitive_of<reduce_min_p>.id) || is(n, primitive_of<reduce_max_p>.id)) {
      if (const int m = placed_extremum(g_, n); m >= 0) return zones_.items[m].b ? place(m) : value();
      if (g_[n].attribute_count == 1 && g_.attribute(n, 0) == 1 && may_have_zones(g_.operand(n, 0))) return extremum(n);
    }
    if (is(n, primitive_of<reduce_sum_p>.id)) {
      const int m = attained_by(g_.operand(n, 0));
      return m >= 0 && zones_.items[m].b && is_computed(g_.operand(n, 0)) ? sum(n, m) : value();
    }
    if (is(n, primitive_of<argsort_p>.id) && g_.attribute(n, 0) == 1 && g_.attribute(n, 2) == 1 && may_have_zones(g_.operand(n, 0))) return first_few(n);
    if (is(n, primitive_of<gather_p>.id) && sorted_.items[g_.operand(n, 0)]) return gathered(n);
    return {};
  }

  // ---- what has zones ----

  constexpr bool may_have_zones(int x) const {
    const shape& dims = g_[x].dims;
    return dims.rank == 2 && !has_symbol(dims) && dims[0] >= fewest_rows && length_of_zones(dims[1]) > 0 && is_computed(x);
  }
  constexpr bool is_computed(int x) const {
    int operations = 0;
    return g_[x].op_id != primitive_of<constant_p>.id && is_computed(x, operations);
  }
  constexpr bool is_computed(int x, int& operations) const {
    const node& n = g_[x];
    if (is(x, primitive_of<constant_p>.id)) return true;
    if (n.is_input()) return false;
    if (is(x, primitive_of<broadcast_in_dim_p>.id)) {
      const shape& from = g_[g_.operand(x, 0)].dims;
      return from.rank == 0 || (from.rank == 1 && from[0] == n.dims[int(g_.attribute(x, n.dims.rank))]);
    }
    if (n.op->kind != role::pointwise || ++operations > most_operations) return false;
    for (int k = 0; k < n.operand_count; ++k)
      if (!is_computed(g_.operand(x, k), operations)) return false;
    return true;
  }
  /// The extremum outside of whose places x is zero; -1 if there is none.
  constexpr int attained_by(int x, int depth = 8) const {
    if (is(x, primitive_of<convert_p>.id)) return extremum_compared<attains_p>(g_, g_.operand(x, 0)).extremum;
    if (depth == 0) return -1;
    if (is(x, primitive_of<neg_p>.id)) return attained_by(g_.operand(x, 0), depth - 1);
    if (!is(x, primitive_of<mul_p>.id)) return -1;
    const int m = attained_by(g_.operand(x, 0), depth - 1);
    return m >= 0 ? m : attained_by(g_.operand(x, 1), depth - 1);
  }

  // ---- computing an array at other places ----

  /// x with these dimensions, of what stands for a row's values, and for a column's, in them.
  template <class Row, class Column> constexpr value computed(int x, const shape& dims, const Row& row, const Column& column) {
    const node& n = g_[x];
    if (is(x, primitive_of<constant_p>.id)) return constant_from_bits(b_, n.type, dims, n.bits);
    if (is(x, primitive_of<broadcast_in_dim_p>.id)) {
      const value from = operand(x, 0);
      return from.rank() == 0 ? broadcast_in_dim(from, dims, {}) : g_.attribute(x, n.dims.rank) == 0 ? row(from) : column(from);
    }
    sequence<value> operands;
    for (int k = 0; k < n.operand_count; ++k) operands.push_back(computed(g_.operand(x, k), dims, row, column));
    return emit_again(r_.at(x), operands.data());
  }
  /// x in zones: [zones, rows, places in a zone].
  constexpr value in_zones(int x, extent length) {
    const shape from = g_[x].dims, dims{from[1] / length, from[0], length};
    return computed(
        x, dims, [&](value v) { return broadcast_in_dim(v, dims, {1}); },
        [&](value v) { return broadcast_in_dim(reshape(v, {dims[0], length}), dims, {0, 2}); });
  }
  /// x in zones chosen for each row: zones is [rows], or [rows, several].
  constexpr value in_chosen_zones(int x, extent length, value zones) {
    const extent count = g_[x].dims[1] / length;
    shape dims = zones.dims(), rows;
    for (int i = 0; i < dims.rank; ++i) rows.push_back(i);
    addressing a;
    a.push({-1, 0}), a.push({dims.rank, -1});
    dims.push_back(length);
    return computed(
        x, dims, [&](value v) { return broadcast_in_dim(v, dims, {0}); },
        [&](value v) { return gather(reshape(v, {count, length}), {broadcast_in_dim(zones, dims, rows)}, dims, a); });
  }

  // ---- what is found in zones ----

  constexpr value extremum(int n) {
    const int x = g_.operand(n, 0);
    call c = r_.at(n);
    const value all = in_zones(x, length_of_zones(g_[x].dims[1]));
    const auto reduced = [&](value v, extent axis) {
      call d = c;
      d.operands = &v, d.attributes = &axis;
      return b_.emit(d);
    };
    zones_.items[n] = reduced(all, 2);
    return reduced(zones_.items[n], 0);
  }

  /// The place of extremum m: in the first zone that has it.
  constexpr value place(int m) {
    const int x = g_.operand(m, 0);
    const value zones = zones_.items[m], zone = least_index(zones, r_.map.items[m], 0);
    const extent length = g_[x].dims[1] / zones.dims()[0];
    const value own = in_chosen_zones(x, length, zone);
    const value extreme = is(m, primitive_of<reduce_min_p>.id) ? reduce_min(own, {1}) : reduce_max(own, {1});
    return zone * full_like(zone, double(length)) + least_index(own, extreme, 1);
  }

  /// Sum n, of what is zero where extremum m is not attained, over the zones that have it. An extremum that is NaN is attained nowhere,
  /// and makes NaN of what is divided by the number of places.
  constexpr value sum(int n, int m) {
    const int x = g_.operand(n, 0);
    const value zones = zones_.items[m], extreme = r_.map.items[m];
    const shape from = g_[x].dims;
    const extent length = from[1] / zones.dims()[0];
    const auto attains = [&](value v) {
      const value spread = broadcast_in_dim(extreme, v.dims(), {1});
      return is(m, primitive_of<reduce_min_p>.id) ? le(v, spread) : ge(v, spread);
    };
    const value terms = in_zones(x, length);
    const value chosen = select(attains(in_zones(g_.operand(m, 0), length)), terms, zeros_like(terms));
    const value all = select(broadcast_in_dim(attains(zones), terms.dims(), {0, 1}), chosen, zeros_like(terms));
    const value nan = is_floating(g_[n].type) ? select(eq(extreme, extreme), zeros_like(extreme), full_like(extreme, std::numeric_limits<double>::quiet_NaN())) : zeros_like(extreme);
    if (g_.attribute(n, 0) == 1) return reduce_sum(all, {0, 2}) + nan;
    const value of_any = reduce_sum(nan, {0});
    if (g_[n].attribute_count == 2) return reduce_sum(all, {0, 1, 2}) + of_any;
    return reshape(reduce_sum(all, {1}), {from[1]}) + broadcast_in_dim(of_any, {from[1]}, {});
  }

  /// The indices of the greatest few of each row: they lie in as many zones, those of the greatest elements.
  constexpr value first_few(int n) {
    constexpr extent length = 256;
    constexpr int shift = 8, much = 4;
    const int x = g_.operand(n, 0);
    const extent rows = g_[x].dims[0], count = g_.attribute(n, 1);
    if (count > most_first || g_[x].dims[1] % length != 0 || g_[x].dims[1] < much * count * length) return {};
    sorted_.items[x] = true;
    const value greatest = transpose(reduce_max(in_zones(x, length), {2}), {1, 0});
    const value nearest = argsort(greatest, 1, count, true);
    const value zones = chosen_of_rows(nearest, argsort(nearest, 1, count, false));  // in their order, as equal elements are
    const value own = reshape(in_chosen_zones(x, length, zones), {rows, count * length});
    const value place = argsort(own, 1, count, true);
    const value zone = chosen_of_rows(zones, emit<shift_right_p>({place, full_like(place, double(shift))}));
    return zone * full_like(zone, double(length)) + emit<and_p>({place, full_like(place, double(length - 1))});
  }
  /// x[i, index[i, j]]
  static constexpr value chosen_of_rows(value x, value index) {
    addressing a;
    a.push({0, -1}), a.push({-1, 0});
    return gather(x, {index}, index.dims(), a);
  }
  /// What gather n reads, computed there.
  constexpr value gathered(int n) {
    const int x = g_.operand(n, 0);
    const call c = r_.at(n);
    const addressing a = gather_p::addresses(c);
    const shape dims = c.dims;
    const sequence<value> indices = index_operands(c, 1);
    for (int axis = 0; axis < 2; ++axis)
      if (a.axes[axis].index < 0 && (a.axes[axis].dimension < 0 || dims[a.axes[axis].dimension] != g_[x].dims[axis])) return {};
    const auto along = [&](int axis) {
      return [&, axis](value v) {
        const axis_address at = a.axes[axis];
        addressing own;
        own.push({at.dimension, at.index < 0 ? -1 : 0});
        if (at.index < 0) return v.dims() == dims ? v : broadcast_in_dim(v, dims, {at.dimension});
        return gather(v, {indices[std::size_t(at.index)]}, dims, own);
      };
    };
    return computed(x, dims, along(0), along(1));
  }
};

/// Whether a graph has extrema, or the order, of long rows of a computed array: a quick look.
constexpr bool may_have_zones(const graph& g) {
  constexpr extent long_row = 4096;
  for (int n = 0; n < g.size(); ++n) {
    const bool finds = g[n].op_id == primitive_of<reduce_min_p>.id || g[n].op_id == primitive_of<reduce_max_p>.id || g[n].op_id == primitive_of<argsort_p>.id;
    if (!finds || g[g.operand(n, 0)].is_input()) continue;
    for (extent e : g[g.operand(n, 0)].dims)
      if (!is_symbol(e) && e >= long_row) return true;
  }
  return false;
}

/// The canonical graph with zones where they gain.
constexpr graph with_zones(const graph& g) { return zone_pass(g).run(); }

}  // namespace cotangent
