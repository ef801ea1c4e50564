/// The gradient of the sum of the distances to the nearest by queries and points, once through the minimum and once through the point
/// that the index names.

#include "nearest.hpp"

namespace simulation {
namespace {

constexpr auto by_minimum = ct::grad([](auto queries, auto points) { return ct::sum(ct::min(squared_distances(queries, points), ct::axis<1>)); }, ct::wrt<0, 1>);
constexpr auto by_index = ct::grad([](auto queries, auto points) {
  const auto index = ct::argmin(squared_distances(queries, points), ct::axis<1>);
  return ct::sum(ct::square(queries - ct::take<0>(points, index)));
}, ct::wrt<0, 1>);

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

void add_nearest_gradients() {
  add<gradients<by_minimum>>("nearest of 16,384 points to 2,048: gradient through the minimum", 1e-5, search_of_cloud);
  add<gradients<by_index>>("nearest of 16,384 points to 2,048: gradient through the index", 1e-5, search_of_cloud);
}

}  // namespace simulation
