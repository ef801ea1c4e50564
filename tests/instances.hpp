#pragma once
/// Arrays of instances, row by row.

#include <algorithm>
#include <cmath>
#include <random>

#include <cotangent/core/array.hpp>

namespace instances {

namespace ct = cotangent;

template <class A> A random_array(unsigned seed, typename A::value_type low = -1, typename A::value_type high = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  A a;
  for (auto& x : a) x = typename A::value_type(uniform(random));
  return a;
}

/// Row i of a batch.
template <class T, ct::extent N, ct::extent... E> ct::array<T, E...> row(const ct::array<T, N, E...>& a, ct::extent i) {
  ct::array<T, E...> r;
  const ct::extent n = r.size();
  for (ct::extent k = 0; k < n; ++k) r.data()[k] = a.data()[i * n + k];
  return r;
}

/// Whether row i of `all` is `one`, up to the order of summation.
template <class T, ct::extent N, ct::extent... E> double row_error(const ct::array<T, N, E...>& all, ct::extent i, const ct::array<T, E...>& one) {
  const auto part = row(all, i);
  double error = 0, scale = 1;
  for (ct::extent k = 0; k < one.size(); ++k) {
    scale = std::max(scale, std::abs(double(one.data()[k])));
    error = std::max(error, std::abs(double(part.data()[k]) - double(one.data()[k])));
  }
  return error / scale;
}

}  // namespace instances
