#pragma once
/// Orthogonal decompositions and determinants on the CPU: matrices side by side on threads, small ones in lanes, larger ones by Eigen.

#include <cotangent/backends/cpu/factorizations.hpp>
#include <cotangent/backends/cpu/packets.hpp>
#include <cotangent/backends/cpu/scratch.hpp>

namespace cotangent::host {

/// As Eigen's decompositions, which take longest to compile, are wanted of one kind only.
template <class T> using column_matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

/// Whether matrices are decomposed one in each lane of vectors, and not one by one by Eigen.
template <class T> bool by_lanes(extent order, extent matrices) {
  constexpr extent tiny = 4;
  return order <= small_order && (order <= tiny || 2 * matrices >= native_lanes<T>);
}
/// Decomposes matrices of `elements` numbers into `results` numbers each, in lanes: f(a, results, room), `room` for as many as a has.
template <class T, class F> void decompose_lanes(const T* a, T* to, extent matrices, extent elements, extent results, extent flops, const F& f) {
  constexpr int lanes = native_lanes<T>;
  using V = pack<T, lanes>;
  for_each_matrix(divide_up(matrices, extent(lanes)), flops, [&](extent i) {
    const extent first = i * lanes, count = smaller(lanes, matrices - first);
    const scratch memory(std::size_t((2 * elements + results) * lanes) * sizeof(T));
    T *const given = reinterpret_cast<T*>(memory.data()), *const found = given + elements * lanes, *const room = found + results * lanes;
    instance_block<lanes, T>::rows_to_lanes(a + first * elements, elements, count, given);
    f(reinterpret_cast<const V*>(given), reinterpret_cast<V*>(found), reinterpret_cast<V*>(room));
    instance_block<lanes, T>::lanes_to_rows(found, results, count, to + first * results, false);
  });
}

template <> struct opaque<qr_p> {
  template <class T> static void run(const array_ref* operands, const array_ref& result, const extent*) {
    const extent m = result.dims[result.dims.rank - 2], n = result.dims[result.dims.rank - 1], matrices = small_matrix::matrices_in(operands[0].dims), flops = 4 * m * n * n;
    const T* const a = static_cast<const T*>(operands[0].data);
    T* const to = static_cast<T*>(result.data);
    if (by_lanes<T>(m, matrices))
      return decompose_lanes(a, to, matrices, m * n, 2 * m * n, flops, [&](const auto* x, auto* parts, auto*) { small_matrix::qr<T>(x, parts, parts + m * n, m, n); });
    for_each_matrix(matrices, flops, [&](extent i) {
      T *const q = to + 2 * i * m * n, *const r = q + m * n;
      const Eigen::HouseholderQR<column_matrix<T>> decomposition(const_matrix_map<T>(a + i * m * n, m, n));
      matrix_map<T>(q, m, n) = decomposition.householderQ() * column_matrix<T>::Identity(m, n);
      matrix_map<T>(r, m, n) = decomposition.matrixQR();
      small_matrix::finish_qr<T>(q, r, m, n);
    });
  }
};

template <> struct opaque<eigh_p> {
  template <class T> static void run(const array_ref* operands, const array_ref& result, const extent*) {
    const extent n = result.dims[result.dims.rank - 1], matrices = small_matrix::matrices_in(operands[0].dims), flops = 20 * n * n * n;
    const T* const a = static_cast<const T*>(operands[0].data);
    T* const to = static_cast<T*>(result.data);
    if (by_lanes<T>(n, matrices))
      return decompose_lanes(a, to, matrices, n * n, (n + 1) * n, flops, [&](const auto* x, auto* w, auto* room) { small_matrix::eigh<T>(x, w, w + n, n, room); });
    for_each_matrix(matrices, flops, [&](extent i) {
      T *const w = to + i * (n + 1) * n, *const v = w + n;
      if (!small_matrix::all_finite<T>(a + i * n * n, n * n)) return small_matrix::fill(w, (n + 1) * n, T(NAN));
      const Eigen::SelfAdjointEigenSolver<column_matrix<T>> solver(const_matrix_map<T>(a + i * n * n, n, n));
      if (solver.info() != Eigen::Success) return small_matrix::fill(w, (n + 1) * n, T(NAN));
      std::copy_n(solver.eigenvalues().data(), n, w);
      matrix_map<T>(v, n, n) = solver.eigenvectors();
      for (extent j = 0; j < n; ++j) small_matrix::choose_sign<T>(v, n, n, j);
    });
  }
};

template <> struct opaque<svd_p> {
  template <class T> static void run(const array_ref* operands, const array_ref& result, const extent*) {
    const extent m = result.dims[result.dims.rank - 2], n = result.dims[result.dims.rank - 1], matrices = small_matrix::matrices_in(operands[0].dims), flops = 20 * m * n * n;
    const T* const a = static_cast<const T*>(operands[0].data);
    T* const to = static_cast<T*>(result.data);
    if (by_lanes<T>(m, matrices))
      return decompose_lanes(a, to, matrices, m * n, 3 * m * n, flops, [&](const auto* x, auto* u, auto*) {
        small_matrix::fill(u + m * n, 2 * m * n, std::remove_cvref_t<decltype(*u)>(T(0)));
        small_matrix::svd<T>(x, u, u + m * n, u + 2 * m * n, m, n);
      });
    for_each_matrix(matrices, flops, [&](extent i) {
      T *const u = to + 3 * i * m * n, *const s = u + m * n, *const v = s + m * n;
      small_matrix::fill(s, 2 * m * n, T(0));
      if (!small_matrix::all_finite<T>(a + i * m * n, m * n))
        return small_matrix::fill(u, m * n, T(NAN)), small_matrix::fill(s, n, T(NAN)), small_matrix::fill(v, n * n, T(NAN));
      const Eigen::HouseholderQR<column_matrix<T>> qr(const_matrix_map<T>(a + i * m * n, m, n));
      const column_matrix<T> r = qr.matrixQR().topRows(n).template triangularView<Eigen::Upper>();
      const Eigen::JacobiSVD<column_matrix<T>, Eigen::NoQRPreconditioner> decomposition(r, Eigen::ComputeFullU | Eigen::ComputeFullV);
      column_matrix<T> left = column_matrix<T>::Zero(m, n);
      left.topRows(n) = decomposition.matrixU();
      matrix_map<T>(u, m, n) = qr.householderQ() * left;
      std::copy_n(decomposition.singularValues().data(), n, s);
      matrix_map<T>(v, n, n) = decomposition.matrixV();
      for (extent j = 0; j < n; ++j) small_matrix::choose_sign<T>(v, n, n, j, u, m);
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
