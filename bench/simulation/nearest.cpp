/// The nearest of 16,384 points to each of 2,048 queries, its squared distance and index, and the eight nearest.

#include "nearest.hpp"

namespace simulation {
namespace {

constexpr auto nearest = [](auto queries, auto points) {
  const auto d = squared_distances(queries, points);
  return std::tuple(ct::min(d, ct::axis<1>), ct::argmin(d, ct::axis<1>));
};
constexpr auto eight_nearest = [](auto queries, auto points) {
  const auto [closeness, indices] = ct::top_k<8>(-squared_distances(queries, points));
  return std::tuple(-closeness, indices);
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

}  // namespace

void add_nearest() {
  add<distance_and_index>("nearest of 16,384 points to 2,048: distance and index", 1e-5, search_of_cloud);
  add<eight>("8 nearest of 16,384 points to 2,048: distances and indices", 1e-5, search_of_cloud);
}

}  // namespace simulation
