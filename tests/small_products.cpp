/// Products of small matrices: every order of the operands, sizes below and above a vector, batches, and rows that a kernel works on at once.

#include <cmath>
#include <complex>
#include <random>

#include <cotangent/cotangent.hpp>

#include "catch.hpp"
#include "guarded_buffer.hpp"

namespace ct = cotangent;

namespace {

template <class T> void fill(T* to, ct::extent n, unsigned seed) {
  std::mt19937 random(seed);
  for (ct::extent i = 0; i < n; ++i) to[i] = T(int(random() % 17) - 8);
}

/// Each operand in rows or in columns: integers, whose products are exact. The buffers end at pages that may not be touched.
template <class T, ct::extent M, ct::extent N, ct::extent K> bool are_right() {
  const guarded_buffer of_a(M * K * sizeof(T)), of_b(K * N * sizeof(T)), of_c(M * N * sizeof(T));
  T *const a = of_a.as<T>(), *const b = of_b.as<T>(), *const c = of_c.as<T>();
  fill(a, M * K, 1), fill(b, K * N, 2);
  bool right = true;
  const auto check = [&]<bool AInRows, bool BInRows>(std::bool_constant<AInRows>, std::bool_constant<BInRows>) {
    constexpr ct::extent a_row = AInRows ? K : 1, a_column = AInRows ? 1 : M, b_row = BInRows ? N : 1, b_column = BInRows ? 1 : K;
    for (ct::extent i = 0; i < M * N; ++i) c[i] = T(99);
    ct::host::small_product<T, M, N, K, a_row, a_column, b_row, b_column>::run(a, b, c);
    for (ct::extent i = 0; i < M; ++i)
      for (ct::extent j = 0; j < N; ++j) {
        T sum = T(0);
        for (ct::extent p = 0; p < K; ++p) sum = sum + a[i * a_row + p * a_column] * b[p * b_row + j * b_column];
        right = right && c[i * N + j] == sum;
      }
  };
  check(std::true_type(), std::true_type()), check(std::true_type(), std::false_type());
  check(std::false_type(), std::true_type()), check(std::false_type(), std::false_type());
  return right;
}

}  // namespace

TEMPLATE_TEST_CASE("small products of every size and order", "", float, double) {
  using T = TestType;
  CHECK(are_right<T, 1, 1, 1>());
  CHECK(are_right<T, 2, 2, 2>());
  CHECK(are_right<T, 3, 3, 3>());
  CHECK(are_right<T, 4, 1, 3>());
  CHECK(are_right<T, 1, 5, 7>());
  CHECK(are_right<T, 8, 8, 8>());
  CHECK(are_right<T, 9, 7, 5>());
  CHECK(are_right<T, 12, 12, 1>());
  CHECK(are_right<T, 17, 23, 19>());
  CHECK(are_right<T, 32, 1, 31>());
  CHECK(are_right<T, 9, 1, 16>());
  CHECK(are_right<T, 30, 1, 2>());
  CHECK(are_right<T, 32, 32, 32>());
  CHECK(are_right<T, 3, 100, 4>());
  CHECK(are_right<T, 200, 3, 4>());
  CHECK(are_right<T, 200, 1, 4>());
  CHECK(are_right<T, 0, 3, 2>());
  CHECK(are_right<T, 3, 0, 2>());
  CHECK(are_right<T, 3, 2, 0>());
}

TEST_CASE("small products of other types") {
  CHECK(are_right<int, 5, 6, 7>());
  CHECK(are_right<std::complex<double>, 5, 6, 7>());
}

TEST_CASE("batches of small products, and kernels on their rows") {
  const auto f = ct::jit([](auto a, auto b) { return ct::tanh(0.01 * ct::matmul(a, b)) + 1.0; });
  const auto check = [&]<int N>(auto a, auto b, std::integral_constant<int, N>) {
    fill(a.data(), a.size(), 3), fill(b.data(), b.size(), 4);
    const auto r = f(a, b);
    double error = 0;
    for (ct::extent q = 0; q < r.extent(0); ++q)
      for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) {
          double sum = 0;
          for (int p = 0; p < N; ++p) sum += a(q, i, p) * b(q, p, j);
          error = std::max(error, std::abs(r(q, i, j) - std::tanh(0.01 * sum) - 1));
        }
    CHECK(error <= 1e-14);
  };
  const auto check_size = [&]<int N>(std::integral_constant<int, N> n) {
    check(ct::array<double, 1, N, N>(), ct::array<double, 1, N, N>(), n);
    check(ct::array<double, 300, N, N>(), ct::array<double, 300, N, N>(), n);
    for (ct::extent batch : {0, 1, 37}) check(ct::array<double, ct::dyn, N, N>({batch, N, N}), ct::array<double, ct::dyn, N, N>({batch, N, N}), n);
  };
  check_size(std::integral_constant<int, 12>());
  check_size(std::integral_constant<int, 31>());
}
