// expect: add: shapes \[3\] and \[4\] do not broadcast
// expect: call_shapes\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x, auto y) { return x + y; };
auto r = ct::jit(f)(ct::array<float, 3>(), ct::array<float, 4>());
