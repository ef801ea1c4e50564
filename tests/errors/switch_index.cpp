// expect: switch_: the index must be an integer scalar, but it is float32\[\]
// expect: switch_index\.cpp:8:
#include <cotangent/control/control.hpp>
#include "trace.hpp"
constexpr auto one = [](auto x) { return x; };
constexpr auto other = [](auto x) { return -x; };
constexpr auto f = [](auto i, auto x) {
  return ct::switch_(i, std::tuple(one, other), x);
};
bool r = trace<f, ct::var<float>, ct::var<float, 3>>;
