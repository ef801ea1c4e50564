// expect: einsum: ij,jk->ik names 2 operands where 1 is given
// expect: einsum_operands\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::einsum<"ij,jk->ik">(x);
};
bool r = trace<f, ct::var<float, 2, 3>>;
