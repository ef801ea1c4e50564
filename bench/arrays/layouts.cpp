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
using links = ct::array<float, 2, 256, 256, 4>;  // of a periodic lattice, along both axes: quaternions

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

/// Products of quaternions [..., 4], and their conjugates.
constexpr auto product = [](auto a, auto b) {
  const auto part = [](auto q, auto k) { return q(ct::ellipsis, k); };
  const auto a0 = part(a, ct::index<0>), a1 = part(a, ct::index<1>), a2 = part(a, ct::index<2>), a3 = part(a, ct::index<3>);
  const auto b0 = part(b, ct::index<0>), b1 = part(b, ct::index<1>), b2 = part(b, ct::index<2>), b3 = part(b, ct::index<3>);
  return ct::stack<-1>(a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3, a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2, a0 * b2 - a1 * b3 + a2 * b0 + a3 * b1, a0 * b3 + a1 * b2 - a2 * b1 + a3 * b0);
};
constexpr auto conjugate = [](auto a) { return a * ct::array<float, 4>{1, -1, -1, -1}; };
/// Wilson's action: of each square of links, one less the real part of the product around it (Wilson, Phys. Rev. D 10, 1974).
constexpr auto action = [](auto u) {
  const auto x = u(ct::index<0>), y = u(ct::index<1>);
  const auto around = product(product(x, ct::roll<0>(y, -1)), conjugate(product(y, ct::roll<1>(x, -1))));
  return ct::sum(1.0f - around(ct::ellipsis, ct::index<0>));
};
struct quaternion {
  float q[4];
  friend quaternion operator*(const quaternion& a, const quaternion& b) {
    const auto &[a0, a1, a2, a3] = a.q;
    const auto &[b0, b1, b2, b3] = b.q;
    return {{a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3, a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2, a0 * b2 - a1 * b3 + a2 * b0 + a3 * b1, a0 * b3 + a1 * b2 - a2 * b1 + a3 * b0}};
  }
  quaternion operator~() const { return {{q[0], -q[1], -q[2], -q[3]}}; }
};

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
  row<links>("forces of a lattice [256, 256] of quaternions", ct::grad(action), [](float* y, const links& u) {
    // The real part of a product is that of its factors turned around: its derivative by one is the conjugate of the product of the others.
    const auto *const x = reinterpret_cast<const quaternion*>(u.data()), *const z = x + 256 * 256;
    auto* const force = reinterpret_cast<quaternion*>(y);
    const auto take = [](quaternion& to, const quaternion& a) {
      for (int k = 0; k < 4; ++k) to.q[k] -= a.q[k];
    };
    std::fill_n(y, u.size(), 0.0f);
    for (int i = 0; i < 256; ++i)
      for (int j = 0; j < 256; ++j) {
        const int here = 256 * i + j, down = 256 * ((i + 1) % 256) + j, right = 256 * i + (j + 1) % 256;
        const quaternion &a = x[here], &b = z[down], &c = x[right], &d = z[here];
        const quaternion ab = a * b, dc = d * c;
        take(force[here], dc * ~b), take(force[65536 + down], ~a * dc), take(force[right], ~d * ab), take(force[65536 + here], ab * ~c);
      }
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
