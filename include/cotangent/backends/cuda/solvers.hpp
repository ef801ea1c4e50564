#pragma once
/// Factorizations, decompositions and solutions of large matrices by cuSOLVER and cuBLAS, which are column-major: a row-major matrix is the transpose
/// of what they see, and its lower triangle their upper one. The host waits for nothing.
///
/// A batch is one call while its matrices are small, and one call for each from there on; qr and svd are always one call for each. `Queue`: gpu::queue.

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

/// Matrices [n, m] to their transposes [m, n]; the source's are `from_step` elements apart, the others `to_step`.
template <class T> struct transpose_matrices {
  const T* from;
  T* to;
  extent m, n, from_step, to_step;
  COTANGENT_HD void operator()(extent i) const {
    const extent matrix = i / (m * n), row = i / n % m, column = i % n;
    to[matrix * to_step + row * n + column] = from[matrix * from_step + column * m + row];
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
  simt::for_each(queue, count * n * n, transpose_matrices<T>{a, columns, n, n, n * n, n * n});
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
  simt::for_each(queue, count * n * n, transpose_matrices<T>{columns, factors, n, n, n * n, (n + 1) * n});
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

/// Copies pieces of `length` elements, which are from_step and to_step elements apart.
template <class T> struct copy_rows {
  const T* from;
  T* to;
  extent length, from_step, to_step;
  COTANGENT_HD void operator()(extent i) const { to[i / length * to_step + i % length] = from[i / length * from_step + i % length]; }
};
template <class T> struct fill_with_zeros {
  T* to;
  COTANGENT_HD void operator()(extent i) const { to[i] = T(0); }
};
/// How cuSOLVER's Jacobi rotations end: by its defaults.
class jacobi_options {
 public:
  jacobi_options() { check("CreateSyevjInfo", cusolverDnCreateSyevjInfo(&handle_)); }
  jacobi_options(const jacobi_options&) = delete;
  jacobi_options& operator=(const jacobi_options&) = delete;
  ~jacobi_options() { cusolverDnDestroySyevjInfo(handle_); }
  syevjInfo_t handle() const { return handle_; }

 private:
  syevjInfo_t handle_ = nullptr;
};

/// R of what geqrf leaves, its diagonal not negative, into the second part of each result; and the signs for Q's columns.
template <class T> struct store_r {
  const T* columns;
  T *parts, *signs;
  extent m, n;
  COTANGENT_HD void operator()(extent i) const {
    const extent matrix = i / (m * n), row = i / n % m, column = i % n;
    const T* const own = columns + matrix * m * n;
    const bool negative = row < n && own[row * m + row] < 0;
    parts[(2 * matrix + 1) * m * n + row * n + column] = row > column ? T(0) : negative ? -own[column * m + row] : own[column * m + row];
    if (row == column) signs[matrix * n + row] = negative ? T(-1) : T(1);
  }
};
template <class T> struct store_q {
  const T *columns, *signs;
  T* parts;
  extent m, n;
  COTANGENT_HD void operator()(extent i) const {
    const extent matrix = i / (m * n), row = i / n % m, column = i % n;
    parts[2 * matrix * m * n + row * n + column] = signs[matrix * n + column] * columns[matrix * m * n + column * m + row];
  }
};
template <class T, class Queue> void qr(const Queue& queue, const T* a, T* parts, extent m, extent n, extent count) {
  constexpr extent size = sizeof(T);
  const typename Queue::memory columns_memory(queue, count * m * n * size), tau_memory(queue, 2 * count * n * size), info_memory(queue, extent(sizeof(int)));
  T *const columns = reinterpret_cast<T*>(columns_memory.data()), *const tau = reinterpret_cast<T*>(tau_memory.data()), *const signs = tau + count * n;
  int* const info = reinterpret_cast<int*>(info_memory.data());
  simt::for_each(queue, count * m * n, transpose_matrices<T>{a, columns, n, m, m * n, m * n});
  const cusolverDnHandle_t handle = queue.cusolver();
  int elements = 0, more = 0;
  check("geqrf_bufferSize", matrix_calls<T>::geqrf_room(handle, int(m), int(n), columns, &elements));
  check("orgqr_bufferSize", matrix_calls<T>::orgqr_room(handle, int(m), int(n), columns, tau, &more));
  if (more > elements) elements = more;
  const typename Queue::memory room(queue, extent(elements) * extent(sizeof(T)));
  T* const work = reinterpret_cast<T*>(room.data());
  for (extent i = 0; i < count; ++i) check("geqrf", matrix_calls<T>::geqrf(handle, int(m), int(n), columns + i * m * n, tau + i * n, work, elements, info));
  simt::for_each(queue, count * m * n, store_r<T>{columns, parts, signs, m, n});
  for (extent i = 0; i < count; ++i) check("orgqr", matrix_calls<T>::orgqr(handle, int(m), int(n), columns + i * m * n, tau + i * n, work, elements, info));
  simt::for_each(queue, count * m * n, store_q<T>{columns, signs, parts, m, n});
}

/// Chooses the sign of a column of vectors; or makes it NaN, where the library did not succeed. Values lie before the vectors.
template <class T> struct finish_eigenvectors {
  T* parts;
  const int* info;
  extent n;
  COTANGENT_HD void operator()(extent i) const {
    const extent matrix = i / n, column = i % n;
    T* const own = parts + matrix * (n + 1) * n;
    if (info[matrix] == 0 && own[column] == own[column]) return small_matrix::choose_sign<T>(own + n, n, n, column);
    for (extent row = 0; row <= n; ++row) own[row * n + column] = T(NAN);
  }
};
template <class T, class Queue> void eigh(const Queue& queue, const T* a, T* parts, extent n, extent count) {
  constexpr extent size = sizeof(T);
  const typename Queue::memory vectors_memory(queue, count * n * n * size), values_memory(queue, count * n * size), info_memory(queue, count * extent(sizeof(int)));
  T *const vectors = reinterpret_cast<T*>(vectors_memory.data()), *const values = reinterpret_cast<T*>(values_memory.data());
  int* const info = reinterpret_cast<int*>(info_memory.data());
  queue.copy(vectors, a, count * n * n * extent(sizeof(T)));
  const cusolverDnHandle_t handle = queue.cusolver();
  int elements = 0;
  if (is_batch(n, count)) {
    const jacobi_options options;
    check("syevjBatched_bufferSize", matrix_calls<T>::syevj_room(handle, int(n), vectors, values, &elements, options.handle(), int(count)));
    const typename Queue::memory room(queue, extent(elements) * extent(sizeof(T)));
    check("syevjBatched", matrix_calls<T>::syevj(handle, int(n), vectors, values, reinterpret_cast<T*>(room.data()), elements, info, options.handle(), int(count)));
  } else {
    check("syevd_bufferSize", matrix_calls<T>::syevd_room(handle, int(n), vectors, values, &elements));
    const typename Queue::memory room(queue, extent(elements) * extent(sizeof(T)));
    for (extent i = 0; i < count; ++i)
      check("syevd", matrix_calls<T>::syevd(handle, int(n), vectors + i * n * n, values + i * n, reinterpret_cast<T*>(room.data()), elements, info + i));
  }
  simt::for_each(queue, count * n, copy_rows<T>{values, parts, n, n, (n + 1) * n});
  simt::for_each(queue, count * n * n, transpose_matrices<T>{vectors, parts + n, n, n, n * n, (n + 1) * n});
  simt::for_each(queue, count * n, finish_eigenvectors<T>{parts, info, n});
}

/// The same for a pair of singular vectors.
template <class T> struct finish_singular_vectors {
  T* parts;
  const int* info;
  extent m, n;
  COTANGENT_HD void operator()(extent i) const {
    const extent matrix = i / n, column = i % n;
    T *const u = parts + 3 * matrix * m * n, *const s = u + m * n, *const v = s + m * n;
    if (info[matrix] == 0 && s[column] == s[column]) return small_matrix::choose_sign<T>(v, n, n, column, u, m);
    s[column] = T(NAN);
    for (extent row = 0; row < m; ++row) u[row * n + column] = T(NAN);
    for (extent row = 0; row < n; ++row) v[row * n + column] = T(NAN);
  }
};
template <class T, class Queue> void svd(const Queue& queue, const T* a, T* parts, extent m, extent n, extent count) {
  constexpr extent size = sizeof(T);
  const typename Queue::memory columns_memory(queue, 2 * count * m * n * size), others_memory(queue, count * (n + 1) * n * size), info_memory(queue, count * extent(sizeof(int)));
  T *const columns = reinterpret_cast<T*>(columns_memory.data()), *const u = columns + count * m * n;
  T *const vt = reinterpret_cast<T*>(others_memory.data()), *const s = vt + count * n * n;
  int* const info = reinterpret_cast<int*>(info_memory.data());
  simt::for_each(queue, count * m * n, transpose_matrices<T>{a, columns, n, m, m * n, m * n});
  const cusolverDnHandle_t handle = queue.cusolver();
  int elements = 0;
  check("gesvd_bufferSize", matrix_calls<T>::gesvd_room(handle, int(m), int(n), columns, &elements));
  const typename Queue::memory room(queue, extent(elements) * extent(sizeof(T)));
  T* const work = reinterpret_cast<T*>(room.data());
  for (extent i = 0; i < count; ++i)
    check("gesvd", matrix_calls<T>::gesvd(handle, int(m), int(n), columns + i * m * n, s + i * n, u + i * m * n, vt + i * n * n, work, elements, info + i));
  simt::for_each(queue, count * 3 * m * n, fill_with_zeros<T>{parts});
  simt::for_each(queue, count * m * n, transpose_matrices<T>{u, parts, m, n, m * n, 3 * m * n});
  simt::for_each(queue, count * n, copy_rows<T>{s, parts + m * n, n, n, 3 * m * n});
  simt::for_each(queue, count * n * n, copy_rows<T>{vt, parts + 2 * m * n, n * n, n * n, 3 * m * n});
  simt::for_each(queue, count * n, finish_singular_vectors<T>{parts, info, m, n});
}

}  // namespace cotangent::gpu
