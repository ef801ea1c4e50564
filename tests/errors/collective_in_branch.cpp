// expect: cond: reverse mode inside of a mapped function does not work through a branch with a collective that only some instances take
// expect: collective_in_branch\.cpp:8:
#include "trace.hpp"
#include <cotangent/control/cond.hpp>
constexpr auto h = [](auto x) { return ct::psum<"i">(x * x); };
constexpr auto g = [](auto x) { return ct::cond(x > 0.0f, h, [](auto x) { return ct::exp(x); }, x); };
constexpr auto f = [](auto x) {
  return ct::vmap(ct::grad(g), ct::axis_name<"i">)(x);
};
bool r = trace<f, ct::var<float, 3>>;
