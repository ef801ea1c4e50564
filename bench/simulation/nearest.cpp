/// The nearest of 16,384 points to each of 2,048 queries in three dimensions: its squared distance and index, and the gradient of the
/// sum of the distances by queries and points, once through the minimum and once through the point that the index names.

#include "problems.hpp"

namespace simulation {
namespace {

constexpr auto squared_distance = [](auto a, auto b) { return ct::sum(ct::square(a - b)); };
constexpr auto squared_distances = ct::vmap(ct::vmap(squared_distance, ct::in_axes<ct::none, 0>), ct::in_axes<0, ct::none>);

constexpr auto nearest = [](auto queries, auto points) {
  const auto d = squared_distances(queries, points);
  return std::tuple(ct::min(d, ct::axis<1>), ct::argmin(d, ct::axis<1>));
};
constexpr auto eight_nearest = [](auto queries, auto points) {
  const auto [closeness, indices] = ct::top_k<8>(-squared_distances(queries, points));
  return std::tuple(-closeness, indices);
};
constexpr auto by_minimum = ct::grad([](auto queries, auto points) { return ct::sum(ct::min(squared_distances(queries, points), ct::axis<1>)); }, ct::wrt<0, 1>);
constexpr auto by_index = ct::grad([](auto queries, auto points) {
  const auto index = ct::argmin(squared_distances(queries, points), ct::axis<1>);
  return ct::sum(ct::square(queries - ct::take<0>(points, index)));
}, ct::wrt<0, 1>);

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
struct distance_and_index : cloud {
  std::tuple<ct::array<float, queries>, ct::array<std::int32_t, queries>> result;
  void ours() { ct::jit(nearest).into(result)(q, p); }
  [[gnu::noinline]] void by_hand() { search(); }
  double difference() const { return simulation::difference(std::get<0>(result), distances) + 1e3 * simulation::difference(std::get<1>(result), indices); }
};
/// The eight nearest, the nearest first.
struct eight : cloud {
  std::tuple<ct::array<float, queries, 8>, ct::array<std::int32_t, queries, 8>> result, expected;
  void ours() { ct::jit(eight_nearest).into(result)(q, p); }
  /// 16 points at a time, of which few are nearer than the eighth so far.
  [[gnu::noinline]] void by_hand() {
    static std::vector<float> columns(3 * points);
    for (int j = 0; j < points; ++j)
      for (int d = 0; d < 3; ++d) columns[std::size_t(d * points + j)] = p(j, d);
    in_blocks(queries, 16, [this](std::ptrdiff_t first, std::ptrdiff_t last) {
      for (std::ptrdiff_t i = first; i < last; ++i) {
        float* const least = &std::get<0>(expected)(i, 0);
        std::int32_t* const index = &std::get<1>(expected)(i, 0);
        std::fill_n(least, 8, INFINITY);
        for (int j = 0; j < points; j += 16) {
          const floats dx = q(i, 0) - load<floats>(&columns[std::size_t(j)]), dy = q(i, 1) - load<floats>(&columns[std::size_t(points + j)]),
                       dz = q(i, 2) - load<floats>(&columns[std::size_t(2 * points + j)]), d = dx * dx + dy * dy + dz * dz;
          const ints nearer = d < least[7];
          if (-total(__builtin_convertvector(nearer, floats)) == 0) continue;
          for (int l = 0; l < 16; ++l) {
            if (!(d[l] < least[7])) continue;
            int k = 7;
            for (; k > 0 && d[l] < least[k - 1]; --k) least[k] = least[k - 1], index[k] = index[k - 1];
            least[k] = d[l], index[k] = j + l;
          }
        }
      }
    });
  }
  double difference() const {
    return simulation::difference(std::get<0>(result), std::get<0>(expected)) + 1e3 * simulation::difference(std::get<1>(result), std::get<1>(expected));
  }
};
template <auto& Gradient> struct gradients : cloud {
  std::tuple<ct::array<float, queries, 3>, ct::array<float, points, 3>> result, expected;
  void ours() { ct::jit(Gradient).into(result)(q, p); }
  [[gnu::noinline]] void by_hand() {
    search();
    auto& [by_q, by_p] = expected;
    std::fill(by_p.begin(), by_p.end(), 0.0f);
    for (int i = 0; i < queries; ++i)
      for (int d = 0; d < 3; ++d) by_q(i, d) = 2 * (q(i, d) - p(indices(i), d)), by_p(indices(i), d) -= by_q(i, d);
  }
  double difference() const {
    return std::max(simulation::difference(std::get<0>(result), std::get<0>(expected)), simulation::difference(std::get<1>(result), std::get<1>(expected)));
  }
};

}  // namespace

void add_nearest() {
  const bound least{.float_operations = 9.0 * cloud::queries * cloud::points};
  add<distance_and_index>("nearest of 16,384 points to 2,048: distance and index", 1e-5, least);
  add<eight>("8 nearest of 16,384 points to 2,048: distances and indices", 1e-5, least);
  add<gradients<by_minimum>>("nearest of 16,384 points to 2,048: gradient through the minimum", 1e-5, least);
  add<gradients<by_index>>("nearest of 16,384 points to 2,048: gradient through the index", 1e-5, least);
}

}  // namespace simulation
