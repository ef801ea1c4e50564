// expect: broadcast_to: shape \[2,3\] has more axes than \[3\]
// expect: broadcast_to_rank\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::broadcast_to<3>(x);
};
bool r = trace<f, ct::var<float, 2, 3>>;
