// expect: jvp: a primal has dtype int32, which has no tangents
// expect: jvp_integer\.cpp:6:
#include "trace.hpp"
constexpr auto g = [](auto x) { return x * 2; };
constexpr auto f = [](auto x) {
  return ct::jvp(g, std::tuple(x), std::tuple(x));
};
bool r = trace<f, ct::var<int, 3>>;
