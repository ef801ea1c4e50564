// expect: add: dtype uint8 can be stored but not computed in \(uint8\[3\]\); convert with ct::astype
// expect: call_uint8\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x) { return x + x; };
auto r = ct::jit(f)(ct::array<std::uint8_t, 3>());
