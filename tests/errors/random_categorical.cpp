// expect: random\.categorical: logits \[2,3\] for a result \[4,5\], whose last axes are not those of the batch, \[2\]
// expect: random_categorical\.cpp:6:
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto k) { return ct::random::categorical<4, 5>(k, ct::array<float, 2, 3>()); };
auto r = ct::jit(f)(ct::random::key(1));
