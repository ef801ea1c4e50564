// expect: conv: ct::strides has 1 entries for 2 spatial axes
// expect: conv_strides\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x, [[maybe_unused]] auto k) {
  return ct::conv(x, k, ct::strides<2>);
};
auto r = ct::jit(f)(ct::array<float, 2, 8, 8, 3>(), ct::array<float, 3, 3, 3, 8>());
