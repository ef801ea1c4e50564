// expect: index: an index must be an integer, not a floating-point number
// expect: index_floating\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return x(1.5f);
};
bool r = trace<f, ct::var<float, 3>>;
