// expect: at: the only tag of an update is ct::unique_indices
// expect: at_tag\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x, auto i) {
  return ct::at(x, i).max(1, ct::keepdims);
};
bool r = trace<f, ct::var<float, 3>, ct::var<int, 2>>;
