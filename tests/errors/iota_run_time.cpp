// expect: iota: the number of elements must be known
// expect: iota_run_time\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return x + ct::iota<float, ct::dyn>(x);
};
bool r = trace<f, ct::var<float, 3>>;
