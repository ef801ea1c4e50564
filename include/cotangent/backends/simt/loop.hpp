#pragma once
/// Loops inside a kernel: a thread takes a row through all turns of a scan, with the carries in registers.

#include <cotangent/backends/carries.hpp>
#include <cotangent/backends/simt/kernel.hpp>

namespace cotangent::simt {

/// A loop whose body is the kernel, a thread per row.
template <class Kernel, class Roles, class... Carry> struct row_grid {
  using layout = layout_of<Kernel>;
  using registers = loop_registers<Roles, 1, mask_bytes<layout>, std::make_integer_sequence<int, int(sizeof...(Carry))>, Carry...>;
  static constexpr int threads = 128;
  arguments<Kernel> a;
  extent rows;
  carry_places<int(sizeof...(Carry))> places;

  template <class Carried> row_grid(void* const* memory, const extent* extents, const Carried& carry) : a(memory, extents), rows(a.points(every_dim<layout>)), places(carry) {}
  extent blocks() const { return divide_up(rows, threads); }
};
/// A scan.
template <class Kernel, class Roles, class... Carry> struct loop_grid : row_grid<Kernel, Roles, Carry...> {
  using base = row_grid<Kernel, Roles, Carry...>;
  using layout = typename base::layout;
  extent length, first_index, index_step;
  extent steps[Roles::count + 1];  // bytes per turn

  template <class Turns> loop_grid(void* const* memory, const extent* extents, const Turns& turns)
      : base(memory, extents, turns.carry), length(turns.length), first_index(turns.start), index_step(Turns::index_step) {
    Roles::start(turns, base::a.buffers, steps);
  }

  COTANGENT_HD void operator()(extent block, int thread) const {
    const extent row = block * base::threads + thread;
    if (row >= base::rows) return;
    typename base::registers r[1];
    r[0].load(base::places.from, row, 1);
    position<layout> at[1] = {position<layout>(base::a.buffers, base::a.slots)};
    set_indices<layout, every_dim<layout>>(at[0], row);
    for (extent i = 0; i < length; ++i) {
      r[0].index = std::int32_t(first_index + i * index_step);
      run_points<Kernel>(at, r, std::make_index_sequence<1>{});
      r[0].turn();
      Roles::advance(at[0].buffers, steps);
    }
    r[0].store(base::places.to, row, 1);
  }
};

template <class Kernel, class Roles, class... Carry, class Queue, class Turns>
void run_loop_grid(type_is<Kernel>, Roles, types<Carry...>, const Queue& queue, void* const* buffers, const extent* extents, const Turns& turns) {
  queue.run(loop_grid<Kernel, Roles, Carry...>(buffers, extents, turns));
}

/// Runs a scan whose body is a kernel that works row by row, with few carries.
template <class Facts> void run_loop(const typename Facts::body::state& b, const loop_turns<Facts>& turns) {
  const auto own = loop_arguments<Facts>(b);
  with_loop_types<Facts>([&](auto kernel, auto roles, auto carries) { run_loop_grid(kernel, roles, carries, b.queue, own.buffers, own.extents, turns); });
}

/// A while loop, whose condition is the kernel Test. A thread stops when its row is done.
template <class Kernel, class Roles, class Test, class TestRoles, class... Carry> struct while_grid : row_grid<Kernel, Roles, Carry...> {
  using base = row_grid<Kernel, Roles, Carry...>;
  using layout = typename base::layout;
  using test_layout = layout_of<Test>;
  using test_type = test_registers<TestRoles, 1, mask_bytes<test_layout>, typename base::registers>;
  arguments<Test> test;

  template <class Carried> while_grid(void* const* memory, const extent* extents, void* const* test_memory, const extent* test_extents, const Carried& carry)
      : base(memory, extents, carry), test(test_memory, test_extents) {}

  COTANGENT_HD void operator()(extent block, int thread) const {
    const extent row = block * base::threads + thread;
    if (row >= base::rows) return;
    typename base::registers r[1];
    r[0].load(base::places.from, row, 1);
    position<layout> at[1] = {position<layout>(base::a.buffers, base::a.slots)};
    position<test_layout> test_at[1] = {position<test_layout>(test.buffers, test.slots)};
    set_indices<layout, every_dim<layout>>(at[0], row);
    set_indices<test_layout, every_dim<test_layout>>(test_at[0], row);
    for (;;) {
      test_type t[1] = {test_type{r[0]}};
      run_points<Test>(test_at, t, std::make_index_sequence<1>{});
      if (!t[0].holds[0]) break;
      run_points<Kernel>(at, r, std::make_index_sequence<1>{});
      r[0].turn();
    }
    r[0].store(base::places.to, row, 1);
  }
};

template <class Kernel, class Roles, class Test, class TestRoles, class... Carry, class Queue, class Carried>
void run_while_grid(type_is<Kernel>, Roles, types<Carry...>, type_is<Test>, TestRoles, const Queue& queue, void* const* buffers, const extent* extents, void* const* test_buffers,
                    const extent* test_extents, const Carried& carry) {
  queue.run(while_grid<Kernel, Roles, Test, TestRoles, Carry...>(buffers, extents, test_buffers, test_extents, carry));
}

/// Runs a while loop of that kind.
template <class Facts> void run_while(const typename Facts::condition::state& c, const typename Facts::body::state& b, const typename Facts::carry& carry) {
  const auto own = loop_arguments<Facts>(b);
  const auto of_test = test_arguments<Facts>(c);
  with_loop_types<Facts>([&](auto kernel, auto roles, auto carries) {
    with_test_types<Facts>([&](auto test, auto test_roles) { run_while_grid(kernel, roles, carries, test, test_roles, b.queue, own.buffers, own.extents, of_test.buffers, of_test.extents, carry); });
  });
}

}  // namespace cotangent::simt
