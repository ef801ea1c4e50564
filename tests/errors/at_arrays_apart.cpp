// expect: at: arrays of indices with another axis between them \(\[3,4,5\]\)
// expect: at_arrays_apart\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x, auto i) {
  return ct::at(x, i, ct::full_extent, i).set(1);
};
bool r = trace<f, ct::var<float, 3, 4, 5>, ct::var<std::int32_t, 2>>;
