// expect: psum along i: no ct::vmap around it has this ct::axis_name
// expect: collective_unbound\.cpp:7:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x) { return x / ct::psum<"i">(x); };
ct::array<float, 3> r(const ct::array<float, 3>& x) {
  return ct::jit(ct::vmap(f, ct::axis_name<"rows">))(x);
}
