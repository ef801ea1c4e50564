#pragma once
/// Scatters: updates combined into computed places, in the order of the updates.
///
/// The updates are blocks: those along their trailing axes lie beside one computed place. Tasks own ranges of places: each place
/// sees its updates in their order, whatever the number of threads. A few threads look at all blocks for those of their
/// ranges; for many of them, the blocks are sorted by ranges first, in order.
///
/// A sum or extremum of many more updates than it has places may be made in copies, each of a part of the updates, which are combined in
/// order. How many depends on sizes alone. In copies of sums points in space lie 4 numbers apart, so that each is a vector.

#include <algorithm>
#include <cstring>

#include <cotangent/backends/cpu/opaque.hpp>
#include <cotangent/backends/cpu/pack.hpp>
#include <cotangent/backends/cpu/scratch.hpp>
#include <cotangent/compiler/scatter_places.hpp>
#include <cotangent/primitives/reductions.hpp>

namespace cotangent::host {

/// Whether there are so many threads that sorting updates by place is worth while.
inline bool many_threads() { return num_threads() > 4; }

inline namespace COTANGENT_ISA {

template <class P, class T> class scatter {
 public:
  scatter(const array_ref* operands, const array_ref& result, const extent* attributes)
      : places_(operands, attributes), x_(operands[0]), rows_(operands[1].dims.rank > 0 ? operands[1].dims[0] : 1), y_(static_cast<T*>(result.data)),
        u_(static_cast<const T*>(operands[1].data)) {}

  /// The result before any update.
  void start() const {
    if (x_.data != y_ && x_.dims.size() > 0) std::memcpy(y_, x_.data, std::size_t(x_.dims.size()) * sizeof(T));
  }
  /// Combines the updates of rows [first, last), indices of their outermost axis; in this thread, or in as many as are worth while.
  void run_rows_here(extent first, extent last) const {
    if (places_.size > 0 && x_.dims.size() > 0) in_order(row(first), row(last));
  }
  void run_rows(extent first, extent last) const { run_blocks(row(first), row(last)); }
  void run() const {
    if constexpr (has_copies)
      if (const extent count = copies(); count > 1) return run_copies(count);
    run_blocks(0, places_.blocks);
  }

  /// How many copies of the result are worth while; 1: none.
  extent copies() const {
    constexpr extent fewest = 4, most = 8, updates = 12;  // for each number of a copy
    if constexpr (!has_copies) return 1;
    const extent all = x_.dims.size(), worthy = all > 0 ? places_.blocks * places_.size / (updates * all) : 1;
    return worthy < fewest ? 1 : smaller(worthy, most);
  }
  extent copy_bytes() const { return divide_up(copy_size() * extent(sizeof(T)), 64) * 64; }
  /// The same updates into a copy.
  scatter into(char* copy) const { return {*this, reinterpret_cast<T*>(copy)}; }
  /// A copy before any update.
  void clear() const { std::fill(y_, y_ + copy_size(), identity()); }
  /// Combines copies, which lie one after the other, into the result.
  void combine(const char* copies, extent count) const {
    const T* const from = reinterpret_cast<const T*>(copies);
    const extent all = x_.dims.size(), step = copy_bytes() / extent(sizeof(T));
    constexpr extent part = 3 * 4096;
    parallel_for(divide_up(all, part), [&](extent t) {
      const extent first = t * part, last = smaller(first + part, all);
      if (are_points())
        for (extent i = first; i < last; i += 3) {
          auto sum = point::load(y_ + i, 3);
          for (extent c = 0; c < count; ++c) sum = sum + point::load(from + c * step + i / 3 * 4);
          sum.store(y_ + i, 3);
        }
      else
        for (extent c = 0; c < count; ++c)
          for (extent i = first; i < last; ++i) y_[i] = P::combine(y_[i], from[c * step + i]);
    });
  }

 private:
  static constexpr bool adds = std::is_same_v<P, scatter_add_p>, least = std::is_same_v<P, scatter_min_p>;
  static constexpr bool is_extremum = least || std::is_same_v<P, scatter_max_p>;
  static constexpr bool has_copies = (adds || is_extremum) && !std::is_same_v<T, bool>;
  /// What combined with x is x: of sums -0.
  static constexpr T identity() {
    if constexpr (adds || !has_copies) return T(-0.0);
    else return std::conditional_t<least, reduce_min_p, reduce_max_p>::template identity<T>();
  }
  static constexpr extent at_once = 256, most_ranges = 64, side_by_side = 4;
  using point = pack<T, 4>;
  const scatter_places places_;
  const array_ref& x_;
  const extent rows_;
  T* const y_;
  const T* const u_;
  const bool points_ = false;  // that lie 4 numbers apart

  scatter(const scatter& of, T* copy)
      : places_(of.are_points() ? of.places_.with_rows(4) : of.places_), x_(of.x_), rows_(of.rows_), y_(copy), u_(of.u_), points_(of.are_points()) {}

  bool are_points() const { return adds && (points_ || (places_.are_rows(3) && x_.dims.size() % 3 == 0)); }
  extent copy_size() const { return are_points() ? x_.dims.size() / 3 * 4 : x_.dims.size(); }

  /// The first block of a row.
  extent row(extent i) const { return rows_ > 0 ? places_.blocks / rows_ * i : 0; }
  /// Combines shares of the updates into copies of the result: as many for any number of threads.
  void run_copies(extent count) const {
    const scratch memory(std::size_t(count * copy_bytes()));
    const auto run_share = [&](extent share, const auto& run) {
      const scatter copy = into(memory.data() + share * copy_bytes());
      copy.clear();
      run(copy, places_.blocks * share / count, places_.blocks * (share + 1) / count);
    };
    if (many_threads())
      for (extent share = 0; share < count; ++share) run_share(share, [](const scatter& copy, extent begin, extent end) { copy.run_blocks(begin, end); });
    else
      parallel_for(count, [&](extent share) { run_share(share, [](const scatter& copy, extent begin, extent end) { copy.in_order(begin, end); }); });
    combine(memory.data(), count);
  }
  void run_blocks(extent begin, extent end) const {
    const extent blocks = end - begin;
    if (blocks == 0 || places_.size == 0 || x_.dims.size() == 0) return;
    constexpr extent many_blocks = 4096, much_work = 1 << 15, most = extent(1) << 32, near_bytes = 1 << 22;
    const bool shares = blocks >= many_blocks && blocks * places_.size >= much_work;
    const bool waits = places_.size > 1 || places_.span * extent(sizeof(T)) > near_bytes;  // longer than it takes to find the places
    if (shares && waits && num_threads() > 1 && !many_threads()) by_threads(begin, end, num_threads());
    else if (shares && many_threads() && end < most && places_.span < most) by_ranges(begin, end);
    else in_order(begin, end);
  }
  void in_order(extent begin, extent end) const {
    if (!places_.is_near()) return in_order<0, extent>(begin, end);
    places_.with_size([&](auto size) { in_order<size(), std::int32_t>(begin, end); });
  }
  template <int Size, class Place> void in_order(extent begin, extent end) const {
    Place places[at_once];
    for (extent first = begin; first < end; first += at_once) {
      const int count = int(smaller(end - first, at_once));
      places_.find(first, count, places);
      if constexpr (Size == 3 && adds)
        if (points_) {
          add_points(places, count, u_ + first * Size);
          continue;
        }
      if constexpr (Size > 0)
        if (are_runs(places, count)) {
          combine_runs<Size>(places, count, u_ + first * Size);
          continue;
        }
      combine_each<Size>(places, count, first);
    }
  }

  /// Adds points to places 4 numbers apart, the last number of which means nothing.
  template <class Place> void add_points(const Place* places, int count, const T* u) const {
    const auto add_one = [&](int i, const point& x) COTANGENT_EXPANDED {
      if (places[i] >= 0) (point::load(y_ + places[i]) + x).store(y_ + places[i]);
    };
    for (int i = 0; i + 1 < count; ++i) add_one(i, point::load(u + i * 3));
    add_one(count - 1, point::load(u + (count - 1) * 3, 3));  // nothing is read past the updates
  }
  /// Whether most blocks have the same place as the one before.
  template <class Place> static bool are_runs(const Place* places, int count) {
    constexpr int long_run = 16;
    int changes = 0;
    for (int i = 1; i < count; ++i) changes += places[i] != places[i - 1];
    return changes * long_run <= count;
  }
  template <int Size, class Place> [[gnu::noinline]] void combine_each(const Place* places, int count, extent first) const {
    const scatter_places to = places_;  // a copy: what is stored could alias it
    T* const y = y_;
    const T* const u = u_ + first * to.size;
    if constexpr (Size == 1 && is_extremum) {
      int numbers = 0;
      for (int i = 0; i < count; ++i) numbers += u[i] == u[i];
      if (numbers == count) {
        for (int i = 0; i < count; ++i)
          if (places[i] >= 0) y[places[i]] = P::combine_numbers(y[places[i]], u[i]);
        return;
      }
    }
    for (int i = 0; i < count; ++i)
      if (places[i] >= 0) to.template combine<P, Size>(y + places[i], u + i * (Size > 0 ? Size : to.size));
  }
  /// Combines blocks of a few updates into their places, of which a block does not wait for the one before.
  template <int Size, class Place> void combine_runs(const Place* places, int count, const T* u) const {
    T sum[Size] = {};
    Place place = -1;
    const auto store = [&] {
      for (int k = 0; k < Size && place >= 0; ++k) y_[place + k] = sum[k];
    };
    for (int i = 0; i < count; ++i, u += Size) {
      if (places[i] < 0) continue;
      if (places[i] != place) {
        store();
        place = places[i];
        for (int k = 0; k < Size; ++k) sum[k] = y_[place + k];
      }
      for (int k = 0; k < Size; ++k) sum[k] = P::combine(sum[k], u[k]);
    }
    store();
  }
  /// Each task combines those of some blocks that are of its range.
  void by_threads(extent begin_block, extent end_block, int ranges) const {
    places_.with_size([=, this](auto size) {
      parallel_for(ranges, [&](extent range) {
        const scatter_places to = places_;  // a copy: what is stored could alias it
        const extent begin = to.span * range / ranges, end = to.span * (range + 1) / ranges;
        T* const y = y_;
        const T* const u = u_;
        extent places[at_once];
        int own[at_once];
        for (extent first = begin_block; first < end_block; first += at_once) {
          const int count = int(smaller(end_block - first, at_once));
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
  void by_ranges(extent begin, extent end) const {
    int shift = 0;
    while ((places_.span - 1) >> shift >= most_ranges) ++shift;
    const extent tasks = most_ranges / side_by_side, parts = tasks * side_by_side, part = divide_up(end - begin, parts);
    const scratch memory(std::size_t(end - begin) * sizeof(entry) + std::size_t(parts) * sizeof(ends));
    ends* begins = reinterpret_cast<ends*>(memory.data());
    entry* const entries = reinterpret_cast<entry*>(begins + parts) - begin;  // as many as blocks, by their numbers
    parallel_for(tasks, [&](extent t) { sort(begin + t * side_by_side * part, end, part, shift, entries, begins + t * side_by_side); });
    parallel_for(extent(most_ranges), [&](extent range) {
      for (extent k = 0; k < parts; ++k)
        for (extent i = begins[k].of[range]; i < begins[k].of[range + 1]; ++i)
          places_.combine<P>(y_ + entries[i].place, u_ + extent(entries[i].block) * places_.size);
    });
  }
  /// Sorts the entries of some neighbouring parts by range, in order; side by side, because a counter waits for itself.
  void sort(extent first, extent all_end, extent part, int shift, entry* entries, ends* begins) const {
    extent next[side_by_side][most_ranges + 1] = {};
    const auto visit = [&](const auto& what) {
      extent places[side_by_side][at_once];
      for (extent done = 0; done < part; done += at_once) {
        for (extent s = 0; s < side_by_side; ++s) {
          const extent from = first + s * part + done, end = smaller(first + (s + 1) * part, all_end);
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
      for (int r = 0; r <= most_ranges; ++r) begins[s].of[r] = next[s][r] += r > 0 ? next[s][r - 1] : smaller(first + s * part, all_end);
    visit([&](extent s, extent block, extent place) { entries[next[s][place >> shift]++] = {std::uint32_t(block), std::uint32_t(place)}; });
  }
};

}  // namespace COTANGENT_ISA

template <class P> struct opaque_scatter {
  template <class T> using updates = scatter<P, T>;
  template <class T> static void run(const array_ref* operands, const array_ref& result, const extent* attributes) {
    const scatter<P, T> all(operands, result, attributes);
    all.start();
    all.run();
  }
};
template <> struct opaque<scatter_p> : opaque_scatter<scatter_p> {};
template <> struct opaque<scatter_add_p> : opaque_scatter<scatter_add_p> {};
template <> struct opaque<scatter_mul_p> : opaque_scatter<scatter_mul_p> {};
template <> struct opaque<scatter_min_p> : opaque_scatter<scatter_min_p> {};
template <> struct opaque<scatter_max_p> : opaque_scatter<scatter_max_p> {};

}  // namespace cotangent::host
