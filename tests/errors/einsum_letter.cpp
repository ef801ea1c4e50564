// expect: einsum: ij->ik: letter k of the result is in no operand
// expect: einsum_letter\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::einsum<"ij->ik">(x);
};
bool r = trace<f, ct::var<float, 2, 3>>;
