// expect: conv: x has 3 channels where the kernel is for 4: shapes \[2,8,8,3\] and \[3,3,4,8\], with the channels last
// expect: conv_channels\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x, [[maybe_unused]] auto k) {
  return ct::conv(x, k);
};
auto r = ct::jit(f)(ct::array<float, 2, 8, 8, 3>(), ct::array<float, 3, 3, 4, 8>());
