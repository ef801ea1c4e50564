#pragma once
/// Running kernel types on the CPU: rows of vectors, and tasks.

#include <limits>

#include <cotangent/backends/cpu/reductions.hpp>
#include <cotangent/backends/cpu/threads.hpp>

namespace cotangent::host {
inline namespace COTANGENT_ISA {

/// How a kernel's rows are walked.
struct lane_plan {
  extent lanes = 1;             // -1 if known only at run time
  int width = 1;                // lanes per register: those of a native vector of the widest type, or fewer
  int unroll = 1;               // vectors per iteration: independent sums hide the latency of adding
  bool pairs = false;           // two vectors go statement by statement and share their sums
  int together = 1;             // rows that go through the lanes together, as they share loads
  bool sums_lanes = false;      // some reduction is over the lanes
  bool grouped = false;         // see sums_groups_of_rows
  bool both_ways = false;       // see sums_both_ways
  bool keeps_columns = false;   // results that keep the lanes are in registers while a row, or a group of them, goes through the lanes
  bool has_fixed = false;       // some statement does not depend on the lane
  bool whole = false;           // short rows of whole vectors: nothing is masked
  bool has_inner = false;       // most vectors see windows along the lanes inside of their rows, or are ahead of the diagonal: those run without a look at it
  bool always_partial = false;  // a long kernel is instantiated once, every access masked, to halve compile time
};
template <class Layout, class Reductions> inline constexpr lane_plan plan_of = [] {
  constexpr merged_dims dims = Layout::dims;
  lane_plan p;
  if (dims.rank > 0)
    for (int i = dims.first[dims.outer()]; i <= dims.last[dims.outer()]; ++i)
      p.lanes = p.lanes < 0 || is_slot(Layout::own_extents[i]) ? -1 : p.lanes * Layout::own_extents[i];
  constexpr int native = native_bytes / mask_bytes<Layout>;
  p.width = p.lanes < 0 || p.lanes >= native ? native : p.lanes < 1 ? 1 : int(std::bit_ceil(std::size_t(p.lanes)));
  for (int k = 0; k < Layout::shape.reductions; ++k) p.sums_lanes = p.sums_lanes || facts_of<Reductions>.items[k].scope != reduction::keeps_lane;
  p.grouped = sums_groups_of_rows<Layout, Reductions>();
  constexpr bool both_ways = sums_both_ways<Layout, Reductions>();
  p.keeps_columns = p.grouped || both_ways || Layout::shape.ascends;
  const int varying = Layout::shape.varying.total();
  p.has_fixed = Layout::shape.fixed.total() > 0;
  p.unroll = varying <= 16 ? 4 : 1;
  while (p.unroll > 1 && p.lanes >= 0 && p.lanes < p.unroll * p.width) p.unroll /= 2;
  p.whole = dims.rank > 1 && p.lanes > 0 && p.lanes % p.width == 0 && p.lanes <= 8 * p.width;
  p.always_partial = is_long_kernel<Layout> && !p.whole;
  p.has_inner = (Layout::shape.inner_extent != 0 || Layout::shape.ascends) && p.width > 1 && !is_long_kernel<Layout> && !p.whole;
  const bool few_registers = Layout::shape.fixed.total() + Layout::shape.sums.total() <= 8;  // of each row
  if (Layout::shape.shares_columns && few_registers && varying <= 32 && (p.lanes < 0 || p.lanes >= 16 * p.width)) p.together = rows_together;
  if (both_ways && !is_long_kernel<Layout> && !p.whole && p.width > 1 && (p.lanes < 0 || p.lanes >= 4 * p.width)) {
    p.both_ways = true;
    p.together = rows_both_ways, p.unroll = 1;
    p.has_inner = false;  // of rows alone, which are few
  }
  // More sums, or values that rows share, than there are registers go through memory: for two vectors as often as for one.
  const bool exceeds_registers = Layout::shape.sums.total() >= 16 || Layout::shape.fixed.total() >= 24;
  const bool in_order = Layout::shape.scatters || Layout::shape.finds_places || Layout::shape.choice + Layout::shape.lane_choice > 0;
  p.pairs = exceeds_registers && !in_order && p.unroll == 1 && p.width > 1 && (p.lanes < 0 || p.lanes >= 4 * p.width) && !is_long_kernel<Layout> && !p.keeps_columns && !p.has_inner && !p.whole;
  return p;
}();

/// A part of an iteration space: rows (indices of the outer dimensions, in row-major order) and lanes.
struct box {
  extent first_row, last_row;
  extent first_lane, last_lane;
};

/// The sums of a kernel, one copy per vector of an iteration.
template <class Layout, class Reductions> using sums_of = running_sums<Layout, Reductions, plan_of<Layout, Reductions>.width>;

/// Evaluates the statements for one vector, or its first `count` lanes. C: the chunks of what runs per vector, which are expanded here: compilers
/// optimize the statements once more in each function that they are expanded into.
template <bool Partial, bool Inner = false, class Layout, class Reductions, class Analysis, class Fixed, int... C>
COTANGENT_HOST_INLINE void run_vector(program<Layout, Reductions, Analysis> steps, const position<Layout>& at, extent lane, int count,
                                      [[maybe_unused]] bool starts_row, Fixed& fixed, sums_of<Layout, Reductions>& sums, std::integer_sequence<int, C...>) {
  constexpr lane_plan plan = plan_of<Layout, Reductions>;
  evaluation<Layout, plan.width, Partial, sums_of<Layout, Reductions>, Inner> e(at, lane, count, fixed, sums);
  evaluate<stage::constants>(steps, e, chunks_of<stage::constants, Analysis>{});
  if constexpr (plan.grouped && plan.has_fixed)
    if (starts_row) evaluate<stage::per_row>(steps, e, chunks_of<stage::per_row, Analysis>{});
  if constexpr (Layout::shape.lane_choice > 0) {
    evaluate<stage::before_choice>(steps, e, chunks_of<stage::before_choice, Analysis>{});
    if (!any(e.varying.template of<bool>(Layout::shape.lane_choice - 1))) return;
    evaluate<stage::behind_choice>(steps, e, chunks_of<stage::behind_choice, Analysis>{});
  } else {
    const int done[] = {0, run_chunk<Analysis, first_of_chunk<stage::per_vector, Analysis, C>>(e, statements_of<stage::per_vector, Analysis, C>())...};
    (void)done;
  }
}
/// The same as a function of its own, for long kernels.
template <bool Partial, class Layout, class Reductions, class Analysis, class Fixed>
[[gnu::noinline]] void call_vector(program<Layout, Reductions, Analysis> steps, const position<Layout>& at, extent lane, int count, bool starts_row,
                                   Fixed& fixed, sums_of<Layout, Reductions>& sums) {
  run_vector<Partial>(steps, at, lane, count, starts_row, fixed, sums, chunks_of<stage::per_vector, Analysis>{});
}

/// Evaluates the statements for some vectors, or the first `count` lanes of one, of `rows` rows: one, or a group
/// whose results stay in registers.
template <bool Partial, int Vectors, bool Inner = false, class Layout, class Reductions, class Analysis, class Fixed>
COTANGENT_HOST_INLINE void run_vectors(program<Layout, Reductions, Analysis> steps, position<Layout>& at, extent lane, int count,
                                       [[maybe_unused]] extent rows, Fixed& fixed, sums_of<Layout, Reductions>* sums) {
  constexpr lane_plan plan = plan_of<Layout, Reductions>;
  constexpr int N = plan.width, inner = plan.grouped ? Layout::dims.rank - 2 : 0;
  const extent first = at.index[inner];
  if constexpr (plan.keeps_columns)
    for (int u = 0; u < Vectors; ++u) sums[u].template load_columns<Partial>(lane + u * N, count);
  // Where there is one row or one vector, these are no loops even to what compilers do before they inline.
  extent r = 0;
  do {
    if constexpr (plan.grouped) at.index[inner] = first + r;
    int u = 0;
    do {
      if constexpr (is_long_kernel<Layout>) call_vector<Partial>(steps, at, lane + u * N, count, u == 0, fixed, sums[u]);
      else run_vector<Partial, Inner>(steps, at, lane + u * N, count, u == 0, fixed, sums[u], chunks_of<stage::per_vector, Analysis>{});
    } while (++u < Vectors);
  } while (plan.grouped && ++r < rows);
  if constexpr (plan.grouped) at.index[inner] = first;
  if constexpr (plan.keeps_columns)
    for (int u = 0; u < Vectors; ++u) sums[u].template store_columns<Partial>(lane + u * N, count);
}

/// Evaluates the statements for two vectors of a row, each for both of them before the next.
template <class Layout, class Reductions, class Analysis, class Fixed>
COTANGENT_HOST_INLINE void run_pair(program<Layout, Reductions, Analysis> steps, const position<Layout>& at, extent lane, Fixed& fixed, sums_of<Layout, Reductions>& sums) {
  constexpr int N = plan_of<Layout, Reductions>.width;
  using vector = evaluation<Layout, N, false, sums_of<Layout, Reductions>>;
  vector e[] = {vector(at, lane, N, fixed, sums), vector(at, lane + N, N, fixed, sums)};
  evaluate_points<stage::constants>(steps, e, chunks_of<stage::constants, Analysis>{});
  evaluate_points<stage::per_vector>(steps, e, chunks_of<stage::per_vector, Analysis>{});
}

/// Evaluates what does not depend on the lane.
template <class Layout, class Reductions, class Analysis, class Fixed>
COTANGENT_HOST_INLINE void start_row(program<Layout, Reductions, Analysis> steps, const position<Layout>& at, extent first, Fixed& fixed,
                                     sums_of<Layout, Reductions>& sums) {
  constexpr lane_plan plan = plan_of<Layout, Reductions>;
  if constexpr (plan.has_fixed) {
    evaluation<Layout, plan.width, false, sums_of<Layout, Reductions>> e(at, first, plan.width, fixed, sums);
    evaluate<stage::constants>(steps, e, chunks_of<stage::constants, Analysis>{});
    evaluate<stage::per_row>(steps, e, chunks_of<stage::per_row, Analysis>{});
  }
}
/// Whether the points of a row add nothing, because of a condition that is one for all of them.
template <class Layout, class Reductions, class Analysis>
COTANGENT_HOST_INLINE bool leaves_row_out(program<Layout, Reductions, Analysis> steps, const position<Layout>& at, extent first, sums_of<Layout, Reductions>& sums) {
  if constexpr (Layout::shape.choice > 0) {
    fixed_registers<Layout, plan_of<Layout, Reductions>.width> fixed;
    start_row(steps, at, first, fixed, sums);
    return !fixed.template of<bool>(Layout::shape.choice - 1)[0];
  } else return false;
}
/// Runs the lanes [first, last) of one row, or of a group of rows.
template <class Layout, class Reductions, class Analysis>
COTANGENT_HOST_INLINE void run_lanes(program<Layout, Reductions, Analysis> steps, position<Layout>& at, extent first, extent last, extent rows,
                                     sums_of<Layout, Reductions>* sums) {
  constexpr lane_plan plan = plan_of<Layout, Reductions>;
  constexpr bool pairs = plan.pairs && !has_tiles<Analysis>;
  constexpr int N = plan.width, U = pairs ? 2 : plan.unroll;
  // Short rows are not cut, unless they are a kernel's only dimension: what the compiler knows of their length leaves no tests.
  if constexpr (Layout::dims.rank > 1 && plan.lanes >= 0 && plan.lanes <= 64 && !Layout::shape.ascends && !plan.both_ways) first = 0, last = plan.lanes;
  if (first >= last) return;
  fixed_registers<Layout, N> fixed;
  if constexpr (!plan.grouped) start_row(steps, at, first, fixed, sums[0]);
  extent lane = first;
  if constexpr (plan.has_inner) {
    const extent begin = Layout::shape.ascends ? at.index[0] + rows : Layout::shape.inner_first;
    const extent end = Layout::shape.ascends ? last : value_of<Layout::shape.inner_extent>(at.slots) - Layout::shape.inner_reach;
    for (; lane + U * N <= last; lane += U * N) {
      if (lane >= begin && lane + U * N <= end) run_vectors<false, U, true>(steps, at, lane, N, rows, fixed, sums);
      else run_vectors<false, U>(steps, at, lane, N, rows, fixed, sums);
    }
  } else if constexpr (pairs) {
    for (; lane + U * N <= last; lane += U * N) run_pair(steps, at, lane, fixed, sums[0]);
  } else if constexpr ((!plan.always_partial || N == 1) && (plan.lanes < 0 || plan.lanes >= U * N))
    for (; lane + U * N <= last; lane += U * N) run_vectors<false, U>(steps, at, lane, N, rows, fixed, sums);
  // Rows are cut at multiples of 64 lanes, unless they are a kernel's only dimension, or begin at the diagonal.
  constexpr bool whole_vectors = Layout::dims.rank > 1 && plan.lanes >= 0 && plan.lanes % (U * N) == 0 && 64 % (U * N) == 0 && !Layout::shape.ascends;
  constexpr bool has_rest = (N > 1 || U > 1) && (plan.always_partial || !whole_vectors);
  if constexpr (has_rest)
    for (; lane < last; lane += N) run_vectors<!plan.whole, 1>(steps, at, lane, int(smaller(N, last - lane)), rows, fixed, sums);
}

/// Combines sums, one copy per vector of an iteration, into the results of their scope. `first_alone`: the others have none.
template <reduction Scope, class Layout, class Sums, int Unroll>
COTANGENT_HOST_INLINE void finish_sums(Sums (&sums)[Unroll], const position<Layout>& at, bool first_alone = false) {
  if (!first_alone)
    for (int u = 1; u < Unroll; ++u) sums[0].template merge<Scope>(sums[u]);
  sums[0].template flush<Scope>(at);
}

/// Evaluates the statements for one vector, or its first `count` lanes, of each of some rows.
template <bool Partial, class Layout, class Reductions, class Analysis, class Fixed, std::size_t... R>
COTANGENT_HOST_INLINE void run_vector_of_rows(program<Layout, Reductions, Analysis> steps, const position<Layout>* rows, extent lane, int count, Fixed* fixed,
                                              sums_of<Layout, Reductions>* sums, std::index_sequence<R...>) {
  (run_vector<Partial>(steps, rows[R], lane, count, false, fixed[R], sums[R], chunks_of<stage::per_vector, Analysis>{}), ...);
}
/// Runs the lanes [first, last) of the row at `at` and of those behind it, which find extrema.
template <class Layout, class Reductions, class Analysis, std::size_t... R>
COTANGENT_HOST_INLINE void sweep_together(program<Layout, Reductions, Analysis> steps, const position<Layout>& at, extent first, extent last,
                                          const targets<Layout>& to, std::index_sequence<R...> each) {
  constexpr lane_plan plan = plan_of<Layout, Reductions>;
  constexpr int N = plan.width, inner = Layout::dims.rank - 2;
  position<Layout> rows[] = {((void)R, at)...};
  fixed_registers<Layout, N> fixed[sizeof...(R)];
  sums_of<Layout, Reductions> sums[sizeof...(R)];
  const auto start = [&](extent r) COTANGENT_EXPANDED {
    rows[r].index[inner] += r;
    start_row(steps, rows[r], first, fixed[r], sums[r]);
    sums[r].to = &to;
    sums[r].locate(rows[r]);
    sums[r].template clear<reduction::row>(), sums[r].template clear<reduction::place>();
  };
  (start(extent(R)), ...);
  extent lane = first;
  using all_sums = sums_of<Layout, Reductions>;
  if constexpr (all_sums::compares_pairs) {
    for (; lane + 2 * N <= last; lane += 2 * N) {
      ((sums[R].turn = all_sums::in_pair::first), ...);
      run_vector_of_rows<false>(steps, rows, lane, N, fixed, sums, each);
      ((sums[R].turn = all_sums::in_pair::second), ...);
      run_vector_of_rows<false>(steps, rows, lane + N, N, fixed, sums, each);
    }
    ((sums[R].turn = all_sums::in_pair::none), ...);
  }
  for (; lane + N <= last; lane += N) run_vector_of_rows<false>(steps, rows, lane, N, fixed, sums, each);
  if (N > 1 && lane < last) run_vector_of_rows<true>(steps, rows, lane, int(last - lane), fixed, sums, each);
  (sums[R].template flush<reduction::row>(rows[R]), ...);
  (sums[R].template flush<reduction::place>(rows[R]), ...);
}

/// run_lanes as a function of its own.
template <class Layout, class Reductions, class Analysis>
[[gnu::noinline]] void call_lanes(program<Layout, Reductions, Analysis> steps, position<Layout> at, extent first, extent last, sums_of<Layout, Reductions>* sums) {
  sums_of<Layout, Reductions> own = *sums;  // in registers
  run_lanes(steps, at, first, last, 1, &own);
  *sums = own;
}
/// Evaluates the statements for one vector of each of some rows, which share the sums across them.
template <bool Inner, class Layout, class Reductions, class Analysis, class Fixed, std::size_t First, std::size_t... R>
COTANGENT_HOST_INLINE void run_vector_both_ways(program<Layout, Reductions, Analysis> steps, const position<Layout>* rows, extent lane, Fixed* fixed,
                                                sums_of<Layout, Reductions>* sums, std::index_sequence<First, R...>) {
  constexpr int N = plan_of<Layout, Reductions>.width, last = int(sizeof...(R));
  sums[0].template load_columns<false>(lane, N);
  run_vector<false, Inner>(steps, rows[0], lane, N, false, fixed[0], sums[0], chunks_of<stage::per_vector, Analysis>{});
  const auto next = [&](std::size_t r) COTANGENT_EXPANDED {
    sums[r].template take<reduction::keeps_lane>(sums[r - 1]), sums[r].template take<reduction::whole>(sums[r - 1]);
    run_vector<false, Inner>(steps, rows[r], lane, N, false, fixed[r], sums[r], chunks_of<stage::per_vector, Analysis>{});
  };
  (next(R), ...);
  sums[last].template store_columns<false>(lane, N);
  sums[0].template take<reduction::whole>(sums[last]);
}
/// Runs the lanes [first, last) of the row at `at` and of those behind it, each of which adds to sums across them behind the one before.
/// `whole` has the sums of all.
template <class Layout, class Reductions, class Analysis, std::size_t... R>
COTANGENT_HOST_INLINE void sweep_both_ways(program<Layout, Reductions, Analysis> steps, const position<Layout>& at, extent first, extent last,
                                           sums_of<Layout, Reductions>& whole, std::index_sequence<R...> each) {
  constexpr lane_plan plan = plan_of<Layout, Reductions>;
  constexpr int N = plan.width, inner = Layout::dims.rank - 2, count = int(sizeof...(R));
  position<Layout> rows[] = {((void)R, at)...};
  fixed_registers<Layout, N> fixed[count];
  sums_of<Layout, Reductions> sums[count];
  const auto start = [&](extent r) COTANGENT_EXPANDED {
    rows[r].index[inner] += r;
    start_row(steps, rows[r], first, fixed[r], sums[r]);
    sums[r].to = whole.to;
    sums[r].locate(rows[r]);
    sums[r].template clear<reduction::row>();
  };
  (start(extent(R)), ...);
  sums[0].template take<reduction::whole>(whole);
  extent lane = first;
  if constexpr (Layout::shape.ascends)
    for (; lane < at.index[0] + count && lane + N <= last; lane += N) run_vector_both_ways<false>(steps, rows, lane, fixed, sums, each);
  for (; lane + N <= last; lane += N) run_vector_both_ways<Layout::shape.ascends>(steps, rows, lane, fixed, sums, each);
  if (lane < last) {
    sums_of<Layout, Reductions> rest[] = {sums[R]...};  // not the ones above, which stay in registers
    for (int r = 0; r < count; ++r) {
      if (r > 0) rest[r].template take<reduction::whole>(rest[r - 1]);
      call_lanes(steps, rows[r], lane, last, rest + r);
    }
    ((sums[R] = rest[R]), ...);
    sums[0].template take<reduction::whole>(sums[count - 1]);
  }
  (sums[R].template flush<reduction::row>(rows[R]), ...);
  whole.template take<reduction::whole>(sums[0]);
}

/// Runs the points of a box in order, in this thread, adding reductions to `to`.
template <class Layout, class Reductions, class Analysis>
COTANGENT_HOST_INLINE void sweep(program<Layout, Reductions, Analysis> steps, position<Layout> at, const extent* extents, const box& b,
                                 const targets<Layout>& to) {
  constexpr lane_plan plan = plan_of<Layout, Reductions>;
  constexpr int outer = Layout::dims.outer();
  // Sums over lanes go to their results this often: rounding errors grow with the length of a sum.
  [[maybe_unused]] constexpr extent block = plan.sums_lanes ? 128 * native_bytes : std::numeric_limits<extent>::max() / 2;
  constexpr extent group = 8;
  constexpr bool reduces = Layout::shape.reductions > 0;  // if not, there is less to compile
  sums_of<Layout, Reductions> sums[plan.unroll];
  if constexpr (reduces) {
    for (auto& s : sums) s.to = &to, s.template clear<reduction::whole>();
  }
  extent row = b.first_row;
  if constexpr (outer > 0)
    for (extent d = outer - 1, rest = row; d >= 0; --d) {
      at.index[d] = extents[d] > 0 ? rest % extents[d] : 0;
      rest = extents[d] > 0 ? rest / extents[d] : 0;
    }
  for ([[maybe_unused]] extent summed = 0; row < b.last_row;) {
    extent rows = 1;
    if constexpr (plan.grouped) rows = smaller(smaller(group, b.last_row - row), extents[outer - 1] - at.index[outer - 1]);
    const bool some = plan.together > 1 && b.last_row - row >= plan.together && extents[outer - 1] - at.index[outer - 1] >= plan.together;
    if (some) rows = plan.together;
    static_assert(Layout::shape.choice == 0 || plan.together == 1);
    [[maybe_unused]] extent left_out = 0;  // rows one after the other that add nothing
    if constexpr (Layout::shape.choice > 0 && outer == 0) left_out = leaves_row_out(steps, at, b.first_lane, sums[0]);
    else if constexpr (Layout::shape.choice > 0) {
      position<Layout> next = at;
      const extent most = smaller(b.last_row - row, extents[outer - 1] - at.index[outer - 1]);
      for (; left_out < most && leaves_row_out(steps, next, b.first_lane, sums[0]); ++left_out) ++next.index[outer - 1];
      if (left_out > 0) rows = left_out;
    }
    if (some && !plan.both_ways) {
      if constexpr (plan.together > 1 && !plan.both_ways) sweep_together(steps, at, b.first_lane, b.last_lane, to, std::make_index_sequence<std::size_t(plan.together)>());
    } else if constexpr (!reduces) {
      run_lanes(steps, at, b.first_lane, b.last_lane, rows, sums);
    } else if (left_out == 0) {
      for (auto& s : sums) s.locate(at), s.template clear<reduction::place>();
      extent first = b.first_lane;
      if constexpr (Layout::shape.ascends)
        if (at.index[0] > first) first += (at.index[0] - first) / plan.width * plan.width;
      const bool is_short = plan.lanes < 0 && b.last_lane - first < plan.unroll * plan.width;
      for (extent lane = first; lane < b.last_lane; lane += block) {
        const extent last = smaller(lane + block, b.last_lane);
        for (auto& s : sums) s.template clear<reduction::row>();
        if constexpr (plan.both_ways) {
          if (some) sweep_both_ways(steps, at, lane, last, sums[0], std::make_index_sequence<std::size_t(plan.together)>());
          else call_lanes(steps, at, lane, last, sums);
        } else run_lanes(steps, at, lane, last, rows, sums);
        if (!some) finish_sums<reduction::row>(sums, at, is_short);
        if ((summed += (last - lane) * rows) >= block) {
          finish_sums<reduction::whole>(sums, at);
          for (auto& s : sums) s.template clear<reduction::whole>();
          summed = 0;
        }
      }
      finish_sums<reduction::place>(sums, at, is_short);
    }
    row += rows;
    if constexpr (outer > 0) at.index[outer - 1] += rows - 1;
    for (int d = outer - 1; d >= 0; --d) {
      if (++at.index[d] < extents[d]) break;
      at.index[d] = 0;
    }
  }
  if constexpr (reduces) finish_sums<reduction::whole>(sums, at);
}

/// Points `to` at a reduction's results in the caller's buffer and sets those whose index along the outermost
/// dimension is first, first + 1, ..., extents[0] of them, to the identity.
template <class Reduce, class Layout>
COTANGENT_HOST_INLINE void start_reduction(const position<Layout>& at, const extent* extents, targets<Layout>& to, extent first) {
  using parts = reduce_parts<Reduce>;
  using T = typename parts::result;
  constexpr int place = parts::facts.place;
  const auto r = results<Layout>::template of<Reduce>(extents, at.slots);
  T* base = static_cast<T*>(at.buffers[parts::buffer]) + value_of<parts::offset>(at.slots);
  to.base[place] = base;
  for (int d = 0; d < Layout::dims.rank; ++d) to.strides[place][d] = r.strides[d];
  T* from = base + (Layout::dims.rank > 0 ? first * r.strides[0] : 0);
  if constexpr (!parts::finds_place) r.template clear<typename parts::operation>(from);
}
template <class Reductions, class Layout>
COTANGENT_HOST_INLINE void start_reductions(const position<Layout>& at, const extent* extents, targets<Layout>& to) {
  each_reduction(Reductions{}, [&]<class Reduce>(Reduce) { start_reduction<Reduce>(at, extents, to, 0); });
}

/// Behind the points of a kernel: other threads see what it has stored past the caches.
template <class Layout> COTANGENT_HOST_INLINE void finish_stores() {
  if constexpr (Layout::shape.stores_once) store_fence();
}

/// A kernel cut into tasks. It knows the statements only as a function, so that long kernels are named rarely.
template <class Layout, class Reductions> class tasks {
 public:
  using part = void (*)(const position<Layout>&, const extent*, const box&, const targets<Layout>&);

  tasks(void* const* buffers, const extent* slots, part p) : at_(buffers, slots), part_(p) {
    for (int d = 0; d < Layout::dims.rank; ++d) extents_[d] = Layout::extent_of(d, at_.slots);
  }

  void run() {
    cut_ = partition_of(Layout::shape, Layout::dims.rank, facts_of<Reductions>.items, extents_);
    if (cut_.tasks() <= 1) {
      start_reductions<Reductions>(at_, extents_, to_);
      if (cut_.tasks() == 1) part_(at_, extents_, {0, cut_.rows, 0, cut_.lanes}, to_);
      return finish_stores<Layout>();
    }
    std::size_t bytes = 0;
    each_reduction(Reductions{}, [&]<class Reduce>(Reduce) {
      const extent copies = cut_.copies(reduce_parts<Reduce>::facts);
      plan<Reduce>(bytes, copies > 1 ? copies : 0);
    });
    if (bytes <= sizeof(small_partials)) {
      small_partials memory;
      return run(memory.bytes);
    }
    const scratch memory(bytes);
    run(memory.data());
  }

  /// All points, in this thread.
  void run_here() {
    constexpr merged_dims dims = Layout::dims;
    extent rows = 1;
    for (int d = 0; d < dims.outer(); ++d) rows *= extents_[d];
    start_reductions<Reductions>(at_, extents_, to_);
    part_(at_, extents_, {0, rows, 0, dims.rank > 0 ? extents_[dims.rank - 1] : 1}, to_);
    finish_stores<Layout>();
  }

  /// The bytes that `copies` of the results of reductions over the kernel's own outermost dimension take; 0 without such.
  std::size_t plan_copies(extent copies) {
    std::size_t bytes = 0;
    each_reduction(Reductions{}, [&]<class Reduce>(Reduce) { plan<Reduce>(bytes, over_rows<Reduce> ? copies : 0); });
    return bytes;
  }
  /// Sets one of the copies, which lie in `memory`, to the identities.
  void start_copy(char* memory, extent copy) {
    each_reduction(Reductions{}, [&]<class Reduce>(Reduce) {
      using parts = reduce_parts<Reduce>;
      if (copies_[parts::facts.place] == 0) return;
      auto* const to = copy_at<Reduce>(memory, copy);
      for (extent i = 0; i < results_[parts::facts.place].size; ++i) to[i] = parts::operation::template identity<typename parts::type>();
    });
  }
  /// Combines the copies into the caller's buffers.
  void finish_copies(char* memory) {
    each_reduction(Reductions{}, [&]<class Reduce>(Reduce) {
      if (copies_[reduce_parts<Reduce>::facts.place] > 0) combine<Reduce>(copy_at<Reduce>(memory, 0));
    });
  }

  /// Only the indices [first, last) of the kernel's own outermost dimension, in this thread. Reductions over that dimension
  /// go into a copy, as planned; without memory for copies, the caller's buffers get those of these indices. The caller fences
  /// stores, behind all rows of a task.
  void run_rows(extent first, extent last, [[maybe_unused]] char* memory = nullptr, [[maybe_unused]] extent copy = 0) {
    constexpr merged_dims dims = Layout::dims;
    extent rows = 1;
    for (int d = 0; d < dims.outer(); ++d) rows *= extents_[d];
    box b{0, rows, 0, dims.rank > 0 ? extents_[dims.rank - 1] : 1};
    if (first >= last) return;
    if constexpr (dims.rank > 0 && dims.merged_from[0] == 0) {
      extent inner = 1;
      for (int d = 1; d <= dims.last[0]; ++d) inner *= is_slot(Layout::own_extents[d]) ? at_.slots[Layout::own_extents[d] - slot_base] : Layout::own_extents[d];
      first *= inner;
      last *= inner;
      const extent all = extents_[0];
      if constexpr (dims.rank == 1) b = {0, 1, first, last};
      else if (all > 0) b = {first * (rows / all), last * (rows / all), 0, b.last_lane};
      extents_[0] = last - first;
      each_reduction(Reductions{}, [&]<class Reduce>(Reduce) {
        constexpr int place = reduce_parts<Reduce>::facts.place;
        if constexpr (!over_rows<Reduce>) start_reduction<Reduce>(at_, extents_, to_, first);
        else if (memory == nullptr) start_reduction<Reduce>(at_, extents_, to_, 0);
        else to_.base[place] = copy_at<Reduce>(memory, copy), pack_strides(place);
      });
      extents_[0] = all;
    } else start_reductions<Reductions>(at_, extents_, to_);
    part_(at_, extents_, b, to_);
  }

 private:
  struct small_partials {
    alignas(64) char bytes[8192];
  };

  /// Whether a reduction is over the kernel's own outermost dimension.
  template <class Reduce>
  static constexpr bool over_rows = Layout::dims.rank > 0 && Layout::dims.merged_from[0] == 0 && (reduce_parts<Reduce>::facts.kept_dims & 1u) == 0;
  template <class Reduce> typename reduce_parts<Reduce>::type* copy_at(char* memory, extent copy) const {
    constexpr int place = reduce_parts<Reduce>::facts.place;
    return reinterpret_cast<typename reduce_parts<Reduce>::type*>(memory + offset_[place]) + copy * results_[place].size;
  }
  /// The results of a reduction lie one after the other.
  void pack_strides(int place) {
    for (int d = 0; d < Layout::dims.rank; ++d) to_.strides[place][d] = results_[place].packed[d];
  }

  /// Lays out the partial results of a reduction, `copies` times.
  template <class Reduce> void plan(std::size_t& bytes, extent copies) {
    using parts = reduce_parts<Reduce>;
    constexpr int place = parts::facts.place;
    results_[place] = results<Layout>::template of<Reduce>(extents_, at_.slots);
    copies_[place] = copies;
    offset_[place] = bytes;
    if (copies > 0) bytes += (std::size_t(copies_[place] * results_[place].size) * sizeof(typename parts::type) + 63) / 64 * 64;
  }

  void run(char* memory) {
    each_reduction(Reductions{}, [&]<class Reduce>(Reduce) { start<Reduce>(memory); });
    parallel_for(cut_.tasks(), [this](extent t) {
      const extent chunk = t / cut_.lane_blocks, block = t % cut_.lane_blocks;
      targets<Layout> to = to_;
      each_reduction(Reductions{}, [&]<class Reduce>(Reduce) {  // the partial results of this task
        using parts = reduce_parts<Reduce>;
        constexpr int place = parts::facts.place;
        if (copies_[place] == 0) return;
        const extent copy = cut_.copy(parts::facts, chunk, block);
        auto* const own = static_cast<typename parts::type*>(to.base[place]) + copy * results_[place].size;
        to.base[place] = own;
        if (is_of_one_task(place)) set_to_identity<Reduce>(own + begin_of_copy(copy, apart<Reduce>(), results_[place].size), own + results_[place].size);
      });
      for (int piece = 0; piece < (cut_.folds ? 2 : 1); ++piece)
        part_(at_, extents_,
              {cut_.first_row(chunk, piece > 0), cut_.last_row(chunk, piece > 0), block * cut_.lanes_per_block,
               smaller((block + 1) * cut_.lanes_per_block, cut_.lanes)},
              to);
      finish_stores<Layout>();
    });
    each_reduction(Reductions{}, [&]<class Reduce>(Reduce) {
      constexpr int place = reduce_parts<Reduce>::facts.place;
      if (copies_[place] > 0) combine<Reduce>(static_cast<typename reduce_parts<Reduce>::type*>(to_.base[place]));
    });
  }

  template <class Reduce> void start(char* memory) {
    using parts = reduce_parts<Reduce>;
    using T = typename parts::type;
    constexpr int place = parts::facts.place;
    if (copies_[place] == 0) return start_reduction<Reduce>(at_, extents_, to_, 0);
    T* const base = copy_at<Reduce>(memory, 0);
    if (!is_of_one_task(place)) set_to_identity<Reduce>(base, base + copies_[place] * results_[place].size);
    to_.base[place] = base;
    pack_strides(place);
  }
  /// Whether each copy of a reduction's results belongs to one task, which sets it to the identity while it is in that core's cache.
  bool is_of_one_task(int place) const { return copies_[place] == cut_.tasks(); }
  template <class Reduce> static void set_to_identity(typename reduce_parts<Reduce>::type* first, typename reduce_parts<Reduce>::type* last) {
    std::fill(first, last, reduce_parts<Reduce>::operation::template identity<typename reduce_parts<Reduce>::type>());
  }
  /// By how many results later than the one before each copy begins: where points begin at the diagonal, rows add to none behind it.
  template <class Reduce> extent apart() const {
    constexpr reduce_facts facts = reduce_parts<Reduce>::facts;
    return Layout::shape.ascends && facts.scope == reduction::keeps_lane && is_of_one_task(facts.place) ? cut_.rows_per_chunk : 0;
  }

  template <class Reduce> void combine(typename reduce_parts<Reduce>::type* partial) {
    using parts = reduce_parts<Reduce>;
    combine_results<typename parts::operation>(parts::facts.place, partial, static_cast<typename parts::type*>(at_.buffers[parts::buffer]) + value_of<parts::offset>(at_.slots),
                                                  apart<Reduce>());
  }
  /// Combines the partial results of the reduction number `place`, in order, into the caller's buffer.
  template <class Op, class T> void combine_results(int place, T* partial, T* base, extent apart) const {
    const results<Layout>& r = results_[place];
    const extent copies = copies_[place];
    constexpr extent block = 1024, some = 8, large = extent(1) << 15;
    // Those of neighbouring tasks first, which are in the cache of the core that made them.
    const extent together = r.size * copies >= large && copies > some ? some : 1;
    if (together > 1)
      parallel_for(divide_up(copies, together), [&](extent g) {
        combine_copies<Op, T, mask_bytes<Layout>>(partial, r.size, g * together, smaller((g + 1) * together, copies), 1, apart, 0, r.size);
      });
    parallel_for(divide_up(r.size, block), [&](extent b) {
      combine_copies<Op, T, mask_bytes<Layout>>(partial, r.size, 0, copies, together, apart, b * block, smaller((b + 1) * block, r.size));
    });
    r.each([base, partial](extent i) mutable { base[i] = *partial++; });
  }

  static constexpr int places = targets<Layout>::count;
  position<Layout> at_;
  part part_;
  extent extents_[Layout::dims.rank > 0 ? Layout::dims.rank : 1];
  partition cut_;
  targets<Layout> to_;
  results<Layout> results_[places];
  extent copies_[places];
  std::size_t offset_[places];
};

/// Some points of a kernel.
template <class Kernel>
void run_part(const position<layout_of<Kernel>>& at, const extent* extents, const box& b, const targets<layout_of<Kernel>>& to) {
  sweep(program_of<Kernel>{}, at, extents, b, to);
}

/// Whether the extents of a kernel are known and it is not worth more than one task: then no code is made that cuts it.
template <class Layout, class Reductions> constexpr bool is_one_task() {
  if constexpr (!Layout::is_static) return false;
  else {
    extent extents[Layout::dims.rank > 0 ? Layout::dims.rank : 1] = {};
    for (int d = 0; d < Layout::dims.rank; ++d) extents[d] = Layout::extent_of(d, nullptr);
    return partition_of(Layout::shape, Layout::dims.rank, facts_of<Reductions>.items, extents).tasks() <= 1;
  }
}

/// Runs a kernel. `buffers` are the pointers, and `extents` the run-time extents, that its type numbers. An output
/// may be the memory of an input that is accessed in the same way. Results do not depend on the number of threads.
template <class Kernel> COTANGENT_HOST_ONCE void run(void* const* buffers, const extent* extents) {
  using layout = layout_of<Kernel>;
  constexpr extent small = 64;
  constexpr int few_values = 32;
  if constexpr (is_one_task<layout, reductions_of<Kernel>>()) {
    const position<layout> at(buffers, extents);
    extent sizes[layout::dims.rank > 0 ? layout::dims.rank : 1], rows = 1;
    for (int d = 0; d < layout::dims.rank; ++d) sizes[d] = layout::extent_of(d, at.slots);
    for (int d = 0; d < layout::dims.outer(); ++d) rows *= sizes[d];
    const box all{0, rows, 0, layout::dims.rank > 0 ? sizes[layout::dims.rank - 1] : 1};
    targets<layout> to{};
    start_reductions<reductions_of<Kernel>>(at, sizes, to);
    // (Of many statements apart: compilers optimize them once more in each function that they are expanded into.)
    if constexpr (layout::points > small || layout::shape.varying.total() > few_values) run_part<Kernel>(at, sizes, all, to);
    else if constexpr (layout::points > 0) sweep(program_of<Kernel>{}, at, sizes, all, to);
    finish_stores<layout>();
  } else {
    tasks<layout, reductions_of<Kernel>>(buffers, extents, run_part<Kernel>).run();
  }
}

/// A kernel's tasks, to be run some rows at a time.
template <class Kernel> auto tasks_of(void* const* buffers, const extent* extents) {
  return tasks<layout_of<Kernel>, reductions_of<Kernel>>(buffers, extents, run_part<Kernel>);
}
/// Runs the points whose outermost index is in [first, last), in this thread. The kernel may not reduce over its outermost
/// dimension.
template <class Kernel> void run_rows(void* const* buffers, const extent* extents, extent first, extent last) {
  tasks_of<Kernel>(buffers, extents).run_rows(first, last);
  finish_stores<layout_of<Kernel>>();
}

}  // namespace COTANGENT_ISA
}  // namespace cotangent::host
