/// Small programs: Jacobi's iteration on what is inside of a grid, the energy of a membrane, waves on staggered grids, fits of curves, quadratic
/// forms, Jacobians and diagonal matrices, random numbers.

#include "arrays.hpp"

namespace arrays {
namespace {

using grid = ct::array<float, 512, 512>;
constexpr auto relaxed = [](auto u, auto f) {
  return ct::fori_loop<0, 50>([f](auto, auto u) {
    constexpr auto inside = ct::range<1, 511>;
    const auto neighbours = ct::slice<ct::range<0, 510>, inside>(u) + ct::slice<ct::range<2, 512>, inside>(u) + ct::slice<inside, ct::range<0, 510>>(u) + ct::slice<inside, ct::range<2, 512>>(u);
    return ct::dynamic_update_slice(u, 0.25f * (neighbours + ct::slice<inside, inside>(f)), 1, 1);
  }, u);
};
void relaxed_by_hand(float* y, const grid& start, const grid& f) {
  static grid memory;
  std::copy_n(start.data(), 262144, y), std::copy_n(start.data(), 262144, memory.data());
  float *from = y, *to = memory.data();
  for (int turn = 0; turn < 50; ++turn, std::swap(from, to))
    for (int i = 1; i < 511; ++i) {
      const float* u = from + 512 * i;
      float* next = to + 512 * i;
#pragma GCC ivdep
      for (int j = 1; j < 511; ++j) next[j] = 0.25f * (u[j - 512] + u[j + 512] + u[j - 1] + u[j + 1] + f(i, j));
    }
}

using sheet = ct::array<float, 1024, 1024>;
/// The energy of a membrane that is held at zero around, k (difference)^2 down and (difference)^2 to the right.
constexpr auto membrane = [](auto u, auto k) {
  const auto held = ct::pad<ct::low<1, 1>, ct::high<1, 1>>(u, 0.0f);
  const auto down = ct::slice<ct::range<1, 1026>, ct::full_extent>(held) - ct::slice<ct::range<0, 1025>, ct::full_extent>(held);
  const auto right = ct::slice<ct::full_extent, ct::range<1, 1026>>(held) - ct::slice<ct::full_extent, ct::range<0, 1025>>(held);
  return ct::sum(k * ct::square(down)) + ct::sum(ct::square(right));
};
void membrane_slope_by_hand(float* g, const sheet& u, const ct::array<float>& k) {
  static const float zeros[1024] = {};
  const float a = 2 * k(), all = 2 * a + 4;
  for (int i = 0; i < 1024; ++i) {
    const float *row = u.data() + 1024 * i, *above = i > 0 ? row - 1024 : zeros, *below = i < 1023 ? row + 1024 : zeros;
    float* to = g + 1024 * i;
    to[0] = all * row[0] - a * (above[0] + below[0]) - 2 * row[1];
    for (int j = 1; j < 1023; ++j) to[j] = all * row[j] - a * (above[j] + below[j]) - 2 * (row[j - 1] + row[j + 1]);
    to[1023] = all * row[1023] - a * (above[1023] + below[1023]) - 2 * row[1022];
  }
}

/// A step of a wave: e at the points of a grid, h and g between them along one axis and the other; differences are padded with zeros.
constexpr auto wave = [](auto e, auto h, auto g, auto c) {
  const auto down = [](auto f) { return f(ct::range<1, 512>) - f(ct::range<0, 511>); };
  const auto across = [](auto f) { return f(ct::full_extent, ct::range<1, 512>) - f(ct::full_extent, ct::range<0, 511>); };
  const auto h1 = h + 0.5f * ct::pad<ct::low<0, 0>, ct::high<1, 0>>(down(e)), g1 = g + 0.5f * ct::pad<ct::low<0, 0>, ct::high<0, 1>>(across(e));
  return e + c * (ct::pad<ct::low<1, 0>, ct::high<0, 0>>(down(h1)) + ct::pad<ct::low<0, 1>, ct::high<0, 0>>(across(g1)));
};
void wave_by_hand(float* y, const grid& e, const grid& h, const grid& g, const grid& c) {
  static float h1[2][512], zeros[512];  // of this row, and of the one before
  for (int i = 0; i < 512; ++i) {
    float *own = h1[i % 2], *before = h1[(i + 1) % 2], g1[512];
    const int below = i < 511 ? i + 1 : i;  // whose difference is 0 there
    for (int j = 0; j < 512; ++j) own[j] = h(i, j) + 0.5f * (e(below, j) - e(i, j));
    for (int j = 0; j < 511; ++j) g1[j] = g(i, j) + 0.5f * (e(i, j + 1) - e(i, j));
    g1[511] = g(i, 511);
    // Row and column 0 have no difference.
    const float *down = i > 0 ? own : zeros, *up = i > 0 ? before : zeros;
    y[512 * i] = e(i, 0) + c(i, 0) * (down[0] - up[0]);
    for (int j = 1; j < 512; ++j) y[512 * i + j] = e(i, j) + c(i, j) * ((down[j] - up[j]) + (g1[j] - g1[j - 1]));
  }
}

using curves = ct::array<float, 1000, 3>;
using times = ct::array<float, 50>;
using values = ct::array<float, 1000, 50>;
/// Ten steps of Gauss and Newton for a exp(-b t) + c.
constexpr auto fitted = ct::vmap([](auto p, auto t, auto y) {
  const auto residual = [](auto p, auto t, auto y) { return p(ct::index<0>) * ct::exp(-p(ct::index<1>) * t) + p(ct::index<2>) - y; };
  return ct::fori_loop<0, 10>([=](auto, auto p) {
    const auto j = ct::jacfwd(residual)(p, t, y);
    return p - ct::linalg::solve(ct::matmul(ct::transpose(j), j) + 0.01f * ct::eye<float, 3>(), ct::matmul(ct::transpose(j), residual(p, t, y)));
  }, p);
}, ct::in_axes<0, ct::none, 0>);
void fitted_by_hand(float* result, const curves& starts, const times& t, const values& y) {
  for (int i = 0; i < 1000; ++i) {
    float a = starts(i, 0), b = starts(i, 1), c = starts(i, 2);
    for (int turn = 0; turn < 10; ++turn) {
      // Sums of products of the derivatives e, -a t e, 1 and of the residual r; 1 x 1 is 50.
      float ee = 0.01f, eb = 0, e1 = 0, bb = 0.01f, b1 = 0, re = 0, rb = 0, r1 = 0;
      const float one = 50.01f;
      float e[50];
      for (int k = 0; k < 50; ++k) e[k] = std::exp(-b * t(k));
      for (int k = 0; k < 50; ++k) {
        const float by_b = -a * t(k) * e[k], r = a * e[k] + c - y(i, k);
        ee += e[k] * e[k], eb += e[k] * by_b, e1 += e[k], bb += by_b * by_b, b1 += by_b, re += r * e[k], rb += r * by_b, r1 += r;
      }
      const float ca = bb * one - b1 * b1, cb = e1 * b1 - eb * one, cc = eb * b1 - bb * e1, over = 1 / (ee * ca + eb * cb + e1 * cc);
      a -= over * (ca * re + cb * rb + cc * r1);
      b -= over * (cb * re + (ee * one - e1 * e1) * rb + (eb * e1 - ee * b1) * r1);
      c -= over * (cc * re + (eb * e1 - ee * b1) * rb + (ee * bb - eb * eb) * r1);
    }
    result[3 * i] = a, result[3 * i + 1] = b, result[3 * i + 2] = c;
  }
}

using points = ct::array<float, 100000, 10>;
using form = ct::array<float, 10, 10>;
constexpr auto quadratic = ct::vmap([](auto x, auto a) { return ct::dot(x, ct::matmul(a, x)); }, ct::in_axes<0, ct::none>);
void quadratic_by_hand(float* y, const points& x, const form& a) {
  for (int i = 0; i < 100000; ++i) {
    float by_column[10] = {}, sum = 0;
    for (int k = 0; k < 10; ++k)
      for (int j = 0; j < 10; ++j) by_column[j] += x(i, k) * a(k, j);
    for (int j = 0; j < 10; ++j) sum += by_column[j] * x(i, j);
    y[i] = sum;
  }
}

using vector = ct::array<float, 512>;
using square_matrix = ct::array<float, 512, 512>;
constexpr auto slope_of_layer = ct::jacrev([](auto x, auto w) { return ct::tanh(ct::matmul(w, x)); });
void slope_of_layer_by_hand(float* y, const vector& x, const square_matrix& w) {
  for (int i = 0; i < 512; ++i) {
    const float* row = &w(i, 0);
    float sums[16] = {}, sum = 0;
    for (int j = 0; j < 512; j += 16)
      for (int k = 0; k < 16; ++k) sums[k] += row[j + k] * x(j + k);
    for (float s : sums) sum += s;
    const float t = std::tanh(sum), slope = 1 - t * t;
    for (int j = 0; j < 512; ++j) y[512 * i + j] = slope * row[j];
  }
}
constexpr auto scaled_by_diagonals = [](auto w, auto d, auto e) { return ct::matmul(ct::diag(d), ct::matmul(w, ct::diag(e))); };
void scaled_by_diagonals_by_hand(float* y, const square_matrix& w, const vector& d, const vector& e) {
  for (int i = 0; i < 512; ++i)
    for (int j = 0; j < 512; ++j) y[512 * i + j] = d(i) * (w(i, j) * e(j));
}

using key = ct::array<std::uint32_t, 2>;
constexpr auto mean_square = [](auto k) { return ct::mean(ct::square(ct::random::uniform<float, 1000000>(k))); };
void mean_square_by_hand(float* y, const key& k) {
  constexpr int block = 1000;
  const std::uint32_t keys[] = {k(0), k(1), k(0) ^ k(1) ^ 0x1BD11BDAu};
  constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  double sum = 0;
  for (int first = 0; first < 1000000; first += block) {
    float squares[block], of_block = 0;
    for (int i = 0; i < block; ++i) {
      std::uint32_t a = keys[0], b = std::uint32_t(first + i) + keys[1];
#pragma GCC unroll 5
      for (int round = 0; round < 5; ++round) {
#pragma GCC unroll 4
        for (int turn : rotations[round % 2]) a += b, b = (b << turn | b >> (32 - turn)) ^ a;
        a += keys[(round + 1) % 3], b += keys[(round + 2) % 3] + std::uint32_t(round + 1);
      }
      const float u = float(int((a ^ b) >> 9)) * 0x1p-23f;
      squares[i] = u * u;
    }
    for (float x : squares) of_block += x;
    sum += of_block;
  }
  *y = float(sum / 1000000);
}

}  // namespace

void add_programs() {
  row<grid, grid>("50 turns of Jacobi's iteration inside of [512, 512]", relaxed, relaxed_by_hand, some_numbers);
  row<sheet, ct::array<float>>("gradient of the energy of a membrane [1024, 1024], zero around", ct::grad(membrane), membrane_slope_by_hand, [](bench::source& s, sheet& u, ct::array<float>& k) {
    s.uniform(-1, 1, u);
    k = 0.3f;
  });
  row<grid, grid, grid, grid>("a step of a wave on staggered grids [512, 512], differences padded with zeros", wave, wave_by_hand, some_numbers);
  row<curves, times, values>("fits of 1,000 curves to 50 points, 10 steps", fitted, fitted_by_hand, [](bench::source& s, curves& p, times& t, values& y) {
    s.uniform(0.5, 1, p), s.uniform(0, 3, t), s.uniform(-0.02, 0.02, y);
    for (int i = 0; i < 1000; ++i)
      for (int k = 0; k < 50; ++k) y(i, k) += (0.6f + 0.0003f * float(i)) * std::exp(-0.8f * t(k)) + 0.7f;
  });
  row<points, form>("quadratic forms of 100,000 vectors [10]", quadratic, quadratic_by_hand, some_numbers);
  row<vector, square_matrix>("Jacobian of tanh(W x), W [512, 512], by reverse mode", slope_of_layer, slope_of_layer_by_hand, [](bench::source& s, vector& x, square_matrix& w) { s.uniform(-0.1, 0.1, x, w); });
  row<square_matrix, vector, vector>("a matrix [512, 512] between two diagonal ones", scaled_by_diagonals, scaled_by_diagonals_by_hand, some_numbers);
  row<key>("mean square of 1,000,000 uniform random numbers", mean_square, mean_square_by_hand, [](bench::source&, key& k) { k = ct::random::key(7); });
}

}  // namespace arrays
