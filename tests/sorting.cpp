/// sort, argsort and top_k, and their derivatives, which follow the elements.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

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
