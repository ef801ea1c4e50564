// expect: optimizers: this one is for parameters of real floating-point numbers
// expect: optimizer_dtype\.cpp:8:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto optimizer = ct::optimizers::adam(0.1);
constexpr auto f = [](auto x) {
  const auto state = optimizer.init(x);
  return std::get<0>(optimizer.update(x, state));
};
auto r = ct::jit(f)(ct::array<int, 3>());
