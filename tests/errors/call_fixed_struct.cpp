// expect: tree: this struct cannot be traced, because the types of its arrays are fixed; write it over its array family
// expect: call_fixed_struct\.cpp:9:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
struct state {
  ct::array<float, 3> x;
};
constexpr auto f = [](auto s) { return s.x; };
auto r = ct::jit(f)(state());
