#pragma once
/// Factorizations of one small matrix, row-major, for every backend: loops as they are in textbooks.

#include <cmath>

#include <cotangent/core/extents.hpp>
#include <cotangent/core/macros.hpp>

namespace cotangent::small_matrix {

/// The lower triangular L of a = L Lᵀ, all NaN if a is not positive definite; a's lower triangle is read. l may be a.
template <class T> COTANGENT_HD void cholesky(const T* a, T* l, extent n) {
  bool positive = true;
  for (extent j = 0; j < n; ++j) {
    for (extent i = j; i < n; ++i) {
      T sum = a[i * n + j];
      for (extent k = 0; k < j; ++k) sum -= l[i * n + k] * l[j * n + k];
      if (i == j) positive = positive && sum > 0;
      l[i * n + j] = i == j ? std::sqrt(sum) : sum / l[j * n + j];
    }
  }
  for (extent i = 0; i < n; ++i)
    for (extent j = 0; j < n; ++j)
      if (j > i || !positive) l[i * n + j] = j > i ? T(0) : T(NAN);
}

/// Solves a x = b or aᵀ x = b for the n rows of m numbers in x, which hold b, by the lower or upper triangle of a.
template <class T> COTANGENT_HD void solve_triangular(const T* a, T* x, extent n, extent m, bool lower, bool transposed, bool unit_diagonal) {
  const bool forward = lower != transposed;
  for (extent s = 0; s < n; ++s) {
    const extent i = forward ? s : n - 1 - s;
    T* const row = x + i * m;
    for (extent r = 0; r < s; ++r) {
      const extent k = forward ? r : n - 1 - r;
      const T factor = transposed ? a[k * n + i] : a[i * n + k];
      for (extent j = 0; j < m; ++j) row[j] -= factor * x[k * m + j];
    }
    if (!unit_diagonal)
      for (extent j = 0; j < m; ++j) row[j] /= a[i * n + i];
  }
}

template <class T> COTANGENT_HD void exchange_rows(T* x, extent columns, extent i, extent k) {
  for (extent j = 0; j < columns && i != k; ++j) {
    const T y = x[i * columns + j];
    x[i * columns + j] = x[k * columns + j], x[k * columns + j] = y;
  }
}

/// P a = L U in place, with the greatest pivot of each column; pivots[k]: the row exchanged with row k at step k.
template <class T> COTANGENT_HD void lu(T* a, T* pivots, extent n) {
  for (extent k = 0; k < n; ++k) {
    extent pivot = k;
    for (extent i = k + 1; i < n; ++i)
      if (std::fabs(a[i * n + k]) > std::fabs(a[pivot * n + k])) pivot = i;
    pivots[k] = T(pivot);
    exchange_rows(a, n, k, pivot);
    for (extent i = k + 1; i < n; ++i) {
      const T factor = a[i * n + k] /= a[k * n + k];
      for (extent j = k + 1; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
    }
  }
}

/// Exchanges rows as lu did, or undoes it.
template <class T> COTANGENT_HD void exchange_by_pivots(const T* pivots, T* x, extent n, extent m, bool backwards) {
  for (extent s = 0; s < n; ++s) {
    const extent k = backwards ? n - 1 - s : s;
    exchange_rows(x, m, k, extent(pivots[k]));
  }
}
/// Solves a x = b or aᵀ x = b for the n rows of m numbers in x, which hold b, by what lu made of a.
template <class T> COTANGENT_HD void solve_lu(const T* factors, T* x, extent n, extent m, bool transposed) {
  if (!transposed) exchange_by_pivots(factors + n * n, x, n, m, false);
  solve_triangular(factors, x, n, m, !transposed, transposed, !transposed);
  solve_triangular(factors, x, n, m, transposed, transposed, transposed);
  if (transposed) exchange_by_pivots(factors + n * n, x, n, m, true);
}

}  // namespace cotangent::small_matrix
