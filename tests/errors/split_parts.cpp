// expect: split: axis 0 of \[5\] does not divide into 2 equal parts
// expect: split_parts\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::split<2, 0>(x);
};
bool r = trace<f, ct::var<float, 5>>;
