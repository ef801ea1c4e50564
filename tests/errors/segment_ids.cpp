// expect: segments: the shape of ids, int32\[4\], must be that of the leading axes of the data, float32\[5,2\]
// expect: segment_ids\.cpp:6:
#include "trace.hpp"
#include <cotangent/numpy/segments.hpp>
constexpr auto f = [](auto x, auto ids) {
  return ct::segment_sum<3>(x, ids);
};
bool r = trace<f, ct::var<float, 5, 2>, ct::var<int, 4>>;
