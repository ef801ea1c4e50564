/// Sorted numbers, and sums and extrema of segments.

#include "arrays.hpp"

namespace arrays {
namespace {

constexpr int count = 100000, segments = 1000;
using numbers = ct::array<float, count>;
using integers = ct::array<std::int32_t, count>;

constexpr auto fill_integers = [](bench::source& s, integers& x) {
  for (auto& k : x) k = s.index(1 << 30) - (1 << 29);
};
/// Each index above its key, which has no sign then: they compare as one number.
void order_by_hand(std::int32_t* y, const integers& x) {
  static std::vector<std::uint64_t> entries(count);
  for (int i = 0; i < count; ++i) entries[std::size_t(i)] = std::uint64_t(std::uint32_t(x(i)) ^ 0x80000000u) << 32 | std::uint64_t(i);
  std::sort(entries.begin(), entries.end());
  for (int i = 0; i < count; ++i) y[i] = std::int32_t(entries[std::size_t(i)]);
}
/// Numbers and their segments, Run neighbours in each on average.
template <int Run> constexpr auto fill_segments = [](bench::source& s, numbers& x, integers& ids) {
  s.uniform(0.1, 1, x);
  std::int32_t id = 0;
  for (auto& k : ids) {
    if (s.index(Run) == 0) id = s.index(segments);
    k = id;
  }
};
constexpr auto sums = [](auto x, auto ids) { return ct::segment_sum<segments>(x, ids); };
void sums_by_hand(float* y, const numbers& x, const integers& ids) {
  std::fill_n(y, segments, 0.0f);
  for (int i = 0; i < count; ++i)
    if (const std::uint32_t k = std::uint32_t(ids(i)); k < segments) y[k] += x(i);
}
void largest_by_hand(float* y, const numbers& x, const integers& ids) {
  std::fill_n(y, segments, -INFINITY);
  for (int i = 0; i < count; ++i)
    if (const std::uint32_t k = std::uint32_t(ids(i)); k < segments) y[k] = std::max(y[k], x(i));
}

}  // namespace

void add_places() {
  row<integers>("the order of 100,000 integers", [](auto x) { return ct::argsort(x); }, order_by_hand, fill_integers);
  row<numbers>("100,000 numbers sorted", [](auto x) { return ct::sort(x); }, [](float* y, const numbers& x) {
    std::copy_n(x.data(), count, y);
    std::sort(y, y + count);
  }, some_numbers);
  row<numbers, integers>("sums of 100,000 numbers in 1,000 segments", sums, sums_by_hand, fill_segments<1>);
  row<numbers, integers>("the same in runs of about 3", sums, sums_by_hand, fill_segments<3>);
  row<numbers, integers>("the same in runs of about 100", sums, sums_by_hand, fill_segments<100>);
  row<numbers, integers>("the largest of 100,000 numbers in each of 1,000 segments", [](auto x, auto ids) { return ct::segment_max<segments>(x, ids); }, largest_by_hand, fill_segments<1>);
}

}  // namespace arrays
