// expect: random\.choice: 4 different ones of \[3\]
// expect: random_choice\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto k) { return ct::random::choice<4>(k, ct::array<int, 3>{1, 2, 3}, ct::random::without_replacement); };
auto r = ct::jit(f)(ct::random::key(1));
