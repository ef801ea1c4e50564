#pragma once
/// Factorizations on the CPU: matrices side by side on threads, small ones by loops, larger ones by Eigen.

#include <algorithm>
#include <utility>
#include <vector>

#include <cotangent/backends/cpu/eigen.hpp>
#include <cotangent/backends/cpu/opaque.hpp>
#include <cotangent/backends/factorizations.hpp>

namespace cotangent::host {

template <class T> using matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T> using matrix_map = Eigen::Map<matrix<T>>;
template <class T> using const_matrix_map = Eigen::Map<const matrix<T>>;
/// Up to this order loops are faster than what begins a blocked algorithm.
inline constexpr extent small_order = 24;
/// What a factorization is instantiated for: extents of small matrices, where they are known.
inline constexpr extent not_known = -1;
constexpr extent known_extent(const shape& dims, int axis) { return axis >= 0 && dims[axis] <= small_order ? dims[axis] : not_known; }
template <extent N> constexpr auto known_or([[maybe_unused]] extent n) {
  if constexpr (N == not_known) return n;
  else return std::integral_constant<extent, N>();
}

/// Calls f(number of the matrix) for each of some matrices, which take so many operations each.
template <class F> void for_each_matrix(extent number, extent flops, const F& f) {
  if (number == 1) return f(0);
  constexpr extent task_flops = 1 << 16;
  const extent together = divide_up(task_flops, flops > 0 ? flops : 1);
  parallel_for(divide_up(number, together), [&](extent t) {
    for (extent i = t * together; i < smaller((t + 1) * together, number); ++i) f(i);
  });
}
/// The same for each matrix of the result.
template <class F> void for_each_matrix(const shape& dims, const F& f) {
  const extent rows = dims[dims.rank - 2], columns = dims[dims.rank - 1];
  if (rows > 0 && columns > 0) for_each_matrix(small_matrix::matrices_in(dims), rows * rows * columns, f);
}

template <class T> void solve_large_triangular(const T* a, T* x, extent n, extent m, bool lower, bool transposed, bool unit_diagonal) {
  const const_matrix_map<T> triangles(a, n, n);
  matrix_map<T> rows(x, n, m);
  const auto solve = [&](const auto& view) {
    if (transposed) view.transpose().solveInPlace(rows);
    else view.solveInPlace(rows);
  };
  if (unit_diagonal) lower ? solve(triangles.template triangularView<Eigen::UnitLower>()) : solve(triangles.template triangularView<Eigen::UnitUpper>());
  else lower ? solve(triangles.template triangularView<Eigen::Lower>()) : solve(triangles.template triangularView<Eigen::Upper>());
}
template <class T, class Order, class Columns> void solve_triangular(const T* a, T* x, Order n, Columns m, bool lower, bool transposed, bool unit_diagonal) {
  if constexpr (std::is_same_v<Order, extent>)
    if (n > small_order) return solve_large_triangular(a, x, n, m, lower, transposed, unit_diagonal);
  small_matrix::solve_triangular(a, x, n, m, lower, transposed, unit_diagonal);
}

/// Factorizations of small matrices of known extents: run<T, Rows, Columns>(...), by the last two of the result.
template <> struct opaque<cholesky_p> {
  template <class T, extent = not_known, extent Order = not_known> static void run(const array_ref* operands, const array_ref& result, const extent*) {
    const auto n = known_or<Order>(result.dims[result.dims.rank - 1]);
    for_each_matrix(result.dims, [&](extent i) {
      const T* const a = static_cast<const T*>(operands[0].data) + i * n * n;
      T* const l = static_cast<T*>(result.data) + i * n * n;
      if constexpr (Order == not_known)
        if (n > small_order) return factor_large(a, l, n);
      small_matrix::cholesky(a, l, n);
    });
  }

 private:
  template <class T> static void factor_large(const T* a, T* l, extent n) {
    matrix_map<T> factor(l, n, n);
    factor = const_matrix_map<T>(a, n, n);
    const Eigen::LLT<Eigen::Ref<matrix<T>>> in_place(factor);
    const bool positive = in_place.info() == Eigen::Success;
    for (extent r = 0; r < n; ++r)
      for (extent c = positive ? r + 1 : 0; c < n; ++c) l[r * n + c] = c > r ? T(0) : T(NAN);
  }
};

template <> struct opaque<cholesky_pullback_p> {
  template <class T, extent = not_known, extent Order = not_known> static void run(const array_ref* operands, const array_ref& result, const extent*) {
    const auto n = known_or<Order>(result.dims[result.dims.rank - 1]);
    for_each_matrix(result.dims, [&](extent i) {
      const auto matrix = [&](const array_ref& x) { return static_cast<T*>(x.data) + i * n * n; };
      small_matrix::cholesky_pullback<T>(matrix(operands[0]), matrix(operands[1]), matrix(result), n);
    });
  }
};

template <> struct opaque<triangular_solve_p> {
  template <class T, extent Rows = not_known, extent Columns = not_known> static void run(const array_ref* operands, const array_ref& result, const extent* attributes) {
    const auto n = known_or<Rows>(result.dims[result.dims.rank - 2]);
    const auto m = known_or<Columns>(result.dims[result.dims.rank - 1]);
    for_each_matrix(result.dims, [&](extent i) {
      T* const x = static_cast<T*>(result.data) + i * n * m;
      std::copy_n(static_cast<const T*>(operands[1].data) + i * n * m, n * m, x);
      solve_triangular(static_cast<const T*>(operands[0].data) + i * n * n, x, n, m, attributes[0] != 0, attributes[1] != 0, attributes[2] != 0);
    });
  }
};

template <> struct opaque<lu_p> {
  template <class T, extent = not_known, extent Order = not_known> static void run(const array_ref* operands, const array_ref& result, const extent*) {
    const auto n = known_or<Order>(result.dims[result.dims.rank - 1]);
    for_each_matrix(result.dims, [&](extent i) {
      T *const factors = static_cast<T*>(result.data) + i * (n + 1) * n, *const pivots = factors + n * n;
      std::copy_n(static_cast<const T*>(operands[0].data) + i * n * n, n * n, factors);
      if constexpr (Order == not_known)
        if (n > small_order) return factor_large(factors, pivots, n);
      small_matrix::lu(factors, pivots, n);
    });
  }

 private:
  template <class T> static void factor_large(T* factors, T* pivots, extent n) {
    matrix_map<T> in_place(factors, n, n);
    const Eigen::PartialPivLU<Eigen::Ref<matrix<T>>> decomposition(in_place);
    find_pivots(decomposition.permutationP().indices().data(), pivots, n);
  }
  /// The exchanges, one for each row, that bring every row to where it goes.
  template <class T> static void find_pivots(const int* to, T* pivots, extent n) {
    const std::size_t rows = std::size_t(n);
    std::vector<extent> from(rows), place(rows), row(rows);
    for (extent i = 0; i < n; ++i) from[std::size_t(to[i])] = place[std::size_t(i)] = row[std::size_t(i)] = i;
    for (extent k = 0; k < n; ++k) {
      const extent wanted = from[std::size_t(k)], there = row[std::size_t(k)], p = place[std::size_t(wanted)];
      pivots[k] = T(p);
      std::swap(row[std::size_t(k)], row[std::size_t(p)]);
      place[std::size_t(there)] = p, place[std::size_t(wanted)] = k;
    }
  }
};

template <> struct opaque<inverse_p> {
  template <class T, extent = not_known, extent Order = not_known> static void run(const array_ref* operands, const array_ref& result, const extent*) {
    const auto n = known_or<Order>(result.dims[result.dims.rank - 1]);
    for_each_matrix(result.dims, [&](extent i) { small_matrix::inverse(static_cast<const T*>(operands[0].data) + i * n * n, static_cast<T*>(result.data) + i * n * n, n); });
  }
};

template <> struct opaque<lu_solve_p> {
  template <class T, extent Rows = not_known, extent Columns = not_known> static void run(const array_ref* operands, const array_ref& result, const extent* attributes) {
    const auto n = known_or<Rows>(result.dims[result.dims.rank - 2]);
    const auto m = known_or<Columns>(result.dims[result.dims.rank - 1]);
    const bool transposed = attributes[0] != 0;
    for_each_matrix(result.dims, [&](extent i) {
      const T* const factors = static_cast<const T*>(operands[1].data) + i * (n + 1) * n;
      T* const x = static_cast<T*>(result.data) + i * n * m;
      std::copy_n(static_cast<const T*>(operands[2].data) + i * n * m, n * m, x);
      if (!transposed) small_matrix::exchange_by_pivots(factors + n * n, x, n, m, false);
      solve_triangular(factors, x, n, m, !transposed, transposed, !transposed);
      solve_triangular(factors, x, n, m, transposed, transposed, transposed);
      if (transposed) small_matrix::exchange_by_pivots(factors + n * n, x, n, m, true);
    });
  }
};

}  // namespace cotangent::host
