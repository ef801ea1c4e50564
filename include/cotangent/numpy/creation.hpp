#pragma once
/// Arrays of numbers known while compiling, besides those of core/array.hpp.

#include <cotangent/numpy/elementwise.hpp>

namespace cotangent {

template <class T, extent N> constexpr auto identity() { return eye<T, N>(); }
/// N numbers from 10^first to 10^last whose logarithms are equally far apart.
template <class T, extent N> constexpr auto logspace(double first, double last) { return exp10(linspace<T, N>(first, last)); }
/// Ones in the elements (i, j) with j <= i + K of a matrix, and zeros. JAX: jnp.tri.
template <class T, extent N, extent M = N, int K = 0> constexpr auto tri() { return tril<K>(ones<T, N, M>()); }

}  // namespace cotangent
