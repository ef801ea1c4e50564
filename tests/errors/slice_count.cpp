// expect: slice: 2 ranges for rank 1 \(\[3\]\)
// expect: slice_count\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::slice<ct::range<0, 2>, ct::full_extent>(x);
};
bool r = trace<f, ct::var<float, 3>>;
