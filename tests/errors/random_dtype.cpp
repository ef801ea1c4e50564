// expect: random\.normal: floating-point numbers are drawn, not int32
// expect: random_dtype\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto k) { return ct::random::normal<int, 3>(k); };
auto r = ct::jit(f)(ct::random::key(1));
