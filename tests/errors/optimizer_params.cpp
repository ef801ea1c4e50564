// expect: optimizers: this one needs the parameters: update\(gradients, state, params\)
// expect: optimizer_params\.cpp:8:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto optimizer = ct::optimizers::adamw(0.1);
constexpr auto f = [](auto x) {
  const auto state = optimizer.init(x);
  return std::get<0>(optimizer.update(x, state));
};
auto r = ct::jit(f)(ct::array<float, 3>());
