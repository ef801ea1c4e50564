// expect-gcc: add: dtype uint8 can be stored but not computed in \(uint8\[3\]\); convert with ct::astype
// expect-clang: add: dtype uint8 can be stored but
// expect: call_uint8\.cpp:7:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x) { return x + x; };
auto r = ct::jit(f)(ct::array<std::uint8_t, 3>());
