// expect: dot_product_attention: the number of query heads must be a multiple of the number of key and value heads
// expect: attention_heads\.cpp:6:
#include "trace.hpp"
#include <cotangent/nn/attention.hpp>
constexpr auto f = [](auto q, auto k) {
  return ct::nn::dot_product_attention(q, k, k);
};
bool r = trace<f, ct::var<float, 2, 5, 6, 8>, ct::var<float, 2, 5, 4, 8>>;
