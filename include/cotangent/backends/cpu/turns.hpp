#pragma once
/// Loops whose body is one kernel with a point per row: the carries of some rows stay in registers through all turns.

#include <cotangent/backends/carries.hpp>
#include <cotangent/backends/cpu/loops.hpp>

namespace cotangent::host {
inline namespace COTANGENT_ISA {

/// Whether the rows of a kernel are so few that no others could hide the latency of a turn, or of what goes through memory.
template <class Layout> constexpr bool has_few_rows() {
  constexpr lane_plan plan = plan_of<Layout>(reduce_list<>{});
  return plan.lanes > 0 && plan.lanes <= 2 * plan.width;
}

/// Two vectors of rows go side by side, so that each hides the latency of the other, if their carries have at most so many elements.
inline constexpr int most_carried = 12;

/// The turns of a loop of a known length with few rows, whose body is the kernel.
template <class Kernel, class Roles, class... Carry> class scan_of_rows;
template <class Kernel, class Roles, class... T, int... Elements> class scan_of_rows<Kernel, Roles, carry_type<T, Elements>...> {
 public:
  using layout = layout_of<Kernel>;
  static constexpr lane_plan plan = plan_of<layout>(reduce_list<>{});
  static constexpr int lanes = plan.width, carries = int(sizeof...(T));

  /// `turns`: see loop_turns.
  template <class Turns> scan_of_rows(void* const* buffers, const extent* extents, const Turns& turns)
      : at_(buffers, extents), length_(turns.length), first_index_(turns.start), index_step_(turns.index_step) {
    for (int k = 0; k < carries; ++k) from_[k] = turns.carry.now[k], to_[k] = turns.carry.last[k];
    for (int b = 0; b < Roles::count; ++b) {
      const loop_buffer x = Roles::of(b);
      steps_[b] = x.what == loop_buffer::x ? turns.x_step[x.number] : x.what == loop_buffer::y ? turns.y_step[x.number] : 0;
      if (x.what == loop_buffer::x) at_.buffers[b] = const_cast<std::byte*>(turns.x_at[x.number]);
      if (x.what == loop_buffer::y) at_.buffers[b] = turns.y_at[x.number];
    }
  }

  /// All turns of all rows.
  void run() const {
    constexpr bool side_by_side = plan.lanes > lanes && (0 + ... + Elements) <= most_carried;
    if constexpr (plan.lanes <= lanes) run_vectors<1, plan.lanes != lanes>(0, int(plan.lanes));
    else if constexpr (side_by_side) run_vectors<2, plan.lanes != 2 * lanes>(0, int(plan.lanes) - lanes);
    else {
      run_vectors<1, plan.lanes != 2 * lanes>(0, lanes);
      run_vectors<1, plan.lanes != 2 * lanes>(lanes, int(plan.lanes) - lanes);
    }
  }

 private:
  using registers = loop_registers<Roles, lanes, mask_bytes<layout>, std::make_integer_sequence<int, carries>, carry_type<T, Elements>...>;
  position<layout> at_;
  extent length_, first_index_, index_step_;
  const void* from_[carries + 1];
  void* to_[carries + 1];
  extent steps_[Roles::count + 1];  // bytes per turn

  template <int Vectors, bool Partial> [[gnu::noinline]] void run_vectors(extent row, int count) const {
    run_vectors<Partial>(row, count, std::make_integer_sequence<int, Vectors>());
  }
  /// The last vector has `count` rows.
  template <bool Partial, int... V> COTANGENT_HOST_INLINE void run_vectors(extent row, int count, std::integer_sequence<int, V...>) const {
    using vector = evaluation<layout, lanes, Partial, registers>;
    constexpr program_of<Kernel> steps{};
    constexpr int last = int(sizeof...(V)) - 1;
    registers r[sizeof...(V)];
    const int loaded[] = {(r[V].load(from_, row + V * lanes, V == last ? count : lanes), 0)...};
    position<layout> at = at_;
    extent index = first_index_;
    for (extent i = 0; i < length_; ++i, index += index_step_) {
      fixed_registers<layout, lanes> fixed;
      const int numbered[] = {(r[V].index = std::int32_t(index), 0)...};
      vector e[] = {vector(at, row + V * lanes, V == last ? count : lanes, fixed, r[V])...};
      evaluate_points<stage::constants>(steps, e, chunks_of<stage::constants, analysis<Kernel>>{});
      if constexpr (plan.has_fixed) evaluate<stage::per_row>(steps, e[0], chunks_of<stage::per_row, analysis<Kernel>>{});
      evaluate_points<stage::per_vector>(steps, e, chunks_of<stage::per_vector, analysis<Kernel>>{});
      const int turned[] = {(r[V].turn(), 0)...};
      Roles::advance(at.buffers, steps_);
      (void)numbered, (void)turned;
    }
    const int stored[] = {(r[V].store(to_, row + V * lanes, V == last ? count : lanes), 0)...};
    (void)loaded, (void)stored;
  }
};

/// The turns of a while loop, whose body and condition are the kernels. Rows stop when they are done, vector by vector.
template <class Kernel, class Roles, class Test, class TestRoles, class... Carry> class while_of_rows;
template <class Kernel, class Roles, class Test, class TestRoles, class... T, int... Elements> class while_of_rows<Kernel, Roles, Test, TestRoles, carry_type<T, Elements>...> {
 public:
  using layout = layout_of<Kernel>;
  using test_layout = layout_of<Test>;
  static constexpr lane_plan plan = plan_of<layout>(reduce_list<>{});
  static constexpr int lanes = plan.width, carries = int(sizeof...(T));
  static constexpr bool side_by_side = !plan.always_partial && (plan.lanes < 0 || plan.lanes >= 2 * lanes) && lanes > 1 && (0 + ... + Elements) <= most_carried;
  static constexpr extent together = (side_by_side ? 2 : 1) * lanes;

  /// `carry`: see carried.
  template <class Carried> while_of_rows(void* const* buffers, const extent* extents, void* const* test_buffers, const extent* test_extents, const Carried& carry)
      : at_(buffers, extents), test_at_(test_buffers, test_extents) {
    for (int k = 0; k < carries; ++k) from_[k] = carry.now[k], to_[k] = carry.last[k];
  }

  /// Rows [first, last).
  void run(extent first, extent last) const {
    if constexpr (!plan.always_partial || lanes == 1)
      for (; first + together <= last; first += together) run_vectors<int(together / lanes), false>(first, lanes);
    if constexpr (lanes > 1)
      for (; first < last; first += lanes) run_vectors<1, true>(first, int(smaller(lanes, last - first)));
  }

 private:
  using registers = loop_registers<Roles, lanes, mask_bytes<layout>, std::make_integer_sequence<int, carries>, carry_type<T, Elements>...>;
  using test_type = test_registers<TestRoles, lanes, mask_bytes<test_layout>, registers>;
  position<layout> at_;
  position<test_layout> test_at_;
  const void* from_[carries + 1];
  void* to_[carries + 1];

  template <int Vectors, bool Partial> [[gnu::noinline]] void run_vectors(extent row, int count) const {
    run_vectors<Partial>(row, count, std::make_integer_sequence<int, Vectors>());
  }
  /// The last vector has `count` rows.
  template <bool Partial, int... V> COTANGENT_HOST_INLINE void run_vectors(extent row, int count, std::integer_sequence<int, V...>) const {
    using vector = evaluation<layout, lanes, Partial, registers>;
    using test_vector = evaluation<test_layout, lanes, Partial, test_type>;
    constexpr program_of<Kernel> steps{};
    constexpr program_of<Test> test_steps{};
    registers r[sizeof...(V)];
    const int loaded[] = {(r[V].load(from_, row + V * lanes, count), 0)...};
    for (;;) {
      test_type t[] = {test_type{r[V]}...};
      fixed_registers<test_layout, lanes> test_fixed;
      test_vector c[] = {test_vector(test_at_, row + V * lanes, count, test_fixed, t[V])...};
      evaluate_points<stage::constants>(test_steps, c, chunks_of<stage::constants, analysis<Test>>{});
      evaluate<stage::per_row>(test_steps, c[0], chunks_of<stage::per_row, analysis<Test>>{});
      evaluate_points<stage::per_vector>(test_steps, c, chunks_of<stage::per_vector, analysis<Test>>{});
      if (!(false || ... || any(Partial ? t[V].holds & first_lanes<mask_bytes<test_layout>, lanes>(count) : t[V].holds))) break;
      fixed_registers<layout, lanes> fixed;
      vector e[] = {vector(at_, row + V * lanes, count, fixed, r[V])...};
      evaluate_points<stage::constants>(steps, e, chunks_of<stage::constants, analysis<Kernel>>{});
      evaluate<stage::per_row>(steps, e[0], chunks_of<stage::per_row, analysis<Kernel>>{});
      evaluate_points<stage::per_vector>(steps, e, chunks_of<stage::per_vector, analysis<Kernel>>{});
      const int turned[] = {(r[V].turn(), 0)...};
      (void)turned;
    }
    const int stored[] = {(r[V].store(to_, row + V * lanes, count), 0)...};
    (void)loaded, (void)stored;
  }
};

}  // namespace COTANGENT_ISA
}  // namespace cotangent::host
