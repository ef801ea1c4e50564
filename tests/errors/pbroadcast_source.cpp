// expect: pbroadcast along i: there is no instance 7 of 3
// expect: pbroadcast_source\.cpp:6:
#include "trace.hpp"
constexpr auto g = [](auto x) { return ct::pbroadcast<"i", 7>(x); };
constexpr auto f = [](auto x) {
  return ct::vmap(g, ct::axis_name<"i">)(x);
};
bool r = trace<f, ct::var<float, 3>>;
