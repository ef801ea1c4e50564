// expect: index: 3 indices for rank 2 \(\[3,4\]\)
// expect: index_count\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return x(0, 0, 0);
};
bool r = trace<f, ct::var<float, 3, 4>>;
