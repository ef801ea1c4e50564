/// sort, argsort and top_k, and their derivatives, which follow the elements.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

constexpr auto orders_of = [](auto x) {
  return std::tuple(ct::sort<0>(x), ct::sort<1>(x, ct::descending), ct::argsort<1>(x), ct::argsort<0>(x, ct::descending), ct::sort(x));
};
constexpr auto greatest = [](auto x) { return ct::top_k<3>(x); };
constexpr auto smooth = [](auto x) { return std::tuple(ct::sort<0>(x), ct::sort<-1>(x, ct::descending), std::get<0>(ct::top_k<2>(x))); };

/// Numbers of which many are equal, with the given last ones.
template <class T, ct::extent N, ct::extent M> ct::array<T, N, M> with_ties() {
  ct::array<T, N, M> x;
  for (ct::extent i = 0; i < N * M; ++i) x.data()[i] = T((i * 7919 + 13) % 17) - T(std::is_same_v<T, bool> ? 0 : 8);
  return x;
}

/// argsort by the standard library.
template <class A> std::vector<std::int32_t> order(const A& x, bool descending) {
  std::vector<std::int32_t> indices(std::size_t(x.size()));
  std::iota(indices.begin(), indices.end(), 0);
  const auto less = [](auto a, auto b) { return a < b || (b != b && a == a); };
  std::sort(indices.begin(), indices.end(), [&](int i, int k) {
    const auto a = x.data()[descending ? k : i], b = x.data()[descending ? i : k];
    return less(a, b) || (!less(b, a) && i < k);
  });
  return indices;
}

constexpr auto all_orders = [](auto x) {
  return std::tuple(ct::argsort(x), ct::argsort(x, ct::descending), ct::sort(x), ct::sort(x, ct::descending));
};

/// Checks all orders of x, whose elements keep their bits. `orders` is the program all_orders.
template <class T> void check_orders(const auto& orders, const ct::array<T, ct::dyn>& x) {
  const auto [up, down, ascending, descending] = orders(x);
  const auto check = [&](const std::vector<std::int32_t>& want, const auto& indices, const auto& sorted) {
    CHECK(std::equal(want.begin(), want.end(), indices.data(), indices.data() + indices.size()));
    ct::extent others = 0;
    for (ct::extent i = 0; i < x.size(); ++i) others += std::memcmp(sorted.data() + i, x.data() + want[std::size_t(i)], sizeof(T)) != 0;
    CHECK(others == 0);
  };
  check(order(x, false), up, ascending);
  check(order(x, true), down, descending);
}

}  // namespace

TEMPLATE_TEST_CASE("arrays are sorted along axes, equal elements in their order", "", float, double, std::int32_t, std::int64_t) {
  using T = TestType;
  check_jit(orders_of, 0, with_ties<T, 9, 13>());
  check_jit(greatest, 0, with_ties<T, 5, 33>());
}

/// Lines of up to 9 elements of many instances are sorted in the lanes of one kernel.
TEMPLATE_TEST_CASE("many short lines", "", float, double, std::int32_t, std::int64_t) {
  using T = TestType;
  const auto all = [](auto x) { return std::tuple(ct::argsort<1>(x), ct::argsort<1>(x, ct::descending), ct::sort<1>(x), std::get<1>(ct::top_k<2>(x))); };
  auto x = with_ties<T, 131, 5>();
  if constexpr (std::is_floating_point_v<T>)
    for (ct::extent i = 0; i < x.size(); i += 4) x.data()[i] = i % 3 == 0 ? T(NAN) : i % 3 == 1 ? -T(INFINITY) : -T(0);
  check_jit(all, 0, x);
  CHECK(ct::jit(all).kernels(x).find("step 1") == std::string::npos);
  check_jit([](auto v) { return std::tuple(ct::argsort<0>(v), ct::sort<0>(v)); }, 0, with_ties<T, 9, 131>());
}

TEST_CASE("short lines of run-time batches, alone, and beside others") {
  const auto middle = [](auto x) { return ct::median(x, ct::axis<1>); };
  for (const ct::extent batch : {0, 1, 70}) {
    ct::array<float, ct::dyn, 9> x({batch, 9});
    for (ct::extent i = 0; i < x.size(); ++i) x.data()[i] = float((i * 7919 + 13) % 101);
    const auto have = ct::jit(middle)(x);
    for (ct::extent b = 0; b < batch; ++b) {
      ct::array<float, 9> line;
      std::copy_n(x.data() + 9 * b, 9, line.data());
      CHECK(have(b) == line(order(line, false)[4]));
    }
  }
  check_jit([](auto x) { return std::tuple(ct::sort(x), ct::median(x * x)); }, 0, ct::array<double, 5>{3, NAN, -1, 3, 0});
  check_jit(ct::vmap([](auto x) { return ct::sum(ct::sort(x) * ct::cumsum(x)); }), 2e-5, between<float, 77, 6>(-1, 1));
  check_jit(ct::vmap(ct::grad([](auto x) { return ct::sum(ct::sort(x) * ct::cumsum(x)); })), 1e-12, between<double, 77, 6>(-1, 1));
}

TEST_CASE("infinities, NaN, zeros of both signs, bool, empty and single lines") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const ct::array<float, 9> x{0, nan, -inf, -0.0f, 3, inf, -nan, 0, -1};
  const auto [up, down] = ct::jit([](auto v) { return std::tuple(ct::argsort(v), ct::argsort(v, ct::descending)); })(x);
  CHECK(up == ct::array<std::int32_t, 9>{2, 8, 0, 3, 7, 4, 5, 1, 6});
  CHECK(down == ct::array<std::int32_t, 9>{1, 6, 5, 4, 0, 3, 7, 8, 2});
  CHECK(ct::jit([](auto v) { return ct::sort(v); })(ct::array<bool, 4>{true, false, true, false}) == ct::array<bool, 4>{false, false, true, true});
  const ct::array<std::int64_t, 3> wide{std::numeric_limits<std::int64_t>::max(), 0, std::numeric_limits<std::int64_t>::min()};
  CHECK(ct::jit([](auto v) { return ct::argsort(v); })(wide) == ct::array<std::int32_t, 3>{2, 1, 0});
  check_jit(orders_of, 0, ct::array<double, 0, 3>());
  check_jit(orders_of, 0, ct::array<double, 3, 0>());
  check_jit(orders_of, 0, ct::array<double, 1, 1>());
}

TEST_CASE("the derivatives of sort and top_k follow the elements") {
  check_derivatives(smooth, std::tuple(between<double, 4, 5>(-1, 1)));
  // A weight per rank goes to the element of that rank.
  const auto g = ct::jit(ct::grad([](auto x, auto w) { return ct::sum(ct::sort(x) * w); }))(ct::array<double, 4>{3, 1, 4, 2}, ct::array<double, 4>{1, 10, 100, 1000});
  CHECK(g == ct::array<double, 4>{100, 1, 1000, 10});
  // vmap along another axis than the one that is sorted, against a loop over lines.
  const auto x = with_ties<float, 6, 7>();
  const auto all = ct::jit(ct::vmap([](auto v) { return ct::argsort(v); }, ct::in_axes<1>))(x);
  for (int j = 0; j < 7; ++j) {
    ct::array<float, 6> line;
    for (int i = 0; i < 6; ++i) line(i) = x(i, j);
    const auto want = order(line, false);
    for (int i = 0; i < 6; ++i) CHECK(all(j, i) == want[std::size_t(i)]);
  }
}

TEST_CASE("lines of run-time length, long ones, many, on any number of threads") {
  const auto both = [](auto v) { return std::tuple(ct::argsort(v), std::get<1>(ct::top_k<5>(v))); };
  for (const ct::extent n : {5, 6, 1000, 200001}) {
    ct::array<double, ct::dyn> x({n});
    for (ct::extent i = 0; i < n; ++i) x(i) = double((i * 2654435761u) % 1000003) * (i % 3 == 0 ? -1 : 1);
    const auto want = order(x, false), down = order(x, true);
    for (int threads : {1, 2, 3}) {
      ct::set_num_threads(threads);
      const auto [indices, first] = ct::jit(both)(x);
      CHECK(std::equal(want.begin(), want.end(), indices.data()));
      CHECK(std::equal(down.begin(), down.begin() + 5, first.data()));
    }
  }
  ct::set_num_threads(2);
  CHECK_THROWS_AS(ct::jit(both)(ct::array<double, ct::dyn>({4})), ct::shape_error);
  check_jit([](auto v) { return std::tuple(ct::sort<0>(v), ct::sort<1>(v)); }, 0, between<float, 130, 70>(-1, 1));
}

TEMPLATE_TEST_CASE("long lines are in the order of the standard library, equal elements in theirs", "", float, double, bool, std::int8_t, std::uint8_t,
                   std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, ct::half, ct::bfloat16) {
  using T = TestType;
  constexpr bool is_real = std::is_floating_point_v<T> || std::is_same_v<T, ct::half> || std::is_same_v<T, ct::bfloat16>;
  const auto orders = ct::jit(all_orders);
  std::mt19937_64 bits(7);
  for (const ct::extent n : {1, 2, 94, 95, 96, 97, 256, 1000, 2047, 2048, 2049, 10000, 65535, 65536, 70001}) {
    ct::array<T, ct::dyn> x({n});
    const auto check = [&](const char* what, auto element) {
      INFO(what << ", " << n);
      for (ct::extent i = 0; i < n; ++i) x.data()[i] = element(i);
      check_orders(orders, x);
    };
    // Numbers of all magnitudes and both signs; for real ones also infinities, NaNs of several bits and zeros of both signs.
    const auto any = [&](ct::extent) {
      const std::uint64_t b = bits();
      T y{};
      if constexpr (std::is_same_v<T, bool>) y = b & 1;
      else std::memcpy(static_cast<void*>(&y), &b, sizeof(T));
      return y;
    };
    const auto small = [](double y) { return std::is_unsigned_v<T> ? T(float(std::abs(y))) : T(float(y)); };
    check("any", any);
    check("ties", [&](ct::extent) { return small(double(bits() % 17) - 8); });
    check("all equal", [&](ct::extent) { return small(-3); });
    check("two numbers", [&](ct::extent i) { return i == n / 2 ? any(i) : small(5); });
    check("ascending", [&](ct::extent i) { return small(double(i * 100 / n) - 50); });
    check("descending", [&](ct::extent i) { return small(50 - double(i * 100 / n)); });
    check("last out of order", [&](ct::extent i) { return i == n - 1 ? small(-60) : small(double(i * 100 / n) - 50); });
    if constexpr (is_real) {
      const float special[] = {0, -0.0f, NAN, -NAN, INFINITY, -INFINITY, 1, -1};
      check("zeros", [&](ct::extent) { return T(special[bits() % 2]); });
      check("special", [&](ct::extent) { return T(special[bits() % 8]); });
      check("special among others", [&](ct::extent i) { return bits() % 4 == 0 ? T(special[bits() % 8]) : any(i); });
    }
    if constexpr (sizeof(T) == 8) {
      const auto around = [&](auto distances) {
        return [&, distances](ct::extent) { return T(T(1 << 30) * T(bits() % 5) + T(bits() % distances)); };
      };
      check("a few alike in their first bits", [&](ct::extent i) {
        return i % 9 == 0 ? any(i) : T(T(bits() % 1000000) * T(1000003) + T(bits() % 8));
      });
      check("many alike in their first bits", [&](ct::extent i) { return i % 1000 == 0 ? any(i) : around(100u)(i); });
      check("all alike in their first bits", around(1000000u));
    }
  }
}

TEST_CASE("long lines along other axes, many of them, a large part of one, on any number of threads") {
  const auto all = [](auto v) {
    return std::tuple(ct::argsort<0>(v), ct::argsort<1>(v, ct::descending), std::get<1>(ct::top_k<100>(v)), std::get<1>(ct::top_k<7>(v)));
  };
  check_jit(all, 0, between<float, 130, 170>(-1, 1));
  check_jit(all, 0, with_ties<double, 97, 300>());
  const auto orders = ct::jit(all_orders);
  ct::array<float, ct::dyn> x({200001});
  for (ct::extent i = 0; i < x.size(); ++i) x(i) = float((i * 2654435761u) % 100003) - (i % 3 == 0 ? 70000.f : 50000.f);
  for (int threads : {1, 2, 3, 40}) {
    ct::set_num_threads(threads);
    check_orders<float>(orders, x);
  }
  ct::set_num_threads(2);
}
