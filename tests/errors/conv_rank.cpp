// expect: conv: x is \[n, spatial..., channels\] and the kernel \[spatial..., channels, features\] with one to three spatial axes, got \[8,3\] and \[3,3,3,8\]
// expect: conv_rank\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x, [[maybe_unused]] auto k) {
  return ct::conv(x, k);
};
auto r = ct::jit(f)(ct::array<float, 8, 3>(), ct::array<float, 3, 3, 3, 8>());
