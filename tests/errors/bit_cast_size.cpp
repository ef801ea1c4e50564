// expect: bit_cast: uint32\[2\] has elements of 4 bytes, and float64 of 8
// expect: bit_cast_size\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto k) { return ct::bit_cast<double>(k); };
auto r = ct::jit(f)(ct::random::key(1));
