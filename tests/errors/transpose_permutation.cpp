// expect: transpose: \[0,0\] is not a permutation of the axes of \[2,3\]
// expect: transpose_permutation\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::transpose<0, 0>(x);
};
bool r = trace<f, ct::var<float, 2, 3>>;
