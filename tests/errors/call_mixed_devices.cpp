// expect: jit: arrays of the host and of a device in one call; move them with ct::device_put
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;

ct::device_array<float, 3> f(const ct::device_array<float, 3>& x, const ct::array<float, 3>& y) {
  return ct::jit([](auto a, auto b) { return a + b; })(x, y);
}
