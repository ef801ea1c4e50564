// expect: unravel: a vector of 5 elements is needed, got float32\[4\]
// expect: unravel_size\.cpp:7:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x, auto y) {
  const auto [vector, unravel] = ct::ravel_tree(std::tuple(x, y));
  return unravel(ct::slice<ct::range<0, 4>>(vector));
};
auto r = ct::jit(f)(ct::array<float, 3>(), ct::array<float, 2>());
