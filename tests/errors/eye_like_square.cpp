// expect: eye_like: square matrices are needed, got \[3,4\]
// expect: eye_like_square\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x) {
  return ct::eye_like(x);
};
auto r = ct::jit(f)(ct::array<float, 3, 4>());
