#pragma once
/// Loops inside a kernel: a thread takes a row through all turns of a scan, with the carries in registers.

#include <cotangent/backends/carries.hpp>
#include <cotangent/backends/simt/kernel.hpp>

namespace cotangent::simt {

/// A scan whose body is the kernel. A thread per row.
template <class Kernel, class Roles, class... Carry> struct loop_grid {
  using layout = layout_of<Kernel>;
  using registers = loop_registers<Roles, 1, mask_bytes<layout>, std::make_integer_sequence<int, int(sizeof...(Carry))>, Carry...>;
  static constexpr int threads = 128, buffers = Roles::count;
  arguments<Kernel> a;
  extent rows, length, first_index, index_step;
  const void* from[sizeof...(Carry) + 1];
  void* to[sizeof...(Carry) + 1];
  extent steps[buffers + 1];  // bytes per turn

  template <class Turns> loop_grid(void* const* memory, const extent* extents, const Turns& turns)
      : a(memory, extents), rows(a.points(every_dim<layout>)), length(turns.length), first_index(turns.start), index_step(Turns::index_step) {
    for (std::size_t k = 0; k < sizeof...(Carry); ++k) from[k] = turns.carry.now[k], to[k] = turns.carry.last[k];
    for (int b = 0; b < buffers; ++b) {
      const loop_buffer x = Roles::of(b);
      steps[b] = x.what == loop_buffer::x ? turns.x_step[x.number] : x.what == loop_buffer::y ? turns.y_step[x.number] : 0;
      if (x.what == loop_buffer::x) a.buffers[b] = const_cast<std::byte*>(turns.x_at[x.number]);
      if (x.what == loop_buffer::y) a.buffers[b] = turns.y_at[x.number];
    }
  }
  extent blocks() const { return divide_up(rows, threads); }

  COTANGENT_HD void operator()(extent block, int thread) const {
    const extent row = block * threads + thread;
    if (row >= rows) return;
    registers r[1];
    r[0].load(from, row, 1);
    position<layout> at[1] = {position<layout>(a.buffers, a.slots)};
    set_indices<layout, every_dim<layout>>(at[0], row);
    for (extent i = 0; i < length; ++i) {
      r[0].index = std::int32_t(first_index + i * index_step);
      run_points<Kernel>(at, r, std::make_index_sequence<1>{});
      r[0].turn();
      Roles::advance(at[0].buffers, steps);
    }
    r[0].store(to, row, 1);
  }
};

template <class Kernel, class Roles, class... Carry, class Queue, class Turns>
void run_loop_grid(type_is<Kernel>, Roles, types<Carry...>, const Queue& queue, void* const* buffers, const extent* extents, const Turns& turns) {
  queue.run(loop_grid<Kernel, Roles, Carry...>(buffers, extents, turns));
}

/// Runs a scan whose body is a kernel that works row by row, with few carries.
template <class Facts> void run_loop(const typename Facts::body::state& b, const loop_turns<Facts>& turns) {
  constexpr cotangent::step x = Facts::body::plan.steps[0];
  void* buffers[x.buffer_count > 0 ? x.buffer_count : 1];
  extent extents[x.slot_count > 0 ? x.slot_count : 1];
  loop_arguments<Facts>(b, buffers, extents);
  with_loop_types<Facts>([&](auto kernel, auto roles, auto carries) { run_loop_grid(kernel, roles, carries, b.queue, buffers, extents, turns); });
}

/// A while loop whose body and condition are the kernels. A thread per row, which stops when the row is done.
template <class Kernel, class Roles, class Test, class TestRoles, class... Carry> struct while_grid {
  using layout = layout_of<Kernel>;
  using test_layout = layout_of<Test>;
  using registers = loop_registers<Roles, 1, mask_bytes<layout>, std::make_integer_sequence<int, int(sizeof...(Carry))>, Carry...>;
  using test_type = test_registers<TestRoles, 1, mask_bytes<test_layout>, registers>;
  static constexpr int threads = 128;
  arguments<Kernel> a;
  arguments<Test> test;
  extent rows;
  const void* from[sizeof...(Carry) + 1];
  void* to[sizeof...(Carry) + 1];

  template <class Carried> while_grid(void* const* memory, const extent* extents, void* const* test_memory, const extent* test_extents, const Carried& carry)
      : a(memory, extents), test(test_memory, test_extents), rows(a.points(every_dim<layout>)) {
    for (std::size_t k = 0; k < sizeof...(Carry); ++k) from[k] = carry.now[k], to[k] = carry.last[k];
  }
  extent blocks() const { return divide_up(rows, threads); }

  COTANGENT_HD void operator()(extent block, int thread) const {
    const extent row = block * threads + thread;
    if (row >= rows) return;
    registers r[1];
    r[0].load(from, row, 1);
    position<layout> at[1] = {position<layout>(a.buffers, a.slots)};
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
    r[0].store(to, row, 1);
  }
};

template <class Kernel, class Roles, class Test, class TestRoles, class... Carry, class Queue, class Carried>
void run_while_grid(type_is<Kernel>, Roles, types<Carry...>, type_is<Test>, TestRoles, const Queue& queue, void* const* buffers, const extent* extents, void* const* test_buffers,
                    const extent* test_extents, const Carried& carry) {
  queue.run(while_grid<Kernel, Roles, Test, TestRoles, Carry...>(buffers, extents, test_buffers, test_extents, carry));
}

/// Runs a while loop of that kind.
template <class Facts> void run_while(const typename Facts::condition::state& c, const typename Facts::body::state& b, const typename Facts::carry& carry) {
  constexpr cotangent::step x = Facts::body::plan.steps[0], t = Facts::condition::plan.steps[0];
  void *buffers[x.buffer_count > 0 ? x.buffer_count : 1], *test_buffers[t.buffer_count > 0 ? t.buffer_count : 1];
  extent extents[x.slot_count > 0 ? x.slot_count : 1], test_extents[t.slot_count > 0 ? t.slot_count : 1];
  loop_arguments<Facts>(b, buffers, extents);
  test_arguments<Facts>(c, test_buffers, test_extents);
  with_loop_types<Facts>([&](auto kernel, auto roles, auto carries) {
    with_test_types<Facts>([&](auto test, auto test_roles) { run_while_grid(kernel, roles, carries, test, test_roles, b.queue, buffers, extents, test_buffers, test_extents, carry); });
  });
}

}  // namespace cotangent::simt
