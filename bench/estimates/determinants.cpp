/// Determinants of many matrices 3 x 3, and gradients of functions of them.

#include "estimates.hpp"

namespace estimates {
namespace {

constexpr auto determinant = [](auto m) { return ct::dot(m(ct::index<0>), ct::cross(m(ct::index<1>), m(ct::index<2>))); };
constexpr auto determinants = ct::vmap(determinant);
constexpr auto slopes = ct::vmap(ct::grad([](auto m) {
  const auto d = determinant(m);
  return ct::log(d * d + 1.0f) + ct::sum(m * m);
}));

}  // namespace

template <bool Gradients> void add_determinants() {
  const auto matrices = random(ct::array<float, 100000, 3, 3>());
  if constexpr (Gradients) add("100,000 gradients of functions of determinants", slopes, matrices);
  else add("100,000 determinants", determinants, matrices);
}
template void add_determinants<DETERMINANTS_GRADIENTS>();

}  // namespace estimates
