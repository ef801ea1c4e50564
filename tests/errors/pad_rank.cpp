// expect: pad: low \[1\] and high \[1\] must have one entry per axis of \[2,3\]
// expect: pad_rank\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::pad<ct::low<1>, ct::high<1>>(x, 0);
};
bool r = trace<f, ct::var<float, 2, 3>>;
