#pragma once
/// argsort on the CPU: lines of keys with their indices, which make every key different. Short lines are sorted by the standard library, long
/// ones by the digits of their keys, and the first few of a line are found in one pass over it.

#include <algorithm>
#include <bit>
#include <utility>

#include <cotangent/backends/cpu/opaque.hpp>
#include <cotangent/backends/cpu/pack.hpp>
#include <cotangent/backends/cpu/scratch.hpp>

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

/// From so many entries on, sorting by digits is faster than by comparisons, and by several threads than by one.
inline constexpr extent shortest_by_digits = 96, long_line = 1 << 16;

/// Sorts n entries: keys of 32 bits, which differ in their last `bits` bits at most, above indices that ascend. Goes through the digits of the
/// keys, from the last to the first: counts how many entries have each, which tells where those of a digit begin, and moves every entry there,
/// behind those of its digit that were before it. Returns where they are in the end, `entries` or `room` (of the same size); both are written.
inline std::uint64_t* sort_by_digits(std::uint64_t* entries, std::uint64_t* room, extent n, int bits, bool by_threads) {
  if (n < shortest_by_digits) {
    std::sort(entries, entries + n);
    return entries;
  }
  if (std::is_sorted(entries, entries + n)) return entries;  // as those are whose keys are all equal
  constexpr extent many = 1 << 11, most_parts = 16;  // many entries are worth longer digits, which are fewer
  const int count = int(divide_up(bits, n < many ? 8 : 11)), width = int(divide_up(bits, count));
  const extent values = extent(1) << width, parts = by_threads && n >= long_line ? smaller(num_threads(), most_parts) : 1;
  const scratch memory(std::size_t(parts * values) * sizeof(std::uint32_t));
  std::uint32_t* const next = reinterpret_cast<std::uint32_t*>(memory.data());  // for each part and digit, how many, and then where the next goes
  for (int shift = 32; shift < 32 + bits; shift += width) {
    const auto digit_of = [values, shift](std::uint64_t entry) { return extent(entry >> shift) & (values - 1); };
    // The bodies copy what they use: what is stored could alias it.
    parallel_for(parts, [=](extent part) {
      const auto digit = digit_of;
      std::uint32_t* const counts = next + part * values;
      std::fill_n(counts, values, 0u);
      for (const std::uint64_t *e = entries + n * part / parts, *end = entries + n * (part + 1) / parts; e != end; ++e) ++counts[digit(*e)];
    });
    extent alike = 0;
    for (extent part = 0; part < parts; ++part) alike += next[part * values + digit_of(entries[0])];
    if (alike == n) continue;
    std::uint32_t place = 0;
    for (extent digit = 0; digit < values; ++digit)
      for (extent part = 0; part < parts; ++part) place += std::exchange(next[part * values + digit], place);
    parallel_for(parts, [=](extent part) {
      const auto digit = digit_of;
      std::uint32_t* const places = next + part * values;
      std::uint64_t* const to = room;
      for (const std::uint64_t *e = entries + n * part / parts, *end = entries + n * (part + 1) / parts; e != end; ++e) to[places[digit(*e)]++] = *e;
    });
    std::swap(entries, room);
  }
  return entries;
}

template <> struct opaque<argsort_p> {
  template <class T> static void run(const array_ref* operands, const array_ref& result, const extent* attributes) {
    const axis_lines lines(operands[0].dims, int(attributes[0]));
    const extent count = result.dims[int(attributes[0])], number = lines.before * lines.behind;
    if (result.dims.size() == 0) return;
    const one_line<T> line{static_cast<const T*>(operands[0].data), static_cast<std::int32_t*>(result.data), lines, count, attributes[2] != 0};
    constexpr extent task_elements = 1 << 13;
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
      constexpr extent most_partial = 16;  // a part of a line so much shorter is found without sorting the others
      const extent before = number / lines.behind, column = number % lines.behind;
      const T* const from = x + before * lines.count * lines.behind + column;
      std::int32_t* const to = y + before * count * lines.behind + column;
      if (lines.count >= shortest_by_digits && count * most_partial >= lines.count) {
        run_by_digits(from, to, by_threads);
        return;
      }
      const scratch memory(std::size_t(lines.count) * sizeof(entry));
      entry* const entries = reinterpret_cast<entry*>(memory.data());
      for (extent i = 0; i < lines.count; ++i) entries[i] = make(order::of(from[i * lines.behind], descending), i);
      if (count < lines.count) std::partial_sort(entries, entries + count, entries + lines.count);
      else std::sort(entries, entries + lines.count);
      for (extent i = 0; i < count; ++i) to[i * lines.behind] = index_of(entries[i]);
    }
    /// Keys are counted from the least: those close to each other differ in few bits. Of more than 32 bits, the first 32 are sorted, and then,
    /// among keys alike in these, the others.
    void run_by_digits(const T* from, std::int32_t* to, bool by_threads) const {
      const scratch memory(2 * std::size_t(lines.count) * sizeof(std::uint64_t));
      std::uint64_t *entries = reinterpret_cast<std::uint64_t*>(memory.data()), *room = entries + lines.count;
      const auto key_of = [from, step = lines.behind, down = descending](extent i) { return order::of(from[i * step], down); };
      auto least = key_of(0), greatest = least;
      for (extent i = 0; i < lines.count; ++i) {
        const auto key = key_of(i);
        entries[i] = key, least = std::min(least, key), greatest = std::max(greatest, key);
      }
      const int bits = int(std::bit_width(greatest - least)), others = bits > 32 ? bits - 32 : 0;
      for (extent i = 0; i < lines.count; ++i) entries[i] = (entries[i] - least) >> others << 32 | std::uint64_t(i);
      if (sort_by_digits(entries, room, lines.count, bits - others, by_threads) == room) std::swap(entries, room);
      if (others == 0) {
        for (extent i = 0; i < count; ++i) to[i * lines.behind] = std::int32_t(entries[i]);
        return;
      }
      for (extent first = 0, last; first < count; first = last) {
        for (last = first + 1; last < lines.count && entries[last] >> 32 == entries[first] >> 32;) ++last;
        const std::uint64_t* sorted = entries + first;
        if (last - first > 1) {
          for (extent i = first; i < last; ++i) {
            const extent index = extent(std::uint32_t(entries[i]));
            entries[i] = std::uint64_t(key_of(index) - least) << 32 | std::uint64_t(index);
          }
          sorted = sort_by_digits(entries + first, room + first, last - first, others, by_threads);
        }
        for (extent i = first; i < smaller(last, count); ++i) to[i * lines.behind] = std::int32_t(sorted[i - first]);
      }
    }
  };
};

}  // namespace cotangent::host
