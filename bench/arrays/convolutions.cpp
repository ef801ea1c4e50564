/// Convolutions beside what a kernel meets at each pixel copied into the rows of a matrix, image by image, and Eigen's products; filters of single channels
/// and pools beside loops.

#include <cstring>

#include <Eigen/Core>

#include "arrays.hpp"

namespace arrays {
namespace {

constexpr int images = 4, side = 56, channels = 64, terms = 9 * channels, pixels = side * side;
using image = ct::array<float, images, side, side, channels>;
using kernel = ct::array<float, 3, 3, channels, channels>;
using rows_of = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using matrix = Eigen::Map<rows_of>;
using const_matrix = Eigen::Map<const rows_of>;

constexpr auto same = [](auto x, auto k) { return ct::conv(x, k, ct::same); };
constexpr auto by_x = [](auto y, auto k) { return std::get<0>(std::get<1>(ct::vjp([k](auto x) { return same(x, k); }, ct::zeros_like(y)))(y)); };
constexpr auto by_kernel = [](auto x, auto y, auto k) { return std::get<0>(std::get<1>(ct::vjp([x](auto k) { return same(x, k); }, k))(y)); };

/// What a kernel of 3 x 3 meets at each pixel of an image, with zeros around.
void fill_rows(const float* x, rows_of& to) {
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j)
      for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) {
          float* const at = &to(i * side + j, (3 * a + b) * channels);
          const int row = i + a - 1, column = j + b - 1;
          if (row < 0 || row >= side || column < 0 || column >= side) std::memset(at, 0, channels * sizeof(float));
          else std::memcpy(at, x + (row * side + column) * channels, channels * sizeof(float));
        }
}
void convolve(float* y, const float* x, const float* k) {
  static rows_of rows(pixels, terms);
  for (int n = 0; n < images; ++n) {
    fill_rows(x + n * pixels * channels, rows);
    matrix(y + n * pixels * channels, pixels, channels).noalias() = rows * const_matrix(k, terms, channels);
  }
}

constexpr int wide = 96;
using wide_image = ct::array<float, images, side, side, wide>;
using wide_kernel = ct::array<float, 3, 3, 1, wide>;
constexpr int large = 1024;
using picture = ct::array<float, 1, large, large, 1>;
using filter = ct::array<float, 5, 5, 1, 1>;
using pooled = ct::array<float, images, 28, 28, channels>;
constexpr auto pool_back = [](auto x, auto y) {
  return std::get<0>(std::get<1>(ct::vjp([](auto x) { return ct::nn::max_pool<3, 3>(x, ct::strides<2, 2>, ct::same); }, x))(y));
};

}  // namespace

void add_convolutions() {
  row<image, kernel>("convolution [4, 56, 56, 64] to 64, 3 x 3", same, [](float* y, const image& x, const kernel& k) { convolve(y, x.data(), k.data()); }, some_numbers);
  row<image, kernel>("its derivative by x", by_x, [](float* x, const image& y, const kernel& k) {
    static float turned[terms * channels];
    for (int t = 0; t < 9; ++t)
      for (int c = 0; c < channels; ++c)
        for (int f = 0; f < channels; ++f) turned[((8 - t) * channels + f) * channels + c] = k.data()[(t * channels + c) * channels + f];
    convolve(x, y.data(), turned);
  }, some_numbers);
  row<image, image, kernel>("its derivative by the kernel", by_kernel, [](float* k, const image& x, const image& y, const kernel&) {
    static rows_of rows(pixels, terms);
    matrix to(k, terms, channels);
    to.setZero();
    for (int n = 0; n < images; ++n) {
      fill_rows(x.data() + n * pixels * channels, rows);
      to.noalias() += rows.transpose() * const_matrix(y.data() + n * pixels * channels, pixels, channels);
    }
  }, some_numbers);
  row<wide_image, wide_kernel>("convolution of each of 96 channels, [4, 56, 56, 96], 3 x 3", [](auto x, auto k) { return ct::conv(x, k, ct::same, ct::feature_groups<wide>); },
                               [](float* y, const wide_image& x, const wide_kernel& k) {
    for (int n = 0; n < images; ++n)
      for (int i = 0; i < side; ++i)
        for (int j = 0; j < side; ++j) {
          float sums[wide] = {};
          for (int a = std::max(0, 1 - i); a < std::min(3, side + 1 - i); ++a)
            for (int b = std::max(0, 1 - j); b < std::min(3, side + 1 - j); ++b) {
              const float *from = &x(n, i + a - 1, j + b - 1, 0), *weights = &k(a, b, 0, 0);
              for (int c = 0; c < wide; ++c) sums[c] += weights[c] * from[c];
            }
          std::copy_n(sums, wide, y + ((n * side + i) * side + j) * wide);
        }
  }, some_numbers);
  row<picture, filter>("filter of 5 x 5 of an image [1024, 1024]", same, [](float* y, const picture& x, const filter& k) {
    const auto pixel = [&](int i, int j) {
      float sum = 0;
      for (int a = std::max(0, 2 - i); a < std::min(5, large + 2 - i); ++a)
        for (int b = std::max(0, 2 - j); b < std::min(5, large + 2 - j); ++b) sum += k(a, b, 0, 0) * x(0, i + a - 2, j + b - 2, 0);
      return sum;
    };
    for (int i = 0; i < large; ++i) {
      const bool inside = i >= 2 && i < large - 2;
      for (int j = 0; j < large; j += !inside || j == 1 ? 1 : j >= 2 ? large : 1)
        if (!inside || j < 2) y[i * large + j] = pixel(i, j);
      if (!inside) continue;
      for (int j = large - 2; j < large; ++j) y[i * large + j] = pixel(i, j);
      float* const to = y + i * large;
      const float* const from = x.data() + (i - 2) * large - 2;
      float weights[25];
      std::copy_n(k.data(), 25, weights);
      for (int j = 2; j < large - 2; ++j) {
        float sum = 0;
        for (int a = 0; a < 5; ++a)
          for (int b = 0; b < 5; ++b) sum += weights[5 * a + b] * from[a * large + j + b];
        to[j] = sum;
      }
    }
  }, some_numbers);
  row<image, pooled>("derivative of a pool of 3 x 3, 2 apart, of [4, 56, 56, 64]", pool_back, [](float* to, const image& x, const pooled& y) {
    std::fill_n(to, x.size(), 0.0f);
    for (int n = 0; n < images; ++n)
      for (int i = 0; i < 28; ++i)
        for (int j = 0; j < 28; ++j) {
          float most[channels];
          int place[channels];
          std::fill_n(most, channels, -INFINITY);
          for (int a = 2 * i; a < std::min(2 * i + 3, side); ++a)
            for (int b = 2 * j; b < std::min(2 * j + 3, side); ++b) {
              const float* const from = &x(n, a, b, 0);
              for (int c = 0; c < channels; ++c) {
                const bool more = from[c] > most[c];
                most[c] = more ? from[c] : most[c], place[c] = more ? a * side + b : place[c];
              }
            }
          for (int c = 0; c < channels; ++c) to[(n * pixels + place[c]) * channels + c] += y(n, i, j, c);
        }
  }, some_numbers);
}

}  // namespace arrays
