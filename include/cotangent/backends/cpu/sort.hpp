#pragma once
/// argsort on the CPU: lines of keys with their indices, which make every key different, sorted by the standard library or oneTBB. The
/// first few of a line are found in one pass over it.

#include <algorithm>

#include <cotangent/backends/cpu/opaque.hpp>
#include <cotangent/backends/cpu/pack.hpp>
#include <cotangent/backends/cpu/scratch.hpp>
#include <tbb/parallel_sort.h>

namespace cotangent::host {
inline namespace COTANGENT_ISA {

/// Whether one of the Count numbers at p may come before `last` in the order of numbers, in which a NaN is greatest. Count is a power of
/// two.
template <int Count, class T> COTANGENT_HOST_INLINE bool some_may_precede(const T* p, T last, bool descending) {
  constexpr int lanes = Count < native_bytes / int(sizeof(T)) ? Count : native_bytes / int(sizeof(T));
  using reg = pack<T, lanes>;
  const reg bound(last);
  const auto none = [&](int i) {  // comparisons with NaN are false
    const reg x = reg::load(p + i);
    return descending ? x <= bound : x >= bound;
  };
  auto before = none(0);
  for (int i = lanes; i < Count; i += lanes) before = before & none(i);
  return !all(before);
}

}  // namespace COTANGENT_ISA

template <> struct opaque<argsort_p> {
  template <class T> static void run(const array_ref* operands, const array_ref& result, const extent* attributes) {
    const axis_lines lines(operands[0].dims, int(attributes[0]));
    const extent count = result.dims[int(attributes[0])], number = lines.before * lines.behind;
    if (result.dims.size() == 0) return;
    const one_line<T> line{static_cast<const T*>(operands[0].data), static_cast<std::int32_t*>(result.data), lines, count, attributes[2] != 0};
    constexpr extent task_elements = 1 << 13, long_line = 1 << 16;
    const bool passes = count <= few && count < lines.count && lines.behind == 1;
    if (number < num_threads() && lines.count >= long_line && count == lines.count) {
      for (extent i = 0; i < number; ++i) line.run(i, true);
      return;
    }
    const extent together = divide_up(task_elements, lines.count);
    parallel_for(divide_up(number, together), [&](extent t) {
      for (extent i = t * together; i < smaller((t + 1) * together, number); ++i) {
        if constexpr (!std::is_same_v<T, bool>)
          if (passes) {
            line.find_first(i);
            continue;
          }
        line.run(i, false);
      }
    });
  }

 private:
  static constexpr extent few = 32;
  template <class T> struct one_line {
    const T* x;
    std::int32_t* y;
    axis_lines lines;
    extent count;
    bool descending;

    using order = order_of<T>;
    struct wide_entry {
      typename order::key key;
      std::int32_t index;
      bool operator<(const wide_entry& e) const { return key != e.key ? key < e.key : index < e.index; }
    };
    /// A key of 32 bits and the index behind it compare as one number.
    using entry = std::conditional_t<sizeof(typename order::key) == 8, wide_entry, std::uint64_t>;
    static entry make(typename order::key key, extent index) {
      if constexpr (sizeof(key) == 8) return {key, std::int32_t(index)};
      else return std::uint64_t(key) << 32 | std::uint64_t(index);
    }
    static std::int32_t index_of(const entry& e) {
      if constexpr (sizeof(typename order::key) == 8) return e.index;
      else return std::int32_t(e);
    }

    /// The first few, without sorting the others: most are not less than the last of those found.
    void find_first(extent number) const {
      constexpr int block = 128, part = 16;
      const T* const from = x + number * lines.count;
      typename order::key least[few] = {};
      std::int32_t* const to = y + number * count;
      const auto insert = [&](typename order::key key, extent index, extent found) {
        extent k = found;
        for (; k > 0 && key < least[k - 1]; --k)
          if (k < count) least[k] = least[k - 1], to[k] = to[k - 1];
        if (k < count) least[k] = key, to[k] = std::int32_t(index);
      };
      for (extent i = 0; i < count; ++i) insert(order::of(from[i], descending), i, i);
      const auto insert_some = [&](extent first, extent last) {
        for (extent i = first; i < last; ++i)
          if (const auto key = order::of(from[i], descending); key < least[count - 1]) insert(key, i, count);
      };
      extent first = count;
      for (; first + block <= lines.count; first += block) {
        if (!some_may_precede<block>(from + first, from[to[count - 1]], descending)) continue;
        for (extent i = first; i < first + block; i += part)
          if (some_may_precede<part>(from + i, from[to[count - 1]], descending)) insert_some(i, i + part);
      }
      insert_some(first, lines.count);
    }
    void run(extent number, bool by_threads) const {
      const extent before = number / lines.behind, column = number % lines.behind;
      const T* const from = x + before * lines.count * lines.behind + column;
      std::int32_t* const to = y + before * count * lines.behind + column;
      const scratch memory(std::size_t(lines.count) * sizeof(entry));
      entry* const entries = reinterpret_cast<entry*>(memory.data());
      for (extent i = 0; i < lines.count; ++i) entries[i] = make(order::of(from[i * lines.behind], descending), i);
      if (by_threads) tbb::this_task_arena::isolate([&] { tbb::parallel_sort(entries, entries + lines.count); });
      else if (count < lines.count) std::partial_sort(entries, entries + count, entries + lines.count);
      else std::sort(entries, entries + lines.count);
      for (extent i = 0; i < count; ++i) to[i * lines.behind] = index_of(entries[i]);
    }
  };
};

}  // namespace cotangent::host
