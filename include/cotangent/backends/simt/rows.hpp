#pragma once
/// Row blocks (compiler/blocks.hpp) on a device: a block of threads takes some rows through all steps of a group, one after the
/// other. What the steps leave for each other lies in the memory of the block's slot.
///
/// A grid of rows has, in place of `operator()`,
///   phases.each(visit)             visit(phase) in order; the threads wait for each other between phases
///   block(number, slot)            its rows, and the memory of a slot
/// A phase is like a grid whose blocks are its rounds, with the rows of the block and its memory; those that add up have
/// rounds(rows), and may use fewer threads.

#include <cotangent/backends/simt/kernel.hpp>
#include <cotangent/core/tree.hpp>

namespace cotangent::simt {

/// Some rows, and the memory for what exists for them only.
struct rows_of_block {
  extent first, last;
  std::byte* memory;
};

/// A kernel's arguments, of which some lie in the memory of the block: those with bytes per row.
template <class Kernel> struct row_arguments {
  static constexpr int count = layout_of<Kernel>::shape.buffers;
  arguments<Kernel> whole;
  extent offset[count + 1] = {}, bytes_of_row[count + 1] = {};

  row_arguments(void* const* buffers, const extent* extents) : whole(buffers, extents) {}
  COTANGENT_HD arguments<Kernel> of(const rows_of_block& r) const {
    arguments<Kernel> a = whole;
    COTANGENT_UNROLL
    for (int b = 0; b < count; ++b)
      if (bytes_of_row[b] > 0) a.buffers[b] = r.memory + offset[b] - r.first * bytes_of_row[b];
    return a;
  }
};

/// A step without reductions: the points of the rows, which follow each other.
template <class Kernel> struct row_points {
  using kernel = Kernel;
  using layout = layout_of<Kernel>;
  static constexpr int at_once = points_at_once<Kernel>(4), registers = registers_of_points<Kernel>(at_once, at_once);
  row_arguments<Kernel> a;
  extent points;  // of a row

  row_points(const row_arguments<Kernel>& given, extent rows) : a(given), points(given.whole.points(every_dim<layout>) / rows) {}
  COTANGENT_HD void operator()(const rows_of_block& rows, int thread, int threads) const {
    const arguments<Kernel> own = a.of(rows);
    const extent end = rows.last * points;
    extent i = rows.first * points + thread;
    if constexpr (at_once > 1)
      for (; i + (at_once - 1) * threads < end; i += at_once * threads) run<at_once>(own, i, threads);
    for (; i < end; i += threads) run<1>(own, i, threads);
  }

 private:
  template <int Count> COTANGENT_HD static void run(const arguments<Kernel>& own, extent first, int step) {
    position<layout> at[Count];
    no_reductions none[Count];
    COTANGENT_UNROLL
    for (int p = 0; p < Count; ++p) {
      at[p] = position<layout>(own.buffers, own.slots);
      set_indices<layout, every_dim<layout>>(at[p], first + p * step);
    }
    run_points<Kernel>(at, none, std::make_index_sequence<Count>{});
  }
};

/// A pass of a step with reductions, none of them over rows: the results of the rows follow each other.
template <class Kernel, std::uint32_t Kept, bool Stores> struct row_sums {
  using kernel = Kernel;
  using pass = reduction_pass<Kernel, Kept, Stores>;
  using sums = typename pass::sums;
  static constexpr int threads = sizeof(sums) <= 128 ? block_threads : sizeof(sums) <= 1024 ? 32 : 1;  // of a block, that sum
  static constexpr int registers = pass::registers;
  row_arguments<Kernel> a;
  extent results, summed;  // results of a row, points of a result
  int group;

  row_sums(const row_arguments<Kernel>& given, extent rows)
      : a(given), results(given.whole.points(Kept) / rows), summed(given.whole.points(pass::summed_dims)),
        group(pass::lanes ? 1 : power_of_two(divide_up(summed, 8), threads)) {}
  COTANGENT_HD extent rounds(const rows_of_block& rows) const { return divide_up((rows.last - rows.first) * results, threads / group); }
  COTANGENT_HD static void merge(sums& x, sums& y) { x.merge(y); }
  COTANGENT_HD sums collect(const rows_of_block& rows, extent round, int thread) const {
    const extent r = result_of(rows, round, thread);
    return pass::collect(a.of(rows), r, thread % group, r < rows.last * results ? summed : 0, group);
  }
  COTANGENT_HD void finish(const rows_of_block& rows, extent round, int thread, sums& s) const {
    const extent r = result_of(rows, round, thread);
    if (r < rows.last * results) pass::store(a.of(rows), r, s);
  }

 private:
  COTANGENT_HD extent result_of(const rows_of_block& rows, extent round, int thread) const {
    return rows.first * results + round * (threads / group) + thread / group;
  }
};

/// The phases of the steps of a group.
template <class... Phase> struct phase_list;
template <> struct phase_list<> {
  static constexpr std::size_t shared_bytes = 0;
  static constexpr int registers = 0;
  template <class Visit> COTANGENT_HD void each(const Visit&) const {}
};
template <class First, class... Rest> struct phase_list<First, Rest...> {
  First first;
  phase_list<Rest...> rest;
  template <class Phase> static constexpr std::size_t bytes_of() {
    if constexpr (requires { typename Phase::sums; }) return sizeof(typename Phase::sums) * Phase::threads;
    else return 0;
  }
  static constexpr std::size_t shared_bytes = bytes_of<First>() > phase_list<Rest...>::shared_bytes ? bytes_of<First>() : phase_list<Rest...>::shared_bytes;
  static constexpr int registers = First::registers > phase_list<Rest...>::registers ? First::registers : phase_list<Rest...>::registers;
  template <class Visit> COTANGENT_HD void each(const Visit& visit) const {
    visit(first);
    rest.each(visit);
  }
};

template <class Phases> struct rows_grid {
  static constexpr int threads = block_threads, registers = Phases::registers + 16;  // addresses of what its phases share
  static constexpr std::size_t shared_bytes = Phases::shared_bytes;
  Phases phases;
  extent rows, rows_of_block_count, bytes_of_slot;
  std::byte* memory;

  extent blocks() const { return divide_up(rows, rows_of_block_count); }
  COTANGENT_HD rows_of_block block(extent b, extent slot) const {
    return {b * rows_of_block_count, smaller((b + 1) * rows_of_block_count, rows), memory + slot * bytes_of_slot};
  }
};

/// The phases of a kernel.
template <class Kernel, class Sets> struct phases_of_kernel;
template <class Kernel, std::size_t... P> struct phases_of_kernel<Kernel, std::index_sequence<P...>> {
  static constexpr kept_sets sets = find_kept_sets(reductions_of<Kernel>{});
  using type = types<row_sums<Kernel, sets.sets[P], int(P) + 1 == sets.count>...>;
};
template <class Kernel> struct phases_of_kernel<Kernel, std::index_sequence<>> {
  using type = types<row_points<Kernel>>;
};
template <class Kernel>
using phases_of = typename phases_of_kernel<Kernel, std::make_index_sequence<std::size_t(find_kept_sets(reductions_of<Kernel>{}).count)>>::type;
/// The phases of a step before those of the next ones.
template <class Kernel, class... Rest> phase_list<Rest...> before(types<>, const row_arguments<Kernel>&, extent, const phase_list<Rest...>& rest) { return rest; }
template <class First, class... Others, class Kernel, class... Rest>
auto before(types<First, Others...>, const row_arguments<Kernel>& a, extent rows, const phase_list<Rest...>& rest) {
  const auto others = before(types<Others...>{}, a, rows, rest);
  return [&]<class... P>(const phase_list<P...>& list) { return phase_list<First, P...>{First(a, rows), list}; }(others);
}

/// Runs phases over rows. (The grid's type comes from the arguments: see run_loop_grid.)
template <class Phases, class Queue> void run_rows_grid(const Queue& queue, const Phases& phases, extent rows, extent rows_at_once, extent bytes_of_slot) {
  rows_grid<Phases> grid{phases, rows, rows_at_once, bytes_of_slot, nullptr};
  const typename Queue::memory memory(queue, queue.slots(grid.blocks()) * bytes_of_slot);
  grid.memory = memory.data();
  queue.run_rows(grid);
}

}  // namespace cotangent::simt
