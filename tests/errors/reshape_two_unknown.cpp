// expect: reshape: \[\?,\?\] leaves more than one extent to be computed
// expect: reshape_two_unknown\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::reshape<ct::dyn, ct::dyn>(x);
};
bool r = trace<f, ct::var<float, 2, 3>>;
