// expect: quantile: axis 2 is out of range for rank 2 \(\[3,4\]\)
// expect: quantile_axis\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x) {
  return ct::quantile(x, 0.5, ct::axis<2>);
};
auto r = ct::jit(f)(ct::array<float, 3, 4>());
