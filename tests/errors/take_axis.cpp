// expect: take: axis 2 is out of range for rank 2 \(\[2,3\]\)
// expect: take_axis\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x, auto i) {
  return ct::take<2>(x, i);
};
bool r = trace<f, ct::var<float, 2, 3>, ct::var<int, 4>>;
