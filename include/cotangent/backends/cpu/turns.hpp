#pragma once
/// Loops whose body is one kernel with a point per row: the carries of some rows stay in registers through all turns.

#include <cotangent/backends/carries.hpp>
#include <cotangent/backends/cpu/loops.hpp>

namespace cotangent::host {
inline namespace COTANGENT_ISA {

/// Whether the rows of a kernel are so few that no others could hide the latency of a turn, or of what goes through memory.
template <class Layout> constexpr bool has_few_rows() {
  constexpr lane_plan plan = plan_of<Layout, reduce_list<>>;
  return plan.lanes > 0 && plan.lanes <= 2 * plan.width;
}

/// Two vectors of rows go side by side, so that each hides the latency of the other, if their carries have at most so many elements.
inline constexpr int most_carried = 12;
constexpr bool goes_side_by_side(int elements) { return elements <= most_carried; }
/// Of turns of at most so many values, statement by statement. The values of longer ones would not fit the registers: there so many chunks of
/// statements run for one vector, and then for the other, which the processor overlaps.
inline constexpr int most_values_in_step = 64, chunks_in_turn = 4;

/// The carries of N rows. What the body reduces over rows into ys is combined lane by lane: there are N of each element of the ys.
template <class Carries, int N, int Bytes> struct turning_registers : Carries {
  template <class Reduce, class V, class E> COTANGENT_HOST_INLINE void add(Reduce, const V& value, const E& e) {
    using parts = reduce_parts<Reduce>;
    using T = typename parts::type;
    using op = typename parts::operation;
    using reg = register_type<T, N, Bytes>;
    T* const to = static_cast<T*>(e.at.buffers[parts::buffer]) + parts::offset * N;
    const reg sum = reg::load(to);
    if constexpr (E::partial && N > 1) select(first_lanes<int(sizeof(T)), N>(e.count), combined<op>(sum, value), sum).store(to);
    else combined<op>(sum, value).store(to);
  }
};

/// A loop whose body is the kernel, vector by vector of rows.
template <class Kernel, class Roles, class... Carry> class loop_of_rows;
template <class Kernel, class Roles, class... T, int... Elements> class loop_of_rows<Kernel, Roles, carry_type<T, Elements>...> {
 public:
  using layout = layout_of<Kernel>;
  static constexpr lane_plan plan = plan_of<layout, reduce_list<>>;
  static constexpr int lanes = plan.width, elements = (0 + ... + Elements);

 protected:
  using carries = loop_registers<Roles, lanes, mask_bytes<layout>, std::make_integer_sequence<int, int(sizeof...(T))>, carry_type<T, Elements>...>;
  using registers = turning_registers<carries, lanes, mask_bytes<layout>>;
  position<layout> at_;
  carry_places<int(sizeof...(T))> places_;

  template <class Carried> loop_of_rows(void* const* buffers, const extent* extents, const Carried& carry) : at_(buffers, extents), places_(carry) {}

  /// turns(registers, the numbers of the vectors) for vectors from `row` on, with their carries, which are at `from`; the last one has
  /// `count` rows.
  template <class Turns, int... V>
  COTANGENT_HOST_INLINE void with_carries(const void* const* from, extent row, int count, const Turns& turns, std::integer_sequence<int, V...> vectors) const {
    constexpr int last = int(sizeof...(V)) - 1;
    registers r[sizeof...(V)];
    const int loaded[] = {(r[V].load(from, row + V * lanes, V == last ? count : lanes), 0)...};
    turns(r, vectors);
    const int stored[] = {(r[V].store(places_.to, row + V * lanes, V == last ? count : lanes), 0)...};
    (void)loaded, (void)stored;
  }
};

/// The statements per vector from chunk number First on, in turn for each of several vectors.
template <class Analysis, int First, class E, int Vectors, int... V> COTANGENT_HOST_INLINE void evaluate_in_turn(E (&e)[Vectors], std::integer_sequence<int, V...> vectors) {
  constexpr int chunks = int(chunks_of<stage::per_vector, Analysis>::size()), count = std::min(chunks - First, chunks_in_turn);
  const auto run = [&]<int... C>(E& one, std::integer_sequence<int, C...>) COTANGENT_EXPANDED {
    const int done[] = {run_chunk<Analysis, first_of_chunk<stage::per_vector, Analysis, First + C>>(one, statements_of<stage::per_vector, Analysis, First + C>())...};
    (void)done;
  };
  (run(e[V], std::make_integer_sequence<int, count>()), ...);
  if constexpr (First + count < chunks) evaluate_in_turn<Analysis, First + count>(e, vectors);
}

/// Evaluates a kernel for vectors of rows from `row` on, side by side, of which the last one has `count` rows.
template <class Kernel, int Lanes, bool Partial, class Registers, int Vectors, int... V>
COTANGENT_HOST_INLINE void run_side_by_side(const position<layout_of<Kernel>>& at, extent row, int count, Registers (&r)[Vectors], std::integer_sequence<int, V...>) {
  using layout = layout_of<Kernel>;
  using vector = evaluation<layout, Lanes, Partial, Registers>;
  constexpr program_of<Kernel> steps{};
  fixed_registers<layout, Lanes> fixed;
  vector e[] = {vector(at, row + V * Lanes, V == Vectors - 1 ? count : Lanes, fixed, r[V])...};
  evaluate_points<stage::constants>(steps, e, chunks_of<stage::constants, analysis<Kernel>>{});
  evaluate<stage::per_row>(steps, e[0], chunks_of<stage::per_row, analysis<Kernel>>{});
  if constexpr (layout::shape.varying.total() <= most_values_in_step) evaluate_points<stage::per_vector>(steps, e, chunks_of<stage::per_vector, analysis<Kernel>>{});
  else evaluate_in_turn<analysis<Kernel>, 0>(e, std::integer_sequence<int, V...>());
}
// (As lists: g++ keeps the elements of an array that a loop goes over in memory.)
template <class Registers, int Vectors, int... V> COTANGENT_HOST_INLINE void number_turn(Registers (&r)[Vectors], extent index, std::integer_sequence<int, V...>) {
  ((r[V].index = std::int32_t(index)), ...);
}
template <class Registers, int Vectors, int... V> COTANGENT_HOST_INLINE void turn_all(Registers (&r)[Vectors], std::integer_sequence<int, V...>) {
  (r[V].turn(), ...);
}

/// Whether a turn of a kernel is so short that most of it would be to load the carries and to store them.
template <class Layout> constexpr bool has_short_turns() {
  constexpr int most_values = 24;
  return plan_of<Layout, reduce_list<>>.lanes != 1 && Layout::shape.varying.total() <= most_values;
}

/// The turns of a loop of a known length.
template <class Kernel, class Roles, class... Carry> class scan_of_rows : loop_of_rows<Kernel, Roles, Carry...> {
  using base = loop_of_rows<Kernel, Roles, Carry...>;
  using base::plan;

 public:
  using base::lanes;
  /// `turns`: see loop_turns.
  template <class Turns> scan_of_rows(void* const* buffers, const extent* extents, const Turns& turns)
      : base(buffers, extents, turns.carry), length_(turns.length), first_index_(turns.start), index_step_(turns.index_step) {
    Roles::start(turns, base::at_.buffers, steps_);
  }

  /// All turns of all rows, if there are few.
  void run() const {
    constexpr bool side_by_side = plan.lanes > lanes && goes_side_by_side(base::elements);
    if constexpr (plan.lanes <= lanes) run_vectors<1, plan.lanes != lanes>(0, int(plan.lanes), {0, length_});
    else if constexpr (side_by_side) run_vectors<2, plan.lanes != 2 * lanes>(0, int(plan.lanes) - lanes, {0, length_});
    else {  // in turns, while what one vector has read is still in the cache for the other
      const extent some = turns_in_cache();
      for (extent first = 0; first == 0 || first < length_; first += some) {
        const range turns{first, smaller(first + some, length_)};
        run_vectors<1, plan.lanes != 2 * lanes>(0, lanes, turns);
        run_vectors<1, plan.lanes != 2 * lanes>(lanes, int(plan.lanes) - lanes, turns);
      }
    }
  }
  /// How many vectors of rows go side by side.
  static constexpr int vectors = !goes_side_by_side(base::elements) ? 1 : base::elements == 1 ? 8 : 3 * base::elements <= most_carried ? 4 : 2;
  /// All turns of the rows [first, last).
  void run(extent first, extent last) const {
    if constexpr (!plan.always_partial || lanes == 1)
      for (; first + vectors * lanes <= last; first += vectors * lanes) run_vectors<vectors, false>(first, lanes, {0, length_});
    if constexpr (lanes > 1 || vectors > 1)
      for (; first < last; first += lanes) run_vectors<1, (lanes > 1)>(first, int(smaller(lanes, last - first)), {0, length_});
  }

 private:
  struct range { extent first, last; };

  extent length_, first_index_, index_step_;
  extent steps_[Roles::count + 1];  // bytes per turn

  /// How many turns read and write as much as half of a core's second cache holds.
  extent turns_in_cache() const {
    constexpr extent cache = 1 << 18;
    extent bytes = 1;
    for (int b = 0; b < Roles::count; ++b) bytes += steps_[b] < 0 ? -steps_[b] : steps_[b];
    return cache / bytes + 1;
  }

  /// Some turns of some vectors: the first of all turns begins with the loop's carries, others with what the turns before have stored.
  template <int Vectors, bool Partial> [[gnu::noinline]] void run_vectors(extent row, int count, range turns) const {
    const void* const* from = turns.first == 0 ? base::places_.from : base::places_.to;
    base::with_carries(from, row, count, [&](auto& r, auto vectors) COTANGENT_EXPANDED {
      position<layout_of<Kernel>> at = base::at_;
      extent before[Roles::count + 1];
      for (int b = 0; b < Roles::count; ++b) before[b] = turns.first * steps_[b];
      Roles::advance(at.buffers, before);
      extent index = first_index_ + turns.first * index_step_;
      for (extent i = turns.first; i < turns.last; ++i, index += index_step_) {
        number_turn(r, index, vectors);
        run_side_by_side<Kernel, lanes, Partial>(at, row, count, r, vectors);
        turn_all(r, vectors);
        Roles::advance(at.buffers, steps_);
      }
    }, std::make_integer_sequence<int, Vectors>());
  }
};

/// The turns of a while loop, whose condition is the kernel Test. Rows stop when they are done, vector by vector.
template <class Kernel, class Roles, class Test, class TestRoles, class... Carry> class while_of_rows : loop_of_rows<Kernel, Roles, Carry...> {
  using base = loop_of_rows<Kernel, Roles, Carry...>;
  using base::plan, base::lanes;
  static constexpr bool side_by_side = !plan.always_partial && (plan.lanes < 0 || plan.lanes >= 2 * lanes) && lanes > 1 && goes_side_by_side(base::elements);

 public:
  static constexpr extent together = (side_by_side ? 2 : 1) * lanes;

  template <class Carried> while_of_rows(void* const* buffers, const extent* extents, void* const* test_buffers, const extent* test_extents, const Carried& carry)
      : base(buffers, extents, carry), test_at_(test_buffers, test_extents) {}

  /// Rows [first, last).
  void run(extent first, extent last) const {
    if constexpr (!plan.always_partial || lanes == 1)
      for (; first + together <= last; first += together) run_vectors<int(together / lanes), false>(first, lanes);
    if constexpr (lanes > 1)
      for (; first < last; first += lanes) run_vectors<1, true>(first, int(smaller(lanes, last - first)));
  }

 private:
  static constexpr int test_bytes = mask_bytes<layout_of<Test>>;
  using test_type = test_registers<TestRoles, lanes, test_bytes, typename base::registers>;
  position<layout_of<Test>> test_at_;

  template <int Vectors, bool Partial> [[gnu::noinline]] void run_vectors(extent row, int count) const {
    base::with_carries(base::places_.from, row, count, [&](auto& r, auto vectors) COTANGENT_EXPANDED {
      while (holds<Partial>(row, count, r, vectors)) {
        run_side_by_side<Kernel, lanes, Partial>(base::at_, row, count, r, vectors);
        turn_all(r, vectors);
      }
    }, std::make_integer_sequence<int, Vectors>());
  }
  /// Whether the condition holds for some row.
  template <bool Partial, int Vectors, int... V>
  COTANGENT_HOST_INLINE bool holds(extent row, int count, const typename base::registers (&r)[Vectors], std::integer_sequence<int, V...> vectors) const {
    test_type t[] = {test_type{r[V]}...};
    run_side_by_side<Test, lanes, Partial>(test_at_, row, count, t, vectors);
    return (false || ... || any(Partial ? t[V].holds & first_lanes<test_bytes, lanes>(count) : t[V].holds));
  }
};

}  // namespace COTANGENT_ISA
}  // namespace cotangent::host
