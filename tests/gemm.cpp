/// Matrix products against three loops.

#include <array>
#include <cmath>
#include <mutex>
#include <random>
#include <vector>

#include <cotangent/backends/cpu/gemm.hpp>

#include "catch.hpp"

namespace gemm_tests {

namespace ct = cotangent;
using ct::extent;

template <class T> using storage = std::vector<std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>>;

/// Small whole numbers: products are exact in every type and order of summation.
template <class T> storage<T> numbers(extent n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> d(-3, 3);
  storage<T> v(static_cast<std::size_t>(n));
  for (auto& x : v) x = static_cast<typename storage<T>::value_type>(std::is_same_v<T, bool> ? d(random) > 1 : d(random));
  return v;
}
template <class T> const T* pointer(const storage<T>& v) { return reinterpret_cast<const T*>(v.data()); }

template <class T>
storage<T> naive(extent batch, extent m, extent n, extent k, ct::host::matrix_operand<T> a, ct::host::matrix_operand<T> b) {
  storage<T> c(static_cast<std::size_t>(batch * m * n));
  for (extent q = 0; q < batch; ++q)
    for (extent i = 0; i < m; ++i)
      for (extent j = 0; j < n; ++j) {
        T sum = T(0);
        for (extent p = 0; p < k; ++p) {
          if constexpr (std::is_same_v<T, bool>) sum = sum || (*a.at(q, i, p) && *b.at(q, p, j));
          else sum += *a.at(q, i, p) * *b.at(q, p, j);
        }
        c[static_cast<std::size_t>((q * m + i) * n + j)] = sum;
      }
  return c;
}

/// All four layouts of the operands, on 1 and 3 threads; `after` sees each row once, complete.
template <class T> bool agrees(extent batch, extent m, extent n, extent k) {
  const auto x = numbers<T>(batch * m * k, 1), y = numbers<T>(batch * k * n, 2);
  bool same = true;
  for (int layout = 0; layout < 4; ++layout) {
    ct::host::matrix_operand<T> a{pointer<T>(x), layout & 1 ? 1 : k, layout & 1 ? m : 1, m * k};
    ct::host::matrix_operand<T> b{pointer<T>(y), layout & 2 ? 1 : n, layout & 2 ? k : 1, k * n};
    const auto expected = naive(batch, m, n, k, a, b);
    for (int threads : {1, 3}) {
      ct::set_num_threads(threads);
      storage<T> c(expected.size(), 77);
      ct::host::gemm(batch, m, n, k, a, b, reinterpret_cast<T*>(c.data()));
      same = same && c == expected;
      std::vector<int> seen(static_cast<std::size_t>(batch * m));
      storage<T> d(expected.size(), 77);
      std::mutex lock;
      bool complete = true;
      ct::host::gemm(batch, m, n, k, a, b, reinterpret_cast<T*>(d.data()), [&](extent q, extent row0, extent row1) {
        const std::lock_guard<std::mutex> guard(lock);
        for (extent i = row0; i < row1; ++i) {
          ++seen[static_cast<std::size_t>(q * m + i)];
          for (extent j = 0; j < n; ++j) {
            const auto at = static_cast<std::size_t>((q * m + i) * n + j);
            complete = complete && d[at] == expected[at];
          }
        }
      });
      same = same && d == expected && complete;
      for (int s : seen) same = same && (n == 0 || s == 1);
    }
  }
  return same;
}

TEST_CASE("gemm computes products of every size and layout") {
  const extent sizes[][3] = {{1, 1, 1}, {2, 3, 4}, {1, 50, 70}, {50, 1, 70}, {50, 70, 1}, {1, 1, 300}, {17, 33, 65}, {64, 64, 64}, {130, 70, 90}, {0, 3, 4}, {3, 0, 4}, {3, 4, 0}};
  for (const auto& s : sizes) {
    INFO(s[0] << " x " << s[1] << " x " << s[2]);
    CHECK(agrees<float>(1, s[0], s[1], s[2]));
    CHECK(agrees<double>(2, s[0], s[1], s[2]));
    CHECK(agrees<std::int32_t>(1, s[0], s[1], s[2]));
    CHECK(agrees<std::int64_t>(3, s[0], s[1], s[2]));
    CHECK(agrees<bool>(2, s[0], s[1], s[2]));
  }
}

TEST_CASE("matrices times a vector, and a vector times matrices: few rows and many, rows shorter than a vector and longer") {
  for (extent m : {2, 7, 8, 9, 16, 100})
    for (extent k : {2, 5, 8, 16, 17, 40, 1000}) {
      INFO(m << " x " << k);
      CHECK(agrees<float>(2, m, 1, k));
      CHECK(agrees<double>(1, m, 1, k));
      CHECK(agrees<float>(1, 1, m, k));
      CHECK(agrees<double>(2, 1, m, k));
    }
}

TEST_CASE("gemm cuts large products into blocks") {
  CHECK(agrees<float>(1, 300, 530, 200));
  CHECK(agrees<float>(3, 200, 300, 100));
  CHECK(agrees<double>(1, 20, 2000, 300));
  CHECK(agrees<float>(1, 5000, 10, 200));
  CHECK(agrees<float>(100, 20, 30, 40));
  CHECK(agrees<float>(1, 200, 90, 700));     // blocks of terms are copied
  CHECK(agrees<float>(1, 20, 1100, 90));     // whose rows are long
  CHECK(agrees<double>(2, 1500, 7, 130));    // few columns of many rows
}

TEST_CASE("gemm leaves the same bits for every number of threads") {
  const extent m = 300, n = 400, k = 500;
  std::vector<float> a(m * k), b(k * n), first(m * n);
  std::mt19937 random(3);
  std::uniform_real_distribution<float> d(-1, 1);
  for (float& x : a) x = d(random);
  for (float& x : b) x = d(random);
  for (int threads : {1, 2, 3, 4}) {
    ct::set_num_threads(threads);
    std::vector<float> c(m * n);
    ct::host::gemm<float>(1, m, n, k, {a.data(), k, 1}, {b.data(), n, 1}, c.data());
    if (threads == 1) first = c;
    CHECK(c == first);
  }
}

template <class T> bool adding_agrees(extent m, extent n, extent k) {
  const auto x = numbers<T>(2 * m * k, 1), y = numbers<T>(2 * k * n, 2);
  bool same = true;
  for (int layout = 0; layout < 4; ++layout) {
    const ct::host::matrix_operand<T> a{x.data(), layout & 1 ? 1 : k, layout & 1 ? m : 1, m * k}, b{y.data(), layout & 2 ? 1 : n, layout & 2 ? k : 1, k * n};
    storage<T> c(static_cast<std::size_t>(2 * m * n), T(3));
    ct::host::gemm<T, ct::host::gemm_form{.adds = true}>(2, m, n, k, a, b, c.data());
    auto expected = naive<T>(2, m, n, k, a, b);
    for (T& e : expected) e += T(3);
    same = same && c == expected;
  }
  return same;
}

TEST_CASE("products added to what is there") {
  for (const auto& [m, n, k] : {std::array<extent, 3>{1, 7, 5}, {7, 1, 5}, {6, 7, 1}, {3, 4, 0}, {4, 5, 6}, {11, 1, 37}, {1, 11, 37}, {90, 40, 130}, {300, 400, 50}, {1500, 7, 130}, {200, 50, 700}}) {
    INFO(m << " x " << n << " x " << k);
    CHECK(adding_agrees<double>(m, n, k));
    CHECK(adding_agrees<std::int32_t>(m, n, k));
  }
}

using ct::matrix_part;

/// Sets what lies outside a part of an m x n matrix, whose first element is (i0, j0) of the whole, to zero.
template <class T> void clear_outside(matrix_part part, storage<T>& x, extent m, extent n, bool columns, extent i0 = 0, extent j0 = 0) {
  for (extent i = 0; i < m; ++i)
    for (extent j = 0; j < n; ++j)
      if ((part == matrix_part::lower && i0 + i < j0 + j) || (part == matrix_part::upper && i0 + i > j0 + j)) x[static_cast<std::size_t>(columns ? j * m + i : i * n + j)] = 0;
}
/// The product of triangular matrices by tiled_product, in every layout, against that of the same matrices
/// with their zeros, and that added to what is there. What a triangular result does not have is not looked at.
template <class T, ct::product_triangles Triangles> bool triangles_agree(extent m, extent n, extent k) {
  bool same = true;
  for (int layout = 0; layout < 4; ++layout) {
    auto x = numbers<T>(m * k, 1), y = numbers<T>(k * n, 2);
    clear_outside<T>(Triangles.a, x, m, k, layout & 1), clear_outside<T>(Triangles.b, y, k, n, layout & 2);
    const ct::host::matrix_operand<T> a{x.data(), layout & 1 ? 1 : k, layout & 1 ? m : 1}, b{y.data(), layout & 2 ? 1 : n, layout & 2 ? k : 1};
    auto expected = naive(1, m, n, k, a, b);
    clear_outside<T>(Triangles.c, expected, m, n, false);
    storage<T> c(expected.size(), 77);
    ct::host::tiled_product<T>{m, n, k, a.data, b.data, a.row_stride, a.column_stride, b.row_stride, b.column_stride, c.data(), n}.template run<Triangles>();
    clear_outside<T>(Triangles.c, c, m, n, false);
    same = same && c == expected;
    storage<T> sum(expected.size(), 3);
    ct::host::tiled_product<T>{m, n, k, a.data, b.data, a.row_stride, a.column_stride, b.row_stride, b.column_stride, sum.data(), n}.template run<Triangles, true>();
    for (T& x : sum) x -= 3;  // whole numbers: exact
    clear_outside<T>(Triangles.c, sum, m, n, false);
    same = same && sum == expected;
  }
  return same;
}

TEST_CASE("products of triangular matrices") {
  if constexpr (ct::host::has_tiled_product<float>) {
    using enum matrix_part;
    for (const auto& [m, n, k] : {std::array<extent, 3>{1, 1, 1}, {8, 24, 16}, {33, 47, 19}, {64, 64, 64}, {100, 7, 300}, {5, 130, 70}, {17, 40, 0}, {70, 33, 700}, {131, 64, 90}, {75, 81, 130}}) {
      INFO(m << " x " << n << " x " << k);
      CHECK(triangles_agree<double, ct::product_triangles{}>(m, n, k));
      CHECK(triangles_agree<float, ct::product_triangles{}>(m, n, k));
      CHECK(triangles_agree<double, ct::product_triangles{.a = lower}>(m, n, k));
      CHECK(triangles_agree<double, ct::product_triangles{.a = upper}>(m, n, k));
      CHECK(triangles_agree<double, ct::product_triangles{.b = lower}>(m, n, k));
      CHECK(triangles_agree<float, ct::product_triangles{.b = upper}>(m, n, k));
      CHECK(triangles_agree<float, ct::product_triangles{.c = lower}>(m, n, k));
      CHECK(triangles_agree<double, ct::product_triangles{.c = upper}>(m, n, k));
      CHECK(triangles_agree<double, ct::product_triangles{lower, lower, lower}>(m, n, k));
    }
    // a block of a larger product: rows and columns from (40, 24) on
    const extent m = 20, n = 30, k = 90;
    auto x = numbers<double>(m * k, 1), y = numbers<double>(k * n, 2);
    clear_outside<double>(lower, x, m, k, false, 40), clear_outside<double>(upper, y, k, n, false, 0, 24);
    const auto expected = naive<double>(1, m, n, k, {x.data(), k, 1}, {y.data(), n, 1});
    storage<double> c(expected.size(), 77);
    ct::host::tiled_product<double>{m, n, k, x.data(), y.data(), k, 1, n, 1, c.data(), n, 40, 24}.run<ct::product_triangles{lower, upper}>();
    CHECK(c == expected);
  }
}

}  // namespace gemm_tests
