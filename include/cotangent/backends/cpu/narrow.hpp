#pragma once
/// Matrix products whose right operand fits into the cache of a core, tile by tile of the result in registers: nothing is packed
/// if that operand lies in rows. Of triangular matrices only the half that is not zero is read, or computed.

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

  template <product_triangles Triangles> void run() const {
    const extent rows_of_b = cached_bytes / extent(sizeof(T)) / (n > 0 ? n : 1), most = rows_of_b < 64 ? 64 : rows_of_b / 8 * 8;
    const bool turned = b_column != 1;
    const extent wide = (n + lanes - 1) / lanes * lanes;
    const scratch packed(turned ? std::size_t((k < most ? k : most) * wide) * sizeof(T) : 0);
    for (extent first = 0; first == 0 || first < k; first += most) {
      const extent last = first + most < k ? first + most : k;
      const T* rows = b + first * b_row;
      if (turned) {
        T* const to = reinterpret_cast<T*>(packed.data());
        for (extent s = 0; s < n; ++s)
          for (extent p = first; p < last; ++p) to[(p - first) * wide + s] = b[p * b_row + s * b_column];
        rows = to;
      }
      add_terms<Triangles>(first, last, rows, turned ? wide : b_row, first > 0);
    }
  }

 private:
  using vec = pack<T, lanes>;

  /// The terms [first, last) of all sums. Row `first` of b is at `rows`.
  template <product_triangles Triangles> void add_terms(extent first, extent last, const T* rows, extent b_stride, bool adds) const {
    const terms t{first, last, rows, b_stride, adds};
    extent r = 0;
    for (; r + tile_rows <= m; r += tile_rows) rows_of_tiles<Triangles, tile_rows>(r, t);
    for (; r + tile_rows / 2 <= m; r += tile_rows / 2) rows_of_tiles<Triangles, tile_rows / 2>(r, t);
    for (; r < m; ++r) rows_of_tiles<Triangles, 1>(r, t);
  }
  struct terms {
    extent first, last;
    const T* rows;
    extent b_stride;
    bool adds;  // to those that the result has
  };
  /// Panels of up to three vectors, as even as possible, and what is left of a vector.
  template <product_triangles Triangles, int Rows> void rows_of_tiles(extent r, const terms& t) const {
    extent s = 0;
    for (extent vectors = n / lanes; vectors > 0;) {
      const int wide = vectors == 4 || vectors == 2 ? 2 : vectors == 1 ? 1 : tile_vectors;
      if (wide == tile_vectors) tile<Triangles, Rows, tile_vectors, false>(r, s, t);
      else if (wide == 2) tile<Triangles, Rows, 2, false>(r, s, t);
      else tile<Triangles, Rows, 1, false>(r, s, t);
      s += wide * lanes, vectors -= wide;
    }
    if (s < n) tile<Triangles, Rows, 1, true>(r, s, t);
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
    const int count = Partial ? int(n - s) : lanes;
    vec sums[Rows][Vectors];
    for (int x = 0; x < Rows; ++x)
      for (int v = 0; v < Vectors; ++v) sums[x][v] = vec(T(0));
    if (t.adds)
      for (int x = 0; x < Rows; ++x)
        for (int v = 0; v < Vectors; ++v) sums[x][v] = Partial ? vec::load(at(r + x, s), count) : vec::load(at(r + x, s + v * lanes));
    const T* pa = a + r * a_row + first * a_column;
    const T* pb = t.rows + (first - t.first) * t.b_stride + s;
    for (extent p = first; p < last; ++p, pa += a_column, pb += t.b_stride) {
      vec row[Vectors];
      for (int v = 0; v < Vectors; ++v) row[v] = Partial ? vec::load(pb, count) : vec::load(pb + v * lanes);
      for (int x = 0; x < Rows; ++x) {
        const vec factor(pa[x * a_row]);
        for (int v = 0; v < Vectors; ++v) sums[x][v] = fma(factor, row[v], sums[x][v]);
      }
    }
    for (int x = 0; x < Rows; ++x)
      for (int v = 0; v < Vectors; ++v)
        if constexpr (Partial) sums[x][v].store(at(r + x, s), count);
        else sums[x][v].store(at(r + x, s + v * lanes));
  }
  T* at(extent r, extent s) const { return c + r * c_row + s; }
};

}  // namespace cotangent::host
