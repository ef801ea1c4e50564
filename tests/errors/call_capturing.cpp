// expect: a function that captures variables is called outside a trace: its arguments must be arrays, numbers or tuples of them; pass what it captures as arguments instead
// expect: call_capturing\.cpp:7:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
template <template <class, ct::extent...> class A> struct model { A<float, 3> w; };
auto call(float scale) {
  return ct::jit([=](const auto& m) { return m.w * scale; })(model<ct::array>());
}
