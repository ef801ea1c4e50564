// expect: conv: NHWC,HWIO->NCHX is no layout as NHWC,HWIO->NHWC: N and C of x and the result, I and O of the kernel, and one to three spatial axes of all three
// expect: conv_layout\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x, [[maybe_unused]] auto k) {
  return ct::conv<"NHWC,HWIO->NCHX">(x, k);
};
auto r = ct::jit(f)(ct::array<float, 2, 8, 8, 3>(), ct::array<float, 3, 3, 3, 8>());
