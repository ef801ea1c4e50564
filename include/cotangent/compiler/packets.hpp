#pragma once
/// Packets: what is done to each of many instances by itself, but is too large for a per-instance program in registers, is done
/// to some instances at a time, whose arrays have the instances last, so that every operation works on whole vectors of them.

#include <cotangent/compiler/by_instance.hpp>
#include <cotangent/compiler/diagonals.hpp>
#include <cotangent/compiler/gathered_views.hpp>
#include <cotangent/compiler/instances.hpp>
#include <cotangent/compiler/merged_axes.hpp>
#include <cotangent/compiler/pairs.hpp>
#include <cotangent/compiler/phases.hpp>
#include <cotangent/compiler/points.hpp>
#include <cotangent/compiler/products_after_loops.hpp>
#include <cotangent/compiler/reduced_turns.hpp>
#include <cotangent/compiler/sparsity.hpp>

namespace cotangent {

/// A part of a graph that works instance by instance. Its body has `lanes` instances in place of all; the arrays in it that have
/// that extent as an axis lie with this axis last in memory. Attributes: those of call_form with one body, then the number of
/// instances, the lanes, per operand the axis of its instances, or -1 if all instances share it, and the same per result.
struct packets_p : compiled_part {
  static constexpr std::string_view name = "packets";
};

/// Rows of a table (all that lies behind an axis in front), as operand 1 says, whose last axis is that of a packet's lanes: of
/// shape [indices..., row..., lanes]. Whole rows are read, and their elements put into lanes in registers. As packets_p, it is
/// made when all transforms are done.
struct lane_rows_p {
  static constexpr std::string_view name = "lane_rows";
  static constexpr role kind = role::opaque;
  static constexpr void infer(call& c) {
    const shape &table = c[0].dims(), &index = c[1].dims();
    c.type = c[0].type(), c.dims = erase(index, index.rank - 1);
    for (int i = 1; i < table.rank; ++i) c.dims.push_back(table[i]);
    c.dims.push_back(index[index.rank - 1]);
  }
};

/// Finds the nodes of a graph that work instance by instance, where an axis of `instances` is that of the instances, and makes
/// packets of them.
class packet_program : by_instance {
 public:
  constexpr packet_program(const graph& g, extent instances) : by_instance(g, instances, 1 << 12) { find_stages(); }

  /// Whether rows of an array fill a small part of a vector, or few vectors.
  static constexpr bool has_short_rows(const shape& dims) {
    constexpr extent short_row = 16;
    return dims[dims.rank - 1] <= short_row;
  }
  /// How many elements of arrays are made by what gains from having the instances last; 0 if they are few.
  constexpr extent gain() const {
    constexpr extent least = 1 << 18, least_elements = 64;
    work all;
    for (const work& of : works()) all.elements += of.elements, all.slow += of.slow;
    return all.slow * count() < least || all.elements < least_elements ? 0 : all.slow * count();
  }

  /// The graph with packets.
  constexpr graph run() {
    builder b;
    b.simplifying = true, b.inlining = false;
    replay r(g_, b);
    copy_inputs(r);
    const sparsity_finder patterns(g_);
    const flag_list units = nodes_of_units(g_);
    const outside_uses used = find_outside_uses();
    for (int stage = 0; stage <= last_stage_; ++stage) {
      for (int n = 0; n < g_.size(); ++n)
        if (is_outside(n, stage)) r.copy(n);
      make_packets(r, patterns, units, used, stage);
    }
    return replayed(r);
  }

 private:
  /// A gather of long rows of a table along one axis of it.
  struct row_gather {
    int table_axis = -1;  // -1: it is none
    int index = -1;       // the node that says which row
    shape index_axes;     // the axes of the result that are those of `index`
    shape row_axes;       // those of the rows, in the table's order
  };
  constexpr row_gather rows_gathered(int n) const {
    constexpr extent long_row = 8;
    const node& x = g_[n];
    row_gather r;
    if (x.op->kind != role::gather || x.operand_count != 2 || is_aligned(n, 0)) return r;
    const shape& table = g_[g_.operand(n, 0)].dims;
    const addressing all = addresses(n);
    int along = -1;
    extent elements = 1;
    for (int i = 0; i < all.rank; ++i) {
      const auto [dimension, index] = all.axes[i];
      const bool chosen = dimension < 0 && index == 0 && along < 0;
      if (!chosen && (dimension < 0 || index >= 0 || r.row_axes.contains(dimension) || is_symbol(table[i]) || table[i] != x.dims[dimension])) return r;
      if (chosen) along = i;
      else r.row_axes.push_back(dimension), elements *= table[i];
    }
    r.index = g_.operand(n, 1);
    if (along < 0 || elements < long_row || g_[r.index].op_id != primitive_of<broadcast_in_dim_p>.id) return r;
    if (along > 0 && (is_symbol(table[along]) || table.size() > count() * elements_of(n))) return r;  // more to transpose than to read
    for (int k = x.dims.rank; k < g_[r.index].attribute_count; ++k) r.index_axes.push_back(g_.attribute(r.index, k));
    r.index = g_.operand(r.index, 0);
    bool fits = is_of_instances(r.index) && r.index_axes.rank + r.row_axes.rank == x.dims.rank;
    for (int i = 0; i < r.index_axes.rank; ++i)
      fits = fits && !r.row_axes.contains(r.index_axes[i]) && g_[r.index].dims[i] == x.dims[int(r.index_axes[i])];
    if (fits && r.index_axes[axis_of(r.index)] == axis_of(n)) r.table_axis = along;
    return r;
  }

  /// What node n reads as its operand k: a gather of long rows reads its indices before they are broadcast.
  constexpr int read_by(int n, int k) const {
    if (k == 1 && inside_[std::size_t(n)] && g_[n].op->kind == role::gather)
      if (const row_gather rows = rows_gathered(n); rows.table_axis >= 0) return rows.index;
    return g_.operand(n, k);
  }

  /// Whether kernels over the array as it is make poor use of vectors. What is computed point by point in rows of whole vectors does not.
  constexpr bool is_slow(int n) const {
    constexpr extent vector = 8;
    const node& x = g_[n];
    if (axis_of(n) == x.dims.rank - 1 || !has_short_rows(x.dims)) return false;
    return x.dims[x.dims.rank - 1] % vector != 0 || (x.op->kind != role::pointwise && x.op->kind != role::gather);
  }

  /// Elements of arrays that are made per instance, and those that kernels over arrays as they are make slowly.
  struct work {
    extent elements = 0, slow = 0;
  };
  /// Those of each stage.
  constexpr sequence<work> works() const {
    sequence<work> r(std::size_t(last_stage_) + 1, work());
    for (int n = 0; n < g_.size(); ++n) {
      if (!inside_[std::size_t(n)] || g_[n].op->kind == role::view || g_[n].op->kind == role::source || g_[n].op_id == primitive_of<reshape_p>.id) continue;
      work& of = r[std::size_t(stage_[std::size_t(n)])];
      of.elements += elements_of(n);
      if (is_slow(n)) of.slow += elements_of(n);
    }
    return r;
  }
  /// Finds the nodes and their stages. Where most of a stage is made otherwise, all of it is.
  constexpr void find_stages() {
    for (int n = 0; n < g_.size(); ++n) inside_[std::size_t(n)] = works_by_instance(n);
    for (bool all_gain = false; !all_gain;) {
      number_stages();
      all_gain = true;
      const sequence<work> all = works();
      for (int stage = 0; stage <= last_stage_ && all_gain; ++stage) {
        const work& w = all[std::size_t(stage)];
        if (w.elements == 0 || 2 * w.slow >= w.elements) continue;
        all_gain = false;
        for (int n = 0; n < g_.size(); ++n)
          if (is_in(n, stage)) inside_[std::size_t(n)] = false;
      }
    }
  }
  /// Which nodes of parts are used outside of them.
  struct outside_uses {
    flag_list leaves, repeated;  // results of their parts; what only repeats another node, and is made outside of that
  };
  constexpr outside_uses find_outside_uses() const {
    outside_uses r;
    r.leaves.assign(g_.nodes.size(), false), r.repeated.assign(g_.nodes.size(), false);
    const auto mark = [&](int o) { r.leaves[std::size_t(o)] = !is_number(o); };
    for (int n = 0; n < g_.size(); ++n)
      for (int k = 0; k < g_[n].operand_count; ++k)
        if (const int o = read_by(n, k); inside_[std::size_t(o)] && !(inside_[std::size_t(n)] && stage_[std::size_t(n)] == stage_[std::size_t(o)])) mark(o);
    for (int o : g_.outputs)
      if (inside_[std::size_t(o)]) mark(o);
    for (int n = g_.size(); n-- > 0;) {
      if (!r.leaves[std::size_t(n)] || g_[n].op_id != primitive_of<broadcast_in_dim_p>.id) continue;
      const int o = g_.operand(n, 0);
      r.leaves[std::size_t(n)] = false, r.repeated[std::size_t(n)] = true;
      if (is_in(o, stage_[std::size_t(n)])) mark(o);
    }
    return r;
  }
  /// Lanes that no array of a part has as another extent: whole vectors, fewer where an instance has much, for all to stay in a
  /// core's cache.
  constexpr extent lanes_for(const sequence<int>& nodes) const {
    constexpr extent most_bytes = 1 << 21, unit = 16;
    extent bytes = 0;
    for (int n : nodes)
      if (g_[n].op->kind != role::view) bytes += elements_of(n) * size_of(g_[n].type);
    extent lanes = 4 * unit;
    while (lanes > unit && bytes * lanes > most_bytes) lanes /= 2;
    const auto taken = [&] {
      for (int n : nodes) {
        if (own_dims(n).contains(lanes)) return true;
        for (int k = 0; k < g_[n].operand_count; ++k)
          if (own_dims(g_.operand(n, k)).contains(lanes)) return true;
      }
      return false;
    };
    while (taken()) lanes += unit;
    return lanes;
  }

  /// Whether most of what operand k of node n, a product, is multiplied with is multiplied with its zeros.
  constexpr bool is_mostly_zero(const sparsity_finder& patterns, int n, int k) const {
    if (g_[n].op_id != primitive_of<dot_general_p>.id || axis_of(g_.operand(n, k)) >= 0) return false;
    const sparsity& x = patterns[g_.operand(n, k)];
    if (!x.is_known || x.is_zero()) return false;
    const dot_dimensions d = dot_general_p::dimensions(call_at(g_, n));
    bool is_summed = false;
    for (extent axis : k == 0 ? d.lhs_contracted : d.rhs_contracted) is_summed = is_summed || x.axes.contains(axis);
    return is_summed;
  }
  /// The array x with a choice that says where it is zero.
  static constexpr value chosen_in(const sparsity& pattern, value x) {
    const shape dims = x.dims();
    sequence<std::uint64_t> bits;
    bits.assign(std::size_t(pattern.dims.size()), 0);
    for (extent m : pattern.marked) bits[std::size_t(m)] = 1;
    return select(broadcast_in_dim(dense(*x.b, dtype::boolean, pattern.dims, bits), dims, pattern.axes), x, zeros_like(x));
  }

  /// What stands for node o in the body of a stage. What repeats another array does so in the body.
  constexpr value operand_of(part_body& part, const replay& r, const flag_list& units, int stage, int o, bool is_own) const {
    if (units[std::size_t(o)]) return part.known(o);
    if (is_own && inside_[std::size_t(o)] && !is_in(o, stage) && g_[o].op_id == primitive_of<broadcast_in_dim_p>.id && !part[o]) {
      const int from = g_.operand(o, 0);
      part[o] = part.again(o, {operand_of(part, r, units, stage, from, axis_of(from) >= 0)});
    }
    return part.operand(o, r.map[std::size_t(o)], is_own ? axis_of(o) : -1);
  }

  constexpr void make_packets(replay& r, const sparsity_finder& patterns, const flag_list& units, const outside_uses& used, int stage) {
    sequence<int> nodes;
    for (int n = 0; n < g_.size(); ++n)
      if (is_in(n, stage)) nodes.push_back(n);
    if (nodes.empty()) return;
    const extent lanes = lanes_for(nodes);
    part_body part(g_, instances_, lanes);
    const auto operand = [&](int o, bool is_own) { return operand_of(part, r, units, stage, o, is_own); };
    /// The rows of lanes that gather n reads, from the table with its rows' axis in front.
    const auto rows_of_lanes = [&](int n, const row_gather& x) {
      const value whole = r.map[std::size_t(g_.operand(n, 0))], index = operand(x.index, true);
      shape table_axes{x.table_axis}, index_order;
      for (int i = 0; i < whole.rank(); ++i)
        if (i != x.table_axis) table_axes.push_back(i);
      const int lane = axis_of(x.index);
      for (int i = 0; i < index.rank(); ++i)
        if (i != lane) index_order.push_back(i);
      index_order.push_back(lane);
      const value table = part.input(transpose(whole, table_axes), -1);
      const value rows = emit<lane_rows_p>({table, transpose(index, index_order)});
      shape laid = erase(x.index_axes, lane), order = filled(rows.rank(), 0);  // the result's axes as those of `rows` lie
      for (extent axis : x.row_axes) laid.push_back(axis);
      laid.push_back(x.index_axes[lane]);
      for (int i = 0; i < laid.rank; ++i) order[int(laid[i])] = i;
      return transpose(rows, order);
    };
    sequence<int> results;  // nodes
    sequence<value> mapped;
    for (int n : nodes) {
      if (used.leaves[std::size_t(n)]) results.push_back(n);
      if (g_[n].op->kind == role::gather)
        if (const row_gather rows = rows_gathered(n); rows.table_axis >= 0) {
          part[n] = rows_of_lanes(n, rows);
          continue;
        }
      mapped.clear();
      for (int k = 0; k < g_[n].operand_count; ++k) {
        const value x = operand(g_.operand(n, k), is_aligned(n, k));
        mapped.push_back(is_mostly_zero(patterns, n, k) ? chosen_in(patterns[g_.operand(n, k)], x) : x);
      }
      part[n] = part.again(n, mapped);
    }
    call_form form;
    form.own = {instances_, lanes};
    for (extent axis : part.axes) form.own.push_back(axis);
    for (int n : results) {
      form.results.push_back({g_[n].type, g_[n].dims});
      form.own.push_back(axis_of(n));
      part.body.g.outputs.push_back(part[n].id);
    }
    form.bodies.push_back(r.to.add_subgraph(part.body.finish()));
    const sequence<value> made = emit_all<packets_p>(r.to, form, part.operands);
    for (std::size_t k = 0; k < made.size(); ++k) r.map[std::size_t(results[k])] = made[k];
    for (int n : nodes)
      if (used.repeated[std::size_t(n)]) r.copy(n);
  }
};

/// The extent of a graph whose axes are best taken as those of instances, or 0. Only those of arrays in short rows can gain, and not those of
/// two axes in front of a row of few elements, as of images, which may both be that: rows become their elements (compiler/short_rows.hpp).
constexpr extent packet_instances(const graph& g) {
  constexpr extent least = 256;
  const auto are_instances = [&](const shape& dims, int axis) {
    return axis >= 0 && axis + 1 < dims.rank && (is_symbol(dims[axis]) || dims[axis] >= least) && packet_program(g, dims[axis]).gain() > 0;
  };
  shape seen;
  extent best = 0, most = 0;
  for (const node& x : g.nodes) {
    if (x.dims.rank < 2 || !packet_program::has_short_rows(x.dims)) continue;
    for (int i = 0; i + 1 < x.dims.rank; ++i) {
      const extent e = x.dims[i];
      if ((!is_symbol(e) && e < least) || seen.contains(e) || seen.rank == max_rank) continue;
      seen.push_back(e);
      const extent gain = packet_program(g, e).gain();
      if (gain <= most) continue;
      const int other = i + 3 == x.dims.rank ? i + 1 : i + 2 == x.dims.rank ? i - 1 : -1;
      if (short_rows::has_short_rows(x.dims) && are_instances(x.dims, other)) continue;
      best = e, most = gain;
    }
  }
  return best;
}

/// The extent of instances of packets for the graph that `Make` returns, if it may have some.
template <class Make, bool Packets> inline constexpr extent packet_instances_of = 0;
template <class Make> inline constexpr extent packet_instances_of<Make, true> = packet_instances(Make{}());
/// That graph with packets of these instances.
template <class Make> struct make_packets {
  constexpr graph operator()() const {
    const graph g = Make{}();
    return packet_program(g, packet_instances_of<Make, true>).run();
  }
};
template <class Make> inline constexpr auto packets_graph = freeze<make_packets<Make>{}>();
template <class Make> struct thaw_packets {
  constexpr graph operator()() const { return thaw(packets_graph<Make>); }
};
/// The graph with packets for as many kinds of instances as gain by that. Each is an evaluation of its own: compilers limit those.
template <class Make, bool Gains, int Kinds = 3> struct packets_from {
  using make = Make;
};
template <class Make, int Kinds> requires(Kinds > 0) struct packets_from<Make, true, Kinds> {
  using next = thaw_packets<Make>;
  using make = typename packets_from<next, packet_instances_of<next, (Kinds > 1)> != 0, Kinds - 1>::make;
};
template <class Make> using with_packets = typename packets_from<Make, true>::make;
/// The body of packets of `Lanes` instances, which `Make` returns, as it runs.
template <class Make, extent Lanes> struct make_packet_body {
  constexpr graph operator()() const { return canonicalize(with_points_apart<Make, Lanes>{}(), true); }
};

/// The canonical graph of what `Made` returns, but for chunks. `Packets`: whether those that run it can run packets.
template <class Made, bool Packets> struct make_unchunked {
  constexpr graph operator()() const {
    using Make = with_views_moved<with_axes_merged<with_products_after_loops<with_turns_reduced<Made>>>>;
    if constexpr (is_per_instance_graph<Make>) return canonical(thaw(per_instance_graph<Make>));
    else return of_arrays<with_diagonals<Make>>();
  }

 private:
  /// The graph of a program that is not per instance as a whole.
  template <class Make> static constexpr graph of_arrays() {
    if constexpr (splits_loops<Make, may_split_graph<Make>>) return canonical(with_loops_split<Make>{}());
    else if constexpr (packet_instances_of<Make, Packets> != 0) return canonical(with_packets<Make>{}());
    else return canonical(Make{}());
  }
  /// On devices a pass for each direction of sums would cost more than half of the pairs.
  static constexpr graph canonical(graph g) {
    if constexpr (Packets) return canonicalize(with_transposes_undone(with_phases(with_each_pair_once(std::move(g)))));
    else return canonicalize(with_transposes_undone(with_phases(std::move(g))));
  }
};

}  // namespace cotangent
