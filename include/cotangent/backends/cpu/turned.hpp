#pragma once
/// Kernels that only copy an array whose rows lie in another direction, such as transposes: blocks of both arrays that the caches hold are
/// turned in registers. Row by row, each element of a row would come from a cache line of its own, which is gone when the next row needs it.

#include <cotangent/backends/cpu/loops.hpp>

namespace cotangent::host {
inline namespace COTANGENT_ISA {

/// A copy: per dimension the extent, and the strides in both arrays.
struct turned_copy {
  int rank = 0;
  extent extents[max_rank + 1], from[max_rank + 1], to[max_rank + 1];

  /// Appends a dimension behind the others, or makes the last one longer.
  void add(extent n, extent from_stride, extent to_stride) {
    if (n == 1) return;
    const int last = rank - 1;
    if (rank > 0 && from[last] == from_stride * n && to[last] == to_stride * n) extents[last] *= n, from[last] = from_stride, to[last] = to_stride;
    else extents[rank] = n, from[rank] = from_stride, to[rank] = to_stride, ++rank;
  }
  void exchange(int i, int j) { std::swap(extents[i], extents[j]), std::swap(from[i], from[j]), std::swap(to[i], to[j]); }

  /// `in_parallel`: in all threads.
  template <class T, bool Once> void run(const T* source, T* target, bool in_parallel) {
    for (int d = 0; d < rank; ++d)
      if (extents[d] == 0) return;
    // The last dimension is that of the target's rows; the one before is made that of the source's.
    int along = rank - 2;
    while (along >= 0 && from[along] != 1) --along;
    if (rank < 2 || along < 0) return copy_points(source, target);
    exchange(along, rank - 2);
    constexpr extent block = 512 / extent(sizeof(T));  // both arrays' parts of a block stay in a core's second cache
    const extent rows = extents[rank - 2], columns = extents[rank - 1], row_blocks = divide_up(rows, block), blocks = row_blocks * divide_up(columns, block);
    extent outer = 1;
    for (int d = 0; d < rank - 2; ++d) outer *= extents[d];
    const extent together = divide_up(block * block, smaller(rows, block) * smaller(columns, block));  // in a task
    const bool once = Once && outer * rows * columns * extent(sizeof(T)) >= streamed_bytes;
    const auto run_task = [&](extent task) {
      for (extent k = task * together; k < smaller((task + 1) * together, outer * blocks); ++k) {
        const T* p = source;
        T* q = target;
        extent rest = k / blocks;
        for (int d = rank - 3; d >= 0; --d) p += rest % extents[d] * from[d], q += rest % extents[d] * to[d], rest /= extents[d];
        const extent row = k % blocks % row_blocks * block, column = k % blocks / row_blocks * block;
        turn_block(p + row + column * from[rank - 1], q + row * to[rank - 2] + column, smaller(block, rows - row), smaller(block, columns - column), once);
      }
      if (once) store_fence();
    };
    const extent tasks = divide_up(outer * blocks, together);
    if (in_parallel) return parallel_for(tasks, run_task);
    for (extent task = 0; task < tasks; ++task) run_task(task);
  }

 private:
  /// A block of `rows` rows of the target.
  template <class T> void turn_block(const T* p, T* q, extent rows, extent columns, bool once) const {
    constexpr int lanes = sizeof(T) < 4 ? 16 : native_lanes<T>;
    using vec = pack<T, lanes>;
    const extent p_stride = from[rank - 1], q_stride = to[rank - 2];
    extent i = 0;
    for (; i + lanes <= rows; i += lanes) {
      extent j = 0;
      for (; j + lanes <= columns; j += lanes) {
        vec square[lanes];
        for (int k = 0; k < lanes; ++k) square[k] = vec::load(p + i + (j + k) * p_stride);
        transpose(square);
        for (int k = 0; k < lanes; ++k) {
          T* const row = q + (i + k) * q_stride + j;
          if (once && reinterpret_cast<std::uintptr_t>(row) % sizeof(vec) == 0) square[k].store_once(row);
          else square[k].store(row);
        }
      }
      for (extent k = i; k < i + lanes; ++k)
        for (extent rest = j; rest < columns; ++rest) q[k * q_stride + rest] = p[k + rest * p_stride];
    }
    for (; i < rows; ++i)
      for (extent j = 0; j < columns; ++j) q[i * q_stride + j] = p[i + j * p_stride];
  }
  template <class T> void copy_points(const T* p, T* q, int d = 0) const {
    if (d == rank) *q = *p;
    else
      for (extent i = 0; i < extents[d]; ++i) copy_points(p + i * from[d], q + i * to[d], d + 1);
  }
};

/// Kernels of one load and one store.
template <class Kernel> struct copy_of { static constexpr bool turns = false; };
template <class T, extent... E, int B, extent Offset, extent... From, class Stored, int... Code>
struct copy_of<kernel<space<E...>, forms<load<T, B, access<Offset, From...>>, Stored>, Code...>> {
  template <int To, extent At, extent... Strides> static constexpr bool is_turned(store<T, To, access<At, Strides...>>) {
    constexpr int rank = int(sizeof...(E));
    constexpr extent few = 8, many_points = 1024;
    constexpr extent n[] = {E..., 1}, from[] = {From..., 0}, to[] = {Strides..., 0};
    int last = -1, along = -1;  // the dimensions of the target's rows, and of the source's
    extent points = 1;
    for (int d = 0; d < rank; ++d) {
      points = is_slot(n[d]) || points >= many_points ? many_points : points * n[d];
      if (n[d] != 1) last = d;
      if (n[d] != 1 && from[d] == 1) along = d;
    }
    const auto is_many = [&](extent e) { return is_slot(e) || e >= few; };
    return points >= many_points && last >= 0 && along >= 0 && along != last && to[last] == 1 && from[last] != 0 && is_many(n[last]) && is_many(n[along]);
  }
  template <int To, class Access> static constexpr bool is_turned(store_once<T, To, Access>) { return is_turned(store<T, To, Access>{}); }
  static constexpr bool turns = [] {
    if constexpr (requires { is_turned(Stored{}); }) return is_turned(Stored{});
    else return false;
  }();

  static void run(void* const* buffers, const extent* slots) { run(buffers, slots, 0, -1, Stored{}); }
  /// The points whose outermost index is in [first, last), in this thread.
  static void run_rows(void* const* buffers, const extent* slots, extent first, extent last) { run(buffers, slots, first, last, Stored{}); }

 private:
  template <int To, extent At, extent... Strides> static void run(void* const* buffers, const extent* slots, extent first, extent last, store<T, To, access<At, Strides...>>) {
    copy<To, At, false, Strides...>(buffers, slots, first, last);
  }
  template <int To, extent At, extent... Strides> static void run(void* const* buffers, const extent* slots, extent first, extent last, store_once<T, To, access<At, Strides...>>) {
    copy<To, At, true, Strides...>(buffers, slots, first, last);
  }
  /// A negative `last`: all points, in all threads.
  template <int To, extent At, bool Once, extent... Strides> static void copy(void* const* buffers, const extent* slots, extent first, extent last) {
    const extent n[] = {value_of<E>(slots)...}, from[] = {value_of<From>(slots)...}, to[] = {value_of<Strides>(slots)...};
    turned_copy c;
    for (int d = 0; d < int(sizeof...(E)); ++d) c.add(d == 0 && last >= 0 ? last - first : n[d], from[d], to[d]);
    using number = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
    const auto source = static_cast<const number*>(buffers[B]) + value_of<Offset>(slots) + first * from[0];
    const auto target = static_cast<number*>(buffers[To]) + value_of<At>(slots) + first * to[0];
    c.template run<number, Once>(source, target, last < 0);
  }
};
template <class T, extent... E, int B, class A, class Stored, int... Code>
struct copy_of<kernel<space<E...>, forms<kernels::load_ahead<T, B, A>, Stored>, Code...>> : copy_of<kernel<space<E...>, forms<load<T, B, A>, Stored>, Code...>> {};
template <class Kernel> using turned_copy_of = copy_of<typename definition_of<Kernel>::type>;

}  // namespace COTANGENT_ISA
}  // namespace cotangent::host
