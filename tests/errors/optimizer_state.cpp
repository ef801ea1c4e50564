// expect: optimizers: this is not the state of this chain, which has another number of transformations
// expect: optimizer_state\.cpp:8:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto optimizer = ct::optimizers::chain(ct::optimizers::clip_by_global_norm(1.0), ct::optimizers::sgd(0.1), ct::optimizers::scale(2.0));
constexpr auto f = [](auto x) {
  const auto state = ct::optimizers::sgd(0.1).init(x);
  return std::get<0>(optimizer.update(x, state));
};
auto r = ct::jit(f)(ct::array<float, 3>());
