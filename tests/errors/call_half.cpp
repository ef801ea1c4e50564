// expect: add: dtype float16 can be stored but not computed in \(float16\[3\]\); convert with ct::astype
// expect: call_half\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x) { return x + x; };
auto r = ct::jit(f)(ct::array<ct::half, 3>());
