#pragma once
/// Matrix products on the CPU: blocks of the result are computed in tiles of registers, or by Eigen where a machine does not multiply and add
/// at once, and vectors by Eigen; oneTBB runs the blocks.
/// How a product is cut into blocks depends only on its sizes, so the bits do not depend on the threads.

#include <atomic>
#include <cstring>
#include <memory>
#include <type_traits>

#include <cotangent/backends/cpu/eigen.hpp>
#include <cotangent/backends/cpu/matrix_vector.hpp>
#include <cotangent/backends/cpu/scratch.hpp>
#include <cotangent/backends/cpu/threads.hpp>
#include <cotangent/backends/cpu/tiles.hpp>
#include <cotangent/backends/products.hpp>
#include <cotangent/core/extents.hpp>

namespace cotangent::host {

/// A matrix operand, read in place: element (i, j) of matrix number q is
/// data[q * batch_stride + i * row_stride + j * column_stride].
template <class T> struct matrix_operand {
  const T* data;
  extent row_stride;
  extent column_stride;
  extent batch_stride = 0;

  const T* at(extent q, extent i, extent j) const { return data + q * batch_stride + i * row_stride + j * column_stride; }
};

/// The default for gemm's `after`: nothing to do with finished rows.
struct keep_rows {
  void operator()(extent, extent, extent) const {}
};

/// How gemm cuts a batch of products into tasks.
struct gemm_blocks {
  extent rows = 0;      // of a block of the result
  extent columns = 0;
  extent products = 0;  // consecutive products of the batch per task

  static constexpr gemm_blocks of(extent batch, extent m, extent n, extent k);
};

constexpr extent blocks_of(extent size, extent block) { return (size + block - 1) / block; }
/// Of blocks of at most so many, as even as multiples of `unit` are, the first one's size.
constexpr extent even_block(extent size, extent most, extent unit) {
  const extent even = blocks_of(blocks_of(size, blocks_of(size, most)), unit) * unit;
  return even < size ? even : size;
}

/// A task does at least 2^21 multiply-adds (some 20 microseconds) where there are that many. Larger blocks run
/// faster each (operands are copied once per block), so they are only as small as it takes to have 8 tasks.
constexpr gemm_blocks gemm_blocks::of(extent batch, extent m, extent n, extent k) {
  constexpr extent task = extent(1) << 21;
  const extent product = m * n * k;
  if (product < 2 * task) {
    const extent together = product == 0 ? batch : task / product + 1;
    return {m, n, together < batch ? together : batch};
  }
  constexpr extent sizes[][2] = {{512, 384}, {256, 384}, {256, 192}, {128, 192}, {64, 192}};
  gemm_blocks best{m, n, 1};
  for (const auto& s : sizes) {
    // a narrow or flat result takes longer blocks the other way
    const extent columns = n < s[1] ? n : s[1], rows = n < s[1] ? s[0] * (s[1] / n < 8 ? s[1] / n : 8) : s[0];
    const extent whole_rows = m < rows ? m : rows;
    if (whole_rows * columns * k < task && best.rows != m) break;
    best = {even_block(m, whole_rows, 8), even_block(n, columns, 16), 1};
    if (batch * blocks_of(m, best.rows) * blocks_of(n, best.columns) >= 8) break;
  }
  return best;
}

template <class T> inline constexpr bool has_eigen_product = std::is_same_v<T, float> || std::is_same_v<T, double>;

/// What is known of a product while compiling, so that only that product is instantiated.
struct gemm_form {
  enum order : unsigned char { unknown, rows, columns };  // which of an operand's strides is 1
  order a = unknown, b = unknown;
  bool matrices = false;  // no extent is 1: neither a vector nor an outer product
  bool tiled = false;     // it is computed by tiled_product
  bool adds = false;      // to what the result holds
  product_triangles triangles{};
};

/// Whether an m x n product of k terms is computed in tiles. The number of rows, and that of the terms, may be known at run time only.
template <class T> constexpr bool is_tiled(const gemm_form& form, extent m, extent n, extent k) {
  constexpr extent few_columns = native_lanes<T> / 4;  // of which each is a product with a vector
  if (!has_tiled_product<T> || is_symbol(n) || n <= 1 || (!is_symbol(k) && k <= 1) || (!is_symbol(m) && m <= 1)) return false;
  return n >= few_columns || form.a != gemm_form::rows || form.triangles.any();
}

/// Eigen's sizes of the blocks that it packs, with memory for them that the thread keeps: Eigen by itself allocates it for
/// every product, and the system then takes back and clears its pages every time.
template <class T> struct packing : Eigen::internal::level3_blocking<T, T> {
  packing(extent m, extent n, extent k) {
    this->m_mc = m, this->m_nc = n, this->m_kc = k;
    Eigen::internal::computeProductBlockingSizes<T, T>(this->m_kc, this->m_mc, this->m_nc, extent(1));
  }
  std::size_t bytes_a() const { return (std::size_t(this->m_mc * this->m_kc) * sizeof(T) + 63) / 64 * 64; }
  std::size_t bytes_b() const { return std::size_t(this->m_kc * this->m_nc) * sizeof(T); }
  void use(char* memory) {
    this->m_blockA = reinterpret_cast<T*>(memory);
    this->m_blockB = reinterpret_cast<T*>(memory + bytes_a());
  }
};

/// c += a b for matrices, c in rows; each operand in rows or columns, as its order says. Strides are those from one of them to
/// the next.
template <int OrderA, int OrderB, class T> void add_product(extent m, extent n, extent k, const T* a, extent a_stride, const T* b, extent b_stride, T* c, extent c_stride) {
  using namespace Eigen;
  // Eigen's results are in columns: c' = b' a'.
  constexpr int of_a = OrderA == RowMajor ? ColMajor : RowMajor, of_b = OrderB == RowMajor ? ColMajor : RowMajor;
  packing<T> blocks(n, m, k);
  const scratch memory(blocks.bytes_a() + blocks.bytes_b());
  blocks.use(memory.data());
  internal::general_matrix_matrix_product<extent, T, of_b, false, T, of_a, false, ColMajor, 1>::run(n, m, k, b, b_stride, a, a_stride, c, 1, c_stride, T(1), blocks, nullptr);
}

/// The same where the orders are known at run time only, or Form says them.
template <gemm_form Form, class T> void add_product(extent m, extent n, extent k, const T* a, extent a_row, extent a_column, const T* b, extent b_row, extent b_column, T* c, extent c_stride) {
  const auto with_b = [&]<int Order>(std::integral_constant<int, Order>, extent a_stride) {
    if (Form.b == gemm_form::rows || (Form.b == gemm_form::unknown && b_column == 1))
      if constexpr (Form.b != gemm_form::columns) return add_product<Order, Eigen::RowMajor>(m, n, k, a, a_stride, b, b_row, c, c_stride);
    if constexpr (Form.b != gemm_form::rows) add_product<Order, Eigen::ColMajor>(m, n, k, a, a_stride, b, b_column, c, c_stride);
  };
  if (Form.a == gemm_form::rows || (Form.a == gemm_form::unknown && a_column == 1))
    if constexpr (Form.a != gemm_form::columns) return with_b(std::integral_constant<int, Eigen::RowMajor>(), a_row);
  if constexpr (Form.a != gemm_form::rows) with_b(std::integral_constant<int, Eigen::ColMajor>(), a_column);
}

/// c[i * c_stride + j] = sum over p of a(i, p) * b(p, j), or += that, for a block of the result, in one thread. The block begins at
/// (first_row, first_column).
template <gemm_form Form, class T>
void gemm_block(extent m, extent n, extent k, const T* a, extent a_row, extent a_column, const T* b, extent b_row, extent b_column, T* c,
                extent c_stride, [[maybe_unused]] extent first_row, [[maybe_unused]] extent first_column) {
  const auto in_tiles = [&] {
    if constexpr (has_tiled_product<T>)
      tiled_product<T>{m, n, k, a, b, a_row, a_column, b_row, b_column, c, c_stride, first_row, first_column}.template run<Form.triangles, Form.adds>();
  };
  const auto clear = [&] {
    for (extent i = 0; i < m && !Form.adds; ++i) std::memset(static_cast<void*>(c + i * c_stride), 0, std::size_t(n) * sizeof(T));
  };
  if constexpr (Form.tiled) in_tiles();
  else if constexpr (!has_eigen_product<T>) {
    clear();
    for (extent i = 0; i < m; ++i)
      for (extent p = 0; p < k; ++p) {
        const T x = a[i * a_row + p * a_column];
        for (extent j = 0; j < n; ++j) c[i * c_stride + j] = plus_product(c[i * c_stride + j], x, b[p * b_row + j * b_column]);
      }
  } else {
    using namespace Eigen;
    using rows = Matrix<T, Dynamic, Dynamic, RowMajor>;
    using columns = Matrix<T, Dynamic, Dynamic, ColMajor>;
    using outer = OuterStride<>;
    using inner = InnerStride<>;
    const auto set = [](auto&& to, const auto& product) {
      if constexpr (Form.adds) to += product;
      else to = product;
    };
    const auto column = [&](extent j) {  // matrix times vector
      if constexpr (has_tiled_product<T> && Form.a != gemm_form::columns)
        if (a_column == 1 && b_row == 1) return rows_times_vector<T>{m, k, a, a_row, b + j * b_column}.template run<Form.adds>(c + j, c_stride);
      const Map<const Matrix<T, Dynamic, 1>, 0, inner> x(b + j * b_column, k, inner(b_row));
      Map<Matrix<T, Dynamic, 1>, 0, inner> y(c + j, m, inner(c_stride));
      if (Form.a == gemm_form::rows || a_column == 1) set(y.noalias(), Map<const rows, 0, outer>(a, m, k, outer(a_row)) * x);
      else set(y.noalias(), Map<const columns, 0, outer>(a, m, k, outer(a_column)) * x);
    };
    const auto matrices = [&] {
      if constexpr (has_tiled_product<T>) in_tiles();
      else clear(), add_product<Form>(m, n, k, a, a_row, a_column, b, b_row, b_column, c, c_stride);
    };
    if constexpr (Form.matrices && !has_tiled_product<T>) matrices();
    else if constexpr (Form.matrices) {  // of few columns
      for (extent j = 0; j < n; ++j) column(j);
    } else if (n == 1) column(0);
    else if (m == 1) {  // vector times matrix
      if constexpr (has_tiled_product<T> && Form.b != gemm_form::rows)
        if (a_column == 1 && b_row == 1 && b_column != 1) return rows_times_vector<T>{n, k, b, b_column, a}.template run<Form.adds>(c, 1);
      const Map<const Matrix<T, 1, Dynamic>, 0, inner> x(a, k, inner(a_column));
      Map<Matrix<T, 1, Dynamic>> y(c, n);
      if (b_column == 1) set(y.noalias(), x * Map<const rows, 0, outer>(b, k, n, outer(b_row)));
      else set(y.noalias(), x * Map<const columns, 0, outer>(b, k, n, outer(b_column)));
    } else if (k == 1) {  // outer product
      for (extent i = 0; i < m; ++i)
        for (extent j = 0; j < n; ++j) {
          T& x = c[i * c_stride + j];
          x = (Form.adds ? x : T(0)) + a[i * a_row] * b[j * b_column];
        }
    } else matrices();
  }
}

/// visit(q) for the products of a batch, so many of them a task.
template <class Visit> void each_product(extent batch, extent together, const Visit& visit) {
  parallel_for(blocks_of(batch, together), [&](extent t) {
    const extent last = (t + 1) * together < batch ? (t + 1) * together : batch;
    for (extent q = t * together; q < last; ++q) visit(q);
  });
}

/// c = a b for a batch of products: a is [batch, m, k], b is [batch, k, n], c is [batch, m, n], row-major and
/// contiguous, overlapping neither. Each operand has stride 1 along its rows or along its columns (a
/// transposed matrix is read in place). An empty sum (k == 0) is 0. Integers wrap; bool is "or of ands".
/// after(q, row0, row1) is called once for each block of finished, complete rows of product q while they are
/// in cache, possibly from several threads at once for different rows.
template <class T, gemm_form Form = gemm_form{}, class After = keep_rows>
void gemm(extent batch, extent m, extent n, extent k, matrix_operand<T> a, matrix_operand<T> b, T* c, const After& after = {}) {
  if (batch <= 0 || m <= 0 || n <= 0) return;
  const auto block = [&](extent q, extent i, extent j, extent rows, extent columns) {
    T* to = c + q * m * n + i * n + j;
    if (k > 0) return gemm_block<Form>(rows, columns, k, a.at(q, i, 0), a.row_stride, a.column_stride, b.at(q, 0, j), b.row_stride, b.column_stride, to, n, i, j);
    for (extent r = 0; r < rows && !Form.adds; ++r)
      for (extent s = 0; s < columns; ++s) to[r * n + s] = T(0);
  };
  const gemm_blocks cut = gemm_blocks::of(batch, m, n, k);
  const extent down = blocks_of(m, cut.rows), across = blocks_of(n, cut.columns);
  if (down * across == 1) {
    each_product(batch, cut.products, [&](extent q) {
      block(q, 0, 0, m, n);
      after(q, extent(0), m);
    });
    return;
  }
  // The task that finishes the last block of some rows runs `after` on them.
  constexpr bool waits = !std::is_same_v<After, keep_rows>;
  std::unique_ptr<std::atomic<int>[]> finished;
  if (waits && across > 1) finished = std::make_unique<std::atomic<int>[]>(std::size_t(batch * down));
  parallel_for(batch * down * across, [&](extent t) {
    const extent j = t % across * cut.columns, row_block = t / across, i = row_block % down * cut.rows, q = row_block / down;
    const extent rows = m - i < cut.rows ? m - i : cut.rows, columns = n - j < cut.columns ? n - j : cut.columns;
    block(q, i, j, rows, columns);
    if (waits && (across == 1 || finished[std::size_t(row_block)].fetch_add(1) + 1 == across)) after(q, i, i + rows);
  });
}

/// The same of products each of which is a small_product.
template <class Product, class T, class After = keep_rows>
void small_gemm(extent batch, matrix_operand<T> a, matrix_operand<T> b, T* c, const After& after = {}) {
  if (batch <= 0) return;
  each_product(batch, gemm_blocks::of(batch, Product::rows, Product::columns, Product::terms).products, [&](extent q) {
    Product::run(a.at(q, 0, 0), b.at(q, 0, 0), c + q * Product::rows * Product::columns);
    after(q, extent(0), Product::rows);
  });
}

}  // namespace cotangent::host
