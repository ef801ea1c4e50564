#pragma once
/// Matrix products whose right operand fits into the cache of a core, tile by tile of the result in registers: nothing is packed
/// if the operands lie in rows, and of transposed ones what the next tiles need. Of triangular matrices only the half that is not zero
/// is read, or computed.

#include <algorithm>
#include <cstring>

#include <cotangent/backends/cpu/pack.hpp>
#include <cotangent/backends/cpu/scratch.hpp>
#include <cotangent/core/extents.hpp>
#include <cotangent/core/triangle.hpp>

namespace cotangent::host {

/// Whether products of T are computed here at all: where a vector multiplies and adds at once.
template <class T> inline constexpr bool has_narrow_product =
#if defined(__FMA__) && !defined(__CUDACC__)
    std::is_same_v<T, float> || std::is_same_v<T, double>;
#else
    false;
#endif

/// A block of a product, at (i, j) of the whole.
template <class T> struct narrow_product {
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
    const extent rows_of_b = cached_bytes / extent(sizeof(T)) / (n > 0 ? n : 1), most = rows_of_b < 64 ? 64 : rows_of_b / 8 * 8;
    const bool turned = b_column != 1;
    const scratch packed(turned ? std::size_t((k < most ? k : most) * tile_vectors * lanes) * sizeof(T) : 0);
    for (extent first = 0; first < k; first += most) {
      const extent last = first + most < k ? first + most : k;
      terms t{first, last, b + first * b_row, b_row, 0, n, Adds || first > 0, nullptr, nullptr};
      if (!turned) {
        if (!Triangles.any() && a_row == 1 && is_far(a_column) && n > lanes) add_turned<Triangles>(t);
        else add_terms<Triangles>(0, t);
        continue;
      }
      T* const panel = reinterpret_cast<T*>(packed.data());
      for (extent s = 0; s < n; s = t.to) {  // all rows with one panel, which stays in the nearest cache
        const int wide = width_of_panel((n - s + lanes - 1) / lanes);
        for (extent v = 0; v < wide; ++v) {
          const extent column = s + v * lanes;
          extent from = first, to = last;  // of a triangle what tiles read
          if (Triangles.b == matrix_part::lower && j + column > first) from += (j + column - first) / lanes * lanes;
          if (Triangles.b == matrix_part::upper) to = j + column + lanes < last ? j + column + lanes : last;
          for (extent p = from; p < to; p += lanes) pack_square(p, column, last, panel + ((p - first) * wide + v) * lanes, wide * lanes);
        }
        t.rows = panel, t.b_stride = wide * lanes, t.from = s, t.to = s + wide * lanes < n ? s + wide * lanes : n;
        add_terms<Triangles>(0, t);
      }
    }
  }

 private:
  using vec = pack<T, lanes>;

  /// The elements of b from (p, s) on, up to `lanes` rows before `last` and as many columns, into rows.
  void pack_square(extent p, extent s, extent last, T* to, extent stride) const {
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
  /// Of panels of up to three vectors, as even as possible, the first one's.
  static constexpr int width_of_panel(extent vectors) { return vectors == 4 || vectors == 2 ? 2 : vectors < 2 ? int(vectors) : tile_vectors; }

  template <product_triangles Triangles> void add_terms(extent r, const terms& t) const {
    for (; r + tile_rows <= m; r += tile_rows) rows_of_tiles<Triangles, tile_rows>(r, t);
    for (; r + tile_rows / 2 <= m; r += tile_rows / 2) rows_of_tiles<Triangles, tile_rows / 2>(r, t);
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
    extent s = t.from, vectors = (t.to - t.from) / lanes;
    if constexpr (Triangles.c == matrix_part::lower)  // what is above the diagonal stays as it is
      if (const extent below = (i + r + Rows - j - s + lanes - 1) / lanes; t.adds && below < vectors) vectors = below < 0 ? 0 : below;
    while (vectors > 0) {
      const int wide = width_of_panel(vectors);
      if (wide == tile_vectors) tile<Triangles, Rows, tile_vectors, false>(r, s, t);
      else if (wide == 2) tile<Triangles, Rows, 2, false>(r, s, t);
      else tile<Triangles, Rows, 1, false>(r, s, t);
      s += wide * lanes, vectors -= wide;
    }
    if (const extent whole = t.from + (t.to - t.from) / lanes * lanes; whole < t.to) tile<Triangles, Rows, 1, true>(r, whole, t);
  }
  template <product_triangles Triangles, int Rows, int Vectors, bool Partial> void tile(extent r, extent s, const terms& t) const {
    const extent i0 = i + r, i1 = i0 + Rows, j0 = j + s, j1 = j0 + Vectors * lanes;
    extent first = t.first, last = t.last;
    const auto from = [&](extent p) { first = first > p ? first : p; };
    const auto to = [&](extent p) { last = last < p ? last : p; };
    if constexpr (Triangles.a == matrix_part::lower) to(i1);
    if constexpr (Triangles.a == matrix_part::upper) from(i0);
    if constexpr (Triangles.b == matrix_part::lower) from(j0);
    if constexpr (Triangles.b == matrix_part::upper) to(j1);
    if constexpr (Triangles.c == matrix_part::lower)
      if (i1 <= j0) last = first;
    if constexpr (Triangles.c == matrix_part::upper)
      if (j1 <= i0) last = first;
    if (first >= last && t.adds) return;
    const int count = Partial ? int(n - s) : lanes;
    vec sums[Rows][Vectors];
    each<Rows, 0, Vectors>([&](auto x, auto v) __attribute__((always_inline)) {
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
    const auto add = [&]<int From, int To>(std::integer_sequence<int, From, To>, extent end) __attribute__((always_inline)) {
      for (end = end < last ? end : last; first < end; ++first, pa += column, behind += column, pb += t.b_stride) {
        vec terms_of_b[Vectors];
        if (strides) __builtin_prefetch(next, 0, 2), next += a_column;
        each<1, From, To>([&](auto, auto v) __attribute__((always_inline)) { terms_of_b[v] = Partial ? vec::load(pb, count) : vec::load(pb + v * lanes); });
        each<Rows, From, To>([&](auto x, auto v) __attribute__((always_inline)) { sums[x][v] = fma(vec(x < half ? pa[x * row] : behind[(x - half) * row]), terms_of_b[v], sums[x][v]); });
      }
    };
    if constexpr (Triangles.b == matrix_part::whole) add(std::integer_sequence<int, 0, Vectors>(), last);
    else  // steps as wide as a vector
      [&]<int... V>(std::integer_sequence<int, V...>) __attribute__((always_inline)) {
        if constexpr (Triangles.b == matrix_part::upper) (add(std::integer_sequence<int, V, Vectors>(), j0 + (V + 1) * lanes), ...);
        else (add(std::integer_sequence<int, 0, V + 1>(), V + 1 < Vectors ? j0 + (V + 1) * lanes : last), ...);
      }(std::make_integer_sequence<int, Vectors>());
    each<Rows, 0, Vectors>([&](auto x, auto v) __attribute__((always_inline)) {
      T* const to = at(r + x, s + v * lanes);
      if (t.adds) sums[x][v] = sums[x][v] + (Partial ? vec::load(to, count) : vec::load(to));
      if constexpr (Partial) sums[x][v].store(to, count);
      else sums[x][v].store(to);
    });
  }
  /// visit(x, v) for x in [0, Rows) and v in [From, To), numbers that the compiler knows: it then keeps what they index in registers.
  template <int Rows, int From, int To, class Visit> static COTANGENT_HOST_INLINE void each(const Visit& visit) {
    [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
      (visit(std::integral_constant<int, I / (To - From)>(), std::integral_constant<int, From + I % (To - From)>()), ...);
    }(std::make_integer_sequence<int, Rows*(To - From)>());
  }
  T* at(extent r, extent s) const { return c + r * c_row + s; }
};

}  // namespace cotangent::host
