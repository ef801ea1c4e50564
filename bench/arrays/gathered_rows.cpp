/// Rows gathered by indices, and gradients added at them.

#include "arrays.hpp"

namespace arrays {
namespace {

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
using features = ct::array<float, 5000, 16>;
using edges = ct::array<std::int32_t, 40000>;
/// By the features of a graph's nodes: of the sum of sin of what each node gets along the edges that end there.
constexpr auto message_slope = ct::grad([](auto x, auto from, auto to) { return ct::sum(ct::sin(ct::segment_sum<5000>(ct::take<0>(x, from), to))); });
void message_slope_by_hand(float* g, const features& x, const edges& from, const edges& to) {
  static features slopes;
  std::fill_n(slopes.data(), 80000, 0.0f), std::fill_n(g, 80000, 0.0f);
  for (int e = 0; e < 40000; ++e)
    for (int k = 0; k < 16; ++k) slopes.data()[16 * to(e) + k] += x(from(e), k);
  for (float& s : slopes) s = std::cos(s);
  for (int e = 0; e < 40000; ++e)
    for (int k = 0; k < 16; ++k) g[16 * from(e) + k] += slopes.data()[16 * to(e) + k];
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

}  // namespace

void add_gathered_rows() {
  const auto chosen_corners = [](bench::source& s, table& t, weights& w, corners& c) { s.uniform(0, 1, t, w), choose<10000>(s, c); };
  row<table, weights, corners>("weighted sums of 3 rows [3, 26] of a table", between, between_by_hand, chosen_corners);
  const auto chosen_words = [](bench::source& s, words& w, bags& b) { s.uniform(0, 0.1, w), choose<10000>(s, b); };
  row<words, bags>("sums of 16 rows of 64 numbers", bag_sums, bag_sums_by_hand, chosen_words);
  row<words, bags>("sums of 16 rows of 64 numbers, gradient", bag_slope, bag_slope_by_hand, chosen_words);
  row<features, edges, edges>("messages of 16 numbers along 40,000 edges, gradient", message_slope, message_slope_by_hand,
                              [](bench::source& s, features& x, edges& from, edges& to) { s.uniform(-1, 1, x), choose<5000>(s, from), choose<5000>(s, to); });
  row<nodes, ends, ends>("forces of 60,000 springs between 20,000 nodes", spring_forces, spring_forces_by_hand,
                         [](bench::source& s, nodes& x, ends& i, ends& j) {
                           s.uniform(0, 30, x), choose<20000>(s, i), choose<20000>(s, j);
                           for (int k = 0; k < 60000; ++k) j(k) = j(k) == i(k) ? (j(k) + 1) % 20000 : j(k);
                         });
}

}  // namespace arrays
