// expect: conv: along spatial axis 0 ct::same with a stride of 2 needs an extent that is known while compiling; say ct::padding<...>: shapes \[2,\?,3\] and \[3,3,8\], with the channels last
// expect: conv_same\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x, [[maybe_unused]] auto k) {
  return ct::conv(x, k, ct::strides<2>, ct::same);
};
auto r = ct::jit(f)(ct::array<float, 2, ct::dyn, 3>({2, 8, 3}), ct::array<float, 3, 3, 8>());
