// expect: diagonal: matrices \[\.\.\., m, n\] are needed, got \[3\]
// expect: diagonal_rank\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x) {
  return ct::diagonal(x);
};
auto r = ct::jit(f)(ct::array<float, 3>());
