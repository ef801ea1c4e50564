#pragma once
/// Matrix products of a core, tile by tile of the result in registers. Rows of the right operand that fit into its cache are read where they
/// are; of others, and of transposed operands, the tiles read copies of a block of terms, as vectors side by side. Of triangular matrices
/// only the half that is not zero is read, or computed.

#include <algorithm>
#include <cstring>

#include <cotangent/backends/cpu/pack.hpp>
#include <cotangent/backends/cpu/scratch.hpp>
#include <cotangent/core/extents.hpp>
#include <cotangent/core/triangle.hpp>

namespace cotangent::host {

/// Whether products of T are computed here at all: where a vector multiplies and adds at once.
template <class T> inline constexpr bool has_tiled_product =
#if defined(__FMA__) && !defined(__CUDACC__)
    std::is_same_v<T, float> || std::is_same_v<T, double>;
#else
    false;
#endif

/// A block of a product, at (i, j) of the whole.
template <class T> struct tiled_product {
  static constexpr int lanes = native_lanes<T>, tile_rows = native_bytes == 64 ? 8 : 4, tile_vectors = 3;
  /// Bytes of the rows of b that are worked on at a time.
  static constexpr extent cached_bytes = 1 << 17;

  extent m, n, k;
  const T *a, *b;
  extent a_row, a_column, b_row, b_column;
  T* c;
  extent c_row;
  extent i = 0, j = 0;

  /// Adds: to what the result holds.
  template <product_triangles Triangles, bool Adds = false> void run() const {
    if (k == 0) {  // there may be no operands
      for (extent r = 0; !Adds && r < m; ++r) std::fill_n(at(r, 0), n, T(0));
      return;
    }
    if constexpr (!Triangles.any())
      if (is_flat()) return run_transposed<Adds>();
    constexpr extent few_terms = 64, copied_terms = 192;
    const bool turned = b_column != 1, copies = !Triangles.any() && copies_rows();
    const extent rows_of_b = cached_bytes / extent(sizeof(T)) / (n > 0 ? n : 1), least = turned || copies ? copied_terms : few_terms;
    const extent most = rows_of_b < least ? least : rows_of_b / 8 * 8;
    const extent width = turned ? tile_vectors * lanes : copies ? vectors_of(n) * lanes : 0;
    const scratch memory(std::size_t((k < most ? k : most) * width) * sizeof(T));
    T* const copied = reinterpret_cast<T*>(memory.data());
    for (extent first = 0; first < k; first += most) {
      const extent last = first + most < k ? first + most : k;
      terms t{first, last, b + first * b_row, b_row, 0, n, Adds || first > 0, nullptr, nullptr};
      if (!turned && !copies) {
        if (!Triangles.any() && a_row == 1 && is_far(a_column) && n > lanes) add_turned<Triangles>(t);
        else add_terms<Triangles>(0, t);
        continue;
      }
      if (copies) copy_rows(first, last, copied);
      for (extent s = 0; s < n; s = t.to) {  // all rows with one panel, which stays in the nearest cache
        const int wide = width_of_panel(vectors_of(n - s));
        if (turned) copy_turned<Triangles>(first, last, s, wide, copied);
        t.rows = copied + (copies ? s * (last - first) : 0), t.b_stride = wide * lanes, t.from = s, t.to = s + wide * lanes < n ? s + wide * lanes : n;
        add_terms<Triangles>(0, t);
      }
    }
  }

 private:
  using vec = pack<T, lanes>;

  /// Whether the result has few columns, and a is a large matrix whose columns are what lies side by side.
  bool is_flat() const { return a_row == 1 && n <= lanes && m >= 4 * lanes && m * k * extent(sizeof(T)) > 4 * cached_bytes; }
  /// c' = b' a', whose right operand lies in rows.
  template <bool Adds> void run_transposed() const {
    const scratch memory(std::size_t(m * n) * sizeof(T));
    T* const turned = reinterpret_cast<T*>(memory.data());
    tiled_product{n, m, k, b, a, b_column, b_row, a_column, 1, turned, m}.template run<product_triangles{}>();
    for (extent r = 0; r < m; ++r)
      for (extent s = 0; s < n; ++s) at(r, 0)[s] = (Adds ? at(r, 0)[s] : T(0)) + turned[s * m + r];
  }

  /// Whether rows of b, which lie in rows, do not stay in the cache, and many tiles read them, or they are in pages of their own, which
  /// processors do not see coming.
  bool copies_rows() const {
    constexpr extent many_rows = 128, long_row = 3072;
    return b_column == 1 && n * k * extent(sizeof(T)) > cached_bytes && (m >= many_rows || b_row * extent(sizeof(T)) > long_row);
  }
  /// The rows [first, last) of b, panel after panel.
  void copy_rows(extent first, extent last, T* to) const {
    for (extent p = first; p < last; ++p) {
      const T* const row = b + p * b_row;
      for (extent s = 0; s < n;) {
        const int wide = width_of_panel(vectors_of(n - s));
        T* const panel = to + s * (last - first) + (p - first) * wide * lanes;
        for (int v = 0; v < wide; ++v, s += lanes) (s + lanes <= n ? vec::load(row + s) : vec::load(row + s, int(n - s))).store(panel + v * lanes);
      }
    }
  }
  /// The rows [first, last) of b, which lies in columns, as a panel of `wide` vectors from column s on.
  template <product_triangles Triangles> void copy_turned(extent first, extent last, extent s, int wide, T* panel) const {
    for (extent v = 0; v < wide; ++v) {
      const extent column = s + v * lanes;
      extent from = first, to = last;  // of a triangle what tiles read
      if (Triangles.b == matrix_part::lower && j + column > first) from += (j + column - first) / lanes * lanes;
      if (Triangles.b == matrix_part::upper) to = j + column + lanes < last ? j + column + lanes : last;
      for (extent p = from; p < to; p += lanes) copy_square(p, column, last, panel + ((p - first) * wide + v) * lanes, wide * lanes);
    }
  }
  /// The elements of b from (p, s) on, up to `lanes` rows before `last` and as many columns, into rows.
  void copy_square(extent p, extent s, extent last, T* to, extent stride) const {
    const int rows = int(last - p < lanes ? last - p : lanes), columns = int(n - s < lanes ? n - s : lanes);
    if (b_row == 1 && rows == lanes) {
      vec square[lanes];
      for (int i = 0; i < lanes; ++i) square[i] = vec::load(b + p + (s + (i < columns ? i : 0)) * b_column);
      transpose(square);
      for (int i = 0; i < lanes; ++i) square[i].store(to + i * stride);
    } else
      for (int i = 0; i < columns; ++i)
        for (int k = 0; k < rows; ++k) to[k * stride + i] = b[(p + k) * b_row + (s + i) * b_column];
  }

  /// The terms [first, last) of the sums of the columns [from, to). Row `first` of b is at `rows`, from column `from` on.
  struct terms {
    extent first, last;
    const T* rows;
    extent b_stride, from, to;
    bool adds;        // to those that the result has
    const T* packed;  // the terms of a tile's rows of a transposed matrix, side by side
    const T* ahead;   // the first term of the rows to pack next
  };
  /// Whether processors do not see coming what so many elements lie between.
  static constexpr bool is_far(extent stride) { return stride * extent(sizeof(T)) > 256; }
  static constexpr extent vectors_of(extent columns) { return (columns + lanes - 1) / lanes; }
  /// Of panels of up to three vectors, as even as possible, the first one's.
  static constexpr int width_of_panel(extent vectors) { return vectors == 4 || vectors == 2 ? 2 : vectors < 2 ? int(vectors) : tile_vectors; }

  template <product_triangles Triangles> void add_terms(extent r, const terms& t) const {
    for (; r + tile_rows <= m; r += tile_rows) rows_of_tiles<Triangles, tile_rows>(r, t);
    if (r + tile_rows / 2 <= m) rows_of_tiles<Triangles, tile_rows / 2>(r, t), r += tile_rows / 2;
    if (tile_rows > 4 && r + 2 <= m) rows_of_tiles<Triangles, 2>(r, t), r += 2;
    for (; r < m; ++r) rows_of_tiles<Triangles, 1>(r, t);
  }
  /// The same where a is transposed: the terms of as many rows as a vector has are packed for the tiles that they are in.
  template <product_triangles Triangles> void add_turned(terms t) const {
    const extent count = t.last - t.first;
    const scratch packed(std::size_t(lanes * count) * sizeof(T));
    T* const to = reinterpret_cast<T*>(packed.data());
    extent r = 0;
    for (; r + lanes <= m; r += lanes) {
      const T* from = a + r + t.first * a_column;
      for (extent p = 0; p < count; ++p, from += a_column)
        for (int x = 0; x < lanes; x += tile_rows) std::memcpy(to + x * count + p * tile_rows, from + x, tile_rows * sizeof(T));
      for (int x = 0; x < lanes; x += tile_rows) {
        t.packed = to + x * count, t.ahead = x == 0 && r + 2 * lanes <= m ? a + r + lanes + t.first * a_column : nullptr;
        rows_of_tiles<Triangles, tile_rows>(r + x, t);
      }
    }
    t.packed = t.ahead = nullptr;
    add_terms<Triangles>(r, t);
  }
  template <product_triangles Triangles, int Rows> void rows_of_tiles(extent r, const terms& t) const {
    extent s = t.from, vectors = vectors_of(t.to - t.from);
    if constexpr (Triangles.c == matrix_part::lower)  // what is above the diagonal stays as it is
      if (const extent below = vectors_of(i + r + Rows - j - s); t.adds && below < vectors) vectors = below < 0 ? 0 : below;
    while (vectors > 0) {
      const int wide = width_of_panel(vectors);
      const range terms_here = terms_of<Triangles>(r, r + Rows, s, s + wide * lanes, t);
      const auto add_tile = [&]<int Vectors>(std::integral_constant<int, Vectors>) {
        if (s + Vectors * lanes <= t.to) tile<Triangles.b, Rows, Vectors, false>(r, s, t, terms_here);
        else tile<Triangles.b, Rows, Vectors, true>(r, s, t, terms_here);
      };
      if (wide == tile_vectors) add_tile(std::integral_constant<int, tile_vectors>());
      else if (wide == 2) add_tile(std::integral_constant<int, 2>());
      else add_tile(std::integral_constant<int, 1>());
      s += wide * lanes, vectors -= wide;
    }
  }
  struct range {
    extent first, last;
  };
  /// The terms that are not zero of the rows [r0, r1) and the columns [s0, s1).
  template <product_triangles Triangles> range terms_of(extent r0, extent r1, extent s0, extent s1, const terms& t) const {
    const extent i0 = i + r0, i1 = i + r1, j0 = j + s0, j1 = j + s1;
    range p = {t.first, t.last};
    const auto from = [&](extent at) { p.first = p.first > at ? p.first : at; };
    const auto to = [&](extent at) { p.last = p.last < at ? p.last : at; };
    if constexpr (Triangles.a == matrix_part::lower) to(i1);
    if constexpr (Triangles.a == matrix_part::upper) from(i0);
    if constexpr (Triangles.b == matrix_part::lower) from(j0);
    if constexpr (Triangles.b == matrix_part::upper) to(j1);
    if constexpr (Triangles.c == matrix_part::lower)
      if (i1 <= j0) p.last = p.first;
    if constexpr (Triangles.c == matrix_part::upper)
      if (j1 <= i0) p.last = p.first;
    return p;
  }
  /// B: the part of b that is not zero. `Partial`: the last vector has columns beyond the result.
  template <matrix_part B, int Rows, int Vectors, bool Partial> void tile(extent r, extent s, const terms& t, range terms_here) const {
    extent first = terms_here.first;
    const extent last = terms_here.last;
    if (first >= last && t.adds) return;
    const int count = int(t.to - s) - (Vectors - 1) * lanes;  // in the last vector, if that is partial
    const auto load = [&](const T* from, int v) COTANGENT_EXPANDED { return Partial && v == Vectors - 1 ? vec::load(from + v * lanes, count) : vec::load(from + v * lanes); };
    vec sums[Rows][Vectors];
    each_place<Rows, 0, Vectors>([&](int x, int v) COTANGENT_EXPANDED {
      if (t.adds) __builtin_prefetch(at(r + x, s + v * lanes), 1);  // added at the end, when it is there
      sums[x][v] = vec(T(0));
    });
    constexpr int half = (Rows + 1) / 2;
    const bool is_packed = t.packed != nullptr;
    const extent row = is_packed ? 1 : a_row, column = is_packed ? tile_rows : a_column;
    const T* pa = is_packed ? t.packed + (first - t.first) * tile_rows : a + r * a_row + first * a_column;
    const T* behind = pa + half * row;  // two pointers take fewer registers than as many offsets
    const T* pb = t.rows + (first - t.first) * t.b_stride + (s - t.from);
    // The next rows of a transposed matrix are not seen coming.
    const bool strides = s == 0 && (is_packed ? t.ahead != nullptr : is_far(a_column));
    const T* next = is_packed ? t.ahead : pa + Rows * a_row;
    // The terms up to `end` of the vectors [From, To).
    const auto add = [&]<int From, int To>(std::integer_sequence<int, From, To>, extent end) COTANGENT_EXPANDED {
      if (last < end) end = last;
      const auto add_term = [&]() COTANGENT_EXPANDED {
        vec terms_of_b[Vectors];
        if (strides) __builtin_prefetch(next, 0, 2), next += a_column;
        each_place<1, From, To>([&](int, int v) COTANGENT_EXPANDED { terms_of_b[v] = load(pb, v); });
        each_place<Rows, From, To>([&](int x, int v) COTANGENT_EXPANDED { sums[x][v] = fma(vec(x < half ? pa[x * row] : behind[(x - half) * row]), terms_of_b[v], sums[x][v]); });
        ++first, pa += column, behind += column, pb += t.b_stride;
      };
      if constexpr (Rows == tile_rows && !Partial) {  // where large products spend their time
#ifndef __CUDACC__
#pragma GCC unroll 4
#endif
        while (first < end) add_term();
      } else
        while (first < end) add_term();
    };
    if constexpr (B == matrix_part::whole) add(std::integer_sequence<int, 0, Vectors>(), last);
    else  // steps as wide as a vector
      [&]<int... V>(std::integer_sequence<int, V...>) COTANGENT_EXPANDED {
        if constexpr (B == matrix_part::upper) (add(std::integer_sequence<int, V, Vectors>(), j + s + (V + 1) * lanes), ...);
        else (add(std::integer_sequence<int, 0, V + 1>(), V + 1 < Vectors ? j + s + (V + 1) * lanes : last), ...);
      }(std::make_integer_sequence<int, Vectors>());
    each_place<Rows, 0, Vectors>([&](int x, int v) COTANGENT_EXPANDED {
      T* const to = at(r + x, s);
      if (t.adds) sums[x][v] = sums[x][v] + load(to, v);
      if (Partial && v == Vectors - 1) sums[x][v].store(to + v * lanes, count);
      else sums[x][v].store(to + v * lanes);
    });
  }
  T* at(extent r, extent s) const { return c + r * c_row + s; }
};

}  // namespace cotangent::host
