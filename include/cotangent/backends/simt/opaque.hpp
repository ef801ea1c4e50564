#pragma once
/// Primitives that run by themselves on whole buffers: the cumulative ones, roll, extent, scatters.

#include <cmath>

#include <cotangent/backends/convolution.hpp>
#include <cotangent/backends/factorizations.hpp>
#include <cotangent/backends/simt/atomics.hpp>
#include <cotangent/backends/simt/kernel.hpp>
#include <cotangent/compiler/executable.hpp>
#include <cotangent/compiler/scatter_places.hpp>

namespace cotangent::simt {

/// f(i) for every i in [0, count), one per thread.
template <class F> struct each_grid {
  static constexpr int threads = block_threads;
  extent count;
  F f;

  extent blocks() const { return divide_up(count, threads); }
  COTANGENT_HD void operator()(extent block, int thread) const {
    const extent i = block * threads + thread;
    if (i < count) f(i);
  }
};
template <class Queue, class F> void for_each(const Queue& queue, extent count, const F& f) {
  if (count > 0) queue.run(each_grid<F>{count, f});
}

template <class P> struct opaque;

/// Running values along an axis, in the order of running, in three turns: parts of lines are combined by themselves, then the
/// parts before each part, and then every part runs from there.
///
/// Running has a type `value` with identity() and combine(first, then), element(at), and store(at, value).
template <class Running> struct parts_of_lines {
  using value = typename Running::value;
  Running running;
  extent count, behind, parts, part;
  bool reverse;
  value* totals;  // [line][part]

  /// Element k of a line in the order of running.
  COTANGENT_HD extent at(extent line, extent k) const {
    const extent before = quotient(line, behind);
    return before * count * behind + (reverse ? count - 1 - k : k) * behind + (line - before * behind);
  }
};
template <class Running> struct total_of_part {
  parts_of_lines<Running> p;
  COTANGENT_HD void operator()(extent i) const {
    const extent line = quotient(i, p.parts), begin = (i - line * p.parts) * p.part, end = smaller(begin + p.part, p.count);
    typename Running::value v = Running::identity();
    for (extent k = begin; k < end; ++k) v = Running::combine(v, p.running.element(p.at(line, k)));
    p.totals[i] = v;
  }
};
template <class Running> struct totals_before {
  parts_of_lines<Running> p;
  COTANGENT_HD void operator()(extent line) const {
    typename Running::value v = Running::identity();
    for (extent i = line * p.parts; i < (line + 1) * p.parts; ++i) {
      const typename Running::value own = p.totals[i];
      p.totals[i] = v;
      v = Running::combine(v, own);
    }
  }
};
template <class Running> struct run_part {
  parts_of_lines<Running> p;
  COTANGENT_HD void operator()(extent i) const {
    const extent line = quotient(i, p.parts), begin = (i - line * p.parts) * p.part, end = smaller(begin + p.part, p.count);
    typename Running::value v = p.parts > 1 ? p.totals[i] : Running::identity();
    for (extent k = begin; k < end; ++k) {
      const extent at = p.at(line, k);
      v = Running::combine(v, p.running.element(at));
      p.running.store(at, v);
    }
  }
};
template <class Queue, class Running> void run_along(const Queue& queue, const shape& dims, const extent* attributes, Running running) {
  const axis_lines lines(dims, int(attributes[0]));
  const extent many = lines.before * lines.behind;
  if (many == 0 || lines.count == 0) return;
  constexpr extent enough_threads = 1 << 16, shortest = 64;
  const extent wanted = divide_up(enough_threads, many), most = divide_up(lines.count, shortest);
  parts_of_lines<Running> p{running, lines.count, lines.behind, smaller(wanted, most), 0, attributes[1] != 0, nullptr};
  p.part = divide_up(lines.count, p.parts);
  if (p.parts == 1) return for_each(queue, many, run_part<Running>{p});
  const typename Queue::memory totals(queue, many * p.parts * extent(sizeof(typename Running::value)));
  p.totals = reinterpret_cast<typename Running::value*>(totals.data());
  for_each(queue, many * p.parts, total_of_part<Running>{p});
  for_each(queue, many, totals_before<Running>{p});
  for_each(queue, many * p.parts, run_part<Running>{p});
}

/// The running sums, products, ... of x in y.
template <class Reduction, class T> struct running_value {
  using value = T;
  const T* x;
  T* y;
  COTANGENT_HD static T identity() { return Reduction::template identity<T>(); }
  COTANGENT_HD static T combine(T a, T b) { return Reduction::combine(pack<T, 1>(a), pack<T, 1>(b))[0]; }
  COTANGENT_HD T element(extent at) const { return x[at]; }
  COTANGENT_HD void store(extent at, T v) const { y[at] = v; }
};
template <class P> struct opaque_cumulative {
  template <class T, class Queue> static void run(const Queue& queue, const array_ref* operands, const array_ref& result, const extent* attributes) {
    run_along(queue, result.dims, attributes, running_value<typename P::reduction, T>{static_cast<const T*>(operands[0].data), static_cast<T*>(result.data)});
  }
};
template <> struct opaque<cumsum_p> : opaque_cumulative<cumsum_p> {};
template <> struct opaque<cumprod_p> : opaque_cumulative<cumprod_p> {};
template <> struct opaque<cummax_p> : opaque_cumulative<cummax_p> {};
template <> struct opaque<cummin_p> : opaque_cumulative<cummin_p> {};

/// y = a * (y before) + b; the first a counts for nothing, whatever it is.
template <class T> struct running_recurrence {
  struct value {
    T a, b;
    bool any;
  };
  const T *a, *b;
  T* y;
  COTANGENT_HD static value identity() { return {T(1), T(0), false}; }
  COTANGENT_HD static value combine(value first, value then) {
    return !first.any ? then : !then.any ? first : value{then.a * first.a, std::fma(then.a, first.b, then.b), true};
  }
  COTANGENT_HD value element(extent at) const { return {a[at], b[at], true}; }
  COTANGENT_HD void store(extent at, value v) const { y[at] = v.b; }
};
template <> struct opaque<linear_recurrence_p> {
  template <class T, class Queue> static void run(const Queue& queue, const array_ref* operands, const array_ref& result, const extent* attributes) {
    run_along(queue, result.dims, attributes,
              running_recurrence<T>{static_cast<const T*>(operands[0].data), static_cast<const T*>(operands[1].data), static_cast<T*>(result.data)});
  }
};

template <class I> struct store_number {
  I* to;
  I number;
  COTANGENT_HD void operator()(extent) const { *to = number; }
};
template <> struct opaque<extent_p> {
  template <class T, class Queue> static void run(const Queue& queue, const array_ref* operands, const array_ref& result, const extent* attributes) {
    const extent n = operands[0].dims[int(attributes[0])];
    if (result.type == dtype::int64) for_each(queue, 1, store_number<std::int64_t>{static_cast<std::int64_t*>(result.data), n});
    else for_each(queue, 1, store_number<std::int32_t>{static_cast<std::int32_t*>(result.data), std::int32_t(n)});
  }
};

template <class T, class I> struct rolled {
  const T* x;
  T* y;
  const I* shift;
  extent count, behind;
  bool reverse;
  COTANGENT_HD void operator()(extent i) const {
    const extent line = quotient(i, behind), before = quotient(line, count), k = line - before * count;
    extent from = extent(*shift) % count;
    from = reverse ? k + from : k - from;
    from = from < 0 ? from + count : from >= count ? from - count : from;
    y[i] = x[(before * count + from) * behind + (i - line * behind)];
  }
};
template <> struct opaque<roll_p> {
  template <class T, class Queue> static void run(const Queue& queue, const array_ref* operands, const array_ref& result, const extent* attributes) {
    const axis_lines lines(result.dims, int(attributes[0]));
    const auto with = [&]<class I>(std::type_identity<I>) {
      for_each(queue, result.dims.size(), rolled<T, I>{static_cast<const T*>(operands[0].data), static_cast<T*>(result.data), static_cast<const I*>(operands[1].data),
                                                       lines.count, lines.behind, attributes[1] != 0});
    };
    if (operands[1].type == dtype::int64) with(std::type_identity<std::int64_t>{});
    else with(std::type_identity<std::int32_t>{});
  }
};

/// The blocks of updates with their places, to be sorted by place.
template <class I> struct find_places {
  scatter_places places;
  I *place, *block;
  COTANGENT_HD void operator()(extent i) const {
    extent at;
    places.find(i, 1, &at);
    place[i] = at >= 0 ? I(at) : ~I(0);
    block[i] = I(i);
  }
};
/// Element `i % size` of every block that goes to one place, in order, by the thread of the first of them.
template <class P, class T, class I> struct combine_blocks {
  scatter_places places;
  const I *place, *block;
  const T* u;
  T* y;
  COTANGENT_HD void operator()(extent i) const {
    const extent first = quotient(i, places.size), element = i - first * places.size;
    const I at = place[first];
    if (at == ~I(0) || (first > 0 && place[first - 1] == at)) return;
    T* const to = y + extent(at) + places.offset_in_block(element);
    T v = *to;
    for (extent k = first; k < places.blocks && place[k] == at; ++k) v = P::combine(v, u[extent(block[k]) * places.size + element]);
    *to = v;
  }
};
/// An update by a thread of its own, in no order.
template <class P, class T> struct combine_at_once {
  scatter_places places;
  const T* u;
  T* y;
  COTANGENT_HD void operator()(extent i) const {
    const extent block = quotient(i, places.size);
    extent at;
    places.find(block, 1, &at);
    if (at < 0) return;
    T* const to = y + at + places.offset_in_block(i - block * places.size);
    if constexpr (std::is_same_v<P, scatter_add_p>) add_atomically<P>(to, u[i]);
    else combine_atomically<P>(to, u[i]);
  }
};
/// Updates are sorted by place, so that each place sees them in their order: the same bits on every run. Within an atomic_scatter_scope
/// they are not, if the order does not matter but for rounding.
template <class P> struct opaque_scatter {
  template <class T, class Queue> static void run(const Queue& queue, const array_ref* operands, const array_ref& result, const extent* attributes) {
    const array_ref& x = operands[0];
    if (x.data != result.data && x.dims.size() > 0) queue.copy(result.data, x.data, x.dims.size() * extent(sizeof(T)));
    const scatter_places places(operands, attributes);
    if (places.blocks == 0 || places.size == 0 || x.dims.size() == 0) return;
    if constexpr (!std::is_same_v<P, scatter_p> && sizeof(T) >= 4)
      if (uses_atomics())
        return for_each(queue, places.blocks * places.size, combine_at_once<P, T>{places, static_cast<const T*>(operands[1].data), static_cast<T*>(result.data)});
    constexpr extent most = (extent(1) << 32) - 1;
    if (places.blocks < most && places.span < most) sorted<T, std::uint32_t>(queue, places, operands, result);
    else sorted<T, std::uint64_t>(queue, places, operands, result);
  }

 private:
  template <class T, class I, class Queue> static void sorted(const Queue& queue, const scatter_places& places, const array_ref* operands, const array_ref& result) {
    const typename Queue::memory memory(queue, 2 * places.blocks * extent(sizeof(I)));
    I *place = reinterpret_cast<I*>(memory.data()), *block = place + places.blocks;
    for_each(queue, places.blocks, find_places<I>{places, place, block});
    queue.sort(place, block, places.blocks);
    for_each(queue, places.blocks * places.size, combine_blocks<P, T, I>{places, place, block, static_cast<const T*>(operands[1].data), static_cast<T*>(result.data)});
  }
};
template <> struct opaque<scatter_p> : opaque_scatter<scatter_p> {};
template <> struct opaque<scatter_add_p> : opaque_scatter<scatter_add_p> {};
template <> struct opaque<scatter_mul_p> : opaque_scatter<scatter_mul_p> {};
template <> struct opaque<scatter_min_p> : opaque_scatter<scatter_min_p> {};
template <> struct opaque<scatter_max_p> : opaque_scatter<scatter_max_p> {};

/// Element i of all lines, line after line: its key, and i.
template <class T, class I> struct find_keys {
  const T* x;
  extent count, behind;
  bool descending;
  I *key, *element;
  COTANGENT_HD void operator()(extent i) const {
    const extent line = quotient(i, count), before = quotient(line, behind);
    key[i] = I(order_of<T>::of(x[(before * count + (i - line * count)) * behind + (line - before * behind)], descending));
    element[i] = I(i);
  }
};
template <class I> struct find_lines {
  I *key, *element;
  extent count;
  COTANGENT_HD void operator()(extent i) const { key[i] = I(quotient(extent(element[i]), count)); }
};
/// Index i of the result: of the elements of its line, in order, the one of this rank.
template <class I> struct store_order {
  const I* element;
  std::int32_t* y;
  extent count, kept, behind;
  COTANGENT_HD void operator()(extent i) const {
    const extent row = quotient(i, behind), before = quotient(row, kept), line = before * behind + (i - row * behind);
    y[i] = std::int32_t(extent(element[line * count + (row - before * kept)]) - line * count);
  }
};
/// All elements are sorted by key and then, which keeps their order, by line.
template <> struct opaque<argsort_p> {
  template <class T, class Queue> static void run(const Queue& queue, const array_ref* operands, const array_ref& result, const extent* attributes) {
    constexpr extent most = (extent(1) << 32) - 1;
    if constexpr (sizeof(T) < 8)
      if (operands[0].dims.size() < most) return sorted<T, std::uint32_t>(queue, operands, result, attributes);
    sorted<T, std::uint64_t>(queue, operands, result, attributes);
  }

 private:
  template <class T, class I, class Queue> static void sorted(const Queue& queue, const array_ref* operands, const array_ref& result, const extent* attributes) {
    const extent elements = operands[0].dims.size(), kept = result.dims[int(attributes[0])];
    if (result.dims.size() == 0) return;
    const axis_lines lines(operands[0].dims, int(attributes[0]));
    const typename Queue::memory memory(queue, 2 * elements * extent(sizeof(I)));
    I *key = reinterpret_cast<I*>(memory.data()), *element = key + elements;
    for_each(queue, elements, find_keys<T, I>{static_cast<const T*>(operands[0].data), lines.count, lines.behind, attributes[2] != 0, key, element});
    queue.sort(key, element, elements);
    if (lines.before * lines.behind > 1) {
      for_each(queue, elements, find_lines<I>{key, element, lines.count});
      queue.sort(key, element, elements);
    }
    for_each(queue, result.dims.size(), store_order<I>{element, static_cast<std::int32_t*>(result.data), lines.count, kept, lines.behind});
  }
};

/// Matrices one per thread: small ones, and large ones where the device has no library for them.
/// One number of a Fourier transform by its definition, of lines of n numbers.
template <class T> struct fourier_number {
  const T* x;
  T* y;
  extent n, behind;
  fourier what;

  COTANGENT_HD void operator()(extent i) const {
    const bool of_reals = what == fourier::real, to_reals = what == fourier::inverse_real;
    const extent halves = n / 2 + 1, in = to_reals ? halves : n, out = of_reals ? halves : n;
    const extent column = i % behind, k = i / behind % out, line = i / behind / out;
    double re = 0, im = 0;
    for (extent j = 0; j < n; ++j) {
      const bool is_conjugate = j >= in, is_end = to_reals && (j == 0 || 2 * j == n);
      const T* const from = x + (of_reals ? 1 : 2) * ((line * in + (is_conjugate ? n - j : j)) * behind + column);
      const double a = double(from[0]), b = of_reals || is_end ? 0.0 : is_conjugate ? -double(from[1]) : double(from[1]);
      const double angle = (what == fourier::inverse || to_reals ? 6.283185307179586 : -6.283185307179586) * double(j * k % n) / double(n);
      const double c = ::cos(angle), s = ::sin(angle);
      re += a * c - b * s, im += a * s + b * c;
    }
    if (to_reals) y[i] = T(re);
    else y[2 * i] = T(re), y[2 * i + 1] = T(im);
  }
};
template <> struct opaque<fft_lines_p> {
  template <class T, class Queue> static void run(const Queue& queue, const array_ref* operands, const array_ref& result, const extent* attributes) {
    if (result.dims.size() == 0) return;
    const auto what = fourier(attributes[1]);
    const axis_lines lines = lines_of_transform(operands[0], result, attributes);
    const T* const x = static_cast<const T*>(operands[0].data);
    T* const y = static_cast<T*>(result.data);
    if constexpr (requires { queue.transform(what, lines, x, y); }) queue.transform(what, lines, x, y);
    else for_each(queue, what == fourier::inverse_real ? result.dims.size() : result.dims.size() / 2, fourier_number<T>{x, y, lines.count, lines.behind, what});
  }
};

/// An element of a convolution, and one of its transpose by the kernel.
template <class T> struct convolved_element {
  const T *x, *kernel;
  T* y;
  convolution_sizes s;
  COTANGENT_HD void operator()(extent i) const {
    const extent features = s.groups * s.features, f = i % features, g = f / s.features;
    T sum = T(0);
    for (extent t = 0; t < s.taps(); ++t) {
      const extent from = s.place(i / features, t, g);
      for (extent c = 0; c < s.channels && from >= 0; ++c) sum = plus_product(sum, x[from + c], kernel[(t * s.channels + c) * features + f]);
    }
    y[i] = sum;
  }
};
template <class T> struct kernel_element {
  const T *x, *y;
  T* kernel;
  convolution_sizes s;
  COTANGENT_HD void operator()(extent i) const {
    const extent features = s.groups * s.features, f = i % features, g = f / s.features, c = i / features % s.channels, t = i / features / s.channels;
    T sum = T(0);
    for (extent p = 0; p < s.pixels(); ++p)
      if (const extent from = s.place(p, t, g); from >= 0) sum = plus_product(sum, x[from + c], y[p * features + f]);
    kernel[i] = sum;
  }
};
/// What the kernel meets at the pixels from `first` on, of one group: a row for each.
template <class T> struct fill_pixel_rows {
  const T* x;
  T* rows;
  convolution_sizes s;
  extent first;
  COTANGENT_HD void operator()(extent i) const {
    const extent terms = s.taps() * s.channels, from = s.place(first + i / terms, i % terms / s.channels, 0);
    rows[i] = from < 0 ? T(0) : x[from + i % s.channels];
  }
};
template <class T> struct sum_of_arrays {
  const T* parts;
  T* sum;
  extent size, count;
  COTANGENT_HD void operator()(extent i) const {
    T total = parts[i];
    for (extent k = 1; k < count; ++k) total = total + parts[k * size + i];
    sum[i] = total;
  }
};
/// Convolutions of one group as products of matrices, of so many pixels at a time that their rows have at most that many bytes.
struct convolution_by_products {
  static constexpr extent most_bytes = extent(1) << 28;

  template <class T> static extent pixels_together(const convolution_sizes& s) {
    const extent fit = most_bytes / (s.taps() * s.channels * extent(sizeof(T)));
    return fit < 1 ? 1 : fit < s.pixels() ? fit : s.pixels();
  }
  template <class T, class Queue> static void run(const Queue& queue, const convolution_sizes& s, const T* x, const T* kernel, T* y) {
    const extent terms = s.taps() * s.channels, together = pixels_together<T>(s);
    const typename Queue::memory room(queue, together * terms * extent(sizeof(T)));
    T* const rows = reinterpret_cast<T*>(room.data());
    for (extent p = 0; p < s.pixels(); p += together) {
      const extent count = p + together < s.pixels() ? together : s.pixels() - p;
      for_each(queue, count * terms, fill_pixel_rows<T>{x, rows, s, p});
      queue.product(matrix_product{1, count, s.features, terms, {0, terms, 1}, {0, s.features, 1}}, static_cast<const T*>(rows), kernel, y + p * s.features);
    }
  }
  template <class T, class Queue> static void run_kernel(const Queue& queue, const convolution_sizes& s, const T* x, const T* y, T* kernel) {
    const extent terms = s.taps() * s.channels, together = pixels_together<T>(s), parts = divide_up(s.pixels(), together), size = terms * s.features;
    const typename Queue::memory room(queue, together * terms * extent(sizeof(T))), sums(queue, parts > 1 ? parts * size * extent(sizeof(T)) : 0);
    T *const rows = reinterpret_cast<T*>(room.data()), *const to = parts > 1 ? reinterpret_cast<T*>(sums.data()) : kernel;
    for (extent part = 0; part < parts; ++part) {
      const extent p = part * together, count = p + together < s.pixels() ? together : s.pixels() - p;
      for_each(queue, count * terms, fill_pixel_rows<T>{x, rows, s, p});
      queue.product(matrix_product{1, terms, s.features, count, {0, 1, terms}, {0, s.features, 1}}, static_cast<const T*>(rows), y + p * s.features, to + part * size);
    }
    if (parts > 1) for_each(queue, size, sum_of_arrays<T>{to, kernel, size, parts});
  }
};
template <> struct opaque<convolution_p> {
  template <class T, class Queue> static void run(const Queue& queue, const array_ref* operands, const array_ref& result, const extent* attributes) {
    const convolution_sizes s(operands[0].dims, operands[1].dims, result.dims, attributes);
    const T *const x = static_cast<const T*>(operands[0].data), *const kernel = static_cast<const T*>(operands[1].data);
    T* const y = static_cast<T*>(result.data);
    if (s.groups == 1 && s.channels > 0 && result.dims.size() > 0) convolution_by_products::run(queue, s, x, kernel, y);
    else for_each(queue, result.dims.size(), convolved_element<T>{x, kernel, y, s});
  }
};
template <> struct opaque<convolution_kernel_p> {
  template <class T, class Queue> static void run(const Queue& queue, const array_ref* operands, const array_ref& result, const extent* attributes) {
    const convolution_sizes s(operands[0].dims, result.dims, operands[1].dims, attributes);
    const T *const x = static_cast<const T*>(operands[0].data), *const y = static_cast<const T*>(operands[1].data);
    T* const kernel = static_cast<T*>(result.data);
    if (s.groups == 1 && s.pixels() > 0 && result.dims.size() > 0) convolution_by_products::run_kernel(queue, s, x, y, kernel);
    else for_each(queue, result.dims.size(), kernel_element<T>{x, y, kernel, s});
  }
};

template <class T> struct factor_cholesky {
  const T* a;
  T* l;
  extent n;
  COTANGENT_HD void operator()(extent i) const { small_matrix::cholesky(a + i * n * n, l + i * n * n, n); }
};
template <class T> struct pull_back_cholesky {
  const T *l, *g;
  T* x;
  extent n;
  COTANGENT_HD void operator()(extent i) const { small_matrix::cholesky_pullback(l + i * n * n, g + i * n * n, x + i * n * n, n); }
};
template <class T> struct solve_triangles {
  const T *a, *b;
  T* x;
  extent n, m;
  bool lower, transposed, unit_diagonal;
  COTANGENT_HD void operator()(extent i) const {
    for (extent k = 0; k < n * m; ++k) x[i * n * m + k] = b[i * n * m + k];
    small_matrix::solve_triangular(a + i * n * n, x + i * n * m, n, m, lower, transposed, unit_diagonal);
  }
};
template <class T> struct factor_lu {
  const T* a;
  T* factors;
  extent n;
  COTANGENT_HD void operator()(extent i) const {
    T* const own = factors + i * (n + 1) * n;
    for (extent k = 0; k < n * n; ++k) own[k] = a[i * n * n + k];
    small_matrix::lu(own, own + n * n, n);
  }
};
template <class T> struct solve_by_lu {
  const T *factors, *b;
  T* x;
  extent n, m;
  bool transposed;
  COTANGENT_HD void operator()(extent i) const {
    for (extent k = 0; k < n * m; ++k) x[i * n * m + k] = b[i * n * m + k];
    small_matrix::solve_lu(factors + i * (n + 1) * n, x + i * n * m, n, m, transposed);
  }
};
template <class T> struct decompose_qr {
  const T* a;
  T* parts;
  extent m, n;
  COTANGENT_HD void operator()(extent i) const { small_matrix::qr<T>(a + i * m * n, parts + 2 * i * m * n, parts + (2 * i + 1) * m * n, m, n); }
};
template <class T> struct find_eigenvectors {
  const T* a;
  T *parts, *room;
  extent n;
  COTANGENT_HD void operator()(extent i) const {
    T* const own = parts + i * (n + 1) * n;
    small_matrix::eigh<T>(a + i * n * n, own, own + n, n, room + i * n * n);
  }
};
template <class T> struct decompose_svd {
  const T* a;
  T* parts;
  extent m, n;
  COTANGENT_HD void operator()(extent i) const {
    T* const u = parts + 3 * i * m * n;
    small_matrix::fill(u + m * n, 2 * m * n, T(0));
    small_matrix::svd<T>(a + i * m * n, u, u + m * n, u + 2 * m * n, m, n);
  }
};
template <class T> struct find_determinant {
  const T* factors;
  T* x;
  extent n;
  bool logarithm;
  COTANGENT_HD void operator()(extent i) const { x[i] = small_matrix::determinant(factors + i * (n + 1) * n, n, logarithm); }
};
template <class T> struct find_adjugate {
  const T* factors;
  T* x;
  extent n;
  COTANGENT_HD void operator()(extent i) const { small_matrix::adjugate(factors + i * (n + 1) * n, x + i * n * n, n); }
};
template <class T> struct find_inverse {
  const T* a;
  T* x;
  extent n;
  COTANGENT_HD void operator()(extent i) const { small_matrix::inverse(a + i * n * n, x + i * n * n, n); }
};
/// Whether matrices of this order, which may be a symbol, go to the device's library if it has one.
constexpr bool is_large(extent order) { return is_symbol(order) || order > 16; }

template <> struct opaque<cholesky_p> {
  template <class T, class Queue> static void run(const Queue& queue, const array_ref* operands, const array_ref& result, const extent*) {
    const T* const a = static_cast<const T*>(operands[0].data);
    T* const l = static_cast<T*>(result.data);
    const extent n = result.dims[result.dims.rank - 1], matrices = n > 0 ? result.dims.size() / (n * n) : 0;
    if constexpr (requires { queue.cholesky(a, l, n, matrices); })
      if (is_large(n) && matrices > 0) return queue.cholesky(a, l, n, matrices);
    for_each(queue, matrices, factor_cholesky<T>{a, l, n});
  }
};
template <> struct opaque<cholesky_pullback_p> {
  template <class T, class Queue> static void run(const Queue& queue, const array_ref* operands, const array_ref& result, const extent*) {
    const extent n = result.dims[result.dims.rank - 1], matrices = n > 0 ? result.dims.size() / (n * n) : 0;
    for_each(queue, matrices, pull_back_cholesky<T>{static_cast<const T*>(operands[0].data), static_cast<const T*>(operands[1].data), static_cast<T*>(result.data), n});
  }
};
template <> struct opaque<triangular_solve_p> {
  template <class T, class Queue> static void run(const Queue& queue, const array_ref* operands, const array_ref& result, const extent* attributes) {
    const T *const a = static_cast<const T*>(operands[0].data), *const b = static_cast<const T*>(operands[1].data);
    T* const x = static_cast<T*>(result.data);
    const extent n = result.dims[result.dims.rank - 2], m = result.dims[result.dims.rank - 1], matrices = n * m > 0 ? result.dims.size() / (n * m) : 0;
    const bool lower = attributes[0] != 0, transposed = attributes[1] != 0, unit_diagonal = attributes[2] != 0;
    if constexpr (requires { queue.triangular_solve(a, b, x, n, m, matrices, lower, transposed, unit_diagonal); })
      if (is_large(n) && matrices > 0) return queue.triangular_solve(a, b, x, n, m, matrices, lower, transposed, unit_diagonal);
    for_each(queue, matrices, solve_triangles<T>{a, b, x, n, m, lower, transposed, unit_diagonal});
  }
};
template <> struct opaque<lu_p> {
  template <class T, class Queue> static void run(const Queue& queue, const array_ref* operands, const array_ref& result, const extent*) {
    const T* const a = static_cast<const T*>(operands[0].data);
    T* const factors = static_cast<T*>(result.data);
    const extent n = result.dims[result.dims.rank - 1], matrices = n > 0 ? result.dims.size() / ((n + 1) * n) : 0;
    if constexpr (requires { queue.lu(a, factors, n, matrices); })
      if (is_large(n) && matrices > 0) return queue.lu(a, factors, n, matrices);
    for_each(queue, matrices, factor_lu<T>{a, factors, n});
  }
};
template <> struct opaque<lu_solve_p> {
  template <class T, class Queue> static void run(const Queue& queue, const array_ref* operands, const array_ref& result, const extent* attributes) {
    const T *const factors = static_cast<const T*>(operands[1].data), *const b = static_cast<const T*>(operands[2].data);
    T* const x = static_cast<T*>(result.data);
    const extent n = result.dims[result.dims.rank - 2], m = result.dims[result.dims.rank - 1], matrices = n * m > 0 ? result.dims.size() / (n * m) : 0;
    const bool transposed = attributes[0] != 0;
    if constexpr (requires { queue.lu_solve(factors, b, x, n, m, matrices, transposed); })
      if (is_large(n) && matrices > 0) return queue.lu_solve(factors, b, x, n, m, matrices, transposed);
    for_each(queue, matrices, solve_by_lu<T>{factors, b, x, n, m, transposed});
  }
};
template <> struct opaque<qr_p> {
  template <class T, class Queue> static void run(const Queue& queue, const array_ref* operands, const array_ref& result, const extent*) {
    const T* const a = static_cast<const T*>(operands[0].data);
    T* const parts = static_cast<T*>(result.data);
    const extent m = result.dims[result.dims.rank - 2], n = result.dims[result.dims.rank - 1], matrices = small_matrix::matrices_in(operands[0].dims);
    if constexpr (requires { queue.qr(a, parts, m, n, matrices); })
      if (is_large(n) && matrices > 0) return queue.qr(a, parts, m, n, matrices);
    for_each(queue, matrices, decompose_qr<T>{a, parts, m, n});
  }
};
template <> struct opaque<eigh_p> {
  template <class T, class Queue> static void run(const Queue& queue, const array_ref* operands, const array_ref& result, const extent*) {
    const T* const a = static_cast<const T*>(operands[0].data);
    T* const parts = static_cast<T*>(result.data);
    const extent n = result.dims[result.dims.rank - 1], matrices = small_matrix::matrices_in(operands[0].dims);
    if constexpr (requires { queue.eigh(a, parts, n, matrices); })
      if (is_large(n) && matrices > 0) return queue.eigh(a, parts, n, matrices);
    const typename Queue::memory room(queue, matrices * n * n * extent(sizeof(T)));
    for_each(queue, matrices, find_eigenvectors<T>{a, parts, reinterpret_cast<T*>(room.data()), n});
  }
};
template <> struct opaque<svd_p> {
  template <class T, class Queue> static void run(const Queue& queue, const array_ref* operands, const array_ref& result, const extent*) {
    const T* const a = static_cast<const T*>(operands[0].data);
    T* const parts = static_cast<T*>(result.data);
    const extent m = result.dims[result.dims.rank - 2], n = result.dims[result.dims.rank - 1], matrices = small_matrix::matrices_in(operands[0].dims);
    if constexpr (requires { queue.svd(a, parts, m, n, matrices); })
      if (is_large(n) && matrices > 0) return queue.svd(a, parts, m, n, matrices);
    for_each(queue, matrices, decompose_svd<T>{a, parts, m, n});
  }
};
template <> struct opaque<determinant_p> {
  template <class T, class Queue> static void run(const Queue& queue, const array_ref* operands, const array_ref& result, const extent* attributes) {
    const extent n = operands[0].dims[operands[0].dims.rank - 1];
    for_each(queue, result.dims.size(), find_determinant<T>{static_cast<const T*>(operands[1].data), static_cast<T*>(result.data), n, attributes[0] != 0});
  }
};
template <> struct opaque<inverse_p> {
  template <class T, class Queue> static void run(const Queue& queue, const array_ref* operands, const array_ref& result, const extent*) {
    const extent n = result.dims[result.dims.rank - 1];
    for_each(queue, result.dims.size() / (n * n), find_inverse<T>{static_cast<const T*>(operands[0].data), static_cast<T*>(result.data), n});
  }
};
template <> struct opaque<adjugate_p> {
  template <class T, class Queue> static void run(const Queue& queue, const array_ref* operands, const array_ref& result, const extent*) {
    const extent n = result.dims[result.dims.rank - 1];
    for_each(queue, n > 0 ? result.dims.size() / (n * n) : 0, find_adjugate<T>{static_cast<const T*>(operands[1].data), static_cast<T*>(result.data), n});
  }
};

}  // namespace cotangent::simt
