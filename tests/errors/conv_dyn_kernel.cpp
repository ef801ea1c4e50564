// expect: conv: the spatial extents of the kernel must be known while compiling, and at least 1, got \[\?,3,8\]
// expect: conv_dyn_kernel\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto x, [[maybe_unused]] auto k) {
  return ct::conv(x, k);
};
auto r = ct::jit(f)(ct::array<float, 2, 8, 3>(), ct::array<float, ct::dyn, 3, 8>({3, 3, 8}));
