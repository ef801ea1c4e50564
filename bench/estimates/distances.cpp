/// Lengths of vectors, and the distances between two sets of points.

#include "estimates.hpp"

namespace estimates {
namespace {

constexpr auto distance = [](auto a, auto b) { return ct::sum(ct::square(a - b)); };
constexpr auto distances = ct::vmap(ct::vmap(distance, ct::in_axes<ct::none, 0>), ct::in_axes<0, ct::none>);
constexpr auto nearest = [](auto x, auto y) { return ct::min(distances(x, y), ct::axis<1>); };
constexpr auto lengths = ct::vmap([](auto v) { return ct::sqrt(ct::sum(v * v)); });

}  // namespace

void add_distances() {
  add("distance to the nearest, 1,000 and 2,000 points", nearest, random(ct::array<float, 1000, 3>()), random(ct::array<float, 2000, 3>()));
  add("100,000 lengths of 4 numbers", lengths, random(ct::array<float, 100000, 4>()));
}

}  // namespace estimates
