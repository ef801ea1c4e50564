// expect: reduce_window: along axis 1 a window spans 9 elements, and x with its padding has 8: shape \[2,8,3\]
// expect: max_pool_small\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x, [[maybe_unused]] auto k) {
  return ct::nn::max_pool<9>(x);
};
auto r = ct::jit(f)(ct::array<float, 2, 8, 3>(), 1);
