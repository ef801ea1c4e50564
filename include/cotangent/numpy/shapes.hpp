#pragma once
/// NumPy's functions that move elements: axes, stacks, diagonals, grids.

#include <algorithm>
#include <tuple>
#include <utility>

#include <cotangent/trace/operations.hpp>

namespace cotangent {

/// The axes of x with those of `from` at the places `to`, the others in order.
struct move_axes_function {
  shape from, to;
  constexpr value operator()(value x) const {
    shape source, target, order;
    for (extent a : from) source.push_back(checked_axis(x, "moveaxis", a, x.rank()));
    for (extent a : to) target.push_back(checked_axis(x, "moveaxis", a, x.rank()));
    if (x.b->failed()) return x;
    for (int i = 0, next = 0; i < x.rank(); ++i) {
      int k = 0;
      while (k < target.rank && target[k] != i) ++k;
      if (k < target.rank) order.push_back(source[k]);
      else {
        while (source.contains(next)) ++next;
        order.push_back(next++);
      }
    }
    return transpose(x, order);
  }
};
/// x with axis From at place To, the others in order. JAX: jnp.moveaxis.
template <extent From, extent To, tensor X> constexpr auto moveaxis(const X& x) { return apply<move_axes_function{{From}, {To}}>(x); }
template <tensor X, extent... From, extent... To> constexpr auto moveaxis(const X& x, axis_tag<From...>, axis_tag<To...>) {
  static_assert(sizeof...(From) == sizeof...(To), "moveaxis: as many axes as places are needed");
  return apply<move_axes_function{{From...}, {To...}}>(x);
}
struct swap_axes_function {
  extent a, b;
  constexpr value operator()(value x) const {
    const int i = checked_axis(x, "swapaxes", a, x.rank()), j = checked_axis(x, "swapaxes", b, x.rank());
    if (x.b->failed()) return x;
    shape order = axes_from(0, x.rank());
    order[i] = j, order[j] = i;
    return transpose(x, order);
  }
};
/// x with two axes exchanged.
template <extent A, extent B, tensor X> constexpr auto swapaxes(const X& x) { return apply<swap_axes_function{A, B}>(x); }
/// Matrices [..., m, n] transposed.
template <tensor X> constexpr auto matrix_transpose(const X& x) { return swapaxes<-1, -2>(x); }
template <extent... Axes, tensor X> constexpr auto permute_dims(const X& x) { return transpose<Axes...>(x); }

/// Rows flipped, of matrices.
template <tensor X> constexpr auto flipud(const X& x) { return flip<0>(x); }
template <tensor X> constexpr auto fliplr(const X& x) { return flip<1>(x); }
/// Turned by 90 degrees K times, from the first axis towards the second.
template <int K = 1, tensor X> constexpr auto rot90(const X& x) {
  constexpr int k = (K % 4 + 4) % 4;
  if constexpr (k == 0) return flip<0>(flip<0>(x));
  else if constexpr (k == 1) return flip<0>(swapaxes<0, 1>(x));
  else if constexpr (k == 2) return flip<0, 1>(x);
  else return swapaxes<0, 1>(flip<0>(x));
}

/// Vectors as rows, other arrays as they are, with at least `Rank` axes: new ones in front, for dstack the third behind.
struct at_least_function {
  int rank;
  bool behind = false;
  constexpr value operator()(value x) const {
    shape dims = x.dims();
    if (rank == 3 && dims.rank < 2) dims = insert(dims, 0, 1);
    while (dims.rank < rank) dims = insert(dims, behind && dims.rank == 2 ? 2 : 0, 1);
    return dims.rank == x.rank() ? x : reshape(x, dims);
  }
};
template <int Axis, int Rank> struct stack_function {
  template <class... V> constexpr value operator()(V... v) const {
    const int axis = Axis == 1 && (... && (v.rank() < 2)) ? 0 : Axis;
    return concatenate_function{axis}(at_least_function{Rank, true}(v)...);
  }
};
/// Arrays below each other: vectors count as rows. JAX: jnp.vstack.
template <class... X> constexpr auto vstack(const X&... x) { return apply_mixed<stack_function<0, 2>{}>(x...); }
/// Arrays beside each other: vectors one behind the other. JAX: jnp.hstack.
template <class... X> constexpr auto hstack(const X&... x) { return apply_mixed<stack_function<1, 1>{}>(x...); }
/// Arrays along a third axis. JAX: jnp.dstack.
template <class... X> constexpr auto dstack(const X&... x) { return apply_mixed<stack_function<2, 3>{}>(x...); }

template <int K> struct broadcast_array_function {
  template <class... V> constexpr value operator()(V... v) const {
    sequence<value> all{v...};
    for (std::size_t pass = 0; pass < 2; ++pass)
      for (value& x : all) adopt_pair(all[0], x);
    value widest = all[0];
    for (value x : all) {
      const shape dims = broadcast_shape("broadcast_arrays", widest, x);
      if (widest.b->failed()) return all[0];
      widest = broadcast_to(widest, dims);
    }
    return broadcast_to(all[std::size_t(K)], widest.dims());
  }
};
/// Arrays of the shape that they broadcast to, as a tuple. JAX: jnp.broadcast_arrays.
template <tensor... X> constexpr auto broadcast_arrays(const X&... x) {
  return [&]<int... K>(std::integer_sequence<int, K...>) { return std::tuple(apply_mixed<broadcast_array_function<K>{}>(x...)...); }(std::make_integer_sequence<int, int(sizeof...(X))>{});
}

template <int Axis, bool Exchanged> struct grid_function {
  template <class... V> constexpr value operator()(V... v) const {
    value all[] = {v...};
    shape dims;
    for (value x : all) {
      if (x.rank() != 1) x.b->fail(message{} << "meshgrid: vectors are needed, got " << x.dims());
      if (x.b->failed()) return x;
      dims.push_back(x.dims()[0]);
    }
    int axis = Axis;
    if (Exchanged && dims.rank > 1) {
      std::swap(dims[0], dims[1]);
      if (axis < 2) axis = 1 - axis;
    }
    return broadcast_in_dim(all[Axis], dims, {axis});
  }
};
struct ij_tag {};
/// Asks meshgrid for the axes in the order of the vectors.
inline constexpr ij_tag ij{};
template <bool Exchanged, class... X> constexpr auto grids(const X&... x) {
  return [&]<int... K>(std::integer_sequence<int, K...>) {
    return std::tuple(apply_mixed<grid_function<K, Exchanged>{}>(x...)...);
  }(std::make_integer_sequence<int, int(sizeof...(X))>{});
}
/// The grid of two or more vectors: for each an array that has its elements along its axis. As in NumPy the first two axes are exchanged: of
/// x [m] and y [n] both are [n, m]; meshgrid(ct::ij, x, y) gives [m, n].
template <tensor... X> constexpr auto meshgrid(const X&... x) { return grids<true>(x...); }
template <tensor... X> constexpr auto meshgrid(ij_tag, const X&... x) { return grids<false>(x...); }

struct diagonal_matrix_function {
  extent k;
  constexpr value operator()(value x) const {
    if (x.rank() != 1) x.b->fail(message{} << "diag: a vector or a matrix is needed, got " << x.dims());
    if (!x.b->failed() && is_symbol(x.dims()[0]) && k != 0) x.b->fail(message{} << "diag: of a run-time extent only the main diagonal");
    if (x.b->failed()) return x;
    const extent n = x.dims()[0], size = k == 0 ? n : n + (k < 0 ? -k : k);
    const value wide = k == 0 ? x : pad(x, constant(*x.b, x.type(), {}, 0), {k > 0 ? k : 0}, {k < 0 ? -k : 0}, {0});  // by columns
    const value i = iota(*x.b, dtype::int32, {size, size}, 0), j = iota(*x.b, dtype::int32, {size, size}, 1);
    const value all = broadcast_in_dim(wide, {size, size}, {1});
    return select(eq(k == 0 ? i : i + constant(*x.b, dtype::int32, {size, size}, double(k)), j), all, zeros_like(all));
  }
};
/// The elements (i, i + K) of matrices [..., m, n] along a last axis. JAX: jnp.diagonal.
template <extent K = 0, tensor X> constexpr auto diagonal(const X& x) { return apply<diagonal_function{K}>(x); }
/// The square matrix with a vector on its diagonal K, or a matrix's diagonal K. JAX: jnp.diag.
template <extent K = 0, tensor X> constexpr auto diag(const X& x) {
  if constexpr (X::rank() == 2) return diagonal<K>(x);
  else return apply<diagonal_matrix_function{K}>(x);
}
struct unit_matrices_function {
  constexpr value operator()(value x) const {
    if (x.rank() < 2 || !x.b->symbols.unify("eye_like", x.dims()[x.rank() - 2], x.dims()[x.rank() - 1])) {
      x.b->fail(message{} << "eye_like: square matrices are needed, got " << x.dims());
      return x;
    }
    return convert(eq(iota(*x.b, dtype::int32, x.dims(), x.rank() - 2), iota(*x.b, dtype::int32, x.dims(), x.rank() - 1)), x.type());
  }
};
/// Unit matrices of x's shape [..., n, n] and dtype.
template <tensor X> constexpr auto eye_like(const X& x) { return apply<unit_matrices_function{}>(x); }
/// The sum of the diagonal of matrices [..., m, n].
template <extent K = 0, tensor X> constexpr auto trace(const X& x) { return sum(diagonal<K>(x), axis<-1>); }

}  // namespace cotangent
