// expect: broadcast: shape \[2,3\] does not broadcast to \[4,3\]
// expect: broadcast_to_extents\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::broadcast_to<4, 3>(x);
};
bool r = trace<f, ct::var<float, 2, 3>>;
