#pragma once
/// Convolutions on the CPU, as products of matrices: what a kernel meets at a pixel of the result is a row, and blocks of such rows are made where the
/// product reads them, in the cache. Where x has zeros between its elements, as in the transpose of a convolution with strides, pixels that
/// meet the same part of the kernel go together, so that no zero is multiplied. A channel that is alone in its group takes no matrices: vectors
/// go along channels or, of one channel, along a row of pixels.

#include <algorithm>
#include <cstring>
#include <numeric>

#include <cotangent/backends/convolution.hpp>
#include <cotangent/backends/cpu/gemm.hpp>
#include <cotangent/backends/cpu/opaque.hpp>
#include <cotangent/backends/cpu/pack.hpp>
#include <cotangent/backends/cpu/scratch.hpp>

namespace cotangent::host {

/// The pixels `first + step j` of an axis of the result, and the part of the kernel that they meet: elements `tap + tap_step k`.
struct pixel_phase {
  convolution_axis axis;  // of both parts; its spacing is 1
  extent first = 0, step = 1, tap = 0, tap_step = 1;

  /// Phase r of an axis.
  pixel_phase(const convolution_axis& a, extent r) : axis(a), first(r), step(count(a)) {
    axis.out = a.out > r ? divide_up(a.out - r, step) : 0;
    if (a.spacing == 1) return;
    const auto lies_between = [&](extent k) { return (r * a.stride + k * a.dilation - a.low) % a.spacing != 0; };
    tap_step = a.spacing / std::gcd(a.dilation, a.spacing);
    while (tap < a.taps && tap < tap_step && lies_between(tap)) ++tap;
    axis.taps = tap < a.taps && tap < tap_step ? divide_up(a.taps - tap, tap_step) : 0;
    axis.stride = step * a.stride / a.spacing, axis.dilation = tap_step * a.dilation / a.spacing;
    axis.low = -((r * a.stride + tap * a.dilation - a.low) / a.spacing), axis.spacing = 1;
  }
  static extent count(const convolution_axis& a) { return a.spacing / std::gcd(a.stride, a.spacing); }
};

/// The rows of a matrix product, from x: for pixels of the result, the elements that some of the taps meet.
template <class T> struct pixel_rows {
  const T* x;
  extent channels, all_channels;  // of the group, and of x; x begins at the group
  convolution_axis axes[3];

  extent line_of(extent pixel) const { return pixel / axes[2].out; }
  /// Whether the elements that a tap meets at neighbouring pixels lie side by side, rather than those that a pixel's taps meet.
  bool by_terms() const { return channels < 8; }

  /// Of the pixels [first, last) and the taps [tap, end): element (p, t) goes to to[(p - first) * row + (t - tap) * channels * column + channel * column].
  void fill(extent first, extent last, extent tap, extent end, T* to, extent row, extent column) const {
    for (extent p = first; p < last;) {
      const extent line = line_of(p), o = p - line * axes[2].out, next = smaller(last, (line + 1) * axes[2].out);
      for (extent t = tap; t < end;) {  // a row of taps
        const extent taps_row = t / axes[2].taps, k = t - taps_row * axes[2].taps, stop = smaller(end, (taps_row + 1) * axes[2].taps);
        T* const at = to + (p - first) * row + (t - tap) * channels * column;
        const T* const from = row_of(line, taps_row);
        if (column != 1 || channels == 1) fill_terms(from, o, next - p, k, stop - t, at, row, column);
        else fill_pixels(from, o, next - p, k, stop - t, at, row);
        t = stop;
      }
      p = next;
    }
  }
  /// The row of x that a row of taps meets at a line of pixels; null if there is none.
  const T* row_of(extent line, extent taps_row) const {
    const extent o1 = line % axes[1].out, o0 = line / axes[1].out % axes[0].out, n = line / axes[1].out / axes[0].out;
    const extent i0 = axes[0].place(o0, taps_row / axes[1].taps), i1 = axes[1].place(o1, taps_row % axes[1].taps);
    return i0 < 0 || i1 < 0 ? nullptr : x + ((n * axes[0].in + i0) * axes[1].in + i1) * axes[2].in * all_channels;
  }
  /// The pixels [from, to) of a line at which tap k meets a row's elements, where its spacing is 1.
  void inside(extent k, extent& from, extent& to) const {
    const convolution_axis& a = axes[2];
    const extent shift = a.low - k * a.dilation;
    from = shift > 0 ? divide_up(shift, a.stride) : 0;
    to = a.in + shift > 0 ? divide_up(a.in + shift, a.stride) : 0;
    to = smaller(to, a.out), from = smaller(from, to);
  }

 private:
  void fill_terms(const T* from, extent o, extent pixels, extent k, extent taps, T* to, extent row, extent column) const {
    const convolution_axis& a = axes[2];
    for (extent j = 0; j < taps; ++j) {
      extent first = 0, last = a.out;
      if (a.spacing == 1) inside(k + j, first, last);
      first = std::clamp(first, o, o + pixels), last = std::clamp(last, first, o + pixels);
      if (!from) first = last = o + pixels;
      for (extent c = 0; c < channels; ++c) {
        T* const at = to + (j * channels + c) * column - o * row;
        for (extent p = o; p < first; ++p) at[p * row] = T(0);
        for (extent p = last; p < o + pixels; ++p) at[p * row] = T(0);
        if (first == last) continue;
        if (a.spacing != 1) {
          for (extent p = first; p < last; ++p) {
            const extent i = a.place(p, k + j);
            at[p * row] = i < 0 ? T(0) : from[i * all_channels + c];
          }
          continue;
        }
        const extent step = a.stride * all_channels;
        const T* const source = from + (first * a.stride + (k + j) * a.dilation - a.low) * all_channels + c;
        if (step == 1 && row == 1) std::memcpy(at + first, source, std::size_t(last - first) * sizeof(T));
        else
          for (extent p = 0; p < last - first; ++p) at[(first + p) * row] = source[p * step];
      }
    }
  }
  void fill_pixels(const T* from, extent o, extent pixels, extent k, extent taps, T* to, extent row) const {
    const convolution_axis& a = axes[2];
    const bool side_by_side = channels == all_channels && a.dilation == 1 && a.spacing == 1;
    const extent together = side_by_side ? taps : 1;
    for (extent p = o; p < o + pixels; ++p, to += row)
      for (extent j = 0; j < taps; j += together) {
        extent begin = 0, end = 0;  // of the taps that meet an element
        const extent i = side_by_side ? p * a.stride + k - a.low : a.place(p, k + j);
        if (!from) begin = end = together;
        else if (side_by_side) begin = std::clamp(-i, extent(0), taps), end = std::clamp(a.in - i, begin, taps);
        else end = i >= 0;
        T* const at = to + j * channels;
        std::fill_n(at, begin * channels, T(0));
        if (end > begin) std::memcpy(at + begin * channels, from + (i + begin) * all_channels, std::size_t((end - begin) * channels) * sizeof(T));
        std::fill_n(at + end * channels, (together - end) * channels, T(0));
      }
  }
};

template <class T> class convolution_run {
 public:
  explicit convolution_run(const convolution_sizes& s) : s_(s), has_matrices_(!std::is_floating_point_v<T> || s.channels > 1 || s.features > 1) {}

  void run(const T* x, const T* kernel, T* y) const {
    if (s_.pixels() * s_.groups * s_.features == 0) return;
    for (extent a = 0; a < pixel_phase::count(s_.axes[0]); ++a)
      for (extent b = 0; b < pixel_phase::count(s_.axes[1]); ++b)
        for (extent c = 0; c < pixel_phase::count(s_.axes[2]); ++c) run_phase({{s_.axes[0], a}, {s_.axes[1], b}, {s_.axes[2], c}}, x, kernel, y);
  }
  void run_kernel(const T* x, const T* y, T* kernel) const {
    const extent size = s_.taps() * s_.channels * s_.groups * s_.features;
    if (size == 0) return;
    if (has_matrices_) add_terms(x, y, kernel, size);
    else
      sum_parts(kernel, size, parts_of(s_.pixels() * size, 1), lines(), [&](extent first, extent last, T* to) { add_lines(x, y, first, last, to); });
  }

 private:
  using vec = pack<T, native_lanes<T>>;
  static constexpr extent lanes = native_lanes<T>;
  static constexpr extent row_bytes = extent(1) << 18;   // of a block of rows
  static constexpr extent most_terms = 512;              // of a row, where one tap has no more
  static constexpr extent task_products = extent(1) << 20;
  static constexpr extent most_parts = 16;
  static constexpr gemm_form adds{.adds = true};

  const convolution_sizes s_;
  const bool has_matrices_;

  /// Whether a row of features is less than a vector: products are then computed with features as rows, and turned.
  bool is_flat() const { return s_.features > 1 && s_.features < lanes; }

  extent lines() const { return s_.count * s_.axes[0].out * s_.axes[1].out; }
  extent all_channels() const { return s_.groups * s_.channels; }
  extent all_features() const { return s_.groups * s_.features; }
  pixel_rows<T> rows(const T* x, const convolution_axis (&axes)[3]) const { return {x, s_.channels, all_channels(), {axes[0], axes[1], axes[2]}}; }
  extent taps_together(extent taps) const { return std::clamp(most_terms / std::max(s_.channels, extent(1)), extent(1), std::max(taps, extent(1))); }
  /// How many pixels a block has: some for each of eight tasks, if there is that much to do.
  extent pixels_together(extent pixels, extent terms, extent products) const {
    constexpr extent least = 32, most = 1024;
    extent n = std::clamp(row_bytes / (terms * extent(sizeof(T))), least, most);
    if (products > 4 * task_products) n = smaller(n, std::max(divide_up(pixels, 8), least));
    return smaller(divide_up(n, 8) * 8, pixels);
  }

  /// The pixels of one phase.
  void run_phase(const pixel_phase (&phases)[3], const T* x, const T* kernel, T* y) const {
    const convolution_axis axes[3] = {phases[0].axis, phases[1].axis, phases[2].axis};
    const extent pixels = s_.count * axes[0].out * axes[1].out * axes[2].out, taps = axes[0].taps * axes[1].taps * axes[2].taps;
    if (pixels == 0) return;
    const bool whole = phases[0].step * phases[1].step * phases[2].step == 1, all_taps = taps == s_.taps();
    const extent row = s_.channels * all_features();
    const auto part_of_kernel = [&](extent t) {
      const extent k2 = t % axes[2].taps, k1 = t / axes[2].taps % axes[1].taps, k0 = t / axes[2].taps / axes[1].taps;
      return kernel + (((phases[0].tap + phases[0].tap_step * k0) * s_.axes[1].taps + phases[1].tap + phases[1].tap_step * k1) * s_.axes[2].taps + phases[2].tap + phases[2].tap_step * k2) * row;
    };
    const auto pixel_of_result = [&](extent p) {
      const extent o2 = p % axes[2].out, line = p / axes[2].out, o1 = line % axes[1].out, o0 = line / axes[1].out % axes[0].out, n = line / axes[1].out / axes[0].out;
      return ((n * s_.axes[0].out + phases[0].first + phases[0].step * o0) * s_.axes[1].out + phases[1].first + phases[1].step * o1) * s_.axes[2].out + phases[2].first + phases[2].step * o2;
    };
    const scratch copy(all_taps ? 0 : std::size_t(taps * row) * sizeof(T));
    const T* used = kernel;
    if (!all_taps) {
      used = reinterpret_cast<T*>(copy.data());
      for (extent t = 0; t < taps; ++t) std::copy_n(part_of_kernel(t), row, reinterpret_cast<T*>(copy.data()) + t * row);
    }
    if (!has_matrices_) {
      const extent many = divide_up(task_products, std::max(axes[2].out * taps * s_.groups, extent(1)));
      parallel_for(divide_up(pixels / axes[2].out, many), [&](extent task) {
        const scratch room(std::size_t(axes[2].out * s_.groups) * sizeof(T));
        for (extent line = task * many; line < smaller((task + 1) * many, pixels / axes[2].out); ++line) {
          T* const to = whole ? y + line * axes[2].out * s_.groups : reinterpret_cast<T*>(room.data());
          run_line(rows(x, axes), line, used, taps, to);
          for (extent o = 0; o < axes[2].out && !whole; ++o) std::copy_n(to + o * s_.groups, s_.groups, y + pixel_of_result(line * axes[2].out + o) * s_.groups);
        }
      });
      return;
    }
    const extent together = taps_together(taps), terms = std::max(smaller(together, taps) * s_.channels, extent(1)), products = pixels * taps * s_.channels * s_.features;
    const extent block = pixels_together(pixels, terms, products * s_.groups), blocks = divide_up(pixels, block);
    const extent many = std::max(task_products / std::max(products / blocks, extent(1)), extent(1));
    parallel_for(divide_up(blocks * s_.groups, many), [&](extent task) {
      const bool in_place = whole && !is_flat();
      const scratch room(std::size_t(block * (terms + (in_place ? 0 : s_.features))) * sizeof(T));
      T* const from = reinterpret_cast<T*>(room.data());
      for (extent b = task * many; b < smaller((task + 1) * many, blocks * s_.groups); ++b) {
        const extent g = b % s_.groups, first = b / s_.groups * block, last = smaller(first + block, pixels), count = last - first;
        const extent stride = in_place ? all_features() : s_.features;
        T* const to = in_place ? y + first * all_features() + g * s_.features : from + block * terms;
        if (in_place)
          for (extent p = 0; p < count; ++p) std::fill_n(to + p * stride, s_.features, T(0));
        else std::fill_n(to, count * s_.features, T(0));
        const pixel_rows<T> source = rows(x + g * s_.channels, axes);
        for (extent t = 0; t < taps; t += together) {
          const extent end = smaller(t + together, taps), width = (end - t) * s_.channels;
          const extent row_of_block = source.by_terms() ? 1 : width, column = source.by_terms() ? block : 1;
          source.fill(first, last, t, end, from, row_of_block, column);
          const matrix_operand<T> a{from, row_of_block, column}, weights{used + t * row + g * s_.features, all_features(), 1};
          multiply(a, weights, count, width, to, stride);
        }
        for (extent p = 0; p < count && !in_place; ++p) {
          T* const pixel = y + (whole ? first + p : pixel_of_result(first + p)) * all_features() + g * s_.features;
          for (extent f = 0; f < s_.features; ++f) pixel[f] = to[is_flat() ? f * count + p : p * s_.features + f];
        }
      }
    });
  }

  /// c [m, features] += a b, of k terms; if it is flat, c is [features, m].
  void multiply(const matrix_operand<T>& a, const matrix_operand<T>& b, extent m, extent k, T* c, extent stride) const {
    if (is_flat()) gemm_block<adds>(s_.features, m, k, b.data, b.column_stride, b.row_stride, a.data, a.column_stride, a.row_stride, c, m, extent(0), extent(0));
    else gemm_block<adds>(m, s_.features, k, a.data, a.row_stride, a.column_stride, b.data, b.row_stride, b.column_stride, c, stride, extent(0), extent(0));
  }

  /// How many parts sums of so many products are cut into, each with a result of its own, if there are `tasks` without.
  static extent parts_of(extent products, extent tasks) { return std::clamp(smaller(divide_up(most_parts, tasks), products / task_products), extent(1), most_parts); }
  /// The sum of what add(first, last, to) adds for parts of [0, count).
  template <class Add> static void sum_parts(T* result, extent size, extent parts, extent count, const Add& add) {
    const extent many = divide_up(count, parts);
    const scratch room(std::size_t((parts - 1) * size) * sizeof(T));
    T* const others = reinterpret_cast<T*>(room.data());
    parallel_for(parts, [&](extent part) {
      T* const to = part == 0 ? result : others + (part - 1) * size;
      std::fill_n(to, size, T(0));
      add(smaller(part * many, count), smaller((part + 1) * many, count), to);
    });
    if (parts == 1) return;
    const extent block = extent(1) << 14;
    parallel_for(divide_up(size, block), [&](extent b) {
      for (extent part = 0; part + 1 < parts; ++part)
        for (extent i = b * block; i < smaller((b + 1) * block, size); ++i) result[i] += others[part * size + i];
    });
  }
  void add_terms(const T* x, const T* y, T* kernel, extent size) const {
    const extent pixels = s_.pixels(), together = taps_together(s_.taps()), chunks = divide_up(s_.taps(), together), terms = together * s_.channels;
    const extent block = pixels_together(std::max(pixels, extent(1)), terms, 0), parts = parts_of(pixels * size / s_.groups, chunks * s_.groups);
    sum_parts(kernel, size, parts, pixels, [&](extent first, extent last, T* to) {
      parallel_for(chunks * s_.groups, [&](extent task) {
        const extent g = task % s_.groups, t = task / s_.groups * together, end = smaller(t + together, s_.taps()), width = (end - t) * s_.channels;
        const scratch room(std::size_t((block + (is_flat() ? s_.features : 0)) * width) * sizeof(T));
        T *const from = reinterpret_cast<T*>(room.data()), *const turned = from + block * width, *const sums = to + t * s_.channels * all_features() + g * s_.features;
        if (is_flat()) std::fill_n(turned, s_.features * width, T(0));
        const pixel_rows<T> source = rows(x + g * s_.channels, s_.axes);
        const extent row = source.by_terms() ? 1 : width, column = source.by_terms() ? block : 1;
        for (extent p = first; p < last; p += block) {
          const extent stop = smaller(p + block, last);
          source.fill(p, stop, t, end, from, row, column);
          const matrix_operand<T> a{from, column, row}, of_y{y + p * all_features() + g * s_.features, all_features(), 1};
          multiply(a, of_y, width, stop - p, is_flat() ? turned : sums, all_features());
        }
        for (extent i = 0; i < width && is_flat(); ++i)
          for (extent f = 0; f < s_.features; ++f) sums[i * all_features() + f] = turned[f * width + i];
      });
    });
  }

  /// A row of x that a row of taps meets, and the taps.
  struct tap_row {
    const T *x, *weights;
  };
  /// to = the sums over rows of taps of what the taps [first, last) meet, which are `step` apart, in vectors side by side, of the last of which `count`
  /// elements are there. `Shared`: all elements have one weight, else each has its own, and those of the next tap are `weights` further on.
  template <bool Shared, int... V> static COTANGENT_HOST_INLINE void sum_taps(std::integer_sequence<int, V...>, const tap_row* rows, extent row_count, extent first, extent last, extent step, extent at, extent weights, extent channel, int count, T* to) {
    constexpr int vectors = sizeof...(V);
    const bool partial = count < lanes;
    const auto load = [&](const T* from, int v) COTANGENT_EXPANDED { return vectors == 1 && partial ? vec::load(from + v * lanes, count) : vec::load(from + v * lanes); };
    vec sums[vectors] = {(static_cast<void>(V), vec(T(0)))...};
    for (extent r = 0; r < row_count; ++r) {
      const T *x = rows[r].x + at + first * step, *w = rows[r].weights + first * weights + channel;
      for (extent k = first; k < last; ++k, x += step, w += weights)
        if constexpr (Shared) {
          const vec weight(*w);
          ((sums[V] = fma(weight, load(x, V), sums[V])), ...);
        } else ((sums[V] = fma(load(w, V), load(x, V), sums[V])), ...);
    }
    (((vectors == 1 && partial) ? sums[V].store(to + V * lanes, count) : sums[V].store(to + V * lanes)), ...);
  }
  /// The same of any number of elements.
  template <bool Shared> static void sum_all_taps(const tap_row* rows, extent row_count, extent first, extent last, extent step, extent at, extent weights, extent elements, T* to) {
    const auto some = [&]<int Vectors>(std::integral_constant<int, Vectors>, extent i, int count) COTANGENT_EXPANDED {
      sum_taps<Shared>(std::make_integer_sequence<int, Vectors>(), rows, row_count, first, last, step, at + i, weights, Shared ? 0 : i, count, to + i);
    };
    extent i = 0;
    for (; i + 4 * lanes <= elements; i += 4 * lanes) some(std::integral_constant<int, 4>(), i, int(lanes));
    if (i + 2 * lanes <= elements) some(std::integral_constant<int, 2>(), i, int(lanes)), i += 2 * lanes;
    for (; i < elements; i += lanes) some(std::integral_constant<int, 1>(), i, int(smaller(lanes, elements - i)));
  }
  /// A line of pixels, channel by channel.
  void run_line(const pixel_rows<T>& source, extent line, const T* kernel, extent taps, T* to) const {
    const convolution_axis& a = source.axes[2];
    const extent channels = s_.groups, tap_rows = taps > 0 ? taps / a.taps : 0;
    const scratch room(std::size_t(tap_rows) * sizeof(tap_row));
    tap_row* const rows = reinterpret_cast<tap_row*>(room.data());
    extent count = 0;
    for (extent r = 0; r < tap_rows; ++r)
      if (const T* const x = source.row_of(line, r)) rows[count++] = {x - a.low * channels, kernel + r * a.taps * channels};
    // Of one channel, pixels that meet the whole kernel go together.
    extent first = a.out, last = a.out, ignored;
    if (channels == 1 && a.stride == 1 && count > 0) source.inside(0, first, ignored), source.inside(a.taps - 1, ignored, last);
    if (first < last) sum_all_taps<true>(rows, count, 0, a.taps, a.dilation, first, 1, last - first, to + first);
    for (extent p = 0; p < a.out; ++p) {
      if (p == first && first < last) p = last;
      if (p == a.out) break;
      const extent start = a.low - p * a.stride;  // the first tap that meets an element is that at or behind it
      const extent from = start > 0 ? smaller(divide_up(start, a.dilation), a.taps) : 0, end = start + a.in > 0 ? smaller(divide_up(start + a.in, a.dilation), a.taps) : 0;
      sum_all_taps<false>(rows, count, from, end, a.dilation * channels, p * a.stride * channels, channels, channels, to + p * channels);
    }
  }
  /// To the kernel what these lines add, channel by channel.
  void add_lines(const T* x, const T* y, extent first_line, extent last_line, T* kernel) const {
    const pixel_rows<T> source = rows(x, s_.axes);
    const convolution_axis& a = s_.axes[2];
    const extent channels = s_.groups, tap_rows = s_.axes[0].taps * s_.axes[1].taps;
    for (extent line = first_line; line < last_line; ++line)
      for (extent r = 0; r < tap_rows; ++r) {
        const T *const from = source.row_of(line, r), *const of_y = y + line * a.out * channels;
        if (!from) continue;
        for (extent k = 0; k < a.taps; ++k) {
          T* const sums = kernel + (r * a.taps + k) * channels;
          extent first = 0, last = a.out;
          if (a.spacing == 1) source.inside(k, first, last);
          if (channels == 1 && a.stride == 1 && a.spacing == 1) {
            const T* const row = from + k * a.dilation - a.low;
            vec sum(T(0));
            extent p = first;
            for (; p + lanes <= last; p += lanes) sum = fma(vec::load(row + p), vec::load(of_y + p), sum);
            T rest = T(0);
            for (; p < last; ++p) rest += row[p] * of_y[p];
            for (int i = 0; i < lanes; ++i) rest += sum[i];
            sums[0] += rest;
            continue;
          }
          for (extent p = first; p < last; ++p) {
            const extent i = a.place(p, k);
            for (extent c = 0; c < channels && i >= 0; ++c) sums[c] += from[i * channels + c] * of_y[p * channels + c];
          }
        }
      }
  }
};

template <> struct opaque<convolution_p> {
  template <class T> static void run(const array_ref* operands, const array_ref& result, const extent* attributes) {
    const convolution_run<T> c(convolution_sizes(operands[0].dims, operands[1].dims, result.dims, attributes));
    c.run(static_cast<const T*>(operands[0].data), static_cast<const T*>(operands[1].data), static_cast<T*>(result.data));
  }
};
template <> struct opaque<convolution_kernel_p> {
  template <class T> static void run(const array_ref* operands, const array_ref& result, const extent* attributes) {
    const convolution_run<T> c(convolution_sizes(operands[0].dims, result.dims, operands[1].dims, attributes));
    c.run_kernel(static_cast<const T*>(operands[0].data), static_cast<const T*>(operands[1].data), static_cast<T*>(result.data));
  }
};

}  // namespace cotangent::host
