// expect: einsum: \.\.\.i,\.\.\.i->\.\.\.: axes of the ellipsis differ between \[2,3\] and \[4,3\]
// expect: einsum_ellipsis\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x, auto y) {
  return ct::einsum<"...i,...i->...">(x, y);
};
bool r = trace<f, ct::var<float, 2, 3>, ct::var<float, 4, 3>>;
