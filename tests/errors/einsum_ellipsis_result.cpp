// expect: einsum: \.\.\.i->i: the result needs the ellipsis too
// expect: einsum_ellipsis_result\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::einsum<"...i->i">(x);
};
bool r = trace<f, ct::var<float, 2, 3>>;
