// expect: kron: at most rank 4, got shapes \[1,1,1,1,1\] and \[4\]
// expect: kron_rank\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto a, auto b) {
  return ct::kron(a, b);
};
bool r = trace<f, ct::var<float, 1, 1, 1, 1, 1>, ct::var<float, 4>>;
