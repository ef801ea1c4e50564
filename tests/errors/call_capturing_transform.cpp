// expect: the function captures variables, and is called outside a trace; pass them as arguments
// expect: call_capturing_transform\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
auto call(float scale) {
  return ct::grad([=](auto x) { return ct::sum(x * scale); })(ct::array<float, 3>());
}
