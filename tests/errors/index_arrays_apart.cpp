// expect: index: arrays of indices with another axis between them
// expect: index_arrays_apart\.cpp:6:
#include "trace.hpp"
constexpr auto f = [](auto x, auto i) {
  return
      x(i, ct::full_extent, i);
};
bool r = trace<f, ct::var<float, 3, 4, 5>, ct::var<std::int32_t, 2>>;
