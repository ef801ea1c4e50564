/// Grids of devices, their blocks and threads one after the other: what a thread takes at once, and what that changes.

#include <cstring>
#include <vector>

#include <cotangent/backends/simt/kernel.hpp>

#include "catch.hpp"
#include "written_kernels.hpp"

namespace grid_tests {

namespace ct = cotangent;
using ct::access;
using ct::extent;
using ct::slot;
using ct::space;
using written::kernel;
namespace simt = ct::simt;

namespace {

struct add { template <class V> static V lane(V a, V b) { return a + b; } };
struct mul { template <class V> static V lane(V a, V b) { return a * b; } };
struct less { template <class V> static auto lane(V a, V b) { return a < b; } };
template <class U> struct cast { template <class V> static auto lane(V a) { return ct::convert<U>(a); } };

using line = access<0, 1>;
/// y = a x + z along a line
template <class T>
using axpy = kernel<space<slot(0)>, written::load<T, 0, line>, written::load<T, 1, line>, written::apply<mul, T, 0, 1>, written::load<T, 2, line>,
                    written::apply<add, T, 2, 3>, written::store<T, 3, 4, line>>::type;
/// y[i, j] = x[i, j] * row[j] + column[i]
template <class T>
using outer = kernel<space<slot(0), slot(1)>, written::load<T, 0, access<0, slot(1), 1>>, written::load<T, 1, access<0, 0, 1>>, written::apply<mul, T, 0, 1>,
                     written::load<T, 2, access<0, 1, 0>>, written::apply<add, T, 2, 3>, written::store<T, 3, 4, access<0, slot(1), 1>>>::type;

template <class Grid> void run(const Grid& grid) {
  for (extent block = 0; block < grid.blocks(); ++block)
    for (int thread = 0; thread < Grid::threads; ++thread) grid(block, thread);
}

template <class T> std::vector<T> numbers(extent count, int step) {
  std::vector<T> x(static_cast<std::size_t>(count));
  for (extent i = 0; i < count; ++i) x[std::size_t(i)] = T(i * step % 17 - 8);
  return x;
}
/// Elements that begin `shift` elements behind an address that 16 divides, filled with what no kernel computes here.
template <class T> class shifted {
 public:
  shifted(extent count, int shift) : memory_(std::size_t(count + shift) * sizeof(T) / 16 + 2), shift_(shift), count_(count) { std::fill_n(data(), count, T(99)); }
  shifted(const std::vector<T>& from, int shift) : shifted(extent(from.size()), shift) { std::copy(from.begin(), from.end(), data()); }
  T* data() { return reinterpret_cast<T*>(memory_.data()) + shift_; }
  std::vector<T> copy() { return std::vector<T>(data(), data() + count_); }

 private:
  struct alignas(16) unit {
    unsigned char bytes[16];
  };
  std::vector<unit> memory_;
  int shift_;
  extent count_;
};

/// Of a line of numbers that begin at odd addresses or not: whether neighbours were taken together.
template <class T> bool line_agrees(extent n, int shift_of_x, int shift_of_y) {
  const std::vector<T> x = numbers<T>(n, 3), a = numbers<T>(n, 5), z = numbers<T>(n, 7);
  shifted<T> at_x(x, shift_of_x), at_a(a, 0), at_z(z, 0), at_y(n, shift_of_y);
  void* buffers[] = {at_x.data(), at_a.data(), at_z.data(), at_y.data()};
  const simt::point_grid<axpy<T>> grid(buffers, &n);
  run(grid);
  std::vector<T> want(x.size());
  for (std::size_t i = 0; i < want.size(); ++i) want[i] = x[i] * a[i] + z[i];
  CHECK(at_y.copy() == want);
  return grid.adjacent;
}
template <class T> bool rows_agree(extent m, extent n, int shift_of_row = 0) {
  const std::vector<T> x = numbers<T>(m * n, 3), row = numbers<T>(n, 5), column = numbers<T>(m, 7);
  shifted<T> at_x(x, 0), at_row(row, shift_of_row), at_column(column, 0), at_y(m * n, 0);
  void* buffers[] = {at_x.data(), at_row.data(), at_column.data(), at_y.data()};
  const extent extents[] = {m, n};
  const simt::point_grid<outer<T>> grid(buffers, extents);
  run(grid);
  std::vector<T> want(x.size());
  for (extent i = 0; i < m; ++i)
    for (extent j = 0; j < n; ++j) want[std::size_t(i * n + j)] = x[std::size_t(i * n + j)] * row[std::size_t(j)] + column[std::size_t(i)];
  CHECK(at_y.copy() == want);
  return grid.adjacent;
}

}  // namespace

TEST_CASE("live registers: results that are still to be used") {
  STATIC_REQUIRE(simt::live_registers<axpy<float>> == 2);
  STATIC_REQUIRE(simt::live_registers<axpy<double>> == 4);
  // Four sums of four loads, all of which are there before the first sum.
  using tree = kernel<space<64>, written::load<float, 0, line>, written::load<float, 1, line>, written::load<float, 2, line>, written::load<float, 3, line>,
                      written::apply<add, float, 0, 1>, written::apply<add, float, 2, 3>, written::apply<mul, float, 4, 5>, written::apply<mul, float, 6, 6>,
                      written::store<float, 4, 7, line>>::type;
  STATIC_REQUIRE(simt::live_registers<tree> == 4);
  // What nothing uses is not kept, and constants are no registers.
  using alone = kernel<space<64>, written::load<int, 0, line>, written::constant<float, 0x3f800000>, written::apply<cast<float>, float, 0>,
                       written::apply<add, float, 1, 2>, written::apply<less, bool, 1, 3>, written::store<float, 1, 3, line>>::type;
  STATIC_REQUIRE(simt::live_registers<alone> == 1);
}

TEST_CASE("room on a multiprocessor follows from registers") {
  STATIC_REQUIRE(simt::blocks_with_room(20, 256) == 8);
  STATIC_REQUIRE(simt::blocks_with_room(300, 256) == 1);
  for (int registers = 1; registers < 400; ++registers)
    for (int threads : {32, 128, 256}) {
      const int blocks = simt::blocks_with_room(registers, threads);
      CHECK(blocks >= 1);
      CHECK(blocks * threads <= 2048);
      if (blocks > 1) CHECK(65536 / (blocks * threads) >= registers);
    }
}

TEST_CASE("neighbours are taken together by their bytes, along contiguous rows") {
  STATIC_REQUIRE(simt::point_grid<axpy<float>>::width == 4);
  STATIC_REQUIRE(simt::point_grid<axpy<float>>::at_once == 8);
  STATIC_REQUIRE(simt::point_grid<axpy<double>>::width == 2);
  STATIC_REQUIRE(simt::point_grid<axpy<double>>::at_once == 4);
  STATIC_REQUIRE(simt::point_grid<outer<float>>::width == 4);
  using mixed = kernel<space<slot(0)>, written::load<float, 0, line>, written::apply<cast<double>, double, 0>, written::store<double, 1, 1, line>>::type;
  STATIC_REQUIRE(simt::point_grid<mixed>::width == 2);
  using apart = kernel<space<slot(0)>, written::load<float, 0, access<0, 3>>, written::store<float, 1, 0, line>>::type;
  STATIC_REQUIRE(simt::point_grid<apart>::width == 1);
  using seen = kernel<space<64, 64>, written::load<float, 0, access<0, 1, 64>>, written::store<float, 1, 0, access<0, 64, 1>>>::type;
  STATIC_REQUIRE(simt::point_grid<seen>::width == 1);
  using filled = kernel<space<slot(0)>, written::constant<float, 0>, written::store<float, 0, 0, line>>::type;
  STATIC_REQUIRE(simt::point_grid<filled>::width == 4);
}

TEMPLATE_TEST_CASE("a line of any length and address", "", float, double, std::int32_t, std::int64_t) {
  const extent many = simt::point_grid<axpy<TestType>>::at_once * (extent(1) << 15);
  for (extent n : {extent(0), extent(1), extent(2), extent(255), extent(1000), many - 1}) CHECK_FALSE(line_agrees<TestType>(n, 0, 0));  // few
  for (extent n : {many, many + 1, many + 2047, many + 2048, many + 4099}) CHECK(line_agrees<TestType>(n, 0, 0));
  CHECK(line_agrees<TestType>(many + 7, 1, 0));        // loaded one by one
  CHECK_FALSE(line_agrees<TestType>(many + 7, 0, 1));  // a store would not fit
}

TEMPLATE_TEST_CASE("rows of any length", "", float, double) {
  const extent many = simt::point_grid<outer<TestType>>::at_once * (extent(1) << 15);
  CHECK_FALSE(rows_agree<TestType>(0, 4));
  CHECK_FALSE(rows_agree<TestType>(3, 5));
  for (extent n : {4, 12, 64}) CHECK(rows_agree<TestType>(many / n + 1, n));
  CHECK(rows_agree<TestType>(3, many));
  CHECK(rows_agree<TestType>(many / 20 + 1, 20, 1));
  for (extent n : {1, 3, 33}) CHECK_FALSE(rows_agree<TestType>(many / n + 1, n));  // neighbours are not in one row
}

TEST_CASE("truth values, and other types beside them") {
  using compared = kernel<space<slot(0)>, written::load<float, 0, line>, written::load<float, 1, line>, written::apply<less, bool, 0, 1>, written::store<bool, 2, 2, line>,
                          written::load<bool, 3, line>, written::store<bool, 4, 4, line>>::type;
  const extent n = extent(1) << 18 | 5;
  std::vector<float> x = numbers<float>(n, 3), y = numbers<float>(n, 5);
  shifted<bool> is_less(n, 0), from(n, 0), to(n, 0);
  for (extent i = 0; i < n; ++i) from.data()[i] = i % 3 == 0;
  void* buffers[] = {x.data(), y.data(), is_less.data(), from.data(), to.data()};
  const simt::point_grid<compared> grid(buffers, &n);
  CHECK(grid.adjacent);
  run(grid);
  bool same = true;
  for (extent i = 0; i < n; ++i) same = same && is_less.data()[i] == (x[std::size_t(i)] < y[std::size_t(i)]) && to.data()[i] == (i % 3 == 0);
  CHECK(same);
}

TEST_CASE("in place, with an offset that neighbours do not fit to") {
  // y[i] = x[i + 1] * y[i]
  using next = kernel<space<slot(0)>, written::load<float, 0, access<1, 1>>, written::load<float, 1, line>, written::apply<mul, float, 0, 1>, written::store<float, 1, 2, line>>::type;
  const extent n = (extent(1) << 18) + 11;
  const std::vector<float> x = numbers<float>(n + 1, 3), before = numbers<float>(n, 5);
  shifted<float> at_x(x, 0), y(before, 0);
  void* buffers[] = {at_x.data(), y.data()};
  const simt::point_grid<next> grid(buffers, &n);
  CHECK(grid.adjacent);
  run(grid);
  std::vector<float> want(before.size());
  for (std::size_t i = 0; i < want.size(); ++i) want[i] = x[i + 1] * before[i];
  CHECK(y.copy() == want);
  // The same of a store: y[i + 1] = x[i]
  using behind = kernel<space<slot(0)>, written::load<float, 0, line>, written::store<float, 1, 0, access<1, 1>>>::type;
  shifted<float> z(n + 1, 0);
  void* others[] = {at_x.data(), z.data()};
  const simt::point_grid<behind> moved(others, &n);
  CHECK_FALSE(moved.adjacent);
  run(moved);
  CHECK(std::memcmp(z.data() + 1, x.data(), std::size_t(n) * sizeof(float)) == 0);
}

}  // namespace grid_tests
