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
      if (a[k * n + k] != 0) a[i * n + k] /= a[k * n + k];  // else all of them are 0
      const T factor = a[i * n + k];
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

/// The determinant of what lu made these factors of, or the logarithm of its absolute value.
template <class T> COTANGENT_HD T determinant(const T* factors, extent n, bool logarithm) {
  T all = logarithm ? T(0) : T(1);
  for (extent k = 0; k < n; ++k) {
    const T own = factors[k * n + k];
    if (logarithm) all += std::log(std::fabs(own));
    else all *= factors[n * n + k] == T(k) ? own : -own;
  }
  return all;
}

/// The adjugate x of what lu made these factors of: that of U times L⁻¹ times P, up to the sign of P. With E(j, j) = 1 and
/// E(i, j) = - sum over k in (i, j] of u_ik (product of the diagonal between i and k) E(k, j), the element (i, j) of U's is E(i, j) times all
/// elements of the diagonal before i and after j: the cofactors of a triangular matrix are determinants of Hessenberg matrices.
template <class T> COTANGENT_HD void adjugate(const T* factors, T* x, extent n) {
  for (extent j = 0; j < n; ++j) {
    for (extent i = j + 1; i < n; ++i) x[i * n + j] = T(0);
    x[j * n + j] = T(1);
    for (extent i = j; i-- > 0;) {
      T sum = 0, product = 1;
      for (extent k = i + 1; k <= j; ++k) sum += factors[i * n + k] * product * x[k * n + j], product *= factors[k * n + k];
      x[i * n + j] = -sum;
    }
    T after = 1, before = 1;
    for (extent k = j + 1; k < n; ++k) after *= factors[k * n + k];
    for (extent i = 0; i <= j; ++i) x[i * n + j] *= before * after, before *= factors[i * n + i];
  }
  for (extent j = n; j-- > 0;)
    for (extent k = j + 1; k < n; ++k)
      for (extent i = 0; i < n; ++i) x[i * n + j] -= x[i * n + k] * factors[k * n + j];
  for (extent k = n; k-- > 0;) {
    const extent other = extent(factors[n * n + k]);
    for (extent i = 0; i < n && other != k; ++i) {
      const T here = x[i * n + k];
      x[i * n + k] = x[i * n + other], x[i * n + other] = here;
    }
    for (extent i = 0; i < n * n && other != k; ++i) x[i] = -x[i];
  }
}

/// Negates column j of the matrix x [rows, n] and of `with`, if there is one, where the greatest element of x's is negative, the first of
/// those that are equal within rounding.
template <class T> COTANGENT_HD void choose_sign(T* x, extent rows, extent n, extent j, T* with = nullptr, extent rows_with = 0) {
  T greatest = 0;
  for (extent i = 0; i < rows; ++i)
    if (std::fabs(x[i * n + j]) > T(1.001) * std::fabs(greatest)) greatest = x[i * n + j];
  if (!(greatest < 0)) return;
  for (extent i = 0; i < rows; ++i) x[i * n + j] = -x[i * n + j];
  for (extent i = 0; i < rows_with; ++i) with[i * n + j] = -with[i * n + j];
}
template <class T> COTANGENT_HD bool all_finite(const T* x, extent count) {
  T sum = 0;
  for (extent i = 0; i < count; ++i) sum += x[i] * T(0);
  return sum == 0;
}
template <class T> COTANGENT_HD void fill(T* x, extent count, T with) {
  for (extent i = 0; i < count; ++i) x[i] = with;
}

/// Negates rows of R and columns of Q so that R's diagonal is not negative, and sets what is below it to zero. r is [m, n].
template <class T> COTANGENT_HD void finish_qr(T* q, T* r, extent m, extent n) {
  for (extent k = 0; k < n; ++k) {
    if (r[k * n + k] < 0) {
      for (extent j = k; j < n; ++j) r[k * n + j] = -r[k * n + j];
      for (extent i = 0; i < m; ++i) q[i * n + k] = -q[i * n + k];
    }
    for (extent i = k + 1; i < m; ++i) r[i * n + k] = T(0);
  }
}
/// x - 2 v vᵀ x / vᵀ v for the columns [first, n) of x [m, n]; v is 1 at k and column k of `of` below it.
template <class T> COTANGENT_HD void reflect(const T* of, T* x, extent m, extent n, extent k, extent first) {
  T squares = 1;
  for (extent i = k + 1; i < m; ++i) squares += of[i * n + k] * of[i * n + k];
  for (extent j = first; j < n; ++j) {
    T sum = x[k * n + j];
    for (extent i = k + 1; i < m; ++i) sum += of[i * n + k] * x[i * n + j];
    sum *= 2 / squares;
    x[k * n + j] -= sum;
    for (extent i = k + 1; i < m; ++i) x[i * n + j] -= sum * of[i * n + k];
  }
}
/// Q and R [m, n] of a, m >= n, by Householder's reflections, which r holds below its diagonal meanwhile.
template <class T> COTANGENT_HD void qr(const T* a, T* q, T* r, extent m, extent n) {
  for (extent i = 0; i < m * n; ++i) r[i] = a[i];
  for (extent k = 0; k < n; ++k) {
    T greatest = 0, squares = 0;
    for (extent i = k; i < m; ++i) greatest = std::fabs(r[i * n + k]) > greatest ? std::fabs(r[i * n + k]) : greatest;
    for (extent i = k; i < m && greatest > 0; ++i) squares += r[i * n + k] / greatest * (r[i * n + k] / greatest);
    const T norm = greatest * std::sqrt(squares), turned = r[k * n + k] > 0 ? -norm : norm, divisor = r[k * n + k] - turned;
    for (extent i = k + 1; i < m && divisor != 0; ++i) r[i * n + k] /= divisor;
    reflect(r, r, m, n, k, k + 1);
    r[k * n + k] = turned;
  }
  for (extent i = 0; i < m; ++i)
    for (extent j = 0; j < n; ++j) q[i * n + j] = T(i == j);
  for (extent k = n; k-- > 0;) reflect(r, q, m, n, k, k);
  finish_qr(q, r, m, n);
}

/// Turns the columns j and k of x [rows, n] by the angle with this cosine and sine.
template <class T> COTANGENT_HD void turn_columns(T* x, extent rows, extent n, extent j, extent k, T cosine, T sine) {
  for (extent i = 0; i < rows; ++i) {
    const T y = x[i * n + j], z = x[i * n + k];
    x[i * n + j] = cosine * y - sine * z, x[i * n + k] = sine * y + cosine * z;
  }
}
/// The tangent of Jacobi's angle, the smaller one that makes the other element of a symmetric matrix zero.
template <class T> COTANGENT_HD T jacobi_tangent(T first, T other, T last) {
  const T cotangent = (last - first) / (2 * other), root = std::sqrt(1 + cotangent * cotangent);
  return cotangent >= 0 ? 1 / (cotangent + root) : 1 / (cotangent - root);
}
template <class T> COTANGENT_HD void exchange_columns(T* x, extent rows, extent n, extent j, extent k) {
  for (extent i = 0; i < rows; ++i) {
    const T y = x[i * n + j];
    x[i * n + j] = x[i * n + k], x[i * n + k] = y;
  }
}
inline constexpr int most_sweeps = 60;

/// Eigenvalues w, ascending, and eigenvectors, the columns of v, of a symmetric matrix, whose lower triangle is read, by Jacobi's rotations;
/// `room` has n * n elements. NaN for what is not finite.
template <class T> COTANGENT_HD void eigh(const T* a, T* w, T* v, extent n, T* room) {
  T norm = 0;
  for (extent i = 0; i < n; ++i)
    for (extent j = 0; j < n; ++j) {
      const T x = room[i * n + j] = i < j ? a[j * n + i] : a[i * n + j];
      norm += std::fabs(x), v[i * n + j] = T(i == j);
    }
  if (!all_finite(room, n * n)) return fill(w, n, T(NAN)), fill(v, n * n, T(NAN));
  const T negligible = norm * (sizeof(T) == 4 ? T(1e-9) : T(1e-18));
  bool turned = true;
  for (int sweep = 0; sweep < most_sweeps && turned; ++sweep) {
    turned = false;
    for (extent j = 0; j < n; ++j)
      for (extent k = j + 1; k < n; ++k) {
        if (std::fabs(room[j * n + k]) <= negligible) continue;
        const T tangent = jacobi_tangent(room[j * n + j], room[j * n + k], room[k * n + k]), cosine = 1 / std::sqrt(1 + tangent * tangent);
        turn_columns(room, n, n, j, k, cosine, tangent * cosine);
        for (extent i = 0; i < n; ++i) {
          const T y = room[j * n + i], z = room[k * n + i];
          room[j * n + i] = cosine * (y - tangent * z), room[k * n + i] = cosine * (tangent * y + z);
        }
        turn_columns(v, n, n, j, k, cosine, tangent * cosine);
        turned = true;
      }
  }
  for (extent j = 0; j < n; ++j) w[j] = room[j * n + j];
  for (extent j = 0; j < n; ++j) {
    extent least = j;
    for (extent k = j + 1; k < n; ++k)
      if (w[k] < w[least]) least = k;
    if (least != j) exchange_columns(w, 1, n, j, least), exchange_columns(v, n, n, j, least);
    choose_sign(v, n, n, j);
  }
}

/// Column j of u [m, n]: the unit vector that is the farthest from the space of the columns before it, made orthogonal to them.
template <class T> COTANGENT_HD void complete_basis(T* u, extent m, extent n, extent j) {
  extent farthest = 0;
  T least = 2;
  for (extent i = 0; i < m; ++i) {
    T squares = 0;
    for (extent k = 0; k < j; ++k) squares += u[i * n + k] * u[i * n + k];
    if (squares < least) least = squares, farthest = i;
  }
  for (extent i = 0; i < m; ++i) u[i * n + j] = T(i == farthest);
  for (int round = 0; round < 2; ++round) {
    for (extent k = 0; k < j; ++k) {
      T sum = 0;
      for (extent i = 0; i < m; ++i) sum += u[i * n + k] * u[i * n + j];
      for (extent i = 0; i < m; ++i) u[i * n + j] -= sum * u[i * n + k];
    }
    T squares = 0;
    for (extent i = 0; i < m; ++i) squares += u[i * n + j] * u[i * n + j];
    for (extent i = 0; i < m; ++i) u[i * n + j] /= std::sqrt(squares);
  }
}
/// U [m, n], s, descending, and V [n, n] of a [m, n], m >= n, by one-sided Jacobi rotations (M. Hestenes, "Inversion of matrices by
/// biorthogonalization and related results", 1958). NaN for what is not finite.
template <class T> COTANGENT_HD void svd(const T* a, T* u, T* s, T* v, extent m, extent n) {
  if (!all_finite(a, m * n)) return fill(u, m * n, T(NAN)), fill(s, n, T(NAN)), fill(v, n * n, T(NAN));
  for (extent i = 0; i < m * n; ++i) u[i] = a[i];
  for (extent i = 0; i < n * n; ++i) v[i] = T(i / n == i % n);
  const T small = sizeof(T) == 4 ? T(1e-7) : T(2e-16);
  bool turned = true;
  for (int sweep = 0; sweep < most_sweeps && turned; ++sweep) {
    turned = false;
    for (extent j = 0; j < n; ++j)
      for (extent k = j + 1; k < n; ++k) {
        T first = 0, other = 0, last = 0;
        for (extent i = 0; i < m; ++i) first += u[i * n + j] * u[i * n + j], other += u[i * n + j] * u[i * n + k], last += u[i * n + k] * u[i * n + k];
        if (std::fabs(other) <= small * std::sqrt(first * last)) continue;
        const T tangent = jacobi_tangent(first, other, last), cosine = 1 / std::sqrt(1 + tangent * tangent);
        turn_columns(u, m, n, j, k, cosine, tangent * cosine), turn_columns(v, n, n, j, k, cosine, tangent * cosine);
        turned = true;
      }
  }
  for (extent j = 0; j < n; ++j) {
    T squares = 0;
    for (extent i = 0; i < m; ++i) squares += u[i * n + j] * u[i * n + j];
    s[j] = std::sqrt(squares);
  }
  for (extent j = 0; j < n; ++j) {
    extent greatest = j;
    for (extent k = j + 1; k < n; ++k)
      if (s[k] > s[greatest]) greatest = k;
    if (greatest != j) exchange_columns(s, 1, n, j, greatest), exchange_columns(u, m, n, j, greatest), exchange_columns(v, n, n, j, greatest);
    if (s[j] > 0)
      for (extent i = 0; i < m; ++i) u[i * n + j] /= s[j];
    else complete_basis(u, m, n, j);
    choose_sign(v, n, n, j, u, m);
  }
}

}  // namespace cotangent::small_matrix
