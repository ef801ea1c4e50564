/// Everyday operations on arrays with short rows (pools, colours, coordinates), with gathered rows, along outer axes, and with updates
/// at computed places, each beside a loop by hand, in one thread.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <cotangent/cotangent.hpp>

#include "harness.hpp"
#include "inputs.hpp"

namespace {

namespace ct = cotangent;

/// Registers f of arguments that `fill` makes, beside by_hand(result, arguments...) into memory of as many elements.
template <class... Argument, class F, class Hand, class Fill> void row(std::string name, F f, Hand by_hand, Fill fill) {
  bench::compare("arrays", name, 1, "by hand", [=] {
    using result = decltype(std::invoke(ct::jit(f), std::declval<const Argument&>()...));
    struct memory {
      std::tuple<Argument...> arguments;
      result ours;
      std::vector<typename result::value_type> expected;
    };
    auto data = std::make_shared<memory>();
    bench::source source;
    std::apply([&](auto&... a) { fill(source, a...); }, data->arguments);
    data->expected.resize(std::size_t(data->ours.size()));
    const auto ours = [=] { std::apply([&](const auto&... a) { ct::jit(f).into(data->ours)(a...); }, data->arguments); };
    const auto theirs = [=] { std::apply([&](const auto&... a) { by_hand(data->expected.data(), a...); }, data->arguments); };
    ours(), theirs();
    for (std::size_t i = 0; i < data->expected.size(); ++i) {
      const double a = data->ours.data()[i], b = data->expected[i];
      if (std::abs(a - b) <= 1e-4 * (1 + std::abs(b))) continue;
      std::fprintf(stderr, "arrays: %s: element %zu is %g, by hand %g\n", name.c_str(), i, a, b);
      std::exit(1);
    }
    return bench::sides{ours, theirs};
  });
}

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

using features = ct::array<float, 256, 28, 28, 4>;
using vectors = ct::array<float, 64, 500, 3>;
using numbers = ct::array<float, 64, 500>;
using image = ct::array<float, 512, 512, 3>;
using colour = ct::array<float, 3>;

using table = ct::array<double, 10000, 3, 26>;
using weights = ct::array<double, 25600, 3>;
using corners = ct::array<std::int32_t, 25600, 3>;
/// Weighted sums of three rows of a table, as those between the corners of triangles.
constexpr auto between = [](auto rows, auto weights, auto corners) {
  const auto chosen = ct::take<0>(rows, corners);  // [n, 3, 3, 26]
  const auto part = [&](auto k) { return ct::expand_dims<1>(ct::expand_dims<1>(weights(ct::full_extent, k))) * chosen(ct::full_extent, k); };
  return part(ct::index<0>) + part(ct::index<1>) + part(ct::index<2>);
};
void between_by_hand(double* y, const table& rows, const weights& w, const corners& c) {
  for (int i = 0; i < 25600; ++i)
    for (int j = 0; j < 78; ++j)
      y[78 * i + j] = w(i, 0) * rows.data()[78 * c(i, 0) + j] + w(i, 1) * rows.data()[78 * c(i, 1) + j] + w(i, 2) * rows.data()[78 * c(i, 2) + j];
}

using words = ct::array<float, 10000, 64>;
using bags = ct::array<std::int32_t, 10000, 16>;
constexpr auto bag_sums = [](auto words, auto bags) { return ct::sum(ct::take<0>(words, bags), ct::axis<1>); };
constexpr auto bag_slope = ct::grad([](auto words, auto bags) { return ct::sum(ct::square(bag_sums(words, bags))); });
void sum_of_bag(float* s, const words& w, const bags& b, int i) {
  std::fill_n(s, 64, 0.0f);
  for (int k = 0; k < 16; ++k)
    for (int j = 0; j < 64; ++j) s[j] += w(b(i, k), j);
}
void bag_sums_by_hand(float* y, const words& w, const bags& b) {
  for (int i = 0; i < 10000; ++i) {
    float s[64];
    sum_of_bag(s, w, b, i);
    std::copy_n(s, 64, y + 64 * i);
  }
}
void bag_slope_by_hand(float* g, const words& w, const bags& b) {
  std::fill_n(g, 640000, 0.0f);
  for (int i = 0; i < 10000; ++i) {
    float s[64];
    sum_of_bag(s, w, b, i);
    for (int k = 0; k < 16; ++k)
      for (int j = 0; j < 64; ++j) g[64 * b(i, k) + j] += 2 * s[j];
  }
}
using nodes = ct::array<float, 20000, 3>;
using ends = ct::array<std::int32_t, 60000>;
/// Forces of springs of rest length 1 between nodes.
constexpr auto spring_forces = ct::grad([](auto x, auto i, auto j) {
  const auto d = ct::take<0>(x, i) - ct::take<0>(x, j);
  return -0.5f * ct::sum(ct::square(ct::sqrt(ct::sum(d * d, ct::axis<1>)) - 1.0f));
});
void spring_forces_by_hand(float* f, const nodes& x, const ends& from, const ends& to) {
  std::fill_n(f, 60000, 0.0f);
  for (int s = 0; s < 60000; ++s) {
    const int i = from(s), j = to(s);
    float d[3], squares = 0;
    for (int k = 0; k < 3; ++k) d[k] = x(i, k) - x(j, k), squares += d[k] * d[k];
    const float pull = 1 / std::sqrt(squares) - 1;
    for (int k = 0; k < 3; ++k) f[3 * i + k] += pull * d[k], f[3 * j + k] -= pull * d[k];
  }
}

using series = ct::array<float, 1000, 1000>;
constexpr auto moving_averages = [](auto x) {
  const auto turn = [](auto average, auto row) {
    const auto next = 0.9f * average + 0.1f * row;
    return std::tuple(next, next);
  };
  return std::get<1>(ct::scan(turn, ct::zeros<float, 1000>(), x));
};
void moving_averages_by_hand(float* y, const series& x) {
  for (int j = 0; j < 1000; ++j) y[j] = 0.1f * x(0, j);
  for (int i = 1; i < 1000; ++i)
    for (int j = 0; j < 1000; ++j) y[1000 * i + j] = 0.9f * y[1000 * (i - 1) + j] + 0.1f * x(i, j);
}
void sums_by_hand(float* y, const series& x) {
  std::copy_n(x.data(), 1000, y);
  for (int i = 1; i < 1000; ++i)
    for (int j = 0; j < 1000; ++j) y[1000 * i + j] = y[1000 * (i - 1) + j] + x(i, j);
}
constexpr auto histogram = [](auto x) { return ct::at(ct::zeros<float, 256>(), ct::astype<std::int32_t>(256.0f * ct::ravel(x))).add(1); };
void histogram_by_hand(float* counts, const series& x) {
  std::fill_n(counts, 256, 0.0f);
  for (float v : x)
    if (const int k = int(256 * v); k < 256) ++counts[k];
}

constexpr auto some_numbers = [](bench::source& s, auto&... a) { s.uniform(0.1, 1, a...); };
template <int Rows> void choose(bench::source& s, auto& indices) {
  for (auto& i : indices) i = s.index(Rows);
}

}  // namespace

int main(int argc, char** argv) {
  bench::init(argc, argv);
  ct::set_num_threads(1);
  row<maps>("2 x 2 max pool of [256, 56, 56]", pool, pool_by_hand, some_numbers);
  row<maps>("2 x 2 max pool of [256, 56, 56], gradient", pool_slope, pool_slope_by_hand, some_numbers);
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
  const auto chosen_corners = [](bench::source& s, table& t, weights& w, corners& c) { s.uniform(0, 1, t, w), choose<10000>(s, c); };
  row<table, weights, corners>("weighted sums of 3 rows [3, 26] of a table", between, between_by_hand, chosen_corners);
  const auto chosen_words = [](bench::source& s, words& w, bags& b) { s.uniform(0, 0.1, w), choose<10000>(s, b); };
  row<words, bags>("sums of 16 rows of 64 numbers", bag_sums, bag_sums_by_hand, chosen_words);
  row<words, bags>("sums of 16 rows of 64 numbers, gradient", bag_slope, bag_slope_by_hand, chosen_words);
  row<nodes, ends, ends>("forces of 60,000 springs between 20,000 nodes", spring_forces, spring_forces_by_hand,
                         [](bench::source& s, nodes& x, ends& i, ends& j) { s.uniform(0, 30, x), choose<20000>(s, i), choose<20000>(s, j); });
  row<series>("cumulative sums along axis 0, [1000, 1000]", [](auto x) { return ct::cumsum(x, ct::axis<0>); }, sums_by_hand, some_numbers);
  row<series>("moving averages of 1,000 series by a scan", moving_averages, moving_averages_by_hand, some_numbers);
  row<series>("histogram of 1,000,000 numbers", histogram, histogram_by_hand, some_numbers);
  return bench::run(argc, argv);
}
