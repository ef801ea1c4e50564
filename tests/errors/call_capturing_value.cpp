// expect: a function that captures variables is called outside a trace: inside it an argument has no value yet
// expect: call_capturing_value\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
auto call(float scale) {
  return ct::jit([=](auto x) { return ct::sum(x) > 0 ? x * scale : x * (-scale); })(ct::array<float, 3>());
}
