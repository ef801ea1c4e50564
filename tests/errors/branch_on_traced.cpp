// expect: a traced value has no truth value while the function is traced; choose with ct::where\(condition, a, b\)
// expect: branch_on_traced\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  if (x > 0) return x;
  return -x;
};
bool r = trace<f, ct::var<float>>;
