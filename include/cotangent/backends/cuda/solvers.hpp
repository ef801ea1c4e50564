#pragma once
/// Factorizations and solutions of large matrices by cuSOLVER and cuBLAS, which are column-major: a row-major matrix is the transpose
/// of what they see, and its lower triangle their upper one. The host waits for nothing.
///
/// A batch is one call while its matrices are small, and one call for each from there on. `Queue`: gpu::queue.

#include <cotangent/backends/cuda/libraries.hpp>
#include <cotangent/backends/simt/opaque.hpp>

namespace cotangent::gpu {

/// The largest order of matrices that the libraries' functions for batches take side by side.
inline constexpr extent largest_of_batch = 512;
constexpr bool is_batch(extent n, extent count) { return count > 1 && n <= largest_of_batch; }

/// The addresses of matrices, `step` elements apart.
template <class T> struct point_at_matrices {
  T* first;
  extent step;
  T** to;
  COTANGENT_HD void operator()(extent i) const { to[i] = first + i * step; }
};
/// Such a list in a queue's memory.
template <class T, class Queue> class matrix_list {
 public:
  matrix_list(const Queue& queue, T* first, extent step, extent count) : memory_(queue, count * extent(sizeof(T*))) {
    simt::for_each(queue, count, point_at_matrices<T>{first, step, data()});
  }
  T** data() const { return reinterpret_cast<T**>(memory_.data()); }

 private:
  typename Queue::memory memory_;
};

/// What potrf leaves, as the CPU's: zeros above the diagonal, and NaN elsewhere if a matrix was not positive definite. A NaN in it has
/// reached the last element of the diagonal.
template <class T> struct finish_cholesky {
  T* l;
  const int* info;
  extent n;
  COTANGENT_HD void operator()(extent i) const {
    const extent matrix = i / (n * n), row = i / n % n, column = i % n;
    if (column > row) l[i] = T(0);
    else if (info[matrix] != 0 || !(l[(matrix + 1) * n * n - 1] > 0)) l[i] = T(NAN);
  }
};
template <class T, class Queue> void cholesky(const Queue& queue, const T* a, T* l, extent n, extent count) {
  queue.copy(l, a, count * n * n * extent(sizeof(T)));
  const cusolverDnHandle_t handle = queue.cusolver();
  const typename Queue::memory info_memory(queue, count * extent(sizeof(int)));
  int* const info = reinterpret_cast<int*>(info_memory.data());
  if (is_batch(n, count)) {
    const matrix_list<T, Queue> matrices(queue, l, n * n, count);
    check("potrfBatched", matrix_calls<T>::potrf(handle, int(n), matrices.data(), info, int(count)));
  } else {
    int elements = 0;
    check("potrf_bufferSize", matrix_calls<T>::potrf_room(handle, int(n), l, &elements));
    const typename Queue::memory room(queue, extent(elements) * extent(sizeof(T)));
    for (extent i = 0; i < count; ++i)
      check("potrf", matrix_calls<T>::potrf(handle, int(n), l + i * n * n, reinterpret_cast<T*>(room.data()), elements, info + i));
  }
  simt::for_each(queue, count * n * n, finish_cholesky<T>{l, info, n});
}

/// x of a x = b or aᵀ x = b, in the place of b: xᵀ of xᵀ aᵀ = bᵀ or xᵀ a = bᵀ, for them. Matrices a are `step` elements apart.
template <class T, class Queue>
void solve_triangular(const Queue& queue, const T* a, extent step, T* x, extent n, extent m, extent count, bool lower, bool transposed, bool unit_diagonal) {
  const cublasHandle_t handle = queue.cublas();
  const typename Queue::memory workspace(queue, queue.cublas_workspace_bytes());
  queue.give_workspace(handle, workspace);
  const triangle_kind kind{lower ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER, transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                           unit_diagonal ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT};
  if (is_batch(n, count)) {
    const matrix_list<const T, Queue> of_a(queue, a, step, count);
    const matrix_list<T, Queue> of_x(queue, x, n * m, count);
    check("trsmBatched", matrix_calls<T>::trsm(handle, kind, m, n, of_a.data(), of_x.data(), count));
  } else
    for (extent i = 0; i < count; ++i) check("trsm", matrix_calls<T>::trsm(handle, kind, m, n, a + i * step, x + i * n * m));
}
template <class T, class Queue>
void triangular_solve(const Queue& queue, const T* a, const T* b, T* x, extent n, extent m, extent count, bool lower, bool transposed, bool unit_diagonal) {
  queue.copy(x, b, count * n * m * extent(sizeof(T)));
  solve_triangular(queue, a, n * n, x, n, m, count, lower, transposed, unit_diagonal);
}

/// Matrices to their transposes; the source's are `from_step` elements apart, the others `to_step`.
template <class T> struct transpose_matrices {
  const T* from;
  T* to;
  extent n, from_step, to_step;
  COTANGENT_HD void operator()(extent i) const {
    const extent matrix = i / (n * n), row = i / n % n, column = i % n;
    to[matrix * to_step + row * n + column] = from[matrix * from_step + column * n + row];
  }
};
/// Pivots as numbers of the elements' type, counted from 0, behind each matrix's factors.
template <class T> struct store_pivots {
  const int* pivots;
  T* factors;
  extent n;
  COTANGENT_HD void operator()(extent i) const { factors[(i / n * (n + 1) + n) * n + i % n] = T(pivots[i] - 1); }
};
template <class T, class Queue> void lu(const Queue& queue, const T* a, T* factors, extent n, extent count) {
  const typename Queue::memory columns_memory(queue, count * n * n * extent(sizeof(T))), pivots_memory(queue, count * (n + 1) * extent(sizeof(int)));
  T* const columns = reinterpret_cast<T*>(columns_memory.data());
  int *const pivots = reinterpret_cast<int*>(pivots_memory.data()), *const info = pivots + count * n;
  simt::for_each(queue, count * n * n, transpose_matrices<T>{a, columns, n, n * n, n * n});
  if (is_batch(n, count)) {
    const cublasHandle_t handle = queue.cublas();
    const matrix_list<T, Queue> matrices(queue, columns, n * n, count);
    check("getrfBatched", matrix_calls<T>::getrf(handle, int(n), matrices.data(), pivots, info, int(count)));
  } else {
    const cusolverDnHandle_t handle = queue.cusolver();
    int elements = 0;
    check("getrf_bufferSize", matrix_calls<T>::getrf_room(handle, int(n), columns, &elements));
    const typename Queue::memory room(queue, extent(elements) * extent(sizeof(T)));
    for (extent i = 0; i < count; ++i)
      check("getrf", matrix_calls<T>::getrf(handle, int(n), columns + i * n * n, reinterpret_cast<T*>(room.data()), pivots + i * n, info + i));
  }
  simt::for_each(queue, count * n * n, transpose_matrices<T>{columns, factors, n, n * n, (n + 1) * n});
  simt::for_each(queue, count * n, store_pivots<T>{pivots, factors, n});
}

/// Exchanges rows as lu did, or undoes it: a column per thread.
template <class T> struct exchange_rows_of_columns {
  const T* factors;
  T* x;
  extent n, m;
  bool backwards;
  COTANGENT_HD void operator()(extent i) const {
    const extent matrix = i / m;
    const T* const pivots = factors + (matrix * (n + 1) + n) * n;
    T* const column = x + matrix * n * m + i % m;
    for (extent s = 0; s < n; ++s) {
      const extent k = backwards ? n - 1 - s : s, other = extent(pivots[k]);
      const T y = column[k * m];
      column[k * m] = column[other * m], column[other * m] = y;
    }
  }
};
template <class T, class Queue> void lu_solve(const Queue& queue, const T* factors, const T* b, T* x, extent n, extent m, extent count, bool transposed) {
  queue.copy(x, b, count * n * m * extent(sizeof(T)));
  const extent step = (n + 1) * n;
  if (!transposed) simt::for_each(queue, count * m, exchange_rows_of_columns<T>{factors, x, n, m, false});
  solve_triangular(queue, factors, step, x, n, m, count, !transposed, transposed, !transposed);
  solve_triangular(queue, factors, step, x, n, m, count, transposed, transposed, transposed);
  if (transposed) simt::for_each(queue, count * m, exchange_rows_of_columns<T>{factors, x, n, m, true});
}

}  // namespace cotangent::gpu
