#pragma once
/// How a kernel's iteration space is cut into tasks. A function of extents and of the kernel alone, never of the
/// number of threads: that is what makes results bitwise reproducible.

#include <cotangent/compiler/kernel_facts.hpp>

namespace cotangent::host {

using namespace kernels;

/// How many neighbouring rows that share loads go through the lanes together.
inline constexpr int rows_together = 4;
/// The same of rows whose sums, and those across them, are to stay in registers.
inline constexpr int rows_both_ways = 2;

/// Tasks are (chunk of rows) x (block of lanes). A row is one index of the outer dimensions, in row-major order.
struct partition {
  extent rows = 1;
  extent lanes = 1;
  extent rows_per_chunk = 1;  // or per piece of a chunk
  extent lanes_per_block = 1;
  extent row_chunks = 1;
  extent lane_blocks = 1;
  bool folds = false;  // a chunk is two pieces, one as far from the first row as the other is from the last
  int depth = 0;  // chunk boundaries lie between indices of the first `depth` dimensions

  constexpr extent tasks() const { return row_chunks * lane_blocks; }
  /// The rows [first, last) of a chunk, or of its second piece.
  constexpr extent first_row(extent chunk, bool second = false) const { return smaller((second ? 2 * row_chunks - 1 - chunk : chunk) * rows_per_chunk, rows); }
  constexpr extent last_row(extent chunk, bool second = false) const { return smaller(first_row(chunk, second) + rows_per_chunk, rows); }

  /// Whether two chunks of rows, or two blocks of lanes, may add to one result of a reduction.
  constexpr bool rows_share(const reduce_facts& reduce) const {
    return row_chunks > 1 && (reduce.kept_dims & ((1u << depth) - 1)) != (1u << depth) - 1;
  }
  constexpr bool lanes_share(const reduce_facts& reduce) const {
    return lane_blocks > 1 && reduce.scope != reduction::keeps_lane;
  }
  /// How many partial results each result of a reduction has.
  constexpr extent copies(const reduce_facts& reduce) const {
    return (rows_share(reduce) ? row_chunks : 1) * (lanes_share(reduce) ? lane_blocks : 1);
  }
  /// Which of them a task adds to.
  constexpr extent copy(const reduce_facts& reduce, extent chunk, extent block) const {
    const bool by_lanes = lanes_share(reduce);
    return (rows_share(reduce) ? chunk : 0) * (by_lanes ? lane_blocks : 1) + (by_lanes ? block : 0);
  }
};

/// The number of results of a reduction.
constexpr extent results_of(int rank, const reduce_facts& reduce, const extent* extents) {
  extent n = 1;
  for (int d = 0; d < rank; ++d)
    if (reduce.kept_dims >> d & 1u) n *= extents[d];
  return n;
}

/// `extents` are those of the merged dimensions, `reductions` the kernel's.
constexpr partition partition_of(const kernel_shape& shape, int rank, const reduce_facts* reductions, const extent* extents) {
  constexpr extent task_work = extent(1) << 16;    // statements evaluated per task, at least: some microseconds
  const extent most_tasks = shape.shares_columns ? 1024 / rows_together : 1024;
  const extent enough_tasks = shape.choice > 0 ? 16 : shape.ascends ? 32 : 64;  // beyond it, sums are not cut further
  constexpr extent rows_of_stencils = 16;          // per task, where there are many
  constexpr extent lanes_at_once = 1024;           // shortest block of a row
  constexpr extent lanes_in_cache = 4096;          // longest block of results that rows are added to
  const int outer = rank > 0 ? rank - 1 : 0;

  partition p;
  p.lanes = rank > 0 ? extents[rank - 1] : 1;
  for (int d = 0; d < outer; ++d) p.rows *= extents[d];
  const extent points = p.rows * p.lanes;
  extent wanted = shape.scatters ? 1 : smaller(points / task_work * shape.work + points % task_work * shape.work / task_work, most_tasks);
  if (shape.choice > 0) wanted = divide_up(wanted, kernels::facts::rows_left_out);
  // A task's first and last rows share what they read with those of other tasks, which another core may have.
  if (shape.shares_rows && wanted > enough_tasks) {
    const extent long_tasks = divide_up(p.rows, rows_of_stencils);
    wanted = smaller(wanted, long_tasks > enough_tasks ? long_tasks : enough_tasks);
  }

  // What all reductions keep can be cut freely; what one of them sums over needs partial results.
  std::uint32_t kept_by_all = ~0u;
  bool adds_rows = false;
  extent most_copies = most_tasks;
  for (int k = 0; k < shape.reductions; ++k) {
    const reduce_facts& s = reductions[k];
    kept_by_all &= s.kept_dims;
    if (s.scope == reduction::keeps_lane && (s.kept_dims & ((1u << outer) - 1)) != (1u << outer) - 1) adds_rows = true;
    const extent results = results_of(rank, s, extents);
    if (results > 0) most_copies = smaller(most_copies, points / (8 * results));
  }

  extent chunks = 1, blocks = 1, prefix = 1;
  if (wanted > 1 && points > 0) {
    while (p.depth < outer && prefix < wanted && (kept_by_all >> p.depth & 1u)) prefix *= extents[p.depth++];
    chunks = smaller(prefix, wanted);
    const bool keeps_lane = rank > 0 && (kept_by_all >> (rank - 1) & 1u);
    if (keeps_lane) blocks = smaller(divide_up(wanted, chunks), divide_up(p.lanes, lanes_at_once));
    const extent more = divide_up(smaller(wanted, enough_tasks), chunks * blocks);
    if (more > 1) {
      const extent cuts = smaller(chunks * more, most_copies);
      extent longer = prefix;
      int depth = p.depth;
      while (depth < outer && longer < cuts) longer *= extents[depth++];
      if (cuts > chunks && longer > chunks) {
        p.depth = depth;
        prefix = longer;
        chunks = smaller(longer, cuts);
      }
      const extent rest = divide_up(smaller(wanted, enough_tasks), chunks * blocks);
      if (!keeps_lane && rest > 1) blocks = smaller(smaller(rest, most_copies / chunks), divide_up(p.lanes, lanes_at_once));
      if (blocks < 1) blocks = 1;
    }
  }
  if (shape.finds_places) blocks = 1;
  const extent rows_per_index = prefix > 0 ? p.rows / prefix : 0;
  // Where points begin at the diagonal, the last rows are the shortest.
  p.folds = shape.ascends && chunks > 1;
  const int pieces = p.folds ? 2 : 1;
  p.rows_per_chunk = divide_up(prefix, pieces * chunks) * rows_per_index;
  if (p.rows_per_chunk < 1) p.rows_per_chunk = 1;
  p.row_chunks = divide_up(divide_up(p.rows, p.rows_per_chunk), pieces);
  p.lanes_per_block = divide_up(divide_up(p.lanes, blocks), 64) * 64;
  if (adds_rows && !shape.scatters && !shape.finds_places) p.lanes_per_block = smaller(p.lanes_per_block, lanes_in_cache);
  if (p.lanes_per_block < 1) p.lanes_per_block = 1;
  p.lane_blocks = divide_up(p.lanes, p.lanes_per_block);
  return p;
}

}  // namespace cotangent::host
