// expect: einsum: ii->i: axis i differs within \[2,3\]
// expect: einsum_diagonal\.cpp:5:
#include "trace.hpp"
constexpr auto f = [](auto x) {
  return ct::einsum<"ii->i">(x);
};
bool r = trace<f, ct::var<float, 2, 3>>;
