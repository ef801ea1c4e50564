/// Windows at the ends of rows: arrays of run-time extents, shorter than the distance too.

#include <cotangent/cotangent.hpp>

#include "catch.hpp"
#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

TEST_CASE("windows over run-time extents, shorter than the distance too") {
  constexpr auto f = [](auto x) {
    return std::tuple(x + ct::roll<0>(x, 2), x - ct::roll<0>(2.0 * x, -5) * ct::roll<1>(x, 1), ct::pad<ct::low<1, 2>, ct::high<2, 0>>(x * x, 0.0) * 2.0);
  };
  constexpr auto g = [](auto x) { return ct::grad([](auto v) { return ct::sum(ct::square(v + ct::roll<0>(v * v, 1))); })(x); };
  for (int n : {0, 1, 2, 3, 70}) {
    ct::array<double, ct::dyn, 3> x({n, 3});
    std::copy_n(between<double, 210>(-1, 1).data(), 3 * n, x.data());
    check_jit(f, 1e-14, x);
    check_jit(g, 1e-14, x);
    ct::array<double, 3, ct::dyn> y({3, n});
    std::copy_n(between<double, 210>(-1, 1).data(), 3 * n, y.data());
    check_jit(f, 1e-14, y);
    check_jit(g, 1e-14, y);
  }
}
