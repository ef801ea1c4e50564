// expect: rfft: needs real numbers, got complex64\[4\]
// expect: fft_complex\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto z) {
  return ct::fft::rfft(z);
};
auto r = ct::jit(f)(ct::array<std::complex<float>, 4>());
