#pragma once
/// First weights of networks, in the names and conventions of jax.nn.initializers: functions of a key (random/random.hpp) for arrays of
/// shape E...; the last two axes are those of inputs and outputs, those in front a receptive field. T is float or double.

#include <cotangent/linalg/linalg.hpp>
#include <cotangent/nn/nn.hpp>
#include <cotangent/numpy/elementwise.hpp>
#include <cotangent/random/random.hpp>

namespace cotangent::nn::initializers {

enum class fan { in, out, average };

/// How many inputs, outputs, or the mean of both, a weight of an array of these extents has.
template <fan Fan, extent... E> constexpr double fan_of() {
  static_assert(sizeof...(E) >= 2, "initializers: a matrix of inputs and outputs is needed, behind the axes of a receptive field");
  constexpr shape dims{E...};
  double field = 1;
  for (int i = 0; i + 2 < dims.rank; ++i) field *= double(dims[i]);
  const double in = field * double(dims[dims.rank - 2]), out = field * double(dims[dims.rank - 1]);
  return Fan == fan::in ? in : Fan == fan::out ? out : (in + out) / 2;
}
/// Normally distributed of a standard deviation.
template <class T = float, extent... E, tensor K> constexpr auto normal(const K& key, double deviation = 0.01) { return random::normal<T, E...>(key) * T(deviation); }
/// The same of within two standard deviations, before they are scaled.
template <class T = float, extent... E, tensor K> constexpr auto truncated_normal(const K& key, double deviation = 0.01) {
  return random::truncated_normal<T, E...>(key, -2, 2) * T(deviation);
}
/// In [0, scale).
template <class T = float, extent... E, tensor K> constexpr auto uniform(const K& key, double scale = 0.01) { return random::uniform<T, E...>(key) * T(scale); }

/// Of variance scale / fan. Normal ones are truncated at two standard deviations, whose variance that leaves as asked for.
template <fan Fan, class T = float, extent... E, tensor K> constexpr auto scaled_normal(const K& key, double scale) {
  constexpr double deviation_of_truncated = 0.87962566103423978;
  return truncated_normal<T, E...>(key, root_of(scale / fan_of<Fan, E...>()) / deviation_of_truncated);
}
template <fan Fan, class T = float, extent... E, tensor K> constexpr auto scaled_uniform(const K& key, double scale) {
  const double bound = root_of(3 * scale / fan_of<Fan, E...>());
  return random::uniform<T, E...>(key, -1, 1) * T(bound);
}

/// Of variance 1 / inputs (Y. LeCun, L. Bottou, G. Orr and K.-R. Mueller, "Efficient backprop", 1998).
template <class T = float, extent... E, tensor K> constexpr auto lecun_normal(const K& key) { return scaled_normal<fan::in, T, E...>(key, 1); }
template <class T = float, extent... E, tensor K> constexpr auto lecun_uniform(const K& key) { return scaled_uniform<fan::in, T, E...>(key, 1); }
/// Of variance 2 / (inputs + outputs), also called Xavier's (X. Glorot and Y. Bengio, "Understanding the difficulty of training deep
/// feedforward neural networks", 2010).
template <class T = float, extent... E, tensor K> constexpr auto glorot_normal(const K& key) { return scaled_normal<fan::average, T, E...>(key, 1); }
template <class T = float, extent... E, tensor K> constexpr auto glorot_uniform(const K& key) { return scaled_uniform<fan::average, T, E...>(key, 1); }
/// Of variance 2 / inputs, for rectified units (K. He, X. Zhang, S. Ren and J. Sun, "Delving deep into rectifiers", 2015).
template <class T = float, extent... E, tensor K> constexpr auto he_normal(const K& key) { return scaled_normal<fan::in, T, E...>(key, 2); }
template <class T = float, extent... E, tensor K> constexpr auto he_uniform(const K& key) { return scaled_uniform<fan::in, T, E...>(key, 2); }

/// A matrix with orthonormal columns, or rows if there are more columns, times `scale`: of all such ones none is more likely. Axes in front of the
/// last count as rows (A. Saxe, J. McClelland and S. Ganguli, "Exact solutions to the nonlinear dynamics of learning in deep linear neural networks", 2014).
template <class T = float, extent... E, tensor K> constexpr auto orthogonal(const K& key, double scale = 1) {
  constexpr shape dims{E...};
  static_assert(dims.rank >= 2, "initializers: orthogonal needs a matrix of inputs and outputs, behind the axes of a receptive field");
  constexpr extent columns = dims[dims.rank - 1], rows = dims.size() / columns, more = rows > columns ? rows : columns, fewer = rows > columns ? columns : rows;
  return composed([](auto k, auto s) {
    const auto q = std::get<0>(linalg::qr(random::normal<T, more, fewer>(k)));
    if constexpr (rows < columns) return s * reshape<E...>(transpose(q));
    else return s * reshape<E...>(q);
  }, key, T(scale));
}

}  // namespace cotangent::nn::initializers
