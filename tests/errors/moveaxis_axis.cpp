// expect: moveaxis: axis 3 is out of range for rank 2 \(\[3,4\]\)
// expect: moveaxis_axis\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x) {
  return ct::moveaxis<0, 3>(x);
};
auto r = ct::jit(f)(ct::array<float, 3, 4>());
