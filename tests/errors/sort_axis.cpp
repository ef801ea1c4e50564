// expect: sort: axis 2 is out of range for rank 2 \(\[5, ?3\]\)
// expect: sort_axis\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::sort<2>(x);
};
bool r = trace<f, ct::var<float, 5, 3>>;
