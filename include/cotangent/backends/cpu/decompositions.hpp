#pragma once
/// Orthogonal decompositions and determinants on the CPU: matrices side by side on threads, small ones by loops, larger ones by Eigen.

#include <cotangent/backends/cpu/factorizations.hpp>
#include <cotangent/backends/cpu/scratch.hpp>

namespace cotangent::host {

/// As Eigen's decompositions, which take longest to compile, are wanted of one kind only.
template <class T> using column_matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

/// How many matrices an array has.
inline extent matrices_in(const shape& dims) {
  extent number = 1;
  for (int i = 0; i + 2 < dims.rank; ++i) number *= dims[i];
  return number;
}

template <> struct opaque<qr_p> {
  template <class T> static void run(const array_ref* operands, const array_ref& result, const extent*) {
    const extent m = result.dims[result.dims.rank - 2], n = result.dims[result.dims.rank - 1];
    for_each_matrix(matrices_in(operands[0].dims), 4 * m * n * n, [&](extent i) {
      const T* const a = static_cast<const T*>(operands[0].data) + i * m * n;
      T *const q = static_cast<T*>(result.data) + 2 * i * m * n, *const r = q + m * n;
      if (m * n <= small_order * small_order) return small_matrix::qr(a, q, r, m, n);
      const Eigen::HouseholderQR<column_matrix<T>> decomposition(const_matrix_map<T>(a, m, n));
      matrix_map<T>(q, m, n) = decomposition.householderQ() * column_matrix<T>::Identity(m, n);
      matrix_map<T>(r, m, n) = decomposition.matrixQR();
      small_matrix::finish_qr(q, r, m, n);
    });
  }
};

template <> struct opaque<eigh_p> {
  template <class T> static void run(const array_ref* operands, const array_ref& result, const extent*) {
    const extent n = result.dims[result.dims.rank - 1];
    for_each_matrix(matrices_in(operands[0].dims), 20 * n * n * n, [&](extent i) {
      const T* const a = static_cast<const T*>(operands[0].data) + i * n * n;
      T *const w = static_cast<T*>(result.data) + i * (n + 1) * n, *const v = w + n;
      if (n <= small_order) {
        const scratch room(std::size_t(n * n) * sizeof(T));
        return small_matrix::eigh(a, w, v, n, reinterpret_cast<T*>(room.data()));
      }
      if (!small_matrix::all_finite(a, n * n)) return small_matrix::fill(w, (n + 1) * n, T(NAN));
      const Eigen::SelfAdjointEigenSolver<column_matrix<T>> solver(const_matrix_map<T>(a, n, n));
      if (solver.info() != Eigen::Success) return small_matrix::fill(w, (n + 1) * n, T(NAN));
      std::copy_n(solver.eigenvalues().data(), n, w);
      matrix_map<T>(v, n, n) = solver.eigenvectors();
      for (extent j = 0; j < n; ++j) small_matrix::choose_sign(v, n, n, j);
    });
  }
};

template <> struct opaque<svd_p> {
  template <class T> static void run(const array_ref* operands, const array_ref& result, const extent*) {
    const extent m = result.dims[result.dims.rank - 2], n = result.dims[result.dims.rank - 1];
    for_each_matrix(matrices_in(operands[0].dims), 20 * m * n * n, [&](extent i) {
      const T* const a = static_cast<const T*>(operands[0].data) + i * m * n;
      T *const u = static_cast<T*>(result.data) + 3 * i * m * n, *const s = u + m * n, *const v = s + m * n;
      std::fill_n(s, 2 * m * n, T(0));
      if (m * n <= small_order * small_order || !small_matrix::all_finite(a, m * n)) return small_matrix::svd(a, u, s, v, m, n);
      const Eigen::HouseholderQR<column_matrix<T>> qr(const_matrix_map<T>(a, m, n));
      const column_matrix<T> r = qr.matrixQR().topRows(n).template triangularView<Eigen::Upper>();
      const Eigen::JacobiSVD<column_matrix<T>, Eigen::NoQRPreconditioner> decomposition(r, Eigen::ComputeFullU | Eigen::ComputeFullV);
      column_matrix<T> left = column_matrix<T>::Zero(m, n);
      left.topRows(n) = decomposition.matrixU();
      matrix_map<T>(u, m, n) = qr.householderQ() * left;
      std::copy_n(decomposition.singularValues().data(), n, s);
      matrix_map<T>(v, n, n) = decomposition.matrixV();
      for (extent j = 0; j < n; ++j) small_matrix::choose_sign(v, n, n, j, u, m);
    });
  }
};

template <> struct opaque<determinant_p> {
  template <class T> static void run(const array_ref* operands, const array_ref& result, const extent* attributes) {
    const extent n = operands[0].dims[operands[0].dims.rank - 1];
    for_each_matrix(result.dims.size(), n, [&](extent i) {
      static_cast<T*>(result.data)[i] = small_matrix::determinant(static_cast<const T*>(operands[1].data) + i * (n + 1) * n, n, attributes[0] != 0);
    });
  }
};

template <> struct opaque<adjugate_p> {
  template <class T> static void run(const array_ref* operands, const array_ref& result, const extent*) {
    const extent n = result.dims[result.dims.rank - 1];
    for_each_matrix(result.dims, [&](extent i) {
      small_matrix::adjugate(static_cast<const T*>(operands[1].data) + i * (n + 1) * n, static_cast<T*>(result.data) + i * n * n, n);
    });
  }
};

}  // namespace cotangent::host
