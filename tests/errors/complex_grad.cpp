// expect: grad: the function must return a floating-point scalar, but its output is complex64; differentiate its real or imaginary part, or use ct::vjp
// expect: complex_grad\.cpp:7:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto z) { return ct::sum(z * z); };
using z3 = ct::array<std::complex<float>, 3>;
auto r = ct::grad(f)(z3());
