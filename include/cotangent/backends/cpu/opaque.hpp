#pragma once
/// Primitives that run by themselves on whole buffers: roll, extent. (Others: cumulative.hpp, scatter.hpp, sort.hpp, ...)

#include <cmath>
#include <cstring>

#include <cotangent/backends/cpu/partition.hpp>
#include <cotangent/backends/cpu/threads.hpp>
#include <cotangent/compiler/executable.hpp>

namespace cotangent::host {

template <class P> struct opaque;

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
