/// Pools, and sums and products over rows of 3 and 4 numbers.

#include "arrays.hpp"

namespace arrays {
namespace {

using maps = ct::array<float, 256, 56, 56>;
constexpr auto pool = [](auto x) { return ct::max(ct::reshape<256, 28, 2, 28, 2>(x), ct::axis<2, 4>); };
constexpr auto pool_slope = ct::grad([](auto x) { return ct::sum(ct::square(pool(x))); });
/// visit(the four elements' places, the pool's place).
template <class Visit> void each_pool(const Visit& visit) {
  for (int b = 0; b < 256; ++b)
    for (int i = 0; i < 28; ++i)
      for (int j = 0; j < 28; ++j) {
        const int first = 3136 * b + 112 * i + 2 * j;
        visit(std::array{first, first + 1, first + 56, first + 57}, 784 * b + 28 * i + j);
      }
}
void pool_by_hand(float* y, const maps& x) {
  const float* p = x.data();
  each_pool([&](const auto& at, int to) { y[to] = std::max(std::max(p[at[0]], p[at[1]]), std::max(p[at[2]], p[at[3]])); });
}
/// Ties share the slope.
void pool_slope_by_hand(float* g, const maps& x) {
  const float* p = x.data();
  each_pool([&](const auto& at, int) {
    const float most = std::max(std::max(p[at[0]], p[at[1]]), std::max(p[at[2]], p[at[3]]));
    int ties = 0;
    for (int k : at) ties += p[k] == most;
    for (int k : at) g[k] = p[k] == most ? 2 * most / float(ties) : 0;
  });
}

using run_time_rows = ct::array<float, ct::dyn, ct::dyn>;
constexpr auto fill_run_time_rows = [](bench::source& s, run_time_rows& x) {
  x = run_time_rows({100000, 5});
  s.uniform(0.1, 1, x);
};

using features = ct::array<float, 256, 28, 28, 4>;
using vectors = ct::array<float, 64, 500, 3>;
using numbers = ct::array<float, 64, 500>;
using image = ct::array<float, 512, 512, 3>;
using colour = ct::array<float, 3>;
using bytes = ct::array<std::uint8_t, 512, 512, 3>;
using mixture = ct::array<float, 3, 3>;

}  // namespace

void add_short_rows() {
  row<maps>("2 x 2 max pool of [256, 56, 56]", pool, pool_by_hand, some_numbers);
  row<maps>("2 x 2 max pool of [256, 56, 56], gradient", pool_slope, pool_slope_by_hand, some_numbers);
  row<run_time_rows>("sums of 100,000 rows of 5 whose extents are known at run time", [](auto x) { return ct::sum(x, ct::axis<1>); }, [](float* y, const run_time_rows& x) {
    const ct::extent n = x.extent(1);
    for (ct::extent i = 0; i < x.extent(0); ++i) {
      float sum = 0;
      for (ct::extent k = 0; k < n; ++k) sum += x.data()[i * n + k];
      y[i] = sum;
    }
  }, fill_run_time_rows);
  row<run_time_rows>("the places of their largest elements", [](auto x) { return ct::argmax(x, ct::axis<1>); }, [](std::int32_t* y, const run_time_rows& x) {
    const ct::extent n = x.extent(1);
    for (ct::extent i = 0; i < x.extent(0); ++i) {
      const float* p = x.data() + i * n;
      ct::extent at = 0;
      for (ct::extent k = 1; k < n; ++k) at = p[k] > p[at] ? k : at;
      y[i] = std::int32_t(at);
    }
  }, fill_run_time_rows);
  row<features>("sums of 4, [256, 28, 28, 4]", [](auto x) { return ct::sum(x, ct::axis<3>); }, [](float* y, const features& x) {
    for (int i = 0; i < 200704; ++i) y[i] = x.data()[4 * i] + x.data()[4 * i + 1] + x.data()[4 * i + 2] + x.data()[4 * i + 3];
  }, some_numbers);
  row<vectors, numbers>("vectors [64, 500, 3] times numbers", [](auto x, auto w) { return x * ct::expand_dims<-1>(w); }, [](float* y, const vectors& x, const numbers& w) {
    for (int i = 0; i < 32000; ++i)
      for (int k = 0; k < 3; ++k) y[3 * i + k] = x.data()[3 * i + k] * w.data()[i];
  }, some_numbers);
  row<vectors, numbers>("weighted sums of vectors [64, 500, 3]", [](auto x, auto w) { return ct::sum(x * ct::expand_dims<-1>(w), ct::axis<1>); }, [](float* y, const vectors& x, const numbers& w) {
    for (int b = 0; b < 64; ++b) {
      float s[3] = {};
      for (int i = 0; i < 500; ++i)
        for (int k = 0; k < 3; ++k) s[k] += x(b, i, k) * w(b, i);
      std::copy_n(s, 3, y + 3 * b);
    }
  }, some_numbers);
  row<image, colour, colour>("image [512, 512, 3] times a colour plus one", [](auto x, auto a, auto b) { return x * a + b; }, [](float* y, const image& x, const colour& a, const colour& b) {
    for (int i = 0; i < 262144; ++i)
      for (int k = 0; k < 3; ++k) y[3 * i + k] = x.data()[3 * i + k] * a(k) + b(k);
  }, some_numbers);
  row<image>("image [512, 512, 3] over its pixels' means", [](auto x) { return x / ct::mean(x, ct::axis<2>, ct::keepdims); }, [](float* y, const image& x) {
    for (int i = 0; i < 262144; ++i) {
      const float* p = x.data() + 3 * i;
      const float over = 3 / (p[0] + p[1] + p[2]);
      for (int k = 0; k < 3; ++k) y[3 * i + k] = p[k] * over;
    }
  }, some_numbers);
  row<bytes, mixture>("colours of bytes [512, 512, 3] by a matrix [3, 3]", [](auto x, auto m) { return ct::matmul(ct::astype<float>(x), m); }, [](float* y, const bytes& x, const mixture& m) {
    for (int i = 0; i < 262144; ++i) {
      const std::uint8_t* p = x.data() + 3 * i;
      for (int k = 0; k < 3; ++k) y[3 * i + k] = float(p[0]) * m(0, k) + float(p[1]) * m(1, k) + float(p[2]) * m(2, k);
    }
  }, [](bench::source& s, bytes& x, mixture& m) {
    for (std::uint8_t& b : x) b = std::uint8_t(s.index(256));
    s.uniform(0.1, 1, m);
  });
}

}  // namespace arrays
