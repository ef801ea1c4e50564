// expect: a function that captures variables is called outside a trace: it must return an array, a number or a tuple of them; pass what it captures as arguments instead
// expect: call_capturing_transform\.cpp:7:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
template <class T> struct pair { T a, b; };
auto call(float scale) {
  return ct::vmap([=](auto x) { return pair<decltype(x * scale)>{x * scale, x * scale}; })(ct::array<float, 3, 2>());
}
