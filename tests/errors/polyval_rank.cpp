// expect: polyval: a vector of coefficients of known length is needed, got \[2,2\]
// expect: polyval_rank\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto p, auto x) {
  return ct::polyval(p, x);
};
auto r = ct::jit(f)(ct::array<float, 2, 2>(), ct::array<float, 3>());
