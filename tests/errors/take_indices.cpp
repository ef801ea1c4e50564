// expect: take: indices must be integers, got float32\[4\]
// expect: take_indices\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x, auto i) {
  return ct::take<0>(x, i);
};
bool r = trace<f, ct::var<float, 2, 3>, ct::var<float, 4>>;
