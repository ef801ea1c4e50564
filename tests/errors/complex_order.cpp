// expect: max: not defined for complex numbers, got complex64\[3\]
// expect: complex_order\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x) {
  return ct::maximum(x, 1.0f);
};
auto r = ct::jit(f)(ct::array<std::complex<float>, 3>());
