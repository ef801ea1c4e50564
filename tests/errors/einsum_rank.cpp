// expect: einsum: ij,jk->ik names 2 axes for an operand of shape \[3\]
// expect: einsum_rank\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x, auto y) {
  return ct::einsum<"ij,jk->ik">(x, y);
};
bool r = trace<f, ct::var<float, 2, 3>, ct::var<float, 3>>;
