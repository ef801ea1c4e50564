// expect: at: 2 indices for rank 1 \(\[3\]\)
// expect: at_index_count\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::at(x, 0, 1).set(1);
};
bool r = trace<f, ct::var<float, 3>>;
