// expect: sin: needs a floating-point dtype, got complex64\[3\]
// expect: sin_complex\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::sin(x);
};
bool r = trace<f, ct::var<std::complex<float>, 3>>;
