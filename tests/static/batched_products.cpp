/// A gradient of many eigendecompositions: with 12 x 12 matrices it is near what a per-instance program may have, and must not take the
/// compiler's limit of operations to find out.

#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

namespace {
constexpr auto loss = [](auto a, auto t) {
  const auto [w, v] = ct::linalg::eigh(a);
  return ct::sum(ct::exp(-w)) + ct::sum(ct::square(v(ct::full_extent, ct::index<0>)) * t);
};
template <int N> constexpr double flops = ct::jit(ct::vmap(ct::grad(loss))).cost(ct::array<double, 200, N, N>(), ct::array<double, 200, N>()).flops;
static_assert(flops<12> > 0);
}  // namespace
