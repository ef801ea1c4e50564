// expect: einsum: ij,jk->ik: axis j differs between \[2,3\] and \[4,5\]
// expect: einsum_extents\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x, auto y) {
  return ct::einsum<"ij,jk->ik">(x, y);
};
bool r = trace<f, ct::var<float, 2, 3>, ct::var<float, 4, 5>>;
