// expect: conv_transpose: ct::strides say what ct::lhs_dilation would
// expect: conv_transpose_dilation\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x, [[maybe_unused]] auto k) {
  return ct::conv_transpose(x, k, ct::lhs_dilation<2>);
};
auto r = ct::jit(f)(ct::array<float, 2, 8, 3>(), ct::array<float, 3, 3, 8>());
