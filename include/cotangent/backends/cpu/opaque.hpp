#pragma once
/// Primitives that run by themselves on whole buffers: the cumulative ones, roll, extent. (Scatters: scatter.hpp.)

#include <cmath>
#include <cstring>

#include <cotangent/backends/cpu/partition.hpp>
#include <cotangent/backends/cpu/threads.hpp>
#include <cotangent/compiler/executable.hpp>

namespace cotangent::host {

template <class P> struct opaque;

/// y[at] = first(at) for the first element of each line, then next(y of the element before, at), in the order of running. Tasks
/// take lines, or neighbouring lines side by side.
template <class T, class First, class Next> void run_along(const shape& dims, const extent* attributes, T* y, First first, Next next) {
  const axis_lines lines(dims, int(attributes[0]));
  if (dims.size() == 0) return;
  const extent length = lines.count * lines.behind, step = attributes[1] != 0 ? -lines.behind : lines.behind;
  const extent start = attributes[1] != 0 ? length - lines.behind : 0;
  // As wide as threads allow: memory is read ahead along rows. The row before stays in the nearest cache.
  constexpr extent task_elements = 1 << 15, narrow = 256, wide = 4096;
  const extent wanted = std::max(divide_up(task_elements, lines.count), smaller(wide, divide_up(lines.behind, num_threads())));
  const extent width = smaller(lines.behind, std::max(wanted, narrow));
  const extent blocks = divide_up(lines.behind, width), together = divide_up(task_elements, lines.count * width);
  const auto run_block = [&](extent i, extent column) {
    extent at = i * length + start + column;
    if (lines.behind == 1) {  // the running value stays in a register
      T running = y[at] = first(at);
      for (extent k = 1; k < lines.count; ++k) at += step, y[at] = running = next(running, at);
      return;
    }
    const extent columns = smaller(width, lines.behind - column);
    for (extent j = 0; j < columns; ++j) y[at + j] = first(at + j);
    for (extent k = 1; k < lines.count; ++k) {
      at += step;
      for (extent j = 0; j < columns; ++j) y[at + j] = next(y[at - step + j], at + j);
    }
  };
  parallel_for(divide_up(lines.before * blocks, together), [&](extent t) {
    for (extent k = t * together; k < smaller((t + 1) * together, lines.before * blocks); ++k) run_block(k / blocks, k % blocks * width);
  });
}

template <class P> struct opaque_cumulative {
  template <class T> static void run(const array_ref* operands, const array_ref& result, const extent* attributes) {
    const T* x = static_cast<const T*>(operands[0].data);
    run_along(result.dims, attributes, static_cast<T*>(result.data), [x](extent at) { return x[at]; },
              [x](T running, extent at) { return P::template combine<T>(running, x[at]); });
  }
};
template <> struct opaque<cumsum_p> : opaque_cumulative<cumsum_p> {};
template <> struct opaque<cumprod_p> : opaque_cumulative<cumprod_p> {};
template <> struct opaque<cummax_p> : opaque_cumulative<cummax_p> {};
template <> struct opaque<cummin_p> : opaque_cumulative<cummin_p> {};

template <> struct opaque<linear_recurrence_p> {
  template <class T> static void run(const array_ref* operands, const array_ref& result, const extent* attributes) {
    const T* a = static_cast<const T*>(operands[0].data);
    const T* b = static_cast<const T*>(operands[1].data);
    run_along(result.dims, attributes, static_cast<T*>(result.data), [b](extent at) { return b[at]; },
              [a, b](T running, extent at) { return std::fma(a[at], running, b[at]); });
  }
};

template <> struct opaque<extent_p> {
  template <class T> static void run(const array_ref* operands, const array_ref& result, const extent* attributes) {
    const extent n = operands[0].dims[int(attributes[0])];
    if (result.type == dtype::int64) *static_cast<std::int64_t*>(result.data) = n;
    else *static_cast<std::int32_t*>(result.data) = std::int32_t(n);
  }
};

template <> struct opaque<roll_p> {
  template <class T> static void run(const array_ref* operands, const array_ref& result, const extent* attributes) {
    const axis_lines lines(result.dims, int(attributes[0]));
    if (result.dims.size() == 0) return;
    const array_ref& by = operands[1];
    const std::int64_t shift = by.type == dtype::int64 ? *static_cast<const std::int64_t*>(by.data) : *static_cast<const std::int32_t*>(by.data);
    extent head = extent(shift % lines.count);  // how many elements come back at the start
    if (attributes[1] != 0) head = -head;
    if (head < 0) head += lines.count;
    const extent line = lines.count * lines.behind, split = head * lines.behind;
    const T* x = static_cast<const T*>(operands[0].data);
    T* y = static_cast<T*>(result.data);
    for (extent i = 0; i < lines.before; ++i, x += line, y += line) {
      std::memcpy(y, x + (line - split), std::size_t(split) * sizeof(T));
      std::memcpy(y + split, x, std::size_t(line - split) * sizeof(T));
    }
  }
};

}  // namespace cotangent::host
