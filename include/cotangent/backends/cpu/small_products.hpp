#pragma once
/// Matrix products whose sizes are known at compile time and so small that calling anything, or copying an operand into panels, would take
/// longer than they do: blocks of the result in registers.

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include <cotangent/backends/cpu/pack.hpp>
#include <cotangent/backends/products.hpp>
#include <cotangent/core/extents.hpp>

namespace cotangent::host {

/// c = a b for a [M, K] and b [K, N] with these strides, c row-major.
template <class T, extent M, extent N, extent K, extent ARow, extent AColumn, extent BRow, extent BColumn> struct small_product {
  static constexpr extent rows = M, columns = N, terms = K;

  static COTANGENT_HOST_INLINE void run(const T* a, const T* b, T* c) {
    constexpr extent short_row = 128;
    if constexpr ((!std::is_same_v<T, float> && !std::is_same_v<T, double>) || N > short_row || (N == 1 && M > short_row)) run_plain(a, b, c);
    else if constexpr (N == 1 && M > 1 && K > 1 && AColumn == 1 && BRow == 1) times_column(a, b, c);
    else if constexpr (N == 1 && M > 1) small_product<T, 1, M, K, 0, BRow, AColumn, ARow>::run(b, a, c);  // c' = b' a'
    else if constexpr (N > 1 && BColumn != 1 && K > 0) {
      T turned[K * vectors * lanes];
      copy_turned(b, turned);
      multiply<vectors * lanes, true>(a, turned, c);
    } else multiply<BRow, false>(a, b, c);
  }

 private:
  static constexpr int lanes = N < native_lanes<T> ? int(std::bit_ceil(std::size_t(N))) : native_lanes<T>, vectors = int((N + lanes - 1) / lanes);
  /// Vectors of a panel of columns, and rows of a block of the result: their sums take half of the registers.
  static constexpr int sums = native_bytes == 64 ? 16 : 8, panel = vectors < 1 ? 1 : vectors < 4 ? vectors : 4;
  static constexpr extent most_rows = sums / panel, blocks = (M + most_rows - 1) / most_rows, block_rows = blocks == 0 ? 1 : (M + blocks - 1) / blocks;
  using vec = pack<T, lanes>;

  static COTANGENT_HOST_INLINE void run_plain(const T* a, const T* b, T* c) {
    for (extent i = 0; i < M; ++i) {
      T row[N > 0 ? N : 1] = {};
      for (extent p = 0; p < K; ++p)
        for (extent j = 0; j < N; ++j) row[j] = plus_product(row[j], a[i * ARow + p * AColumn], b[p * BRow + j * BColumn]);
      for (extent j = 0; j < N; ++j) c[i * N + j] = row[j];
    }
  }

  /// The lanes with which times_column takes the fewest operations.
  static constexpr int lanes_of_sums() {
    int best = 2;
    extent least = 0;
    for (int l = 2; l <= native_lanes<T>; l *= 2) {
      const extent groups = (M + l - 1) / l, terms = (K + l - 1) / l, operations = groups * (l * terms + 3 * (l - 1));
      if (l == 2 || operations < least) least = operations, best = l;
    }
    return best;
  }
  /// A matrix in rows times a vector: as many sums as a vector has lanes, each in a vector, which are added across.
  static COTANGENT_HOST_INLINE void times_column(const T* a, const T* b, T* c) {
    constexpr int rows = lanes_of_sums(), rest = int(M % rows);
    for (extent i = 0; i + rows <= M; i += rows) sums_of_rows<rows, rows>(a + i * ARow, b, c + i);
    if constexpr (rest > 0) sums_of_rows<rest, rows>(a + (M - rest) * ARow, b, c + (M - rest));
  }
  template <int Rows, int Lanes> static COTANGENT_HOST_INLINE void sums_of_rows(const T* a, const T* b, T* c) {
    constexpr int whole = int(K / Lanes), rest = int(K % Lanes);
    using vec = pack<T, Lanes>;
    vec sum[Lanes];
    each_number<Lanes>([&](auto x) COTANGENT_EXPANDED { sum[x] = x < Rows && rest > 0 ? vec::load(a + x * ARow + whole * Lanes, rest) * vec::load(b + whole * Lanes, rest) : vec(T(0)); });
    each_number<whole>([&](auto v) COTANGENT_EXPANDED {
      const vec terms = vec::load(b + v * Lanes);
      each_number<Rows>([&](auto x) COTANGENT_EXPANDED { sum[x] = fast_fma(vec::load(a + x * ARow + v * Lanes), terms, sum[x]); });
    });
    if constexpr (Rows == Lanes) sums_across(sum).store(c);
    else sums_across(sum).store(c, Rows);
  }

  /// The rows of b, which do not lie in rows, one after the other, each as whole vectors.
  static COTANGENT_HOST_INLINE void copy_turned(const T* b, T* to) {
    const auto column = [&](extent j) { return b + (j < N ? j : N - 1) * BColumn; };
    constexpr int square = int(std::min(extent(lanes), extent(std::bit_ceil(std::size_t(K)))));
    for (extent v = 0; v < vectors; ++v) {
      if constexpr (BRow == 1 && square > 1)
        each_number<int((K + square - 1) / square)>([&](auto s) COTANGENT_EXPANDED {
          constexpr extent first = s * square;
          constexpr int count = int(std::min(extent(square), K - first));
          vec terms[square];
          load_columns<count>(terms, [&](int i) { return column(v * lanes + i) + first; });
          each_number<count>([&](auto p) COTANGENT_EXPANDED { terms[p].store(to + ((first + p) * vectors + v) * lanes); });
        });
      else
        for (extent p = 0; p < K; ++p)
          for (int i = 0; i < lanes; ++i) to[(p * vectors + v) * lanes + i] = column(v * lanes + i)[p * BRow];
    }
  }

  /// The rows of b lie `Stride` elements apart, or as many vectors as are `Padded`.
  template <extent Stride, bool Padded> static COTANGENT_HOST_INLINE void multiply(const T* a, const T* b, T* c) {
    constexpr int rest = vectors % panel, last = rest > 0 ? rest : panel;
    constexpr bool is_partial = N % lanes != 0;
    if constexpr (vectors == 0) return;
    else {
      for (extent v = 0; v + last < vectors; v += panel) blocks_of_panel<panel, Stride, Padded, false>(a, b + v * lanes, c + v * lanes);
      blocks_of_panel<last, Stride, Padded, is_partial>(a, b + (vectors - last) * lanes, c + (vectors - last) * lanes);
    }
  }
  template <int Wide, extent Stride, bool Padded, bool Partial> static COTANGENT_HOST_INLINE void blocks_of_panel(const T* a, const T* b, T* c) {
    constexpr extent rest = M % block_rows;
    for (extent i = 0; i + block_rows <= M; i += block_rows) block<block_rows, Wide, Stride, Padded, Partial>(a + i * ARow, b, c + i * N);
    if constexpr (rest > 0) block<rest, Wide, Stride, Padded, Partial>(a + (M - rest) * ARow, b, c + (M - rest) * N);
  }
  /// Some rows of some vectors. `Partial`: the last vector has columns beyond the result.
  template <extent Rows, int Wide, extent Stride, bool Padded, bool Partial> static COTANGENT_HOST_INLINE void block(const T* a, const T* b, T* c) {
    constexpr int elements = int(N % lanes);  // of a partial vector
    vec sum[Rows][Wide];
    each_place<int(Rows), 0, Wide>([&](int x, int v) COTANGENT_EXPANDED { sum[x][v] = vec(T(0)); });
    for (extent p = 0; p < K; ++p) {
      vec terms[Wide];
      each_number<Wide>([&](auto v) COTANGENT_EXPANDED {
        const T* const from = b + p * Stride + v * lanes;
        if constexpr (Partial && v == Wide - 1 && !Padded) terms[v] = vec::load(from, elements);
        else terms[v] = vec::load(from);
      });
      each_place<int(Rows), 0, Wide>([&](int x, int v) COTANGENT_EXPANDED { sum[x][v] = fast_fma(vec(a[x * ARow + p * AColumn]), terms[v], sum[x][v]); });
    }
    each_place<int(Rows), 0, Wide>([&](int x, int v) COTANGENT_EXPANDED {
      T* const to = c + x * N + v * lanes;
      if (Partial && v == Wide - 1) sum[x][v].store(to, elements);
      else sum[x][v].store(to);
    });
  }
};

}  // namespace cotangent::host
