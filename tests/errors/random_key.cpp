// expect: random\.normal: a key is uint32\[2\], as ct::random::key and split make it; got int32\[2\]
// expect: random_key\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto k) { return ct::random::normal<float, 3>(k); };
auto r = ct::jit(f)(ct::array<int, 2>());
