// expect: reduce_window: the window \[2,2\] has another rank than \[2,8,3\]
// expect: reduce_window_rank\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x, [[maybe_unused]] auto k) {
  return ct::reduce_window<ct::reduction::max, 2, 2>(x);
};
auto r = ct::jit(f)(ct::array<float, 2, 8, 3>(), 1);
