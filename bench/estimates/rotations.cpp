/// Products of many matrices 3 x 3 with vectors.

#include "estimates.hpp"

namespace estimates {
namespace {

constexpr auto rotated = ct::vmap([](auto m, auto v) { return ct::matmul(m, ct::matmul(m, v)) / ct::sqrt(ct::sum(v * v) + 1.0f); });

}  // namespace

void add_rotations() {
  add("100,000 rotations", rotated, random(ct::array<float, 100000, 3, 3>()), random(ct::array<float, 100000, 3>()));
}

}  // namespace estimates
