// expect: custom_linear_solve: the product must have the structure, shapes and dtypes of b: float32\[3\] is given where float32\[2\] is needed
// expect: custom_linear_solve_product\.cpp:9:
#include <cotangent/control/control.hpp>
#include "trace.hpp"
constexpr auto solve = [](const auto&, auto x) { return x; };
constexpr auto f = [](auto m, auto b) {
  return ct::custom_linear_solve([&](auto x) { return ct::matmul(m, x); }, b, solve);
};
bool r = trace<f, ct::var<float, 3, 2>, ct::var<float, 2>>;
