#pragma once
/// Row blocks (compiler/blocks.hpp) on a device: a block of threads takes some rows through all steps of a group, one after the
/// other. What the steps leave for each other lies in the memory of the block's slot.
///
/// A grid of rows has, in place of `operator()`,
///   registers                      what a thread has from phase to phase
///   phases.each(visit)             visit(phase) in order; the threads wait for each other before a phase, but those with
///                                  reads_of_others == false
///   slot(number)                   the memory of a slot; or, if `memory` is null, a block has bytes_of_slot of its own
///   block(number, slot)            its rows, with the memory of a slot
/// A phase is like a grid whose blocks are its rounds, with the rows of the block and its memory, and the thread's registers; those that
/// add up have rounds(rows), and may use fewer threads.
///
/// Rows of a length that is known and not too great are shared out by teams of threads, so that a thread has the same points of a row in
/// every phase: what the phases leave for each other at those points stays in its registers.

#include <cotangent/backends/simt/kernel.hpp>
#include <cotangent/core/tree.hpp>

namespace cotangent::simt {

struct no_sums {};
/// What stands for the reductions of a point of a team: `Sums`, and what is kept at the point.
template <class Sums, class Registers, class Kept, int Width> struct team_point : Sums {
  static constexpr bool adjacent = Width > 1, always_adjacent = adjacent;
  int point = 0;  // of the thread
  Registers* registers = nullptr;

  template <int B> static constexpr bool keeps = Kept::places[B] >= 0;
  template <class T, int B, class A> COTANGENT_HD pack<T, 1> kept(A) const { return registers->template of<Kept::places[B]>()[point]; }
  template <class T, int B, class A, class V> COTANGENT_HD void keep(A, const V& value) const { registers->template of<Kept::places[B]>()[point] = value[0]; }
};

}  // namespace cotangent::simt

namespace cotangent::kernels {
inline namespace COTANGENT_ISA {
template <class Layout, class Sums, class Registers, class Kept, int Width>
inline constexpr int neighbours_in<evaluation<Layout, 1, false, simt::team_point<Sums, Registers, Kept, Width>>> = Width;
}  // namespace COTANGENT_ISA
}  // namespace cotangent::kernels

namespace cotangent::simt {

/// So many points of a row, or more, a thread has in each phase: what it does for a phase takes as long as some points.
inline constexpr int points_of_thread = 8;

/// What a row has of so many in all, or -1 if one of the numbers is.
constexpr extent of_a_row(extent all, extent rows) { return all < 0 || rows < 1 ? -1 : all / rows; }

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

/// A team of Group threads for each row of Length points: a thread has groups of Width neighbours, each Group * Width points from the one
/// before. Length 0: there are no teams.
template <extent Length, int Group, int Width> struct team {
  static constexpr extent length = Length;
  static constexpr int group = Group, width = Width;
  static constexpr int points = Length > 0 ? int(divide_up(Length, Group * Width)) * Width : 1;  // of a thread
  static constexpr int threads = Length == 0 || Group > block_threads / 2 ? block_threads : block_threads / 2;  // of a block: few wait for each other
  static constexpr bool is_full = Length % (Group * Width) == 0;

  /// Where along the row point p of a thread of the team is.
  static COTANGENT_HD constexpr int column(int thread, int p) { return (p / Width * Group + thread) * Width + p % Width; }
};

/// What a thread keeps of a row: an element of each type for each of its points.
template <int Points, class... T> struct row_registers {
  static constexpr int registers = 0;
};
template <int Points, class T, class... Rest> struct row_registers<Points, T, Rest...> {
  static constexpr int registers = Points * int(sizeof(T)) / 4 + row_registers<Points, Rest...>::registers;
  T elements[Points];
  row_registers<Points, Rest...> rest;

  template <int I> COTANGENT_HD auto& of() {
    if constexpr (I == 0) return elements;
    else return rest.template of<I - 1>();
  }
};
/// For each buffer of a kernel its place among those that are kept in registers, or -1.
template <int... Place> struct kept_buffers {
  static constexpr int places[sizeof...(Place) + 1] = {Place..., -1};
};

/// The outermost dimensions of a kernel that are its rows, as bits; 0 if a dimension holds rows and points of them.
template <class Layout, extent Rows> constexpr std::uint32_t find_row_dims() {
  for (int d = 1; d <= Layout::dims.rank; ++d)
    if (known_points<Layout>((std::uint32_t(1) << d) - 1) == Rows) return (std::uint32_t(1) << d) - 1;
  return 0;
}
/// How many points of a team's thread run at once: `width` at least. Few, for what is kept of a row was read before.
template <class Team> constexpr int team_points_at_once() { return Team::is_full && Team::width < 4 && Team::points % 4 == 0 ? 4 : Team::width; }
/// Runs a kernel at all points of a row that a thread of a team has. Points: of type team_point; as many as run at once.
template <class Kernel, extent Rows, class Team, class Point, class Registers, int At>
COTANGENT_HD inline void run_team(const arguments<Kernel>& a, extent row, int thread, Registers& registers, Point (&points)[At]) {
  using layout = layout_of<Kernel>;
  constexpr std::uint32_t row_dims = find_row_dims<layout, Rows>();
  COTANGENT_UNROLL
  for (int first = 0; first < Team::points; first += At) {
    if (!Team::is_full && Team::column(thread, first) >= Team::length) continue;
    position<layout> at[At];
    COTANGENT_UNROLL
    for (int p = 0; p < At; ++p) {
      const int column = Team::column(thread, first + p);
      at[p] = position<layout>(a.buffers, a.slots);
      if constexpr (row_dims == 0) set_indices<layout, every_dim<layout>>(at[p], index_type<layout>(row * Team::length + column));
      else {
        set_indices<layout, row_dims>(at[p], index_type<layout>(row));
        set_indices<layout, every_dim<layout> & ~row_dims>(at[p], index_type<layout>(column));
      }
      points[p].point = first + p, points[p].registers = &registers;
    }
    run_points<Kernel>(at, points, std::make_index_sequence<std::size_t(At)>{});
  }
}

/// Reads rows that several phases use into a team's registers.
template <class Team, int Place, class T> struct row_loads {
  static constexpr bool is_team = true, reads_of_others = false;
  static constexpr int registers = 0;
  const T* from;

  template <class Registers> COTANGENT_HD void operator()(const rows_of_block& rows, int thread, int, Registers& kept) const {
    using elements = kernels::side_by_side<T, Team::width>;
    const extent row = rows.first + thread / Team::group;
    if (row >= rows.last) return;
    const T* const begin = from + row * Team::length;
    T(&to)[Team::points] = kept.template of<Place>();
    COTANGENT_UNROLL
    for (int p = 0; p < Team::points; p += Team::width) {
      const int column = Team::column(thread % Team::group, p);
      if (!Team::is_full && column >= Team::length) continue;
      const elements x = *reinterpret_cast<const elements*>(begin + column);
      COTANGENT_UNROLL
      for (int k = 0; k < Team::width; ++k) to[p + k] = x.elements[k];
    }
  }
};

/// A step without reductions: the points of the rows, which follow each other. Rows: how many there are in all, or -1.
template <class Kernel, extent Rows, class Team, class Kept> struct row_points {
  using kernel = Kernel;
  using layout = layout_of<Kernel>;
  static constexpr bool is_team = Team::length > 0 && of_a_row(known_points<layout>(every_dim<layout>), Rows) == Team::length;
  /// Single: a row has one point, which is that of the team's first thread, as its sums are.
  static constexpr bool is_single = Team::length > 0 && !is_team, reads_of_others = !is_single;
  static constexpr point_choice choice = choose_points<Kernel>();
  static constexpr int width = is_team ? Team::width : choice.width, at_once = is_team ? team_points_at_once<Team>() : choice.at_once;
  static constexpr int registers = registers_of_points<Kernel>(at_once, at_once / width);
  row_arguments<Kernel> a;
  number_of<of_a_row(known_points<layout>(every_dim<layout>), Rows)> points;

  row_points(const row_arguments<Kernel>& given, extent rows) : a(given), points(given.whole.points(every_dim<layout>) / rows) {}
  template <class Registers> COTANGENT_HD void operator()(const rows_of_block& rows, int thread, int threads, Registers& kept) const {
    const arguments<Kernel> own = a.of(rows);
    if constexpr (is_single) {
      const extent row = rows.first + thread / Team::group;
      if (thread % Team::group == 0 && row < rows.last) run<1>(own, row, 1, false);
    } else if constexpr (is_team) {
      const extent row = rows.first + thread / Team::group;
      team_point<no_sums, Registers, Kept, width> p[at_once];
      if (row < rows.last) run_team<Kernel, Rows, Team>(own, row, thread % Team::group, kept, p);
    } else {
      const bool adjacent = width > 1 && are_rows_of<layout>(width, every_dim<layout>, own.slots) && points % width == 0;
      const extent end = rows.last * points, round = extent(threads) * width;
      extent i = rows.first * points + thread * width;
      if constexpr (at_once > 1)
        for (; i + (at_once / width - 1) * round + width <= end; i += at_once / width * round) run<at_once>(own, i, round, adjacent);
      for (; i < end; i += round)
        for (int p = 0; p < width && i + p < end; ++p) run<1>(own, i + p, round, false);
    }
  }

 private:
  template <int Count> COTANGENT_HD static void run(const arguments<Kernel>& own, extent first, extent round, bool adjacent) {
    position<layout> at[Count];
    neighbouring_points<width> none[Count];
    COTANGENT_UNROLL
    for (int p = 0; p < Count; ++p) {
      none[p].adjacent = adjacent;
      at[p] = position<layout>(own.buffers, own.slots);
      set_indices<layout, every_dim<layout>>(at[p], index_type<layout>(first + p / width * round + p % width));
    }
    run_points<Kernel>(at, none, std::make_index_sequence<Count>{});
  }
};

/// How many of so many threads sum one result.
template <class Pass> constexpr int group_of(extent summed, int threads) { return Pass::lanes ? 1 : power_of_two(divide_up(summed, points_of_thread), threads); }
/// A pass of a step with reductions, none of them over rows: the results of the rows follow each other.
template <class Kernel, extent Rows, std::uint32_t Kept, bool Stores, class Team, class InRegisters> struct row_sums {
  using kernel = Kernel;
  using pass = reduction_pass<Kernel, Kept, Stores>;
  using sums = typename pass::sums;
  static constexpr bool is_team = Team::length > 0 && pass::known_results == Rows && pass::known_summed == Team::length;
  static constexpr int threads = sizeof(sums) <= 128 ? Team::threads : sizeof(sums) <= 1024 ? 32 : 1;  // of a block, that sum
  static constexpr int at_once = is_team ? team_points_at_once<Team>() : pass::at_once;
  static constexpr int registers = is_team ? registers_of_points<Kernel>(at_once, at_once / Team::width) + at_once * int(sizeof(sums)) / 4 : pass::registers;
  static constexpr extent known_group = is_team ? Team::group : pass::known_summed >= 0 ? group_of<pass>(pass::known_summed, threads) : -1;
  row_arguments<Kernel> a;
  number_of<of_a_row(pass::known_results, Rows)> results;
  number_of<pass::known_summed> summed;  // points of a result
  number_of<known_group> group;

  row_sums(const row_arguments<Kernel>& given, extent rows)
      : a(given), results(given.whole.points(Kept) / rows), summed(given.whole.points(pass::summed_dims)), group(group_of<pass>(summed, threads)) {}
  COTANGENT_HD extent rounds(const rows_of_block& rows) const {
    if constexpr (is_team) return 1;
    else return divide_up((rows.last - rows.first) * results, threads / group);
  }
  COTANGENT_HD static void merge(sums& x, sums& y) { x.merge(y); }
  template <class Registers> COTANGENT_HD sums collect(const rows_of_block& rows, extent round, int thread, Registers& kept) const {
    const extent r = result_of(rows, round, thread);
    if constexpr (is_team) {
      team_point<sums, Registers, InRegisters, Team::width> s[at_once];
      COTANGENT_UNROLL
      for (auto& each : s) each.clear();
      if (r < rows.last) run_team<Kernel, Rows, Team>(a.of(rows), r, thread % Team::group, kept, s);
      COTANGENT_UNROLL
      for (int p = 1; p < at_once; ++p) s[0].merge(s[p]);
      return s[0];
    } else return pass::collect(a.of(rows), r, 0, index_type<layout_of<Kernel>>(r < rows.last * results ? extent(summed) : 0), thread % int(group), int(group));
  }
  COTANGENT_HD void finish(const rows_of_block& rows, extent round, int thread, sums& s) const {
    const extent r = result_of(rows, round, thread);
    if (r < rows.last * results) pass::store(a.of(rows), r, s);
  }

 private:
  COTANGENT_HD extent result_of(const rows_of_block& rows, extent round, int thread) const {
    return rows.first * results + round * (threads / group) + thread / int(group);
  }
};

/// The phases of the steps of a group.
template <class... Phase> struct phase_list;
template <> struct phase_list<> {
  static constexpr int count = 0;
  static constexpr std::size_t shared_bytes = 0;
  static constexpr int registers = 0;
  static constexpr bool is_of_teams = false;
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
  static constexpr int count = 1 + phase_list<Rest...>::count;
  static constexpr bool is_of_teams = First::is_team || phase_list<Rest...>::is_of_teams;
  template <class Visit> COTANGENT_HD void each(const Visit& visit) const {
    visit(first);
    rest.each(visit);
  }
};

template <class Phases, class Registers, int Threads> struct rows_grid {
  using registers_type = Registers;
  static constexpr int threads = Threads, for_teams = Registers::registers + 24 + Phases::count;
  // 16: addresses of what phases share. Teams: what is kept is most of what is needed, and half as many again would be too many.
  static constexpr int registers = Phases::is_of_teams ? (for_teams > Phases::registers ? for_teams : Phases::registers) * 2 / 3 : Phases::registers + 16;
  static constexpr std::size_t shared_bytes = Phases::shared_bytes;
  Phases phases;
  extent rows, rows_of_block_count, bytes_of_slot;
  std::byte* memory;

  extent blocks() const { return divide_up(rows, rows_of_block_count); }
  COTANGENT_HD std::byte* slot(extent number) const { return memory + number * bytes_of_slot; }
  COTANGENT_HD rows_of_block block(extent b, std::byte* slot) const { return {b * rows_of_block_count, smaller((b + 1) * rows_of_block_count, rows), slot}; }
};

/// The phases of a kernel.
template <class Kernel, extent Rows, class Team, class Kept, class Sets> struct phases_of_kernel;
template <class Kernel, extent Rows, class Team, class Kept, std::size_t... P> struct phases_of_kernel<Kernel, Rows, Team, Kept, std::index_sequence<P...>> {
  static constexpr kept_sets sets = find_kept_sets(reductions_of<Kernel>{});
  using type = types<row_sums<Kernel, Rows, sets.sets[P], int(P) + 1 == sets.count, Team, Kept>...>;
};
template <class Kernel, extent Rows, class Team, class Kept> struct phases_of_kernel<Kernel, Rows, Team, Kept, std::index_sequence<>> {
  using type = types<row_points<Kernel, Rows, Team, Kept>>;
};
template <class Kernel, extent Rows, class Team, class Kept>
using phases_of = typename phases_of_kernel<Kernel, Rows, Team, Kept, std::make_index_sequence<std::size_t(find_kept_sets(reductions_of<Kernel>{}).count)>>::type;
template <class First, class... Rest> phase_list<First, Rest...> with_first(const First& first, const phase_list<Rest...>& rest) { return {first, rest}; }
/// The phases of a step before those of the next ones.
template <class Kernel, class... Rest> phase_list<Rest...> before(types<>, const row_arguments<Kernel>&, extent, const phase_list<Rest...>& rest) { return rest; }
template <class First, class... Others, class Kernel, class... Rest>
auto before(types<First, Others...>, const row_arguments<Kernel>& a, extent rows, const phase_list<Rest...>& rest) {
  const auto others = before(types<Others...>{}, a, rows, rest);
  return with_first(First(a, rows), others);
}

/// Runs phases over rows. (The grid's type comes from the arguments: see run_loop_grid.)
template <class Registers, int Threads, class Phases, class Queue> void run_rows_grid(const Queue& queue, const Phases& phases, extent rows, extent rows_at_once, extent bytes_of_slot) {
  rows_grid<Phases, Registers, Threads> grid{phases, rows, rows_at_once, bytes_of_slot, nullptr};
  const bool is_shared = bytes_of_slot + extent(grid.shared_bytes) <= Queue::shared_bytes;
  const typename Queue::memory memory(queue, is_shared ? 0 : queue.slots(grid.blocks()) * bytes_of_slot);
  grid.memory = memory.data();
  queue.run_rows(grid);
}

}  // namespace cotangent::simt
