#pragma once
/// Orthogonal decompositions and determinants on the CPU: matrices side by side on threads, small ones in lanes, larger ones
/// by Eigen, singular values by rotations of whole rows.

#include <cotangent/backends/cpu/factorizations.hpp>
#include <cotangent/backends/cpu/packets.hpp>
#include <cotangent/backends/cpu/reductions.hpp>
#include <cotangent/backends/cpu/scratch.hpp>

namespace cotangent::host {

/// As Eigen's decompositions, which take longest to compile, are wanted of one kind only.
template <class T> using column_matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

/// Whether matrices are decomposed one in each lane of vectors, and not one by one by Eigen.
template <class T> bool by_lanes(extent order, extent matrices) {
  constexpr extent tiny = 4;
  return order <= small_order && (order <= tiny || 2 * matrices >= native_lanes<T>);
}
/// Decomposes matrices of `elements` numbers into `results` numbers each, in lanes: f(a, results, room, extents...), `room` for as many as a has.
template <class T, class F, class... Extents>
void decompose_lanes(const T* a, T* to, extent matrices, extent elements, extent results, extent flops, const F& f, Extents... extents) {
  constexpr int lanes = native_lanes<T>;
  using V = pack<T, lanes>;
  for_each_matrix(divide_up(matrices, extent(lanes)), flops, [&](extent i) {
    const extent first = i * lanes, count = smaller(lanes, matrices - first);
    const scratch memory(std::size_t((2 * elements + results) * lanes) * sizeof(T));
    T *const given = reinterpret_cast<T*>(memory.data()), *const found = given + elements * lanes, *const room = found + results * lanes;
    instance_block<lanes, T>::rows_to_lanes(a + first * elements, elements, count, given);
    f(reinterpret_cast<const V*>(given), reinterpret_cast<V*>(found), reinterpret_cast<V*>(room), extents...);
    instance_block<lanes, T>::lanes_to_rows(found, results, count, to + first * results, false);
  });
}

/// Whether one matrix of known extents is decomposed by itself, by loops over what the compiler knows.
constexpr bool by_itself(extent rows, extent columns, extent most) { return columns > 0 && rows > 0 && rows <= most; }
/// One matrix of `Elements` numbers as decompose_lanes does many, in packs of one lane: the last bits are the same.
template <extent Elements, class T, class F, class... Extents> void decompose_one(const T* a, T* to, const F& f, Extents... extents) {
  using V = pack<T, 1>;
  V room[Elements];
  f(reinterpret_cast<const V*>(a), reinterpret_cast<V*>(to), room, extents...);
}

template <> struct opaque<qr_p> {
  template <class T, extent Rows = not_known, extent Columns = not_known> static void run(const array_ref* operands, const array_ref& result, const extent*) {
    const extent m = result.dims[result.dims.rank - 2], n = result.dims[result.dims.rank - 1], matrices = small_matrix::matrices_in(operands[0].dims), flops = 4 * m * n * n;
    const T* const a = static_cast<const T*>(operands[0].data);
    T* const to = static_cast<T*>(result.data);
    const auto decompose = [](const auto* x, auto* q, auto*, auto rows, auto columns) { small_matrix::qr<T>(x, q, q + rows * columns, rows, columns); };
    if constexpr (by_itself(Rows, Columns, 16))
      if (matrices == 1) return decompose_one<Rows * Columns>(a, to, decompose, known_or<Rows>(m), known_or<Columns>(n));
    if (by_lanes<T>(m, matrices)) return decompose_lanes(a, to, matrices, m * n, 2 * m * n, flops, decompose, m, n);
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
  template <class T, extent = not_known, extent Order = not_known> static void run(const array_ref* operands, const array_ref& result, const extent*) {
    const extent n = result.dims[result.dims.rank - 1], matrices = small_matrix::matrices_in(operands[0].dims), flops = 20 * n * n * n;
    const T* const a = static_cast<const T*>(operands[0].data);
    T* const to = static_cast<T*>(result.data);
    const auto decompose = [](const auto* x, auto* w, auto* room, auto order) { small_matrix::eigh<T>(x, w, w + order, order, room); };
    if constexpr (by_itself(Order, Order, 6))
      if (matrices == 1) return decompose_one<Order * Order>(a, to, decompose, known_or<Order>(n));
    if (by_lanes<T>(n, matrices)) return decompose_lanes(a, to, matrices, n * n, (n + 1) * n, flops, decompose, n);
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

/// Makes n rows of x, of `vectors` vectors each, orthogonal by Jacobi's rotations, which v's rows take too.
template <class T, class V> void orthogonalize_rows(V* x, V* v, extent n, extent vectors) {
  const auto product = [vectors](const V* a, const V* b) {
    V even = V(T(0)), odd = even;
    extent k = 0;
    for (; k + 2 <= vectors; k += 2) even = fma(a[k], b[k], even), odd = fma(a[k + 1], b[k + 1], odd);
    if (k < vectors) even = fma(a[k], b[k], even);
    return fold_lanes<reduce_sum_p, T>(even + odd);
  };
  const scratch memory(std::size_t(n) * sizeof(T));
  T* const squares = reinterpret_cast<T*>(memory.data());
  bool turned = true;
  for (int sweep = 0; sweep < small_matrix::most_sweeps && turned; ++sweep) {
    turned = false;
    for (extent j = 0; j < n; ++j) squares[j] = product(x + j * vectors, x + j * vectors);
    for (extent j = 0; j < n; ++j)
      for (extent k = j + 1; k < n; ++k) {
        const T other = product(x + j * vectors, x + k * vectors);
        if (!(std::fabs(other) > small_matrix::negligible_cosine<T>(n) * std::sqrt(squares[j] * squares[k]))) continue;
        const auto r = small_matrix::rotation<T>::of(T(), squares[j], other, squares[k], true);
        squares[j] -= r.tangent * other, squares[k] += r.tangent * other;
        const small_matrix::rotation<V> of_vectors{V(r.tangent), V(r.cosine), V(r.sine)};
        for (V* rows : {x, v})
          for (extent i = 0; i < vectors; ++i) of_vectors.turn(rows[j * vectors + i], rows[k * vectors + i]);
        turned = true;
      }
  }
}
/// U, into the first n rows of `left`, s and V [n, n] of the upper triangle of r, whose rows are made orthogonal: triangles need few sweeps (Z.
/// Drmač, K. Veselić, "New fast and accurate Jacobi SVD algorithm", SIAM J. Matrix Anal. Appl. 29, 2008).
template <class T> void decompose_triangle(const column_matrix<T>& r, column_matrix<T>& left, T* s, T* v, extent n) {
  constexpr int lanes = native_lanes<T>;
  using V = pack<T, lanes>;
  const extent vectors = divide_up(n, extent(lanes)), length = vectors * lanes;
  const scratch memory(std::size_t(2 * n * length) * sizeof(T));
  T *const rows = reinterpret_cast<T*>(memory.data()), *const turned = rows + n * length;
  for (extent i = 0; i < n; ++i)
    for (extent j = 0; j < length; ++j) rows[i * length + j] = j < i || j >= n ? T(0) : r(i, j), turned[i * length + j] = T(i == j);
  orthogonalize_rows<T>(reinterpret_cast<V*>(rows), reinterpret_cast<V*>(turned), n, vectors);
  std::vector<std::pair<T, extent>> order;  // the values with minus signs
  for (extent i = 0; i < n; ++i) order.emplace_back(-const_matrix_map<T>(rows + i * length, 1, n).norm(), i);
  std::sort(order.begin(), order.end());
  for (extent j = 0; j < n; ++j) {
    const extent from = order[std::size_t(j)].second;
    s[j] = -order[std::size_t(j)].first;
    for (extent i = 0; i < n; ++i) left(i, j) = turned[from * length + i], v[i * n + j] = s[j] > 0 ? rows[from * length + i] / s[j] : T(0);
    if (s[j] == 0) small_matrix::complete_basis<T>(v, n, n, j, true);
  }
}

template <> struct opaque<svd_p> {
  template <class T, extent Rows = not_known, extent Columns = not_known> static void run(const array_ref* operands, const array_ref& result, const extent*) {
    const extent m = result.dims[result.dims.rank - 2], n = result.dims[result.dims.rank - 1], matrices = small_matrix::matrices_in(operands[0].dims), flops = 20 * m * n * n;
    const T* const a = static_cast<const T*>(operands[0].data);
    T* const to = static_cast<T*>(result.data);
    const auto decompose = []<class V>(const V* x, V* u, V*, auto rows, auto columns) {
      const extent size = rows * columns;
      small_matrix::fill(u + size, 2 * size, V(T(0)));
      small_matrix::svd<T>(x, u, u + size, u + 2 * size, rows, columns);
    };
    if constexpr (by_itself(Rows, Columns, 8))
      if (matrices == 1) return decompose_one<Rows * Columns>(a, to, decompose, known_or<Rows>(m), known_or<Columns>(n));
    if (by_lanes<T>(m, matrices)) return decompose_lanes(a, to, matrices, m * n, 3 * m * n, flops, decompose, m, n);
    for_each_matrix(matrices, flops, [&](extent i) {
      T *const u = to + 3 * i * m * n, *const s = u + m * n, *const v = s + m * n;
      small_matrix::fill(s, 2 * m * n, T(0));
      if (!small_matrix::all_finite<T>(a + i * m * n, m * n))
        return small_matrix::fill(u, m * n, T(NAN)), small_matrix::fill(s, n, T(NAN)), small_matrix::fill(v, n * n, T(NAN));
      const Eigen::HouseholderQR<column_matrix<T>> qr(const_matrix_map<T>(a + i * m * n, m, n));
      column_matrix<T> left = column_matrix<T>::Zero(m, n);
      decompose_triangle(qr.matrixQR(), left, s, v, n);
      matrix_map<T>(u, m, n) = qr.householderQ() * left;
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
