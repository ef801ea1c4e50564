#pragma once
/// Chunks: what is done along a long axis, the samples of a data set, the points of a cloud, and ends in products that sum over that
/// axis, as gradients with respect to weights do, is done for some rows at a time, whose intermediate values stay in the cache. One pass
/// over the data computes all that needs the data.

#include <cotangent/compiler/packets.hpp>
#include <cotangent/compiler/zones.hpp>
#include <cotangent/control/scan_primitive.hpp>

namespace cotangent {

/// A part of a graph that works row by row along an axis, and sums over it. The bodies have some rows in place of all: body 0 as many as
/// a chunk has, body 1, if there is one, as many as the last chunk has. What a product sums is added by the body to what its result
/// holds; other sums of chunks are combined. Attributes: those of call_form, then the number of rows, the rows of a chunk, the fewest
/// rows that are worth sums of their own, the most such sums, per operand the axis of its rows, or -1 if all rows share it, and per
/// result the axis of its rows, or -1 if it is a sum.
struct chunks_p : compiled_part {
  static constexpr std::string_view name = "chunks";
};

/// Whether a turn of a loop makes what it makes of instances instance by instance, and nothing else depends on them.
class turn_by_instance : by_instance {
 public:
  constexpr turn_by_instance(const graph& turn, extent instances, extent most) : by_instance(turn, instances, most) {}
  constexpr bool fits() {
    for (int n = 0; n < g_.size(); ++n) {
      if (!is_shared(n) && !(g_[n].is_input() ? is_of_instances(n) : works_by_instance(n))) return false;
      for (int k = 0; k < g_[n].operand_count; ++k)
        if (axis_of(g_.operand(n, k)) >= 0 && (is_shared(n) || !is_aligned(n, k))) return false;
    }
    return true;
  }
};

/// What chunk_program looks for: chunks that gain of themselves, or the elements of a batch, one by one, if their bodies gain from chunks.
struct chunk_choices {
  extent most_sums = 64;  // sums of their own that tasks may have
  extent much = 8;        // times what rows share and add to is what their arrays must take
  bool by_element = false;
  bool trajectories = false;  // loops forward and back are worth chunks
  graph (*in_chunks)(const graph&) = nullptr;  // what runs in place of the body of an element; it has no nodes if that does not gain
};

/// Finds what is best done in chunks of an axis of extent `rows` of a canonical graph.
class chunk_program : by_instance {
 public:
  constexpr chunk_program(const graph& g, extent rows, chunk_choices choices = {})
      : by_instance(g, rows, choices.by_element ? 1 << 24 : 1 << 16), choices_(choices) { find_stages(); }

  /// The bytes that chunks keep in caches; 0 if there is nothing to do.
  constexpr extent gain() const {
    extent all = 0;
    for (int stage = 0; stage <= last_stage_; ++stage)
      if (!is_empty(stage)) all += count() * work_of(stage).row_bytes;
    return all;
  }

  /// How many passes over the rows there are.
  constexpr int passes() const {
    int passes = 0;
    for (int stage = 0; stage <= last_stage_; ++stage) passes += !is_empty(stage);
    return passes;
  }

  /// The graph with chunks; no nodes if the body of an element does not gain.
  constexpr graph run() {
    builder b;
    replay r(g_, b);
    in_rows_.assign(g_.nodes.size(), value());
    copy_inputs(r);
    for (int stage = 0; stage <= last_stage_; ++stage) {
      for (int n = 0; n < g_.size(); ++n)
        if (is_outside(n, stage)) r.copy(n);
      if (!is_empty(stage)) make_chunks(r, stage);
    }
    if (!gains_) return {};
    return replayed(r);
  }

 private:
  const chunk_choices choices_;
  bool gains_ = true;
  flag_list sums_;  // per node inside: whether it sums over the rows
  sequence<value> in_rows_;  // per node: its array with the last two axes swapped, if chunks read that

  constexpr bool is(int n, std::uint64_t op) const { return g_[n].op_id == op; }
  constexpr bool is_product(int n) const { return is(n, primitive_of<gemm_p>.id); }
  /// The axis of operand k of the product n that is its batch, its free or its contracted one, or -1.
  constexpr extent batch_axis(int n, int k) const { return g_.attribute(n, 3 * k); }
  constexpr extent free_axis(int n, int k) const { return g_.attribute(n, k == 0 ? 1 : 5); }
  constexpr extent contracted_axis(int n, int k) const { return g_.attribute(n, k == 0 ? 2 : 4); }

  /// Whether node n sums over the rows.
  constexpr bool sums(int n) const {
    const node& x = g_[n];
    if (choices_.by_element || x.is_input() || !is_shared(n)) return false;
    const auto is_rows = [&](int k, extent axis) { return axis >= 0 && is_of_instances(g_.operand(n, k)) && axis_of(g_.operand(n, k)) == axis; };
    if (is_product(n)) return is_rows(0, contracted_axis(n, 0)) && is_rows(1, contracted_axis(n, 1));
    if (x.op->kind != role::reduction || is_number(g_.operand(n, 0))) return false;  // the number of rows needs no rows
    for (int k = 0; k < x.attribute_count; ++k)
      if (is_rows(0, g_.attribute(n, k))) return true;
    return false;
  }
  /// Whether the rows are a batch of a product's, or free in one operand, with a matrix that they share as the other.
  constexpr bool multiplies(int n) const {
    if (!is_small(n)) return false;
    const auto is_rows = [&](int k, extent axis) { return is_of_instances(g_.operand(n, k)) && axis_of(g_.operand(n, k)) == axis; };
    switch (axis_of(n)) {
      case 0: return is_rows(0, batch_axis(n, 0)) && is_rows(1, batch_axis(n, 1));
      case 1: return is_rows(0, free_axis(n, 0)) && is_shared(g_.operand(n, 1));
      default: return is_rows(1, free_axis(n, 1)) && is_shared(g_.operand(n, 0));
    }
  }
  constexpr bool counts_rows(int n) const {
    return is(n, primitive_of<iota_p>.id) && is_small(n) && g_.attribute(n, g_[n].attribute_count - 1) == axis_of(n);
  }
  constexpr bool is_loop(int n) const { return is(n, primitive_of<scan_p>.id); }
  /// Whether all that the loop n makes of rows is made row by row, of carries, of what it has of each turn and of what all turns share.
  constexpr bool loops_by_row(int n) {
    const call_form form(g_, n);
    const graph& turn = g_.subgraphs[std::size_t(form.bodies[0])];
    if (!choices_.trajectories || form.own[0] == instances_ || turn.subgraphs.size() > 0 || turn.symbols.size() > 0) return false;
    for (const call_form::result& r : form.results)
      if (r.dims.contains(instances_) && only_axis(r.dims, instances_) < 0) return false;
    for (int k = 0; k < g_[n].operand_count; ++k)
      if (const int o = g_.operand(n, k); !is_shared(o) && !is_of_instances(o)) return false;
    return turn_by_instance(turn, instances_, most_elements_).fits();
  }
  constexpr bool works_by_row(int n) {
    if (is_loop(n)) return loops_by_row(n);
    if (is_result(n)) return inside_[std::size_t(g_.operand(n, 0))];
    if (is_product(n)) return multiplies(n);
    if (is(n, primitive_of<iota_p>.id)) return is_small(n);
    return !is(n, primitive_of<window_p>.id) && works_by_instance(n);
  }

  /// What a stage does per row, and what all rows share.
  struct work {
    extent row_bytes = 0, kept_bytes = 0;    // that would go through memory; of products' results and what is read, which a chunk keeps
    extent shared_bytes = 0, sum_bytes = 0;  // of matrices, and of what is summed
    extent apart_bytes = 0, pieces = 0;      // of arrays in memory of which some rows are several pieces: per row, and how many pieces
    double flops = 0;                        // per row
    bool sums_products = false;              // of what is made of each row, or of rows that lie one after the other
    bool has_trajectories = false;           // what a loop keeps of each turn for another
    bool reads_rows = false;
  };
  constexpr work work_of(int stage) const {
    work w;
    flag_list counted;
    counted.assign(g_.nodes.size(), false);
    const auto count_once = [&](int n, extent& bytes, extent elements) {
      const extent more = counted[std::size_t(n)] ? 0 : elements * size_of(g_[n].type);
      counted[std::size_t(n)] = true;
      bytes += more;
      return more;
    };
    flag_list seen_apart = counted;
    const auto count_apart = [&](int n) {
      const extent pieces = pieces_of(n);
      if (!seen_apart[std::size_t(n)] && pieces > 1) w.apart_bytes += elements_of(n) * size_of(g_[n].type), w.pieces += pieces;
      seen_apart[std::size_t(n)] = true;
    };
    const flag_list leaves = leaves_of(stage);
    for (int n = 0; n < g_.size(); ++n) {
      if (!is_in(n, stage)) continue;
      const node& x = g_[n];
      if (leaves[std::size_t(n)] && !sums_[std::size_t(n)] && axis_of(n) >= 0) count_apart(n);
      double terms = x.op->flops;
      for (int k = 0; k < x.operand_count; ++k) {
        const int o = g_.operand(n, k);
        const bool of_rows = is_aligned(n, k) && axis_of(o) >= 0, made_here = is_in(o, stage);
        if (of_rows && made_here && is_product(n) && sums_[std::size_t(n)]) w.sums_products = true;
        const bool is_trajectory = of_rows && made_here && is_loop(n) && is_result(o) && axis_of(o) > 0;
        if (is_trajectory) w.has_trajectories = true;
        if (of_rows && (is_product(n) || is_trajectory || !made_here) && !is_number(o)) {
          const extent more = count_once(o, w.row_bytes, elements_of(o));
          if (!made_here || is_product(o) || is_trajectory) w.kept_bytes += more;
        }
        if (!of_rows && !made_here && !is_number(o)) count_once(o, w.shared_bytes, all_elements_of(o));
        if (of_rows && !made_here && !is_number(o)) w.reads_rows = true, count_apart(o);
      }
      if (is_product(n)) {
        if (sums_[std::size_t(n)] && (contracted_axis(n, 0) == 0 && contracted_axis(n, 1) == 0)) w.sums_products = true;
        const extent axis = contracted_axis(n, 0);
        terms = 2 * gemm_p::share(g_.attributes.items + x.attributes, x.attribute_count);
        if (axis >= 0 && !sums_[std::size_t(n)]) terms *= double(g_[g_.operand(n, 0)].dims[int(axis)]);
      }
      if (sums_[std::size_t(n)]) w.sum_bytes += g_[n].dims.size() * size_of(x.type);
      else if (is_product(n)) w.kept_bytes += count_once(n, w.row_bytes, elements_of(n));
      const bool sums_rows = sums_[std::size_t(n)];
      if (is_loop(n)) w.flops += operations_of_loop(n);
      else if (!is_result(n)) w.flops += terms * double(!sums_rows ? elements_of(n) : is_product(n) ? x.dims.size() : elements_of(g_.operand(n, 0)));
    }
    return w;
  }
  /// How many pieces of memory some rows of node n's array are.
  constexpr extent pieces_of(int n) const {
    extent pieces = 1;
    for (int i = 0; i < axis_of(n); ++i) pieces *= is_symbol(g_[n].dims[i]) ? run_time_count : g_[n].dims[i];
    return pieces;
  }
  /// Of all turns, per row.
  constexpr double operations_of_loop(int n) const {
    const call_form form(g_, n);
    double operations = 0;
    for (const node& x : g_.subgraphs[std::size_t(form.bodies[0])].nodes)
      if (!x.is_input() && x.dims.contains(instances_)) operations += x.op->flops * double(erase(x.dims, only_axis(x.dims, instances_)).size());
    return operations * double(form.own[0]);
  }
  /// Whether a stage is better done in chunks: its arrays are larger than the caches that cores have for themselves, and much larger than
  /// what each chunk uses and adds to; and, without loops, most are not to be cut into short pieces, as those of features of samples would be.
  constexpr bool gains(const work& w) const {
    constexpr extent least_bytes = 1 << 20, short_piece = 1024;
    const extent bytes = count() * w.row_bytes, rows = rows_of_chunk(w);
    const bool few_pieces = 2 * w.apart_bytes <= w.row_bytes || rows * w.apart_bytes >= short_piece * w.pieces;
    return (w.has_trajectories || (w.sums_products && few_pieces)) && bytes >= least_bytes && bytes >= choices_.much * (w.shared_bytes + w.sum_bytes) && 2 * rows <= count() && (w.reads_rows || !is_symbol(instances_));
  }
  /// Rows of which the arrays fit into a cache, more where what they share needs one anyway. A divisor of all where there is one, best one
  /// of whole vectors and tiles of products.
  constexpr extent rows_of_chunk(const work& w) const {
    constexpr extent near_bytes = 1 << 18, trajectory_bytes = 1 << 19, far_bytes = 1 << 23, least = 16, most = 1 << 12, unit = 8;
    const auto between = [](extent x, extent low, extent high) { return x < low ? low : x > high ? high : x; };
    const extent bytes = between(w.shared_bytes + w.sum_bytes, w.has_trajectories ? trajectory_bytes : near_bytes, far_bytes);
    const extent wanted = between(bytes / (w.kept_bytes > 0 ? w.kept_bytes : 1), least, most) / unit * unit;
    if (is_symbol(instances_)) return wanted;
    for (extent part = unit; part > 0; part /= 2)
      for (extent rows = (wanted + wanted / 4) / part * part; rows > wanted / 2; rows -= part)
        if (count() % rows == 0) return rows;
    return wanted;
  }
  /// Finds the nodes and their stages. What does not gain is done as it was.
  constexpr void find_stages() {
    sums_.assign(g_.nodes.size(), false);
    for (int n = 0; n < g_.size(); ++n) {
      sums_[std::size_t(n)] = sums(n);
      inside_[std::size_t(n)] = sums_[std::size_t(n)] || works_by_row(n);
    }
    for (bool all_gain = false; !all_gain;) {
      number_stages();
      all_gain = true;
      flag_list gain;  // per stage: only those with products that sum over the rows may
      gain.assign(std::size_t(last_stage_) + 1, false);
      for (int n = 0; n < g_.size(); ++n)
        if (inside_[std::size_t(n)] && (is_loop(n) || ((sums_[std::size_t(n)] || choices_.by_element) && is_product(n)))) gain[std::size_t(stage_[std::size_t(n)])] = true;
      for (int stage = 0; stage <= last_stage_; ++stage) gain[std::size_t(stage)] = gain[std::size_t(stage)] && (choices_.by_element || gains(work_of(stage)));
      for (int n = 0; n < g_.size(); ++n) {
        if (!inside_[std::size_t(n)] || gain[std::size_t(stage_[std::size_t(n)])]) continue;
        inside_[std::size_t(n)] = false, all_gain = false;
      }
      all_gain = leave_out_shared_results() && all_gain;
    }
  }
  /// A loop whose result that is not of rows goes anywhere but into another loop of its stage is done as it was. Returns whether there is none.
  constexpr bool leave_out_shared_results() {
    bool none = true;
    const auto leave_out = [&](int result) {
      if (!is_result(result) || !inside_[std::size_t(result)] || axis_of(result) >= 0) return;
      const int loop = g_.operand(result, 0);
      inside_[std::size_t(loop)] = none = false;
      for (int n = loop; n < g_.size(); ++n)
        if (is_result(n) && g_.operand(n, 0) == loop) inside_[std::size_t(n)] = false;
    };
    for (int n = 0; n < g_.size(); ++n)
      for (int k = 0; k < g_[n].operand_count; ++k)
        if (const int o = g_.operand(n, k); !(is_loop(n) && is_in(n, stage_[std::size_t(o)]))) leave_out(o);
    for (int o : g_.outputs) leave_out(o);
    return none;
  }

  constexpr void make_chunks(replay& r, int stage) {
    const work w = work_of(stage);
    const flag_list leaves = leaves_of(stage);
    const extent rows = choices_.by_element ? 1 : rows_of_chunk(w), rest = is_symbol(instances_) ? 0 : count() % rows;
    const double flops_of_sums = 80.0 * double(w.sum_bytes);  // what sums of their own cost is a small part of as many
    constexpr extent bytes_of_sums = 1 << 24;
    const extent fit = w.sum_bytes > 0 ? bytes_of_sums / w.sum_bytes : choices_.most_sums, sums = fit < 2 ? 2 : fit;
    call_form form;
    form.own = {instances_, rows, 1 + extent(flops_of_sums / (w.flops + 1)), sums > choices_.most_sums ? choices_.most_sums : sums};
    part_body part(g_, instances_, is_symbol(instances_) ? 0 : rows);
    const sequence<int> results = fill(part, r, stage, leaves);
    graph body = remove_dead(part.body.finish());
    if (choices_.by_element) body = choices_.in_chunks(body);
    gains_ = gains_ && body.size() > 0;
    form.bodies.push_back(r.to.add_subgraph(std::move(body)));
    if (rest > 0) {
      part_body last(g_, instances_, rest);
      fill(last, r, stage, leaves);
      form.bodies.push_back(r.to.add_subgraph(remove_dead(last.body.finish())));
    }
    for (extent axis : part.axes) form.own.push_back(axis);
    for (int n : results) {
      form.results.push_back({g_[n].type, g_[n].dims});
      form.own.push_back(sums_[std::size_t(n)] ? -1 : axis_of(n));
    }
    const sequence<value> made = emit_all<chunks_p>(r.to, form, part.operands);
    for (std::size_t k = 0; k < made.size(); ++k) r.map[std::size_t(results[k])] = made[k];
  }
  /// The nodes of a stage, into a body whose first input is the number of its first row. Returns those that are its results.
  constexpr sequence<int> fill(part_body& part, replay& r, int stage, const flag_list& leaves) {
    sequence<int> results, loops;
    sequence<sequence<value>> results_of_loops;
    sequence<value> mapped;
    const auto operand = [&](int n, int k) {
      const int o = g_.operand(n, k);
      if (is_result(o) && is_in(o, stage)) return part[o];
      return part.operand(o, r.map[std::size_t(o)], is_aligned(n, k) ? axis_of(o) : -1);
    };
    const value first = part.body.input(dtype::int32, {});
    for (int n = 0; n < g_.size(); ++n)  // run-time numbers of rows come from the first operand
      for (int k = 0; is_in(n, stage) && k < g_[n].operand_count; ++k)
        if (const int o = g_.operand(n, k); is_aligned(n, k) && !is_in(o, stage) && !is_number(o)) operand(n, k);
    for (int n = 0; n < g_.size(); ++n) {
      if (!is_in(n, stage)) continue;
      mapped.clear();
      const bool in_rows = shares_columns(n, stage);
      for (int k = 0; k < g_[n].operand_count && !is_result(n); ++k) mapped.push_back(k == 1 && in_rows ? part.input(put_into_rows(r, g_.operand(n, 1)), -1) : operand(n, k));
      value& v = part[n];
      if (is_loop(n)) {
        loops.push_back(n), results_of_loops.push_back(part.loop_again(n, mapped));
        continue;
      }
      if (is_result(n)) {
        for (std::size_t i = 0; i < loops.size(); ++i)
          if (loops[i] == g_.operand(n, 0)) v = results_of_loops[i][std::size_t(g_.attribute(n, 0))];
      } else if (is_product(n)) v = product(n, mapped[0], mapped[1], in_rows, leaves[std::size_t(n)]);
      else v = part.again(n, mapped);
      if (counts_rows(n)) v = v + broadcast_in_dim(convert(first, v.type()), v.dims(), shape{});
      if (!leaves[std::size_t(n)]) continue;
      results.push_back(n);
      part.body.g.outputs.push_back(v.id);
    }
    return results;
  }
  /// Whether the product n multiplies rows with matrices that they share and that lie in columns: each chunk would put them into rows.
  constexpr bool shares_columns(int n, int stage) const {
    if (!is_product(n) || sums_[std::size_t(n)]) return false;
    const int o = g_.operand(n, 1), last = g_[o].dims.rank - 1;
    return is_shared(o) && !is_in(o, stage) && !is(o, primitive_of<constant_p>.id) && last > 0 && contracted_axis(n, 1) == last && free_axis(n, 1) == last - 1;
  }
  /// The array of node o with its last two axes swapped: once, before all chunks.
  constexpr value put_into_rows(replay& r, int o) {
    value& in_rows = in_rows_[std::size_t(o)];
    if (!in_rows) in_rows = transposed_matrices(r.map[std::size_t(o)]);
    return in_rows;
  }
  /// The product n of some rows, added to the sum that a result is. Of a matrix that has rows along a side, the part outside of its triangle
  /// is another in each chunk.
  constexpr value product(int n, value left, value right, bool in_rows, bool is_leaf) const {
    const bool along_left = axis_of(n) == 1, along_right = axis_of(n) == 2, sums = sums_[std::size_t(n)];
    product_triangles t = gemm_p::triangles(g_.attributes.items + g_[n].attributes, g_[n].attribute_count);
    if (along_left || sums) t.a = matrix_part::whole;
    if (along_right || sums) t.b = matrix_part::whole;
    if (along_left || along_right) t.c = matrix_part::whole;
    shape axes;
    for (int k = 0; k < 6; ++k) axes.push_back(g_.attribute(n, in_rows && k >= 4 ? 9 - k : k));
    return gemm_p::made(left, right, axes, t, sums && is_leaf);
  }
};

/// The extent of a canonical graph whose axes are best cut into chunks, or 0.
constexpr extent chunked_rows(const graph& g) {
  constexpr extent least = 256;
  shape seen;
  extent best = 0, most = 0;
  for (int n = 0; n < g.size(); ++n) {
    if (g[n].op_id != primitive_of<gemm_p>.id) continue;
    const extent axis = g.attribute(n, 2), rows = axis < 0 ? 1 : g[g.operand(n, 0)].dims[int(axis)];
    if ((!is_symbol(rows) && rows < least) || seen.contains(rows) || seen.rank == max_rank) continue;
    seen.push_back(rows);
    if (const extent gain = chunk_program(g, rows).gain(); gain > most) best = rows, most = gain;
  }
  return best;
}

/// Whether a graph has products that sum over a long axis of computed arrays, or over the first one of others: what chunks are for.
constexpr bool may_have_chunks(const graph& g) {
  constexpr extent least = 256;
  for (int n = 0; n < g.size(); ++n) {
    if (g[n].op_id != primitive_of<dot_general_p>.id) continue;
    const dot_dimensions d = dot_general_p::dimensions(call_at(g, n));
    const bool computed = !g[g.operand(n, 0)].is_input() || !g[g.operand(n, 1)].is_input();
    for (int i = 0; i < d.lhs_contracted.rank; ++i)
      if (const extent rows = g[g.operand(n, 0)].dims[int(d.lhs_contracted[i])]; (is_symbol(rows) || rows >= least) && (computed || d.lhs_contracted[i] + d.rhs_contracted[i] == 0)) return true;
  }
  return false;
}

template <class Whole> inline constexpr auto unchunked_graph = freeze<Whole{}>();
template <class Made, bool Chunks> inline constexpr bool may_have_chunks_graph = false;
template <class Made> inline constexpr bool may_have_chunks_graph<Made, true> = may_have_chunks(Made{}());
template <class Made, bool Zones> inline constexpr bool may_have_zones_graph = false;
template <class Made> inline constexpr bool may_have_zones_graph<Made, true> = may_have_zones(Made{}());
template <class Whole, bool MayHave> inline constexpr extent chunked_rows_of = 0;
template <class Whole> inline constexpr extent chunked_rows_of<Whole, true> = chunked_rows(thaw(unchunked_graph<Whole>));

}  // namespace cotangent
