/// Layouts of memory: rows turned into columns, products of matrices, 16-bit floats.

#include <bit>

#include <Eigen/Dense>

#include "arrays.hpp"

namespace arrays {
namespace {

using matrix = ct::array<float, 1024, 1024>;
using coordinates = ct::array<float, 3, 100000>;
using points = ct::array<float, 100000, 3>;
using halves = ct::array<ct::bfloat16, 1 << 22>;
using queries = ct::array<float, 8, 4, 32>;     // of 8 sequences and 4 heads
using cache = ct::array<float, 8, 512, 4, 32>;  // what 512 tokens left
using gate = ct::array<float, 2, 2>;
using state = ct::array<float, 8192, 2, 32>;

typedef float floats __attribute__((vector_size(64)));
typedef int lanes __attribute__((vector_size(64)));
/// 16 x 16 numbers, whose rows are `from` apart, as columns, `to` apart: blocks of 1, 2, 4 and 8 lanes change places.
template <class Store> void turn(const float* x, std::ptrdiff_t from, const Store& store) {
  floats r[16];
  for (int i = 0; i < 16; ++i) __builtin_memcpy(&r[i], x + i * from, 64);
  const auto exchange = [&]<int H>(std::integral_constant<int, H>) {
    lanes first, second;
    for (int i = 0; i < 16; ++i) first[i] = i & H ? 16 + i - H : i, second[i] = i & H ? 16 + i : i + H;
    for (int i = 0; i < 16; ++i) {
      if (i & H) continue;
      const floats a = r[i], b = r[i + H];
      r[i] = __builtin_shuffle(a, b, first), r[i + H] = __builtin_shuffle(a, b, second);
    }
  };
  exchange(std::integral_constant<int, 1>()), exchange(std::integral_constant<int, 2>()), exchange(std::integral_constant<int, 4>()), exchange(std::integral_constant<int, 8>());
  for (int i = 0; i < 16; ++i) store(i, r[i]);
}
template <class Store> void turn_blocks(const matrix& x, const Store& store) {
  for (int bi = 0; bi < 1024; bi += 64)
    for (int bj = 0; bj < 1024; bj += 64)
      for (int i = bi; i < bi + 64; i += 16)
        for (int j = bj; j < bj + 64; j += 16) turn(&x(j, i), 1024, [&](int k, floats v) { store(1024 * (i + k) + j, v); });
}

float as_float(ct::bfloat16 x) { return std::bit_cast<float>(std::uint32_t(x.bits) << 16); }

}  // namespace

void add_layouts() {
  row<matrix>("transpose of [1024, 1024]", [](auto x) { return ct::transpose(x); }, [](float* y, const matrix& x) {
    turn_blocks(x, [y](int at, floats v) { __builtin_memcpy(y + at, &v, 64); });
  }, some_numbers);
  row<coordinates>("coordinates [3, 100000] as points [100000, 3]", [](auto x) { return ct::transpose(x); }, [](float* y, const coordinates& x) {
    const float *const a = &x(0, 0), *const b = &x(1, 0), *const c = &x(2, 0);
    for (int i = 0; i < 100000; ++i) y[3 * i] = a[i], y[3 * i + 1] = b[i], y[3 * i + 2] = c[i];
  }, some_numbers);
  row<points>("points [100000, 3] as coordinates [3, 100000]", [](auto x) { return ct::transpose(x); }, [](float* y, const points& x) {
    const float* const p = x.data();
    float *const a = y, *const b = a + 100000, *const c = b + 100000;
    for (int i = 0; i < 100000; ++i) a[i] = p[3 * i], b[i] = p[3 * i + 1], c[i] = p[3 * i + 2];
  }, some_numbers);
  row<matrix, matrix>("a matrix [1024, 1024] plus the transpose of one", [](auto x, auto c) { return c + ct::transpose(x); }, [](float* y, const matrix& x, const matrix& c) {
    turn_blocks(x, [&](int at, floats v) {
      floats other;
      __builtin_memcpy(&other, c.data() + at, 64);
      v += other;
      __builtin_memcpy(y + at, &v, 64);
    });
  }, some_numbers);
  row<matrix, matrix>("product of matrices [1024, 1024], beside Eigen's", [](auto a, auto b) { return ct::matmul(a, b); }, [](float* y, const matrix& a, const matrix& b) {
    using rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    Eigen::Map<rows>(y, 1024, 1024).noalias() = Eigen::Map<const rows>(a.data(), 1024, 1024) * Eigen::Map<const rows>(b.data(), 1024, 1024);
  }, some_numbers);
  row<queries, cache, cache>("attention of a token over a cache [8, 512, 4, 32]", [](auto q, auto keys, auto values) {
    return ct::einsum<"bht,bthk->bhk">(ct::nn::softmax(ct::einsum<"bhk,bthk->bht">(q, keys)), values);
  }, [](float* y, const queries& q, const cache& keys, const cache& values) {
    float weights[4][512];
    for (int b = 0; b < 8; ++b) {
      float sums[4] = {};
      for (int t = 0; t < 512; ++t)
        for (int h = 0; h < 4; ++h) {
          float score = 0;
          for (int k = 0; k < 32; ++k) score += q(b, h, k) * keys(b, t, h, k);
          weights[h][t] = score;
        }
      for (int h = 0; h < 4; ++h) {
        const float most = *std::max_element(weights[h], weights[h] + 512);
        for (float& w : weights[h]) sums[h] += w = std::exp(w - most);
      }
      float* const to = y + 128 * b;
      std::fill_n(to, 128, 0.0f);
      for (int t = 0; t < 512; ++t)
        for (int h = 0; h < 4; ++h)
          for (int k = 0; k < 32; ++k) to[32 * h + k] += weights[h][t] / sums[h] * values(b, t, h, k);
    }
  }, some_numbers);
  row<gate, state>("a matrix [2, 2] times the middle axis of [8192, 2, 32]", [](auto g, auto x) { return ct::einsum<"ab,xby->xay">(g, x); }, [](float* y, const gate& g, const state& x) {
    for (int i = 0; i < 8192; ++i)
      for (int a = 0; a < 2; ++a)
        for (int j = 0; j < 32; ++j) y[64 * i + 32 * a + j] = g(a, 0) * x(i, 0, j) + g(a, 1) * x(i, 1, j);
  }, some_numbers);
  row<halves, halves>("2.5 x + y of 4 M bfloat16", [](auto x, auto y) { return 2.5 * x + y; }, [](ct::bfloat16* z, const halves& x, const halves& y) {
    for (int i = 0; i < 1 << 22; ++i) {
      const float sum = 2.5f * as_float(x(i)) + as_float(y(i));
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(sum);
      z[i].bits = std::uint16_t(sum == sum ? (bits + 0x7fff + (bits >> 16 & 1)) >> 16 : bits >> 16 | 0x40);
    }
  }, some_numbers);
}

}  // namespace arrays
