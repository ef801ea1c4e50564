// expect: cross: the last axes of \[2,3\] and \[4\] must have extent 3
// expect: cross_extent\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto a, auto b) {
  return ct::cross(a, b);
};
bool r = trace<f, ct::var<float, 2, 3>, ct::var<float, 4>>;
