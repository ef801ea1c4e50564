/// Determinants of many matrices 3 x 3, and gradients of functions of them.

#include "estimates.hpp"

namespace estimates {
namespace {

constexpr auto determinants = ct::vmap([](auto m) {
  return ct::dot(m(ct::index<0>), ct::cross(m(ct::index<1>), m(ct::index<2>)));
});
constexpr auto slopes = ct::vmap(ct::grad([](auto m) {
  const auto d = ct::dot(m(ct::index<0>), ct::cross(m(ct::index<1>), m(ct::index<2>)));
  return ct::log(d * d + 1.0f) + ct::sum(m * m);
}));

}  // namespace

void add_determinants() {
  add("100,000 determinants", determinants, random(ct::array<float, 100000, 3, 3>()));
  add("100,000 gradients of functions of determinants", slopes, random(ct::array<float, 100000, 3, 3>()));
}

}  // namespace estimates
