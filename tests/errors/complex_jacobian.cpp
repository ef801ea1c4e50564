// expect: jacfwd: an input is complex64\[3\]; differentiate with respect to its real and imaginary parts, or use ct::jvp
// expect: complex_jacobian\.cpp:7:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto z) { return z * z; };
using z3 = ct::array<std::complex<float>, 3>;
auto r = ct::jacfwd(f)(z3());
