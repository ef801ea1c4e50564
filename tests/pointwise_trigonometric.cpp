/// sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh hypot.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

TEST_CASE("derivatives of the trigonometric and hyperbolic functions") {
  constexpr auto f = [](auto x) {
    return std::tuple(ct::sin(x), ct::cos(x), ct::tan(x), ct::asin(x), ct::acos(x), ct::atan(x), ct::sinh(x), ct::cosh(x),
                      ct::tanh(x), ct::asinh(x), ct::atanh(x), ct::acosh(x + 2.5));
  };
  check_rules_of(f, std::tuple(between<double, 3, 7>(-0.9, 0.9)));
  check_jit(f, 2e-6, between<float, 37, 65>(-0.9, 0.9));
}

TEST_CASE("derivatives of atan2 and hypot in all quadrants") {
  constexpr auto f = [](auto y, auto x) { return std::tuple(ct::atan2(y, x), ct::hypot(y, x)); };
  const ct::array<double, 4> y{0.5, -0.7, 1.1, -0.4}, x{0.9, 0.8, -0.6, -1.2};
  check_rules_of(f, std::tuple(y, x));
  check_jit(f, 1e-12, y, x);
}

TEST_CASE("tanh, sin and atan2 compile to their derivatives") {
  check_compiled<float, orders::second, batching::yes>([](auto x, auto y) { return ct::tanh(x) * ct::sin(y) + ct::atan2(x, y); },
                                                       std::tuple(between<float, 37>(-0.9, 0.9), between<float, 37>(0.5, 2)), std::tuple());
}
