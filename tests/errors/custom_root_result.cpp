// expect: custom_root: the function must return what it takes: float32\[\] is given where float32\[2\] is needed
// expect: custom_root_result\.cpp:7:
#include <cotangent/control/control.hpp>
#include "trace.hpp"
constexpr auto solve = [](const auto&, auto x) { return x; };
constexpr auto f = [](auto x) {
  return ct::custom_root([](auto x) { return ct::sum(x); }, x, solve, solve);
};
bool r = trace<f, ct::var<float, 2>>;
