// expect: at: 2 ranges for rank 1 \(\[3\]\)
// expect: at_range_count\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::at(x, ct::full_extent, ct::range<0, 2>).set(1);
};
bool r = trace<f, ct::var<float, 3>>;
