// expect: jit: the function captures variables; pass them as arguments
// expect: call_capturing\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
auto call(float scale) {
  return ct::jit([=](auto x) { return x * scale; })(ct::array<float, 3>());
}
