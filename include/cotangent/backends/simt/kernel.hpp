#pragma once
/// Kernel types on devices of many threads, one point of the iteration space per lane of a thread: what every thread of every
/// block does, as function objects. A CUDA device runs them as grids (backends/cuda); Thrust's host systems run block after
/// block the same text (backends/thrust).
///
/// A grid G has
///   G::threads                     per block
///   G::registers                   of a thread, as an estimate, if there is one
///   blocks()                       how many
///   operator()(block, thread)
/// or, if the threads of a block add up what they have found,
///   G::sums                        trivial; of one thread
///   G::merge(a, b)                 a <- a and b
///   group                          so many threads (a power of two) have sums of one result
///   place(thread)                  of a thread among those of its block, where groups stand together
///   collect(block, place)          the sums of a thread
///   finish(block, place, sums)     called for the first place of each group
///
/// How work is cut depends on extents alone: results are the same, bit for bit, on every device that computes alike.

#include <cotangent/backends/simt/neighbours.hpp>
#include <cotangent/backends/simt/registers.hpp>

namespace cotangent::simt {

using namespace kernels;

/// The smallest power of two that is n or more, at most `most`.
constexpr int power_of_two(extent n, int most) {
  int p = 1;
  while (p < n && p < most) p *= 2;
  return p;
}
/// i / n; half of the numbers' bits are enough for most arrays, and take a quarter of the time.
COTANGENT_HD inline extent quotient(extent i, extent n) { return ((i | n) >> 32) == 0 ? extent(unsigned(i) / unsigned(n)) : i / n; }
COTANGENT_HD inline std::int32_t quotient(std::int32_t i, std::int32_t n) { return std::int32_t(unsigned(i) / unsigned(n)); }

/// A number that is known when kernels are compiled, or, if Known is -1, at run time.
template <extent Known> struct number_of {
  COTANGENT_HD constexpr number_of(extent) {}
  COTANGENT_HD constexpr operator extent() const { return Known; }
};
template <> struct number_of<-1> {
  extent value;
  COTANGENT_HD constexpr number_of(extent n) : value(n) {}
  COTANGENT_HD constexpr operator extent() const { return value; }
};

inline constexpr int block_threads = 256;

/// A kernel's arguments, passed by value.
template <class Kernel> struct arguments {
  using layout = layout_of<Kernel>;
  void* buffers[layout::shape.buffers > 0 ? layout::shape.buffers : 1] = {};
  extent slots[layout::shape.slots > 0 ? layout::shape.slots : 1] = {};

  arguments(void* const* from, const extent* extents) {
    for (int i = 0; i < layout::shape.buffers; ++i) buffers[i] = from[i];
    for (int i = 0; i < layout::shape.slots; ++i) slots[i] = extents[i];
  }

  /// The number of points along the merged dimensions of a set.
  extent points(std::uint32_t dims) const {
    extent n = 1;
    for (int d = 0; d < layout::dims.rank; ++d)
      if (dims >> d & 1u) n *= layout::extent_of(d, slots);
    return n;
  }
};

/// All merged dimensions of a kernel, as bits.
template <class Layout> inline constexpr std::uint32_t every_dim = (std::uint32_t(1) << Layout::dims.rank) - 1;
/// The number of points along the merged dimensions of a set, or -1 if it is known at run time only.
template <class Layout> constexpr extent known_points(std::uint32_t dims) {
  extent n = 1;
  for (int d = 0; d < Layout::dims.rank; ++d)
    for (int own = Layout::dims.first[d]; (dims >> d & 1u) && own <= Layout::dims.last[d]; ++own) {
      if (is_slot(Layout::own_extents[own])) return -1;
      n *= Layout::own_extents[own];
    }
  return n;
}

/// Sets the indices along the dimensions of a set to those of point number `point` among them, in row-major order.
template <class Layout, std::uint32_t Dims> COTANGENT_HD inline void set_indices(position<Layout>& at, index_type<Layout> point) {
  constexpr int first = Dims == 0 ? 0 : std::countr_zero(Dims), rank = Layout::dims.rank;
  COTANGENT_UNROLL
  for (int d = rank - 1; d >= 0; --d) {
    if (!(Dims >> d & 1u)) continue;
    if (d == first) {
      at.index[d] = point;
      break;
    }
    const auto size = index_type<Layout>(Layout::extent_of(d, at.slots)), rest = quotient(point, size);
    at.index[d] = point - rest * size;
    point = rest;
  }
}
template <class Layout> COTANGENT_HD inline index_type<Layout> lane_of(const position<Layout>& at) { return at.index[Layout::dims.rank > 0 ? Layout::dims.rank - 1 : 0]; }

/// A kernel's statements at the points whose positions are given; reductions go to sums[0], sums[1], ...
template <class Kernel, int Points, class Sums, std::size_t... P>
COTANGENT_HD inline void run_points(const position<layout_of<Kernel>> (&at)[Points], Sums (&sums)[Points], std::index_sequence<P...>) {
  using layout = layout_of<Kernel>;
  using point = evaluation<layout, 1, false, Sums>;
  fixed_registers<layout, 1> fixed[Points];
  point e[Points] = {point(at[P], lane_of(at[P]), 1, fixed[P], sums[P])...};
  evaluate_points<stage::constants>(program_of<Kernel>{}, e, chunks_of<stage::constants, analysis<Kernel>>{});
  evaluate_points<stage::per_row>(program_of<Kernel>{}, e, chunks_of<stage::per_row, analysis<Kernel>>{});
  evaluate_points<stage::per_vector>(program_of<Kernel>{}, e, chunks_of<stage::per_vector, analysis<Kernel>>{});
}
/// `most` points of a kernel, or a half, a quarter, ... of them: as many as a thread has registers for, beside so many for each, and as
/// compilers can do with.
template <class Kernel> constexpr int points_at_once(int most, int beside = 0) {
  constexpr int most_registers = 48, most_statements = 256, needed = live_registers<Kernel>, statements = layout_of<Kernel>::shape.varying.total();
  while (most > 1 && (most * (needed + beside) > most_registers || most * statements > most_statements)) most /= 2;
  return most;
}

/// How the threads of a grid share out the points of a kernel without reductions: `width` neighbours along the lanes are loaded and stored
/// together, and a thread has `at_once` points, so that several loads are on their way.
struct point_choice {
  int width = 1, at_once = 1;
};
/// How many neighbours along the lanes lie in 16 bytes of a kernel's widest elements, if all that it reads and stores is contiguous along the
/// lanes or the same for them; else 1.
template <class Kernel> constexpr int count_neighbours() {
  using parts = typename analysis<Kernel>::parts;
  using layout = layout_of<Kernel>;
  constexpr int access_bytes = 16;
  constexpr int rank = layout::dims.rank, lane = layout::dims.last[rank > 0 ? rank - 1 : 0];
  int widest = 0;
  bool contiguous = rank > 0;
  for (int i = 0; i < parts::forms; ++i) {
    const facts::form_facts f = parts::form_table[i];
    if (f.kind != action::load && f.kind != action::store) continue;
    const extent stride = contiguous ? f.strides[lane] : 0;
    contiguous = contiguous && f.windowed == 0 && (stride == 0 || stride == 1);
    if (stride == 1 && int(size_of(f.type)) > widest) widest = int(size_of(f.type));
  }
  if (!contiguous || widest == 0) return 1;
  return widest < 4 ? 4 : access_bytes / widest;
}
/// What a kernel's accesses allow, of which so many are to be on their way, and its registers, beside so many for each point. Windows and
/// rows that are not contiguous are read faster if neighbouring threads are neighbours.
template <class Kernel> constexpr point_choice choose_points(int accesses = 2, int beside = 0) {
  point_choice c;
  c.width = count_neighbours<Kernel>();
  c.at_once = points_at_once<Kernel>(c.width > 1 ? accesses * c.width : 4, beside);
  if (c.at_once < c.width) c.width = c.at_once;
  return c;
}
/// Whether each `width` points that follow each other along the merged dimensions of a set are neighbours along the lanes, at whatever point
/// that is a multiple of `width` one begins.
template <class Layout> COTANGENT_HD constexpr bool are_rows_of(int width, std::uint32_t dims, const extent* slots) {
  if constexpr (Layout::dims.rank == 0) return false;
  else {
    constexpr int lane = Layout::dims.rank - 1;
    return (dims >> lane & 1u) && (dims == std::uint32_t(1) << lane || Layout::extent_of(lane, slots) % width == 0);
  }
}

/// A kernel without reductions.
template <class Kernel> struct point_grid {
  using layout = layout_of<Kernel>;
  static constexpr point_choice choice = choose_points<Kernel>();
  static constexpr int width = choice.width, at_once = choice.at_once, registers = registers_of_points<Kernel>(at_once, at_once / width);
  static constexpr int threads = registers > 128 ? block_threads / 2 : block_threads;
  /// Whether a thread has neighbours wherever arrays begin at multiples of 16 bytes; where they do not, it takes its points singly.
  static constexpr bool always_adjacent = width > 1 && layout::is_static && are_rows_of<layout>(width, every_dim<layout>, nullptr);
  arguments<Kernel> a;
  extent points;
  int of_thread;  // points: one, if there are too few for all threads of a device
  bool adjacent;  // those that a thread has at once: `width` neighbours, and as many from further on

  point_grid(void* const* buffers, const extent* extents)
      : a(buffers, extents), points(a.points(every_dim<layout>)), of_thread(points >= at_once * enough_threads ? at_once : 1), adjacent(of_thread > 1 && neighbours_fit()) {}
  extent blocks() const { return divide_up(points, threads * of_thread); }

  COTANGENT_HD void operator()(extent block, int thread) const {
    const extent first = block * (threads * of_thread) + (adjacent ? thread * width : thread);
    if constexpr (at_once > 1)
      if (of_thread == at_once && (adjacent || !always_adjacent) && first + place(at_once - 1) < points) return run<at_once>(first);
    for (int p = 0; p < of_thread; ++p)
      if (first + place(p) < points) run<1>(first + place(p));
  }

 private:
  static constexpr extent enough_threads = extent(1) << 15;

  /// Where point p of a thread is, from its first one on.
  COTANGENT_HD extent place(int p) const { return adjacent ? p / width * (width * threads) + p % width : extent(p) * threads; }

  template <int Count> COTANGENT_HD void run(extent first) const {
    constexpr int rank = layout::dims.rank;
    position<layout> at[Count];
    neighbouring_points<Count < width ? 1 : width, always_adjacent && Count >= width> none[Count];
    COTANGENT_UNROLL
    for (int p = 0; p < Count; ++p) {
      none[p].adjacent = adjacent;
      at[p] = position<layout>(a.buffers, a.slots);
      if (width == 1 || rank < 2 || p % width == 0 || !(adjacent || always_adjacent)) set_indices<layout, every_dim<layout>>(at[p], first + place(p));
      else {
        COTANGENT_UNROLL
        for (int d = 0; d < rank; ++d) at[p].index[d] = at[p - p % width].index[d] + (d == rank - 1 ? p % width : 0);
      }
    }
    run_points<Kernel>(at, none, std::make_index_sequence<Count>{});
  }

  /// Whether neighbours are in one row, and where they are stored is a multiple of the bytes of an access; if they always are in one row, where
  /// arrays begin as well.
  bool neighbours_fit() const {
    using parts = typename analysis<Kernel>::parts;
    if constexpr (width == 1) return false;
    else {
      const auto number = [&](extent e) { return is_slot(e) ? a.slots[e - slot_base] : e; };
      const auto fits = [](extent e) { return e % width == 0; };
      constexpr int lane = layout::dims.rank - 1;
      if (lane > 0 && !fits(layout::extent_of(lane, a.slots))) return false;
      for (int i = 0; i < parts::forms; ++i) {
        const facts::form_facts& f = parts::form_table[i];
        if ((f.kind != action::store && f.kind != action::load) || f.strides[layout::dims.last[lane]] != 1) continue;
        const bool begins = reinterpret_cast<std::uintptr_t>(a.buffers[f.buffer]) % std::uintptr_t(width * size_of(f.type)) == 0;
        if (always_adjacent && !begins) return false;
        if (f.kind == action::load) continue;
        if (f.index_count > 0 || !fits(number(f.offset)) || !begins) return false;
        for (int d = 0; d < lane; ++d)
          if (!fits(number(f.strides[layout::dims.last[d]]))) return false;
      }
      return true;
    }
  }
};

/// One reduction's sum of one thread.
template <class Reduce, int Bytes> struct thread_sum {
  register_type<typename reduce_parts<Reduce>::type, 1, Bytes> value;
};
/// The sums of one thread for the reductions that keep the dimensions Kept. Others are left out, and stores unless Stores.
template <int Bytes, std::uint32_t Kept, bool Stores, class List> struct thread_sums;
template <int Bytes, std::uint32_t Kept, bool Stores, class... R> struct thread_sums<Bytes, Kept, Stores, reduce_list<R...>> : thread_sum<R, Bytes>... {
  static constexpr bool leaves_out_stores = !Stores;
  template <class Reduce> static constexpr bool has = reduce_parts<Reduce>::facts.kept_dims == Kept;

  template <class Reduce> COTANGENT_HD auto& of() { return static_cast<thread_sum<Reduce, Bytes>&>(*this).value; }

  COTANGENT_HD void clear() {
    const int done[] = {0, clear_one<R>()...};
    (void)done;
  }
  template <class Reduce, class V, class E> COTANGENT_INLINE void add(Reduce, const V& value, const E&) {
    if constexpr (has<Reduce>) of<Reduce>() = combined<typename reduce_parts<Reduce>::operation>(of<Reduce>(), value);
  }
  COTANGENT_HD void merge(thread_sums& other) {
    const int done[] = {0, merge_one<R>(other)...};
    (void)done;
  }

 private:
  template <class Reduce> COTANGENT_HD int clear_one() {
    using T = typename reduce_parts<Reduce>::type;
    if constexpr (has<Reduce>) of<Reduce>() = register_type<T, 1, Bytes>(reduce_parts<Reduce>::operation::template identity<T>());
    return 0;
  }
  template <class Reduce> COTANGENT_HD int merge_one(thread_sums& other) {
    if constexpr (has<Reduce>) of<Reduce>() = reduce_parts<Reduce>::operation::combine(of<Reduce>(), other.template of<Reduce>());
    return 0;
  }
};

/// How the points of a kernel that go to each result are shared out: `width` results by a block, `group` threads for each, in
/// `chunks` parts that are combined afterwards.
struct sharing {
  extent results = 1, summed = 1;
  int width = 1, group = 1;
  extent chunks = 1, chunk = 1;

  /// Lanes: whether neighbouring results, and not neighbouring points of one result, are neighbours in memory.
  static sharing of(extent results, extent summed, bool lanes, int threads) {
    constexpr extent of_a_thread = 16, many_blocks = 1024, wide = 32, multiple = 16;
    sharing s;
    s.results = results, s.summed = summed;
    if (lanes) s.width = results >= many_blocks * threads ? threads : power_of_two(results, int(wide) < threads ? int(wide) : threads);
    else s.width = threads / power_of_two(divide_up(summed, of_a_thread), threads);
    s.group = threads / s.width;
    const extent blocks = divide_up(results, s.width), parts = divide_up(summed, of_a_thread * s.group);
    if (blocks > 0 && blocks < many_blocks && parts > 1) s.chunks = smaller(parts, divide_up(2 * many_blocks, blocks));
    s.chunk = divide_up(divide_up(summed, s.chunks), multiple) * multiple;
    return s;
  }
};

/// One pass over a kernel's points for the reductions that keep the dimensions Kept.
template <class Kernel, std::uint32_t Kept, bool Stores> struct reduction_pass {
  using layout = layout_of<Kernel>;
  static constexpr int bytes = mask_bytes<layout>;
  using reductions = typename analysis<Kernel>::reductions;
  using sums = thread_sums<bytes, Kept, Stores, reductions>;
  static constexpr std::uint32_t summed_dims = every_dim<layout> & ~Kept;
  static constexpr bool lanes = layout::dims.rank > 0 && (Kept >> layout::dims.outer() & 1u);
  static constexpr point_choice choice = lanes ? point_choice{1, points_at_once<Kernel>(8, int(sizeof(sums)) / 4)} : choose_points<Kernel>(4, int(sizeof(sums)) / 4);
  static constexpr int width = choice.width, at_once = choice.at_once;
  static constexpr int registers = registers_of_points<Kernel>(at_once, at_once / width) + at_once * int(sizeof(sums)) / 4;
  static constexpr extent known_results = known_points<layout>(Kept), known_summed = known_points<layout>(summed_dims);

  /// Sums the points of result r from `begin` to `end` that are thread number `thread`'s of `group`: `width` at a time.
  COTANGENT_HD static sums collect(const arguments<Kernel>& a, extent r, index_type<layout> begin, index_type<layout> end, int thread, int group) {
    using index = index_type<layout>;
    neighbouring_sums<sums, width> s[at_once];
    const bool adjacent = width > 1 && are_rows_of<layout>(width, summed_dims, a.slots);
    COTANGENT_UNROLL
    for (auto& each : s) each.clear(), each.adjacent = adjacent;
    const index round = index(group) * width;
    index i = begin + thread * width;
    if constexpr (at_once > 1)
      for (; i + (at_once / width - 1) * round + width <= end; i += at_once / width * round) run<at_once>(a, r, i, round, s);
    for (; i < end; i += round)
      for (int p = 0; p < width && i + p < end; ++p) run<1>(a, r, i + p, round, reinterpret_cast<neighbouring_sums<sums, width>(&)[1]>(s[0]));
    COTANGENT_UNROLL
    for (int p = 1; p < at_once; ++p) s[0].merge(s[p]);
    return s[0];
  }
  /// Where result r lies.
  template <class Reduce> COTANGENT_HD static typename reduce_parts<Reduce>::type* address(const arguments<Kernel>& a, extent r) {
    using parts = reduce_parts<Reduce>;
    using where = typename parts::where;
    position<layout> at(a.buffers, a.slots);
    set_indices<layout, Kept>(at, r);
    return static_cast<typename parts::type*>(a.buffers[parts::buffer]) + row_offset(where{}, at) + (lanes ? lane_of(at) * value_of<lane_stride<layout, where>>(at.slots) : 0);
  }
  /// Stores the sums of result r.
  COTANGENT_HD static void store(const arguments<Kernel>& a, extent r, sums& s) { store_all(reductions{}, a, r, s); }

 private:
  template <int Count> COTANGENT_HD static void run(const arguments<Kernel>& a, extent result, index_type<layout> first, index_type<layout> round, neighbouring_sums<sums, width> (&s)[Count]) {
    position<layout> at[Count];
    COTANGENT_UNROLL
    for (int p = 0; p < Count; ++p) {
      at[p] = position<layout>(a.buffers, a.slots);
      set_indices<layout, Kept>(at[p], index_type<layout>(result));
      set_indices<layout, summed_dims>(at[p], first + p / width * round + p % width);
    }
    run_points<Kernel>(at, s, std::make_index_sequence<Count>{});
  }
  template <class... R> COTANGENT_HD static void store_all(reduce_list<R...>, const arguments<Kernel>& a, extent r, sums& s) {
    const int done[] = {0, store_one<R>(a, r, s)...};
    (void)done;
  }
  template <class Reduce> COTANGENT_HD static int store_one(const arguments<Kernel>& a, extent r, sums& s) {
    if constexpr (sums::template has<Reduce>) *address<Reduce>(a, r) = s.template of<Reduce>()[0];
    return 0;
  }
};

/// A pass as a grid. Each result is finished by one group of threads, or one of its chunks, which then goes to `partial`.
template <class Kernel, std::uint32_t Kept, bool Stores> struct reduction_grid {
  using pass = reduction_pass<Kernel, Kept, Stores>;
  using reductions = typename pass::reductions;
  using sums = typename pass::sums;
  static constexpr int threads = sizeof(sums) <= 128 ? block_threads : sizeof(sums) <= 512 ? 64 : sizeof(sums) <= 1024 ? 32 : 8, registers = pass::registers;

  arguments<Kernel> a;
  sharing cut;
  int group;
  void* partial[layout_of<Kernel>::shape.reductions] = {};  // [chunk][result], if there are chunks

  reduction_grid(void* const* buffers, const extent* extents)
      : a(buffers, extents), cut(sharing::of(a.points(Kept), a.points(pass::summed_dims), pass::lanes, threads)), group(cut.group) {}
  extent blocks() const { return divide_up(cut.results, cut.width) * cut.chunks; }

  COTANGENT_HD static void merge(sums& x, sums& y) { x.merge(y); }
  /// Neighbouring threads are at neighbouring elements.
  COTANGENT_HD int place(int thread) const { return pass::lanes ? thread % cut.width * group + thread / cut.width : thread; }

  COTANGENT_HD sums collect(extent block, int place) const {
    const extent r = result_of(block, place), first = chunk_of(block) * cut.chunk;
    const extent end = r < cut.results ? smaller(first + cut.chunk, cut.summed) : first;
    return pass::collect(a, r, index_type<layout_of<Kernel>>(first), index_type<layout_of<Kernel>>(end), place % group, group);
  }
  COTANGENT_HD void finish(extent block, int place, sums& s) const {
    const extent r = result_of(block, place);
    if (r >= cut.results) return;
    if (cut.chunks > 1) store_partials(reductions{}, chunk_of(block) * cut.results + r, s);
    else pass::store(a, r, s);
  }
  /// The bytes of the partial results, which lie in `memory` if it is given.
  std::size_t place_partials(char* memory) { return place_all(reductions{}, memory); }

 private:
  COTANGENT_HD extent chunk_of(extent block) const { return quotient(block, divide_up(cut.results, cut.width)); }
  COTANGENT_HD extent result_of(extent block, int place) const {
    return (block - chunk_of(block) * divide_up(cut.results, cut.width)) * cut.width + place / group;
  }
  template <class... R> COTANGENT_HD void store_partials(reduce_list<R...>, extent at, sums& s) const {
    const int done[] = {0, store_partial<R>(at, s)...};
    (void)done;
  }
  template <class Reduce> COTANGENT_HD int store_partial(extent at, sums& s) const {
    using parts = reduce_parts<Reduce>;
    if constexpr (sums::template has<Reduce>) static_cast<typename parts::type*>(partial[parts::facts.place])[at] = s.template of<Reduce>()[0];
    return 0;
  }
  template <class... R> std::size_t place_all(reduce_list<R...>, char* memory) {
    std::size_t bytes_used = 0;
    const int done[] = {0, (sums::template has<R> ? place_one<R>(memory, bytes_used) : 0)...};
    (void)done;
    return bytes_used;
  }
  template <class Reduce> int place_one(char* memory, std::size_t& used) {
    partial[reduce_parts<Reduce>::facts.place] = memory + used;
    used += (std::size_t(cut.chunks * cut.results) * sizeof(typename reduce_parts<Reduce>::type) + 63) / 64 * 64;
    return 0;
  }
};

/// Combines the chunks of a pass, in a fixed order.
template <class Grid> struct combining_grid {
  using pass = typename Grid::pass;
  using sums = typename Grid::sums;
  static constexpr int threads = Grid::threads;
  Grid chunks;
  int group;

  explicit combining_grid(const Grid& g) : chunks(g), group(power_of_two(divide_up(g.cut.chunks, 4), threads)) {}
  extent blocks() const { return divide_up(chunks.cut.results, threads / group); }

  COTANGENT_HD static void merge(sums& x, sums& y) { x.merge(y); }
  COTANGENT_HD int place(int thread) const { return thread % (threads / group) * group + thread / (threads / group); }
  COTANGENT_HD sums collect(extent block, int place) const {
    sums s;
    s.clear();
    const extent r = block * (threads / group) + place / group;
    if (r < chunks.cut.results)
      for (extent c = place % group; c < chunks.cut.chunks; c += group) add_all(typename Grid::reductions{}, c * chunks.cut.results + r, s);
    return s;
  }
  COTANGENT_HD void finish(extent block, int place, sums& s) const {
    const extent r = block * (threads / group) + place / group;
    if (r < chunks.cut.results) pass::store(chunks.a, r, s);
  }

 private:
  template <class... R> COTANGENT_HD void add_all(reduce_list<R...>, extent at, sums& s) const {
    const int done[] = {0, add_one<R>(at, s)...};
    (void)done;
  }
  template <class Reduce> COTANGENT_HD int add_one(extent at, sums& s) const {
    using T = typename reduce_parts<Reduce>::type;
    if constexpr (sums::template has<Reduce>)
      s.add(Reduce{}, register_type<T, 1, pass::bytes>(static_cast<const T*>(chunks.partial[reduce_parts<Reduce>::facts.place])[at]), 0);
    return 0;
  }
};

/// The sets of dimensions that the reductions of a kernel keep, each once.
struct kept_sets {
  int count = 0;
  std::uint32_t sets[64] = {};
};
template <class... R> constexpr kept_sets find_kept_sets(reduce_list<R...>) {
  kept_sets k;
  const std::uint32_t all[] = {0, reduce_parts<R>::facts.kept_dims...};
  for (std::size_t i = 1; i <= sizeof...(R); ++i) {
    bool found = false;
    for (int j = 0; j < k.count; ++j) found = found || k.sets[j] == all[i];
    if (!found) k.sets[k.count++] = all[i];
  }
  return k;
}

}  // namespace cotangent::simt
