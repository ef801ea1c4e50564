#pragma once
/// Running sums, products and extrema along an axis, and the linear recurrences of their derivatives.
///
/// Long lines are cut into blocks, but for those of products. Each runs from its own first element, and what was before it is added at once: the
/// error of a sum is that of as many additions as there are in a block, and of as many as there are blocks. Threads take blocks of one line as well.
/// The order depends on extents alone.

#include <algorithm>
#include <cmath>

#include <cotangent/backends/cpu/opaque.hpp>
#include <cotangent/backends/cpu/pack.hpp>
#include <cotangent/backends/cpu/scratch.hpp>
#include <cotangent/backends/cpu/threads.hpp>

namespace cotangent::host {

/// run(first, columns) for neighbouring lines side by side, of which `first` is the first element of the first; each task takes some of them.
template <class Run> void run_columns(const axis_lines& lines, const Run& run) {
  // As wide as threads allow: memory is read ahead along rows. The row before stays in the nearest cache.
  constexpr extent task_elements = 1 << 15, narrow = 256, wide = 4096;
  const extent wanted = std::max(divide_up(task_elements, lines.count), smaller(wide, divide_up(lines.behind, num_threads())));
  const extent width = smaller(lines.behind, std::max(wanted, narrow));
  const extent blocks = divide_up(lines.behind, width), all = lines.before * blocks, together = divide_up(task_elements, lines.count * width);
  parallel_for(divide_up(all, together), [&](extent t) {
    for (extent k = t * together; k < smaller((t + 1) * together, all); ++k) {
      const extent column = k % blocks * width;
      run(k / blocks * lines.count * lines.behind + column, smaller(width, lines.behind - column));
    }
  });
}

template <int N, int H> struct lanes_before {  // lane i - H in the place of lane i, and the second operand before all
  static constexpr int at(int i) { return i < H ? N : i - H; }
};
template <int N> struct last_lane {
  static constexpr int at(int) { return N - 1; }
};
template <int N> struct lanes_reversed {
  static constexpr int at(int i) { return N - 1 - i; }
};

/// What a cumulative primitive computes.
template <class P, class T> class running {
 public:
  running(const T* x, T* y, const shape& dims, const extent* attributes) : x_(x), y_(y), lines_(dims, int(attributes[0])), reverse_(attributes[1] != 0) {}

  void operator()() const {
    if (lines_.before * lines_.count * lines_.behind == 0) return;
    if (lines_.behind > 1) return run_columns(lines_, [this](extent first, extent columns) { run_rows(first, columns); });
    if (reverse_) run_lines<true>();
    else run_lines<false>();
  }

 private:
  using Reduction = typename P::reduction;
  static constexpr int lanes = native_lanes<T>;
  static constexpr extent block = 1 << 12;
  using vector_type = pack<T, lanes>;
  const T* x_;
  T* y_;
  axis_lines lines_;
  bool reverse_;

  static COTANGENT_HOST_INLINE T combine(T a, T b) { return Reduction::combine(pack<T, 1>(a), pack<T, 1>(b))[0]; }
  static T identity() { return Reduction::template identity<T>(); }

  /// Each lane and those before it.
  template <int H = 1> static COTANGENT_HOST_INLINE vector_type run_lanes(vector_type v) {
    if constexpr (H == lanes) return v;
    else return run_lanes<2 * H>(Reduction::combine(shuffle<lanes_before<lanes, H>>(v, vector_type(identity())), v));
  }
  template <bool Reverse> static COTANGENT_HOST_INLINE vector_type in_order(vector_type v) {
    if constexpr (Reverse) return shuffle<lanes_reversed<lanes>>(v, v);
    else return v;
  }

  /// The combination of `count` neighbouring elements; with Store, also what runs through them from `before` on.
  template <bool Reverse, bool Store> static T run_block(const T* x, T* y, extent count, T before) {
    extent k = 0;
    vector_type own(identity());
    for (; k + lanes <= count; k += lanes) {
      const extent at = Reverse ? count - lanes - k : k;
      const vector_type v = run_lanes(in_order<Reverse>(vector_type::load(x + at)));
      if constexpr (Store) in_order<Reverse>(Reduction::combine(vector_type(before), Reduction::combine(own, v))).store(y + at);
      own = Reduction::combine(own, shuffle<last_lane<lanes>>(v, v));
    }
    T total = own[0];
    for (; k < count; ++k) {
      const extent at = Reverse ? count - 1 - k : k;
      total = combine(total, x[at]);
      if constexpr (Store) y[at] = combine(before, total);
    }
    return total;
  }
  /// The same of block b of a line.
  template <bool Reverse, bool Store> T run_block_of(extent line, extent b, T before) const {
    const extent count = smaller(block, lines_.count - b * block), first = line * lines_.count + (Reverse ? lines_.count - b * block - count : b * block);
    return run_block<Reverse, Store>(x_ + first, y_ + first, count, before);
  }
  template <bool Reverse> void run_line(extent line) const {
    constexpr extent least = 128;  // shorter ones are combined in order
    if (P::in_order || lines_.count < least) {
      constexpr extent step = Reverse ? -1 : 1;
      extent at = line * lines_.count + (Reverse ? lines_.count - 1 : 0);
      T total = y_[at] = x_[at];
      for (extent k = 1; k < lines_.count; ++k) at += step, y_[at] = total = combine(total, x_[at]);
      return;
    }
    T before = identity();
    for (extent b = 0; b * block < lines_.count; ++b) before = combine(before, run_block_of<Reverse, true>(line, b, before));
  }
  template <bool Reverse> void run_lines() const {
    constexpr extent task_blocks = 8, few_threads = 2;  // with more it is worth while to read everything twice
    const extent blocks = divide_up(lines_.count, block), all = lines_.before * blocks;
    if (P::in_order || num_threads() <= few_threads || lines_.before >= num_threads() || all < 2 * task_blocks) {
      const extent together = divide_up(task_blocks * block, lines_.count);
      return parallel_for(divide_up(lines_.before, together), [&](extent t) {
        for (extent line = t * together; line < smaller((t + 1) * together, lines_.before); ++line) run_line<Reverse>(line);
      });
    }
    const scratch memory(std::size_t(all) * sizeof(T));
    T* totals = reinterpret_cast<T*>(memory.data());
    const auto each_block = [&](const auto& run) {
      parallel_for(divide_up(all, task_blocks), [&](extent t) {
        for (extent i = t * task_blocks; i < smaller((t + 1) * task_blocks, all); ++i) run(totals[i], i / blocks, i % blocks);
      });
    };
    each_block([&](T& total, extent line, extent b) { total = run_block_of<Reverse, false>(line, b, identity()); });
    for (extent line = 0; line < lines_.before; ++line) {
      T before = identity();
      for (extent i = line * blocks; i < (line + 1) * blocks; ++i) {
        const T own = totals[i];
        totals[i] = before, before = combine(before, own);
      }
    }
    each_block([&](T before, extent line, extent b) { run_block_of<Reverse, true>(line, b, before); });
  }

  /// Of neighbouring lines side by side, row by row.
  void run_rows(extent first, extent columns) const {
    const extent step = reverse_ ? -lines_.behind : lines_.behind;
    const scratch memory(!P::in_order && lines_.count > block ? std::size_t(columns) * sizeof(T) : 0);
    T* own = reinterpret_cast<T*>(memory.data());  // what runs through a block but the first
    const T* before = nullptr;
    extent at = first + (reverse_ ? (lines_.count - 1) * lines_.behind : 0);
    for (extent k = 0; k < lines_.count; ++k, at += step) {
      const T* x = x_ + at;
      T* y = y_ + at;
      if (k == 0) std::copy_n(x, columns, y);
      else if (P::in_order || k < block) {
        for (extent j = 0; j < columns; ++j) y[j] = combine(y[j - step], x[j]);
      } else if (k % block == 0) {
        before = y - step;
        for (extent j = 0; j < columns; ++j) own[j] = x[j], y[j] = combine(before[j], x[j]);
      } else {
        for (extent j = 0; j < columns; ++j) own[j] = combine(own[j], x[j]), y[j] = combine(before[j], own[j]);
      }
    }
  }
};

template <class P> struct opaque_cumulative {
  template <class T> static void run(const array_ref* operands, const array_ref& result, const extent* attributes) {
    running<P, T>(static_cast<const T*>(operands[0].data), static_cast<T*>(result.data), result.dims, attributes)();
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
    T* y = static_cast<T*>(result.data);
    const axis_lines lines(result.dims, int(attributes[0]));
    if (result.dims.size() == 0) return;
    const bool reverse = attributes[1] != 0;
    const extent step = reverse ? -lines.behind : lines.behind;
    run_columns(lines, [&](extent first, extent columns) {
      extent at = first + (reverse ? (lines.count - 1) * lines.behind : 0);
      if (columns == 1) {  // the running value stays in a register
        T running = y[at] = b[at];
        for (extent k = 1; k < lines.count; ++k) at += step, y[at] = running = std::fma(a[at], running, b[at]);
        return;
      }
      for (extent j = at; j < at + columns; ++j) y[j] = b[j];
      for (extent k = 1; k < lines.count; ++k) {
        at += step;
        for (extent j = at; j < at + columns; ++j) y[j] = std::fma(a[j], y[j - step], b[j]);
      }
    });
  }
};

}  // namespace cotangent::host
