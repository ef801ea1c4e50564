#pragma once
/// Scatters: updates combined into computed places, in the order of the updates.
///
/// The updates are blocks: those along their trailing axes lie beside one computed place. Tasks own ranges of places: each place
/// sees its updates in their order, whatever the number of threads. A few threads look at all blocks for those of their
/// ranges; for more of them, the blocks are sorted by ranges first, in order.

#include <cstring>

#include <cotangent/backends/cpu/opaque.hpp>
#include <cotangent/backends/cpu/scratch.hpp>
#include <cotangent/compiler/scatter_places.hpp>

namespace cotangent::host {

template <class P, class T> class scatter {
 public:
  scatter(const array_ref* operands, const array_ref& result, const extent* attributes)
      : places_(operands, attributes), y_(static_cast<T*>(result.data)), u_(static_cast<const T*>(operands[1].data)) {
    const array_ref& x = operands[0];
    if (x.data != result.data && x.dims.size() > 0) std::memcpy(result.data, x.data, std::size_t(x.dims.size()) * sizeof(T));
    if (places_.blocks == 0 || places_.size == 0 || x.dims.size() == 0) return;
    constexpr extent many_blocks = 4096, much_work = 1 << 15, most = extent(1) << 32;
    const bool shares = places_.blocks >= many_blocks && places_.blocks * places_.size >= much_work;
    constexpr int few = 4;
    if (shares && num_threads() > 1 && num_threads() <= few) by_threads(num_threads());
    else if (shares && num_threads() > few && places_.blocks < most && places_.span < most) by_ranges();
    else in_order();
  }

 private:
  static constexpr extent at_once = 256, most_ranges = 64, side_by_side = 4;
  const scatter_places places_;
  T* y_;
  const T* u_;

  void in_order() {
    places_.with_size([this](auto size) {
      extent places[at_once];
      for (extent first = 0; first < places_.blocks; first += at_once) {
        const int count = int(smaller(places_.blocks - first, at_once));
        places_.find(first, count, places);
        for (int i = 0; i < count; ++i)
          if (places[i] >= 0) places_.template combine<P, size()>(y_ + places[i], u_ + (first + i) * places_.size);
      }
    });
  }

  /// Each task combines the blocks of its range.
  void by_threads(int ranges) {
    places_.with_size([this, ranges](auto size) {
      parallel_for(ranges, [&](extent range) {
        const scatter_places to = places_;  // a copy: what is stored could alias it
        const extent begin = to.span * range / ranges, end = to.span * (range + 1) / ranges;
        T* const y = y_;
        const T* const u = u_;
        extent places[at_once];
        int own[at_once];
        for (extent first = 0; first < to.blocks; first += at_once) {
          const int count = int(smaller(to.blocks - first, at_once));
          to.find(first, count, places);
          int found = 0;
          for (int i = 0; i < count; ++i) own[found] = i, found += places[i] >= begin && places[i] < end;
          for (int k = 0; k < found; ++k) to.template combine<P, size()>(y + places[own[k]], u + (first + own[k]) * (size() > 0 ? size() : to.size));
        }
      });
    });
  }

  struct entry {
    std::uint32_t block, place;
  };
  /// Where the entries of each range begin.
  struct alignas(64) ends {
    extent of[most_ranges + 1];
  };
  /// Parts of the blocks are sorted by themselves, and each range goes through all parts.
  void by_ranges() {
    int shift = 0;
    while ((places_.span - 1) >> shift >= most_ranges) ++shift;
    const extent tasks = most_ranges / side_by_side, parts = tasks * side_by_side, part = (places_.blocks + parts - 1) / parts;
    const scratch memory(std::size_t(places_.blocks) * sizeof(entry) + std::size_t(parts) * sizeof(ends));
    ends* begins = reinterpret_cast<ends*>(memory.data());
    entry* entries = reinterpret_cast<entry*>(begins + parts);
    parallel_for(tasks, [&](extent t) { sort(t * side_by_side * part, part, shift, entries, begins + t * side_by_side); });
    parallel_for(extent(most_ranges), [&](extent range) {
      for (extent k = 0; k < parts; ++k)
        for (extent i = begins[k].of[range]; i < begins[k].of[range + 1]; ++i)
          places_.combine<P>(y_ + entries[i].place, u_ + extent(entries[i].block) * places_.size);
    });
  }
  /// Sorts the entries of some neighbouring parts by range, in order; side by side, because a counter waits for itself.
  void sort(extent first, extent part, int shift, entry* entries, ends* begins) {
    extent next[side_by_side][most_ranges + 1] = {};
    const auto visit = [&](const auto& what) {
      extent places[side_by_side][at_once];
      for (extent done = 0; done < part; done += at_once) {
        for (extent s = 0; s < side_by_side; ++s) {
          const extent from = first + s * part + done, end = smaller(first + (s + 1) * part, places_.blocks);
          const int count = from < end ? int(smaller(end - from, at_once)) : 0;
          places_.find(from, count, places[s]);
          for (int i = count; i < at_once; ++i) places[s][i] = -1;
        }
        for (int i = 0; i < at_once; ++i)
          for (extent s = 0; s < side_by_side; ++s)
            if (places[s][i] >= 0) what(s, first + s * part + done + i, places[s][i]);
      }
    };
    visit([&](extent s, extent, extent place) { ++next[s][(place >> shift) + 1]; });
    for (extent s = 0; s < side_by_side; ++s)
      for (int r = 0; r <= most_ranges; ++r) begins[s].of[r] = next[s][r] += r > 0 ? next[s][r - 1] : smaller(first + s * part, places_.blocks);
    visit([&](extent s, extent block, extent place) { entries[next[s][place >> shift]++] = {std::uint32_t(block), std::uint32_t(place)}; });
  }
};

template <class P> struct opaque_scatter {
  template <class T> static void run(const array_ref* operands, const array_ref& result, const extent* attributes) { scatter<P, T>(operands, result, attributes); }
};
template <> struct opaque<scatter_p> : opaque_scatter<scatter_p> {};
template <> struct opaque<scatter_add_p> : opaque_scatter<scatter_add_p> {};
template <> struct opaque<scatter_mul_p> : opaque_scatter<scatter_mul_p> {};
template <> struct opaque<scatter_min_p> : opaque_scatter<scatter_min_p> {};
template <> struct opaque<scatter_max_p> : opaque_scatter<scatter_max_p> {};

}  // namespace cotangent::host
