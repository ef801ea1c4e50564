// expect: index: an index must be an integer or an array of integers, got float32\[4\]
// expect: index_floating_array\.cpp:6:
#include "trace.hpp"
#include <cotangent/numpy/segments.hpp>
constexpr auto f = [](auto x, auto ids) {
  return ct::segment_sum<3>(x, ids);
};
bool r = trace<f, ct::var<float, 4>, ct::var<float, 4>>;
