#pragma once
/// Factorizations and decompositions of small matrices, row-major, for every backend: loops as they are in textbooks. An Order is an extent,
/// or a std::integral_constant of one: the loops over it can then be unrolled.

#include <cmath>
#include <type_traits>

#include <cotangent/core/cofactors.hpp>
#include <cotangent/core/extents.hpp>
#include <cotangent/core/macros.hpp>

namespace cotangent::small_matrix {

/// How many matrices an array has.
inline extent matrices_in(const shape& dims) {
  extent number = 1;
  for (int i = 0; i + 2 < dims.rank; ++i) number *= dims[i];
  return number;
}

/// The lower triangular L of a = L Lᵀ, all NaN if a is not positive definite; a's lower triangle is read. l may be a.
template <class T, class Order> COTANGENT_HD void cholesky(const T* a, T* l, Order n) {
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

/// The symmetric x of a cotangent's lower triangle g of l, the factor of a matrix: see cholesky_pullback_p.
template <class T, class Order> COTANGENT_HD void cholesky_pullback(const T* l, const T* g, T* x, Order n) {
  for (extent i = 0; i < n * n; ++i) x[i] = g[i];
  for (extent j = n; j-- > 0;) {
    T& pivot = x[j * n + j];
    for (extent i = j + 1; i < n; ++i) x[i * n + j] /= l[j * n + j], pivot -= l[i * n + j] * x[i * n + j];
    pivot /= l[j * n + j];
    for (extent i = j; i < n; ++i)
      for (extent k = 0; k < j; ++k) {
        x[j * n + k] -= x[i * n + j] * l[i * n + k];
        if (i > j) x[i * n + k] -= x[i * n + j] * l[j * n + k];
      }
  }
  for (extent i = 0; i < n; ++i)
    for (extent j = 0; j <= i; ++j) x[i * n + j] = x[j * n + i] = x[i * n + j] / 2;
}

/// Solves a x = b or aᵀ x = b for the n rows of m numbers in x, which hold b, by the lower or upper triangle of a.
template <class T, class Order, class Columns> COTANGENT_HD void solve_triangular(const T* a, T* x, Order n, Columns m, bool lower, bool transposed, bool unit_diagonal) {
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

template <class T, class Columns> COTANGENT_HD void exchange_rows(T* x, Columns columns, extent i, extent k) {
  for (extent j = 0; j < columns && i != k; ++j) {
    const T y = x[i * columns + j];
    x[i * columns + j] = x[k * columns + j], x[k * columns + j] = y;
  }
}

/// P a = L U in place, with the greatest pivot of each column; pivots[k]: the row exchanged with row k at step k.
template <class T, class Order> COTANGENT_HD void lu(T* a, T* pivots, Order n) {
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
template <class T, class Order, class Columns> COTANGENT_HD void exchange_by_pivots(const T* pivots, T* x, Order n, Columns m, bool backwards) {
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

/// What cofactors are computed by.
template <class T> struct number_arithmetic {
  COTANGENT_HD T number(T x) const { return x; }
  COTANGENT_HD T product(T x, T y) const { return x * y; }
  COTANGENT_HD T plus_product(T x, T p, T q) const { return x + p * q; }
  COTANGENT_HD T minus_product(T x, T p, T q) const { return x - p * q; }
  COTANGENT_HD T negative(T x) const { return -x; }
  COTANGENT_HD T reciprocal(T x) const { return 1 / x; }
  COTANGENT_HD T greater_magnitude(T x, T y) const { return std::fabs(y) > x ? std::fabs(y) : x; }
};
/// The inverse of a matrix of order 1 to 4.
template <class T> COTANGENT_HD void inverse(const T* a, T* x, extent n) { invert_by_cofactors(number_arithmetic<T>(), a, x, n, sizeof(T) < 8); }

template <class T> COTANGENT_HD void fill(T* x, extent count, T with) {
  for (extent i = 0; i < count; ++i) x[i] = with;
}

// What follows works on numbers, or on packs of them with a matrix in each lane: V. T is the type of the numbers.

template <class T> requires std::is_floating_point_v<T> COTANGENT_HD T select(bool which, T a, T b) { return which ? a : b; }
template <class T> requires std::is_floating_point_v<T> COTANGENT_HD T sqrt(T x) { return std::sqrt(x); }
template <class T> requires std::is_floating_point_v<T> COTANGENT_HD T abs(T x) { return std::fabs(x); }
COTANGENT_HD inline bool any(bool which) { return which; }

COTANGENT_LANES template <class V, class Mask> COTANGENT_HD void exchange(V& x, V& y, Mask where) {
  const V z = x;
  x = select(where, y, x), y = select(where, z, y);
}
/// Negates column j of the matrix x [rows, n] and of `with`, if there is one, where the greatest element of x's is negative, the first of
/// those that are equal within rounding.
COTANGENT_LANES template <class T, class V, class Rows, class Columns, class RowsWith = extent>
COTANGENT_HD void choose_sign(V* x, Rows rows, Columns n, extent j, V* with = nullptr, RowsWith rows_with = {}) {
  V greatest = V(T(0));
  for (extent i = 0; i < rows; ++i) greatest = select(abs(x[i * n + j]) > V(T(1.001)) * abs(greatest), x[i * n + j], greatest);
  const auto negative = greatest < V(T(0));
  if (!any(negative)) return;
  for (extent i = 0; i < rows; ++i) x[i * n + j] = select(negative, -x[i * n + j], x[i * n + j]);
  for (extent i = 0; i < rows_with; ++i) with[i * n + j] = select(negative, -with[i * n + j], with[i * n + j]);
}
/// Where all of `count` elements are finite.
COTANGENT_LANES template <class T, class V, class Count> COTANGENT_HD auto all_finite(const V* x, Count count) {
  V sum = V(T(0));
  for (extent i = 0; i < count; ++i) sum = sum + x[i] * V(T(0));
  return sum == V(T(0));
}

/// Negates rows of R and columns of Q so that R's diagonal is not negative, and sets what is below it to zero. r is [m, n].
COTANGENT_LANES template <class T, class V, class Rows, class Columns> COTANGENT_HD void finish_qr(V* q, V* r, Rows m, Columns n) {
  for (extent k = 0; k < n; ++k) {
    const auto negative = r[k * n + k] < V(T(0));
    for (extent j = k; j < n; ++j) r[k * n + j] = select(negative, -r[k * n + j], r[k * n + j]);
    for (extent i = 0; i < m; ++i) q[i * n + k] = select(negative, -q[i * n + k], q[i * n + k]);
    for (extent i = k + 1; i < m; ++i) r[i * n + k] = V(T(0));
  }
}
/// x - 2 v vᵀ x / vᵀ v for the columns [first, n) of x [m, n]; v is 1 at k and column k of `of` below it.
COTANGENT_LANES template <class T, class V, class Rows, class Columns> COTANGENT_HD void reflect(const V* of, V* x, Rows m, Columns n, extent k, extent first) {
  V squares = V(T(1));
  for (extent i = k + 1; i < m; ++i) squares = squares + of[i * n + k] * of[i * n + k];
  const V scale = V(T(2)) / squares;
  for (extent j = first; j < n; ++j) {
    V sum = x[k * n + j];
    for (extent i = k + 1; i < m; ++i) sum = sum + of[i * n + k] * x[i * n + j];
    sum = sum * scale;
    x[k * n + j] = x[k * n + j] - sum;
    for (extent i = k + 1; i < m; ++i) x[i * n + j] = x[i * n + j] - sum * of[i * n + k];
  }
}
/// Q and R [m, n] of a, m >= n, by Householder's reflections, which r holds below its diagonal meanwhile.
COTANGENT_LANES template <class T, class V, class Rows, class Columns> COTANGENT_HD void qr(const V* a, V* q, V* r, Rows m, Columns n) {
  for (extent i = 0; i < m * n; ++i) r[i] = a[i];
  for (extent k = 0; k < n; ++k) {
    V greatest = V(T(0)), squares = V(T(0));
    for (extent i = k; i < m; ++i) greatest = select(abs(r[i * n + k]) > greatest, abs(r[i * n + k]), greatest);
    const V unit = select(greatest > V(T(0)), greatest, V(T(1)));
    for (extent i = k; i < m; ++i) squares = squares + r[i * n + k] / unit * (r[i * n + k] / unit);
    const V norm = unit * sqrt(squares), turned = select(r[k * n + k] > V(T(0)), -norm, norm), difference = r[k * n + k] - turned;
    const V divisor = select(difference == V(T(0)), V(T(1)), difference);
    for (extent i = k + 1; i < m; ++i) r[i * n + k] = r[i * n + k] / divisor;
    reflect<T>(r, r, m, n, k, k + 1);
    r[k * n + k] = turned;
  }
  for (extent i = 0; i < m; ++i)
    for (extent j = 0; j < n; ++j) q[i * n + j] = V(T(i == j));
  for (extent k = n; k-- > 0;) reflect<T>(r, q, m, n, k, k);
  finish_qr<T>(q, r, m, n);
}

/// Jacobi's rotation: the smaller angle that makes the other element of a symmetric 2 x 2 matrix zero, none where `needed` is false.
template <class V> struct rotation {
  V tangent, cosine, sine;
  COTANGENT_LANES template <class T, class Mask> COTANGENT_HD static rotation of(T, V first, V other, V last, Mask needed) {
    const V cotangent = (last - first) / (V(T(2)) * select(needed, other, V(T(1)))), root = sqrt(V(T(1)) + cotangent * cotangent);
    const V tangent = select(needed, V(T(1)) / (cotangent + select(cotangent < V(T(0)), -root, root)), V(T(0)));
    const V cosine = V(T(1)) / sqrt(V(T(1)) + tangent * tangent);
    return {tangent, cosine, tangent * cosine};
  }
  COTANGENT_LANES COTANGENT_HD void turn(V& x, V& y) const {
    const V z = x;
    x = cosine * z - sine * y, y = sine * z + cosine * y;
  }
};
inline constexpr int most_sweeps = 60;
/// Of vectors of n numbers, as exact as their products are.
template <class T> COTANGENT_HD T negligible_cosine(extent n) { return (sizeof(T) == 4 ? T(1.2e-7) : T(2.2e-16)) * std::sqrt(T(n > 1 ? n : 1)); }

/// Eigenvalues w, ascending, and eigenvectors, the columns of v, of a symmetric matrix, whose lower triangle is read, by Jacobi's rotations;
/// `room` has n * n elements. NaN for what is not finite.
COTANGENT_LANES template <class T, class V, class Order> COTANGENT_HD void eigh(const V* a, V* w, V* v, Order n, V* room) {
  V norm = V(T(0));
  for (extent i = 0; i < n; ++i)
    for (extent j = 0; j < n; ++j) room[i * n + j] = i < j ? a[j * n + i] : a[i * n + j], v[i * n + j] = V(T(i == j));
  const auto finite = all_finite<T>(room, n * n);
  for (extent i = 0; i < n * n; ++i) room[i] = select(finite, room[i], V(T(0))), norm = norm + abs(room[i]);
  const V negligible = norm * V(sizeof(T) == 4 ? T(1e-9) : T(1e-18));
  bool turned = true;
  for (int sweep = 0; sweep < most_sweeps && turned; ++sweep) {
    turned = false;
    for (extent j = 0; j < n; ++j)
      for (extent k = j + 1; k < n; ++k) {
        const V other = room[j * n + k];
        const auto needed = abs(other) > negligible;
        if (!any(needed)) continue;
        const auto r = rotation<V>::of(T(), room[j * n + j], other, room[k * n + k], needed);
        for (extent i = 0; i < n; ++i) {
          r.turn(v[i * n + j], v[i * n + k]);
          if (i == j || i == k) continue;
          r.turn(room[i * n + j], room[i * n + k]);
          room[j * n + i] = room[i * n + j], room[k * n + i] = room[i * n + k];
        }
        room[j * n + j] = room[j * n + j] - r.tangent * other, room[k * n + k] = room[k * n + k] + r.tangent * other;
        room[j * n + k] = room[k * n + j] = select(needed, V(T(0)), other);
        turned = true;
      }
  }
  for (extent j = 0; j < n; ++j) w[j] = room[j * n + j];
  for (extent j = 0; j < n; ++j) {
    for (extent k = j + 1; k < n; ++k) {
      const auto less = w[k] < w[j];
      if (!any(less)) continue;
      exchange(w[j], w[k], less);
      for (extent i = 0; i < n; ++i) exchange(v[i * n + j], v[i * n + k], less);
    }
    choose_sign<T>(v, n, n, j);
  }
  for (extent i = 0; i < n; ++i) w[i] = select(finite, w[i], V(T(NAN)));
  for (extent i = 0; i < n * n; ++i) v[i] = select(finite, v[i], V(T(NAN)));
}

/// Column j of u [m, n], where asked for: the unit vector that is the farthest from the space of the columns before it, made orthogonal to them.
COTANGENT_LANES template <class T, class V, class Rows, class Columns, class Mask> COTANGENT_HD void complete_basis(V* u, Rows m, Columns n, extent j, Mask where) {
  V farthest = V(T(0)), least = V(T(2));
  for (extent i = 0; i < m; ++i) {
    V squares = V(T(0));
    for (extent k = 0; k < j; ++k) squares = squares + u[i * n + k] * u[i * n + k];
    const auto less = squares < least;
    least = select(less, squares, least), farthest = select(less, V(T(i)), farthest);
  }
  for (extent i = 0; i < m; ++i) u[i * n + j] = select(where, select(farthest == V(T(i)), V(T(1)), V(T(0))), u[i * n + j]);
  for (int round = 0; round < 2; ++round) {
    for (extent k = 0; k < j; ++k) {
      V sum = V(T(0));
      for (extent i = 0; i < m; ++i) sum = sum + u[i * n + k] * u[i * n + j];
      sum = select(where, sum, V(T(0)));
      for (extent i = 0; i < m; ++i) u[i * n + j] = u[i * n + j] - sum * u[i * n + k];
    }
    V squares = V(T(0));
    for (extent i = 0; i < m; ++i) squares = squares + u[i * n + j] * u[i * n + j];
    const V length = select(where, sqrt(squares), V(T(1)));
    for (extent i = 0; i < m; ++i) u[i * n + j] = u[i * n + j] / length;
  }
}
/// U [m, n], s, descending, and V [n, n] of a [m, n], m >= n, by one-sided Jacobi rotations (M. Hestenes, "Inversion of matrices by
/// biorthogonalization and related results", 1958). NaN for what is not finite.
COTANGENT_LANES template <class T, class V, class Rows, class Columns> COTANGENT_HD void svd(const V* a, V* u, V* s, V* v, Rows m, Columns n) {
  const auto finite = all_finite<T>(a, m * n);
  for (extent i = 0; i < m * n; ++i) u[i] = select(finite, a[i], V(T(0)));
  for (extent i = 0; i < n * n; ++i) v[i] = V(T(i / n == i % n));
  const V small = V(negligible_cosine<T>(m));
  bool turned = true;
  for (int sweep = 0; sweep < most_sweeps && turned; ++sweep) {
    turned = false;
    for (extent j = 0; j < n; ++j)
      for (extent k = j + 1; k < n; ++k) {
        V first = V(T(0)), other = first, last = first;
        for (extent i = 0; i < m; ++i) {
          const V x = u[i * n + j], y = u[i * n + k];
          first = first + x * x, other = other + x * y, last = last + y * y;
        }
        const auto needed = abs(other) > small * sqrt(first * last);
        if (!any(needed)) continue;
        const auto r = rotation<V>::of(T(), first, other, last, needed);
        for (extent i = 0; i < m; ++i) r.turn(u[i * n + j], u[i * n + k]);
        for (extent i = 0; i < n; ++i) r.turn(v[i * n + j], v[i * n + k]);
        turned = true;
      }
  }
  for (extent j = 0; j < n; ++j) {
    V squares = V(T(0));
    for (extent i = 0; i < m; ++i) squares = squares + u[i * n + j] * u[i * n + j];
    s[j] = sqrt(squares);
  }
  for (extent j = 0; j < n; ++j) {
    for (extent k = j + 1; k < n; ++k) {
      const auto greater = s[k] > s[j];
      if (!any(greater)) continue;
      exchange(s[j], s[k], greater);
      for (extent i = 0; i < m; ++i) exchange(u[i * n + j], u[i * n + k], greater);
      for (extent i = 0; i < n; ++i) exchange(v[i * n + j], v[i * n + k], greater);
    }
    const auto zero = s[j] == V(T(0));
    const V divisor = select(zero, V(T(1)), s[j]);
    for (extent i = 0; i < m; ++i) u[i * n + j] = u[i * n + j] / divisor;
    if (any(zero)) complete_basis<T>(u, m, n, j, zero);
    choose_sign<T>(v, n, n, j, u, m);
  }
  for (extent i = 0; i < m * n; ++i) u[i] = select(finite, u[i], V(T(NAN)));
  for (extent i = 0; i < n; ++i) s[i] = select(finite, s[i], V(T(NAN)));
  for (extent i = 0; i < n * n; ++i) v[i] = select(finite, v[i], V(T(NAN)));
}

}  // namespace cotangent::small_matrix
