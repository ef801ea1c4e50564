#pragma once
/// Loops inside a kernel: a thread takes a row through all turns of a scan, with the carries in registers.

#include <cotangent/backends/simt/kernel.hpp>
#include <cotangent/compiler/control.hpp>
#include <cotangent/core/tree.hpp>

namespace cotangent::simt {

/// The elements of one carry that belong to a thread: before a turn, and what the turn makes of them.
template <class T, int Elements> struct carry_of_row {
  using type = T;
  static constexpr int elements = Elements;
  pack<T, 1> now[Elements > 0 ? Elements : 1], next[Elements > 0 ? Elements : 1];
};
/// What the buffers of a loop's kernel are, as numbers: a kernel's name may not hold the user's function.
template <int... Role> struct loop_roles {
  static constexpr int count = int(sizeof...(Role));
  COTANGENT_HD static constexpr loop_buffer of(int b) {
    const int all[] = {Role..., 0};
    return {loop_buffer::kind(all[b] % 8), all[b] / 8};
  }
  COTANGENT_HD static constexpr bool moves(int b) { return of(b).what == loop_buffer::x || of(b).what == loop_buffer::y; }
};
constexpr int role_number(loop_buffer b) { return int(b.what) + 8 * b.number; }

/// One of a thread's carries, by number.
template <int K, class Carry> struct numbered_carry : Carry {};
template <int K, class Carry> COTANGENT_INLINE Carry& carry_numbered(numbered_carry<K, Carry>& c) { return c; }

/// The carries of a thread, which its body's kernel reads and writes in place of memory.
template <class Roles, class Numbers, class... Carry> struct loop_registers;
template <class Roles, int... K, class... Carry>
struct loop_registers<Roles, std::integer_sequence<int, K...>, Carry...> : numbered_carry<K, Carry>... {
  static constexpr loop_buffer::kind kind_of(int b) { return Roles::of(b).what; }
  template <int B> static constexpr bool keeps = kind_of(B) == loop_buffer::index || kind_of(B) == loop_buffer::carry || kind_of(B) == loop_buffer::next_carry;
  std::int32_t index;

  template <class T, int B, extent Offset, extent... Strides> COTANGENT_INLINE pack<T, 1> kept(access<Offset, Strides...>) {
    constexpr loop_buffer b = Roles::of(B);
    if constexpr (b.what == loop_buffer::index) return pack<T, 1>(T(index));
    else return carry_numbered<b.number>(*this).now[Offset];
  }
  template <class T, int B, extent Offset, extent... Strides, class V> COTANGENT_INLINE void keep(access<Offset, Strides...>, const V& value) {
    carry_numbered<Roles::of(B).number>(*this).next[Offset] = value;
  }

  COTANGENT_HD void load(const void* const* from, extent row) {
    const int done[] = {0, load_one(carry_numbered<K>(*this), from[K], row)...};
    (void)done;
  }
  COTANGENT_HD void store(void* const* to, extent row) {
    const int done[] = {0, store_one(carry_numbered<K>(*this), to[K], row)...};
    (void)done;
  }
  COTANGENT_HD void turn() {
    const int done[] = {0, turn_one(carry_numbered<K>(*this))...};
    (void)done;
  }

 private:
  template <class C> COTANGENT_HD static int load_one(C& c, const void* from, extent row) {
    using T = typename C::type;
    COTANGENT_UNROLL
    for (int i = 0; i < C::elements; ++i) c.now[i] = pack<T, 1>(static_cast<const T*>(from)[row * C::elements + i]);
    return 0;
  }
  template <class C> COTANGENT_HD static int store_one(C& c, void* to, extent row) {
    COTANGENT_UNROLL
    for (int i = 0; i < C::elements; ++i) static_cast<typename C::type*>(to)[row * C::elements + i] = c.now[i][0];
    return 0;
  }
  template <class C> COTANGENT_HD static int turn_one(C& c) {
    COTANGENT_UNROLL
    for (int i = 0; i < C::elements; ++i) c.now[i] = c.next[i];
    return 0;
  }
};

/// A scan whose body is the kernel. A thread per row.
template <class Kernel, class Roles, class... Carry> struct loop_grid {
  using layout = layout_of<Kernel>;
  using registers = loop_registers<Roles, std::make_integer_sequence<int, int(sizeof...(Carry))>, Carry...>;
  static constexpr int threads = 128, buffers = Roles::count;
  arguments<Kernel> a;
  extent rows, length, first_index, index_step;
  const void* from[sizeof...(Carry) + 1];
  void* to[sizeof...(Carry) + 1];
  extent steps[buffers + 1];  // bytes per turn

  template <class Turns> loop_grid(void* const* memory, const extent* extents, const Turns& turns, bool reverse)
      : a(memory, extents), rows(a.points(every_dim<layout>)), length(turns.length), first_index(turns.start), index_step(reverse ? -1 : 1) {
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
    r[0].load(from, row);
    position<layout> at[1] = {position<layout>(a.buffers, a.slots)};
    set_indices<layout, every_dim<layout>>(at[0], row);
    for (extent i = 0; i < length; ++i) {
      r[0].index = std::int32_t(first_index + i * index_step);
      run_points<Kernel>(at, r, std::make_index_sequence<1>{});
      r[0].turn();
      COTANGENT_UNROLL
      for (int b = 0; b < buffers; ++b)
        if (Roles::moves(b)) at[0].buffers[b] = static_cast<std::byte*>(at[0].buffers[b]) + steps[b];
    }
    r[0].store(to, row);
  }
};

/// (Its types come from the arguments: nvcc names a type by how it was found, and that way may lead through the user's function.)
template <class Kernel, class Roles, class... Carry, class Queue, class Turns>
void run_loop_grid(type_is<Kernel>, Roles, types<Carry...>, const Queue& queue, void* const* buffers, const extent* extents, const Turns& turns, bool reverse) {
  queue.run(loop_grid<Kernel, Roles, Carry...>(buffers, extents, turns, reverse));
}

/// Runs a scan whose body is a kernel that works row by row, with few carries.
template <class Facts> void run_loop(typename Facts::body::state b, const loop_turns<Facts>& turns) {
  using body = typename Facts::body;
  for (int i = 0; i < int(Facts::indexed) + Facts::carries + Facts::xs; ++i) body::input(b, i) = nullptr;  // they move, or are in registers
  for (int o = 0; o < body::output_count; ++o) body::output(b, o) = nullptr;
  constexpr cotangent::step x = body::plan.steps[0];
  void* buffers[x.buffer_count > 0 ? x.buffer_count : 1];
  extent extents[x.slot_count > 0 ? x.slot_count : 1];
  body::template local_arguments<0>(b, buffers, extents);
  [&]<int... B, int... K>(std::integer_sequence<int, B...>, std::integer_sequence<int, K...>) {
    run_loop_grid(type_is<typename body::lowered::template kernel_of<0>>{}, loop_roles<role_number(loop_buffer_of<Facts>(B))...>{},
                  types<carry_of_row<type_of<Facts::operand(K).type>, int(carry_row<Facts>(K))>...>{}, b.queue, buffers, extents, turns, Facts::reverse);
  }(std::make_integer_sequence<int, x.buffer_count>{}, std::make_integer_sequence<int, Facts::carries>{});
}

}  // namespace cotangent::simt
