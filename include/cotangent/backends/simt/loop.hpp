#pragma once
/// Loops inside a kernel: a thread takes a row through all turns of a scan, with the carries in registers.

#include <cotangent/backends/simt/kernel.hpp>
#include <cotangent/compiler/control.hpp>

namespace cotangent::simt {

/// Carry number K of a thread: before a turn, and what the turn makes of it.
template <class T, int K, int Elements> struct carry_registers {
  pack<T, 1> now[Elements > 0 ? Elements : 1], next[Elements > 0 ? Elements : 1];
};
/// The carries of a thread, which its body's kernel reads and writes in place of memory.
template <class Facts, class Numbers> struct loop_registers;
template <class Facts, int... K>
struct loop_registers<Facts, std::integer_sequence<int, K...>> : carry_registers<type_of<Facts::operand(K).type>, K, int(carry_row<Facts>(K))>... {
  static constexpr loop_buffer::kind kind_of(int b) { return loop_buffer_of<Facts>(b).what; }
  template <int B> static constexpr bool keeps = kind_of(B) == loop_buffer::index || kind_of(B) == loop_buffer::carry || kind_of(B) == loop_buffer::next_carry;
  template <int N> using registers_of = carry_registers<type_of<Facts::operand(N).type>, N, int(carry_row<Facts>(N))>;
  std::int32_t index;

  template <class T, int B, extent Offset, extent... Strides> COTANGENT_INLINE pack<T, 1> kept(access<Offset, Strides...>) {
    constexpr loop_buffer b = loop_buffer_of<Facts>(B);
    if constexpr (b.what == loop_buffer::index) return pack<T, 1>(T(index));
    else return static_cast<registers_of<b.number>&>(*this).now[Offset];
  }
  template <class T, int B, extent Offset, extent... Strides, class V> COTANGENT_INLINE void keep(access<Offset, Strides...>, const V& value) {
    static_cast<registers_of<loop_buffer_of<Facts>(B).number>&>(*this).next[Offset] = value;
  }

  COTANGENT_HD void load(const void* const* from, extent row) {
    const int done[] = {0, load_one<K>(from[K], row)...};
    (void)done;
  }
  COTANGENT_HD void store(void* const* to, extent row) {
    const int done[] = {0, store_one<K>(to[K], row)...};
    (void)done;
  }
  COTANGENT_HD void turn() {
    const int done[] = {0, turn_one<K>()...};
    (void)done;
  }

 private:
  template <int N> COTANGENT_HD int load_one(const void* from, extent row) {
    constexpr int elements = int(carry_row<Facts>(N));
    using T = type_of<Facts::operand(N).type>;
    COTANGENT_UNROLL
    for (int i = 0; i < elements; ++i) registers_of<N>::now[i] = pack<T, 1>(static_cast<const T*>(from)[row * elements + i]);
    return 0;
  }
  template <int N> COTANGENT_HD int store_one(void* to, extent row) {
    constexpr int elements = int(carry_row<Facts>(N));
    using T = type_of<Facts::operand(N).type>;
    COTANGENT_UNROLL
    for (int i = 0; i < elements; ++i) static_cast<T*>(to)[row * elements + i] = registers_of<N>::now[i][0];
    return 0;
  }
  template <int N> COTANGENT_HD int turn_one() {
    COTANGENT_UNROLL
    for (int i = 0; i < int(carry_row<Facts>(N)); ++i) registers_of<N>::now[i] = registers_of<N>::next[i];
    return 0;
  }
};

/// A scan whose body is the kernel. A thread per row.
template <class Facts, class Kernel> struct loop_grid {
  using layout = layout_of<Kernel>;
  using registers = loop_registers<Facts, std::make_integer_sequence<int, Facts::carries>>;
  static constexpr int threads = 128, buffers = layout::shape.buffers;
  arguments<Kernel> a;
  extent rows, length, first_index;
  const void* from[Facts::carries + 1];
  void* to[Facts::carries + 1];
  extent steps[buffers + 1];  // bytes per turn

  loop_grid(void* const* memory, const extent* extents, const loop_turns<Facts>& turns)
      : a(memory, extents), rows(a.points(every_dim<layout>)), length(turns.length), first_index(turns.start) {
    for (int k = 0; k < Facts::carries; ++k) from[k] = turns.carry.now[k], to[k] = turns.carry.last[k];
    for (int b = 0; b < buffers; ++b) {
      const loop_buffer x = loop_buffer_of<Facts>(b);
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
      r[0].index = std::int32_t(Facts::reverse ? first_index - i : first_index + i);
      run_points<Kernel>(at, r, std::make_index_sequence<1>{});
      r[0].turn();
      COTANGENT_UNROLL
      for (int b = 0; b < buffers; ++b) at[0].buffers[b] = static_cast<std::byte*>(at[0].buffers[b]) + steps[b];
    }
    r[0].store(to, row);
  }
};

/// Runs such a scan.
template <class Facts> void run_loop(typename Facts::body::state b, const loop_turns<Facts>& turns) {
  using body = typename Facts::body;
  for (int i = 0; i < int(Facts::indexed) + Facts::carries + Facts::xs; ++i) body::input(b, i) = nullptr;  // they move, or are in registers
  for (int o = 0; o < body::output_count; ++o) body::output(b, o) = nullptr;
  constexpr cotangent::step x = body::plan.steps[0];
  void* buffers[x.buffer_count > 0 ? x.buffer_count : 1];
  extent extents[x.slot_count > 0 ? x.slot_count : 1];
  body::template local_arguments<0>(b, buffers, extents);
  b.queue.run(loop_grid<Facts, typename body::lowered::template kernel_of<0>>(buffers, extents, turns));
}

}  // namespace cotangent::simt
