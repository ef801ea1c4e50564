#pragma once
/// Kernels that write records: along one dimension of instances, all elements of a row for each (a Jacobian's rows, vectors, matrices).
///
/// A thread has an instance, and what neighbouring threads write at once lies as far apart as records are long: memory would be written
/// piece by piece. So a block writes its records into memory of its own first, and from there in the order of addresses.
///
/// A staging grid has, in place of `operator()(block, thread)`,
///   staged_bytes                   of memory of a block
///   operator()(block, thread, stage)
///   write(block, thread, stage)    when all threads of the block have done the former

#include <cotangent/backends/simt/kernel.hpp>

namespace cotangent::simt {

/// How a kernel writes records: for each buffer the elements of one and where those of a block lie in its memory, per instance.
template <class Kernel> struct record_facts {
  static constexpr int buffers = layout_of<Kernel>::shape.buffers;
  int length[buffers + 1] = {}, offset[buffers + 1] = {};  // bytes; length 0: no records
  int bytes = 0;
};
/// Buffers that are only written, each element of a record by a statement of its own.
template <class Kernel> constexpr record_facts<Kernel> find_records() {
  using parts = typename analysis<Kernel>::parts;
  using layout = layout_of<Kernel>;
  record_facts<Kernel> r;
  if (layout::dims.rank != 1 || find_kept_sets(reductions_of<Kernel>{}).count > 0) return r;
  constexpr int lane = layout::dims.last[0];
  for (int b = 0; b < r.buffers; ++b) {
    extent length = 0, stores = 0;
    dtype type = dtype::boolean;
    bool fits = true;
    for (int i = 0; i < parts::forms; ++i) {
      const facts::form_facts f = parts::form_table[i];
      if ((f.kind != action::load && f.kind != action::store) || f.buffer != b) continue;
      if (length == 0) length = f.strides[lane], type = f.type;
      fits = fits && f.kind == action::store && f.index_count == 0 && f.strides[lane] == length && !is_slot(length) && !is_slot(f.offset) && f.offset >= 0 && f.offset < length;
      ++stores;
      for (int other = 0; other < i; ++other)
        if (const facts::form_facts o = parts::form_table[other]; o.kind == action::store && o.buffer == b) fits = fits && o.offset != f.offset;
    }
    if (!fits || length < 2 || stores != length || type == dtype::boolean) continue;
    r.length[b] = int(length * size_of(type)), r.offset[b] = r.bytes;
    r.bytes += r.length[b];
  }
  return r;
}
template <class Kernel> inline constexpr record_facts<Kernel> records_of = find_records<Kernel>();

/// What stands for the reductions of an instance: its records.
template <class Kernel, int Threads> struct record_point {
  std::byte* stage;
  int thread;

  template <int B> static constexpr bool keeps = records_of<Kernel>.length[B] > 0;
  template <class T, int B, extent Offset, extent... Strides, class V> COTANGENT_HD void keep(access<Offset, Strides...>, const V& value) const {
    constexpr record_facts<Kernel> records = records_of<Kernel>;
    reinterpret_cast<T*>(stage + records.offset[B] * Threads + thread * records.length[B])[Offset] = value[0];
  }
};

/// A kernel that writes records.
template <class Kernel> struct record_grid {
  using layout = layout_of<Kernel>;
  static constexpr record_facts<Kernel> records = records_of<Kernel>;
  static constexpr int most_bytes = 40 << 10, registers = registers_of_points<Kernel>(1, 1);
  static constexpr int threads = records.bytes * 128 <= most_bytes && registers <= 96 ? 128 : 64, staged_bytes = records.bytes * threads;
  static constexpr bool is_possible = records.bytes > 0 && staged_bytes <= most_bytes;
  arguments<Kernel> a;
  extent points;

  record_grid(void* const* buffers, const extent* extents) : a(buffers, extents), points(a.points(every_dim<layout>)) {}
  extent blocks() const { return divide_up(points, threads); }

  COTANGENT_HD void operator()(extent block, int thread, std::byte* stage) const {
    const extent point = block * threads + thread;
    if (point >= points) return;
    position<layout> at[1] = {position<layout>(a.buffers, a.slots)};
    set_indices<layout, every_dim<layout>>(at[0], index_type<layout>(point));
    record_point<Kernel, threads> own[1] = {{stage, thread}};
    run_points<Kernel>(at, own, std::make_index_sequence<1>{});
  }
  COTANGENT_HD void write(extent block, int thread, const std::byte* stage) const {
    const extent first = block * threads, count = smaller(threads, points - first);
    write_buffers(first, int(count), thread, stage, std::make_integer_sequence<int, record_facts<Kernel>::buffers>());
  }

 private:
  template <int... B> COTANGENT_HD void write_buffers(extent first, int count, int thread, const std::byte* stage, std::integer_sequence<int, B...>) const {
    const int done[] = {0, write_buffer<B>(first, count, thread, stage)...};
    (void)done;
  }
  template <int B> COTANGENT_HD int write_buffer(extent first, int count, int thread, const std::byte* stage) const {
    constexpr int length = records_of<Kernel>.length[B];
    if constexpr (length > 0) {
      std::byte* const to = static_cast<std::byte*>(a.buffers[B]) + first * length;
      const std::byte* const from = stage + records_of<Kernel>.offset[B] * threads;
      if (is_multiple_of<16>(to)) copy<side_by_side<std::uint32_t, 4>>(to, from, count * length, thread);
      else copy<std::uint32_t>(to, from, count * length, thread);
    }
    return 0;
  }
  /// Bytes by whole Units, and the rest.
  template <class Unit> static COTANGENT_HD void copy(std::byte* to, const std::byte* from, int bytes, int thread) {
    const int units = bytes / int(sizeof(Unit));
    for (int k = thread; k < units; k += threads) reinterpret_cast<Unit*>(to)[k] = reinterpret_cast<const Unit*>(from)[k];
    for (int k = units * int(sizeof(Unit)) + thread; k < bytes; k += threads) to[k] = from[k];
  }
};

}  // namespace cotangent::simt
