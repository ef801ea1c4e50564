// expect: fft2: needs 2 axes, got float32\[4\]
// expect: fft_axes\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x) {
  return ct::fft::fft2(x);
};
auto r = ct::jit(f)(ct::array<float, 4>());
