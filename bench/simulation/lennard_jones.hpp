#pragma once
/// The potential of Lennard and Jones, 4 (r^-12 - r^-6), of two particles.

#include "problems.hpp"

namespace simulation {

/// By the square of the distance; 0 at 0, a particle with itself.
inline constexpr auto potential = [](auto squares) {
  const auto other = squares > 0;
  const auto inverse = 1.0f / ct::where(other, squares, 1.0f), sixth = inverse * inverse * inverse;
  return ct::where(other, 4.0f * (sixth * sixth - sixth), 0.0f);
};
inline constexpr auto pair_energy = [](auto a, auto b) { return potential(ct::sum(ct::square(a - b))); };


/// The first `count` points of a cubic lattice of side^3, each moved a little.
template <class Array> void place(Array& x, int side, double spacing) {
  source random;
  random.uniform(-0.1, 0.1, x);
  for (int i = 0; i < x.extent(0); ++i)
    for (int k = 0, at = i; k < 3; ++k, at /= side) x(i, k) += float(spacing * (at % side));
}

inline floats reciprocal(floats x) {
#ifdef __AVX512F__
  const auto near = floats(_mm512_rcp14_ps(__m512(x)));
  return near + near * (1.0f - x * near);
#else
  return 1.0f / x;
#endif
}
/// Adds a pair's energy / 4, and gives its force / 24 divided by the distance.
[[gnu::always_inline]] inline floats pull(floats squares, floats& energy) {
  const floats inverse = squares > 0.0f ? reciprocal(squares) : floats{}, sixth = inverse * inverse * inverse;
  energy += sixth * sixth - sixth;
  return inverse * (2.0f * sixth * sixth - sixth);
}

template <ct::extent N> using points = ct::array<float, N, 3>;

}  // namespace simulation
