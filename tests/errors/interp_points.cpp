// expect: interp: vectors of points of one known length are needed, got \[3\] and \[4\]
// expect: interp_points\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x, auto xp, auto fp) {
  return ct::interp(x, xp, fp);
};
auto r = ct::jit(f)(ct::array<float, 5>(), ct::array<float, 3>(), ct::array<float, 4>());
