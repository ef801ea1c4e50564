/// Many series side by side: sums and averages along axis 0, and a histogram.

#include "arrays.hpp"

namespace arrays {
namespace {

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

}  // namespace

void add_series() {
  row<series>("cumulative sums along axis 0, [1000, 1000]", [](auto x) { return ct::cumsum(x, ct::axis<0>); }, sums_by_hand, some_numbers);
  row<series>("moving averages of 1,000 series by a scan", moving_averages, moving_averages_by_hand, some_numbers);
  row<series>("histogram of 1,000,000 numbers", histogram, histogram_by_hand, some_numbers);
}

}  // namespace arrays
