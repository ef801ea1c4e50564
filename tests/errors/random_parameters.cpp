// expect: random\.uniform: parameters of shape \[3\] for random numbers of shape \[2,2\]
// expect: random_parameters\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto k) { return ct::random::uniform<float, 2, 2>(k, ct::array<float, 3>(), 1); };
auto r = ct::jit(f)(ct::random::key(1));
