// pack and mask: memory, operators, masks, conversions, reductions.

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <cotangent/backends/cpu/pack.hpp>

#include "catch.hpp"
#include "guarded_buffer.hpp"

using namespace cotangent;

namespace {

template <class T, int N> void check_memory() {
  using V = pack<T, N>;
  for (int n = 0; n <= N; ++n) {
    const guarded_buffer from(n * sizeof(T)), to(n * sizeof(T));
    for (int i = 0; i < n; ++i) from.as<T>()[i] = T(i + 1);
    const V x = V::load(from.as<T>(), n);
    x.store(to.as<T>(), n);
    bool loaded = true, stored = true;
    for (int i = 0; i < N; ++i) loaded = loaded && x[i] == (i < n ? T(i + 1) : T(0));
    for (int i = 0; i < n; ++i) stored = stored && to.as<T>()[i] == T(i + 1);
    CAPTURE(N, n, sizeof(T));
    CHECK(loaded);
    CHECK(stored);
    for (int first = 0; first <= n; ++first) {
      const guarded_buffer end((n - first) * sizeof(T)), start(0);
      for (int i = first; i < n; ++i) end.as<T>()[i - first] = start.first<T>()[i - first] = T(i + 1);
      const V y = V::load(end.as<T>() - first, n, first), z = V::load(start.first<T>() - first, n, first);
      bool exact = true;
      for (int i = 0; i < N; ++i) exact = exact && y[i] == (i >= first && i < n ? T(i + 1) : T(0)) && z[i] == y[i];
      CAPTURE(first);
      CHECK(exact);
    }
  }
  T source[3 * N], target[3 * N] = {};
  for (int i = 0; i < 3 * N; ++i) source[i] = T(i);
  pack<std::int32_t, N> index;
  for (int i = 0; i < N; ++i) index.set(i, (i * 7 + 1) % N);
  const V strided = V::load_strided(source, 3), gathered = V::gather(source, index);
  strided.store_strided(target, 2);
  bool good = true;
  for (int i = 0; i < N; ++i) good = good && strided[i] == T(3 * i) && target[2 * i] == T(3 * i) && gathered[i] == T((i * 7 + 1) % N);
  gathered.scatter(target, index);
  for (int i = 0; i < N; ++i) good = good && target[(i * 7 + 1) % N] == T((i * 7 + 1) % N);
  CHECK(good);
}

template <class T, int N> void check_integers() {
  using V = pack<T, N>;
  const T lowest = std::numeric_limits<T>::lowest(), highest = std::numeric_limits<T>::max();
  bool good = true;
  const T values[] = {0, 1, 2, 3, 7, T(-1), T(-2), T(-7), lowest, highest};
  for (T a : values)
    for (T b : values) {
      using U = std::make_unsigned_t<T>;
      const V x(a), y(b);
      const bool overflows = std::is_signed_v<T> && a == lowest && b == T(-1);
      const T quotient = b == 0 ? T(-1) : overflows ? a : T(a / b), rest = b == 0 ? a : overflows ? T(0) : T(a % b);
      good = good && (x + y)[N - 1] == T(U(a) + U(b)) && (x - y)[N - 1] == T(U(a) - U(b));
      good = good && (x * y)[N - 1] == T(std::uint64_t(U(a)) * std::uint64_t(U(b)));
      good = good && (x / y)[N - 1] == quotient && (x % y)[N - 1] == rest;
      good = good && (x & y)[N - 1] == T(a & b) && (x | y)[N - 1] == T(a | b) && (x ^ y)[N - 1] == T(a ^ b) && (~x)[N - 1] == T(~a);
      good = good && (x << 3)[N - 1] == T(U(a) << 3) && (x >> 3)[N - 1] == T(a >> 3) && (-x)[N - 1] == T(U(0) - U(a));
      good = good && (x < y)[N - 1] == (a < b) && (x == y)[N - 1] == (a == b) && maximum(x, y)[N - 1] == (a < b ? b : a);
    }
  CAPTURE(N, sizeof(T), std::is_signed_v<T>);
  CHECK(good);
}

}  // namespace

TEMPLATE_TEST_CASE("partial loads and stores touch nothing beyond", "[pack]", float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                   std::uint8_t, std::uint64_t) {
  check_memory<TestType, 1>();
  check_memory<TestType, 2>();
  check_memory<TestType, 8>();
  check_memory<TestType, 32>();
}

TEMPLATE_TEST_CASE("integer arithmetic wraps and never traps", "[pack]", std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                   std::uint16_t, std::uint32_t, std::uint64_t) {
  check_integers<TestType, 1>();
  check_integers<TestType, 4>();
  check_integers<TestType, 16>();
}

TEMPLATE_TEST_CASE("masks load, combine and store as bools", "[pack]", float, double, std::int8_t, std::int16_t) {
  constexpr int N = 16;
  constexpr int bytes = sizeof(TestType);
  bool a[N], b[N], r[N];
  for (int i = 0; i < N; ++i) a[i] = i % 2, b[i] = i % 3 == 0;
  using M = mask<bytes, N>;
  const M x = M::load(a), y = M::load(b);
  (x & y).store(r);
  for (int i = 0; i < N; ++i) CHECK(r[i] == (a[i] && b[i]));
  ((x | !y) ^ (x == y)).store(r);
  for (int i = 0; i < N; ++i) CHECK(r[i] == ((a[i] || !b[i]) != (a[i] == b[i])));
  CHECK(any(x));
  CHECK(!all(x));
  CHECK(!any(x & !x));
  CHECK(all(x | !x));
  const auto chosen = select(x, lane_numbers<TestType, N>(), pack<TestType, N>(TestType(-1)));
  for (int i = 0; i < N; ++i) CHECK(chosen[i] == (a[i] ? TestType(i) : TestType(-1)));
  const auto wide = mask_cast<8>(x);
  const auto narrow = mask_cast<1>(x);
  const auto number = convert<std::int32_t>(x);
  for (int i = 0; i < N; ++i) CHECK((wide[i] == a[i] && narrow[i] == a[i] && number[i] == int(a[i])));
  for (int n = 0; n <= N; ++n) {
    const guarded_buffer buffer(n);
    std::memcpy(buffer.as<char>(), a, n);
    const M partial = M::load(buffer.as<bool>(), n);
    (!partial).store(buffer.as<bool>(), n);
    for (int i = 0; i < n; ++i) CHECK(buffer.as<bool>()[i] == !a[i]);
    const M end = M::load(a, N, n);
    for (int i = 0; i < N; ++i) CHECK(end[i] == (i >= n && a[i]));
  }
}

TEST_CASE("conversions are static_cast's in every lane", "[pack]") {
  constexpr int N = 16;
  const auto x = lane_numbers<float, N>() * 3.7f - 20.f;
  const auto as_int = convert<std::int32_t>(x);
  const auto as_long = convert<std::int64_t>(x);
  const auto as_byte = convert<std::int8_t>(x);
  const auto as_double = convert<double>(x);
  const auto back = convert<float>(as_long);
  for (int i = 0; i < N; ++i) {
    CHECK(as_int[i] == int(x[i]));
    CHECK(as_long[i] == long(x[i]));
    CHECK(as_byte[i] == std::int8_t(x[i]));
    CHECK(as_double[i] == double(x[i]));
    CHECK(back[i] == float(long(x[i])));
    CHECK(bit_cast<float>(bit_cast<std::uint32_t>(x))[i] == x[i]);
  }
}

TEMPLATE_TEST_CASE("fma rounds once", "[pack]", float, double) {
  const TestType e = std::numeric_limits<TestType>::epsilon();
  const auto check = [&](auto x) {
    const decltype(x) r = fma(x, x, decltype(x)(TestType(-1)));
    const decltype(x) negative = fnma(x, x, decltype(x)(TestType(1)));
    CHECK(r[0] == 2 * e + e * e);
    CHECK(negative[0] == -(2 * e + e * e));
  };
  check(pack<TestType, 1>(1 + e));
  check(pack<TestType, 2>(1 + e));
  check(pack<TestType, native_lanes<TestType>>(1 + e));
  check(pack<TestType, 2 * native_lanes<TestType>>(1 + e));
}

TEMPLATE_TEST_CASE("rounding, signs and extremes are IEEE's", "[pack]", float, double) {
  using T = TestType;
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  for (T v : {T(0), -T(0), T(0.5), T(-0.5), T(1.5), T(2.5), T(-2.5), T(1e9) + T(0.5), inf, -inf, T(1e30)}) {
    const auto check = [&](auto x) {
      CHECK(floor(x)[0] == std::floor(v));
      CHECK(ceil(x)[0] == std::ceil(v));
      CHECK(trunc(x)[0] == std::trunc(v));
      CHECK(round_even(x)[0] == std::nearbyint(v));
      CHECK(std::signbit(round_even(x)[0]) == std::signbit(v));
      CHECK(abs(x)[0] == std::abs(v));
      CHECK(copysign(decltype(x)(T(3)), x)[0] == std::copysign(T(3), v));
      CHECK(is_finite(x)[0] == std::isfinite(v));
      CHECK(std::isnan(maximum(x, decltype(x)(nan))[0]));
      CHECK(std::isnan(minimum(decltype(x)(nan), x)[0]));
      CHECK(maximum(x, decltype(x)(T(1)))[0] == std::max(v, T(1)));
      CHECK(minimum(x, decltype(x)(T(1)))[0] == std::min(v, T(1)));
    };
    check(pack<T, 1>(v));
    check(pack<T, 2>(v));
    check(pack<T, native_lanes<T>>(v));
  }
}

TEMPLATE_TEST_CASE("reductions combine halves in a fixed order", "[pack]", float, double, std::int32_t, std::int64_t) {
  using T = TestType;
  constexpr int N = 32;
  const auto x = lane_numbers<T, N>() + T(1);
  T t[N];
  x.store(t);
  for (int w = N / 2; w > 0; w /= 2)
    for (int i = 0; i < w; ++i) t[i] = T(t[i] + t[i + w]);
  CHECK(reduce_add(x) == t[0]);
  CHECK(reduce_max(x) == T(N));
  CHECK(reduce_min(x) == T(1));
  CHECK(reduce_mul(select(x < pack<T, N>(T(5)), x, pack<T, N>(T(1)))) == T(24));
  if constexpr (std::is_floating_point_v<T>) {
    auto y = x;
    y.set(5, std::numeric_limits<T>::quiet_NaN());
    CHECK(std::isnan(reduce_max(y)));
    CHECK(std::isnan(reduce_min(y)));
  }
}

TEMPLATE_TEST_CASE("a square of packs transposed", "", float, double, std::int32_t, std::int64_t) {
  constexpr int N = native_lanes<TestType>;
  pack<TestType, N> rows[N];
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j) rows[i].set(j, TestType(100 * i + j));
  transpose(rows);
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j) CHECK(rows[i][j] == TestType(100 * j + i));
}

template <class T, int N> void check_lane_list() {
  pack<T, N> x;
  for (int i = 0; i < N; ++i) x.set(i, std::numeric_limits<T>::max() - T(i));
  const lane_list<T, N> lanes(x);
  for (int i = 0; i < N; ++i) CHECK(lanes[i] == std::ptrdiff_t(std::numeric_limits<T>::max()) - i);
}
TEMPLATE_TEST_CASE("lanes one by one", "", std::int32_t, std::uint32_t, std::int64_t) {
  constexpr int N = native_lanes<TestType>;
  check_lane_list<TestType, 2>();
  check_lane_list<TestType, 4>();
  check_lane_list<TestType, N>();
  check_lane_list<TestType, 2 * N>();
}

/// Rows of M elements, the last of which ends where the memory does, in another order.
template <class T, int M, int W> void check_loaded_columns() {
  constexpr int N = native_lanes<T>;
  const guarded_buffer buffer(N * M * sizeof(T));
  T* const memory = buffer.as<T>();
  for (int e = 0; e < N * M; ++e) memory[e] = T(1 + e);
  const auto row = [&](int i) { return memory + (N - 1 - i) * M; };
  pack<T, N> columns[W], scattered[W];
  load_columns<M>(columns, row);
  load_scattered<M>(scattered, row);
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < M; ++j) {
      CHECK(columns[j][i] == T(1 + (N - 1 - i) * M + j));
      CHECK(scattered[j][i] == T(1 + (N - 1 - i) * M + j));
    }
}
TEMPLATE_TEST_CASE("rows from anywhere as columns", "", float, double, std::int32_t, std::int64_t) {
  constexpr int N = native_lanes<TestType>;
  check_loaded_columns<TestType, N, N>();
  check_loaded_columns<TestType, N - 1, N>();
  if constexpr (N >= 4) check_loaded_columns<TestType, N / 2, N / 2>(), check_loaded_columns<TestType, N / 2 - 1, N / 2>();
  if constexpr (N >= 8) check_loaded_columns<TestType, 3, 4>(), check_loaded_columns<TestType, 1, 4>(), check_loaded_columns<TestType, 2, 2>();
}

template <class T, int M, int... K> void check_rows(std::integer_sequence<int, K...>) {
  constexpr int N = native_lanes<T>;
  pack<T, N> rows[M];
  for (int e = 0; e < N * M; ++e) rows[e / N].set(e % N, T(100 * (e / M) + e % M));
  const pack<T, N> columns[M] = {column_of_rows<M, K>(rows)...};
  const pack<T, N> again[M] = {rows_of_columns<M, K>(columns)...};
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < M; ++j) {
      CHECK(columns[j][i] == T(100 * i + j));
      CHECK(again[j][i] == rows[j][i]);
    }
}
TEMPLATE_TEST_CASE("rows of a few elements as columns, and back", "", float, double, std::int32_t, std::int64_t) {
  check_rows<TestType, 2>(std::make_integer_sequence<int, 2>());
  if constexpr (native_lanes<TestType> >= 4) {
    check_rows<TestType, 3>(std::make_integer_sequence<int, 3>());
    check_rows<TestType, 4>(std::make_integer_sequence<int, 4>());
  }
}
