// expect: conv: along spatial axis 1 a window spans 5 elements, and x with its padding has 4: shapes \[2,8,4,3\] and \[3,3,3,8\], with the channels last
// expect: conv_small\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x, [[maybe_unused]] auto k) {
  return ct::conv(x, k, ct::rhs_dilation<1, 2>);
};
auto r = ct::jit(f)(ct::array<float, 2, 8, 4, 3>(), ct::array<float, 3, 3, 3, 8>());
