// expect: take_along_axis: indices \[4\] and \[2,3\] must have the same rank
// expect: take_along_axis_rank\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x, auto i) {
  return ct::take_along_axis<1>(x, i);
};
bool r = trace<f, ct::var<float, 2, 3>, ct::var<int, 4>>;
