#pragma once
/// The nearest of 16,384 points to each of 2,048 queries in three dimensions: its squared distance and index (nearest.cpp), and the
/// gradient of the sum of the distances by queries and points (nearest_gradients.cpp).

#include "problems.hpp"

namespace simulation {

inline constexpr auto squared_distance = [](auto a, auto b) { return ct::sum(ct::square(a - b)); };
inline constexpr auto squared_distances = ct::vmap(ct::vmap(squared_distance, ct::in_axes<ct::none, 0>), ct::in_axes<0, ct::none>);

struct cloud {
  static constexpr int queries = 2048, points = 16384;
  ct::array<float, queries, 3> q;
  ct::array<float, points, 3> p;
  ct::array<float, queries> distances;
  ct::array<std::int32_t, queries> indices;

  cloud() { source().uniform(0, 1, q, p); }
  /// 64 queries at a time with one point after the other.
  void search() {
    in_blocks(queries, 64, [this](std::ptrdiff_t first, std::ptrdiff_t last) {
      for (std::ptrdiff_t i = first; i < last; i += 64) {
        floats at[4][3], least[4];
        ints index[4] = {};
        for (int k = 0; k < 4; ++k) {
          least[k] = floats{} + INFINITY;
          for (int l = 0; l < 16; ++l)
            for (int d = 0; d < 3; ++d) at[k][d][l] = q(i + 16 * k + l, d);
        }
        for (int j = 0; j < points; ++j) {
          const float *to = p.data() + 3 * j, x = to[0], y = to[1], z = to[2];
          const ints here = ints{} + j;
#pragma GCC unroll 4
          for (int k = 0; k < 4; ++k) {
            const floats dx = at[k][0] - x, dy = at[k][1] - y, dz = at[k][2] - z, d = dx * dx + dy * dy + dz * dz;
            index[k] = d < least[k] ? here : index[k], least[k] = d < least[k] ? d : least[k];
          }
        }
        for (int k = 0; k < 4; ++k) store(distances.data() + i + 16 * k, least[k]), store(indices.data() + i + 16 * k, index[k]);
      }
    });
  }
};
/// The least that a search computes.
inline constexpr bound search_of_cloud{.float_operations = 9.0 * cloud::queries * cloud::points};

}  // namespace simulation
