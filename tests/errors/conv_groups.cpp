// expect: conv: 7 features do not divide into 2 groups
// expect: conv_groups\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x, [[maybe_unused]] auto k) {
  return ct::conv(x, k, ct::feature_groups<2>);
};
auto r = ct::jit(f)(ct::array<float, 2, 8, 4>(), ct::array<float, 3, 2, 7>());
