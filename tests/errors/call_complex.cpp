// expect: add: dtype complex64 can be stored but not computed in \(complex64\[3\]\); convert with ct::astype
// expect: call_complex\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x) { return x + x; };
auto r = ct::jit(f)(ct::array<std::complex<float>, 3>());
