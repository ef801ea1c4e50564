#pragma once
/// First weights of networks, in the names and conventions of jax.nn.initializers: functions of a key (random/random.hpp) for arrays of
/// shape E...; the last two axes are those of inputs and outputs, those in front a receptive field. T is float or double.

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
/// The square root, which compilers do not all know while they compile: by Newton's method.
constexpr double root_of(double x) {
  double r = x > 1 ? x : 1;
  for (double next = (r + x / r) / 2; next < r; next = (r + x / r) / 2) r = next;
  return r;
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

}  // namespace cotangent::nn::initializers
