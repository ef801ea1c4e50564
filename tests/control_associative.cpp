/// map, associative_scan and cumlogsumexp.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {
constexpr auto add = [](auto a, auto b) { return a + b; };
constexpr auto products = [](auto a, auto b) { return ct::matmul(a, b); };
/// x -> a x + b, one after the other; both halves are arrays along axis 0.
constexpr auto compose = [](auto f, auto g) { return std::tuple(std::get<0>(f) * std::get<0>(g), std::get<0>(g) * std::get<1>(f) + std::get<1>(g)); };
constexpr auto recurrence = [](auto a, auto b) { return std::get<1>(ct::associative_scan(compose, std::tuple(a, b))); };
constexpr auto recurrence_in_order = [](auto a, auto b) {
  return std::get<1>(ct::scan([](auto y, auto x) { const auto next = std::get<0>(x) * y + std::get<1>(x); return std::tuple(next, next); }, ct::zeros_like(b(0)), std::tuple(a, b)));
};
constexpr auto energy = [](auto x) { return std::tuple(ct::sum(x * x), ct::sin(x)); };
constexpr auto mapped = [](auto xs) {
  return std::tuple(ct::map(energy, xs), ct::map(energy, xs, ct::batch_size<1>), ct::map(energy, xs, ct::batch_size<3>), ct::map(energy, xs, ct::batch_size<50>));
};
template <int Batch> constexpr auto mapped_with_captured = [](auto xs, auto w) {
  return ct::map([w](auto x) { return ct::sin(std::get<0>(x) * w) + std::get<1>(x); }, xs, ct::batch_size<Batch>);
};

template <extent N> void check_sums() {
  INFO("length " << N);
  ct::array<std::int32_t, N> x;
  ct::array<double, 2, N> table = between<double, 2, N>(-1, 1);
  for (int i = 0; i < N; ++i) x(i) = i * i - 3;
  const auto r = interpret([](auto x, auto t) { return std::tuple(ct::associative_scan(add, x), ct::associative_scan(add, x, ct::reverse), ct::associative_scan(add, t, ct::axis<1>), ct::associative_scan(add, t, ct::axis<-1>, ct::reverse)); }, x, table);
  std::int32_t sum = 0;
  double rows[2] = {0, 0};
  for (int i = 0; i < N; ++i) {
    CHECK(std::get<0>(r)(i) == (sum += x(i)));
    for (int k = 0; k < 2; ++k) CHECK(std::get<2>(r)(k, i) == Approx(rows[k] += table(k, i)).margin(1e-14));
  }
  for (int i = 0; i < N; ++i) {
    CHECK(std::get<1>(r)(i) == sum);
    sum -= x(i);
    for (int k = 0; k < 2; ++k) {
      CHECK(std::get<3>(r)(k, i) == Approx(rows[k]).margin(1e-14));
      rows[k] -= table(k, i);
    }
  }
}
}  // namespace

TEST_CASE("map is a loop, whatever its batch size") {
  const auto f = ct::jit(mapped);
  const auto check = [](const auto& r, const auto& xs) {
    const auto& [one, again, three, fifty] = r;
    for (const auto* m : {&one, &again, &three, &fifty}) {
      const auto& [sums, sines] = *m;
      REQUIRE(sums.extent(0) == xs.extent(0));
      for (extent i = 0; i < xs.extent(0); ++i) {
        CHECK(sums(i) == Approx(xs(i, 0) * xs(i, 0) + xs(i, 1) * xs(i, 1)));
        CHECK(sines(i, 1) == Approx(std::sin(xs(i, 1))));
      }
    }
  };
  const auto seven = between<double, 7, 2>(-1, 1);
  check(f(seven), seven);
  for (extent n : {0, 1, 3, 4, 51}) {
    INFO("length " << n);
    ct::array<double, ct::dyn, 2> xs({n, 2});
    std::copy_n(between<double, 102>(-1, 1).data(), 2 * n, xs.data());
    check(f(xs), xs);
  }
}

TEST_CASE("derivatives of map by the xs and by what is captured") {
  const std::tuple xs(between<double, 5>(-1, 1), between<double, 5, 2>(-1, 1, 1));
  const auto w = between<double, 2>(-1, 1, 2);
  check_rules(graph_of(mapped_with_captured<1>, xs, w), tensors_of(xs, w));
  check_same(graph_of(mapped_with_captured<2>, xs, w), graph_of(mapped_with_captured<1>, xs, w), tensors_of(xs, w));
  check_same(graph_of(mapped_with_captured<5>, xs, w), graph_of(mapped_with_captured<1>, xs, w), tensors_of(xs, w));
  check_compiled<double, orders::first, batching::no>([](auto a, auto b, auto w) { return mapped_with_captured<2>(std::tuple(a, b), w); }, std::tuple_cat(xs, std::tuple(w)), std::tuple());
}

TEST_CASE("associative_scan of sums: odd, even and single elements, along any axis, from both ends") {
  check_sums<1>();
  check_sums<2>();
  check_sums<3>();
  check_sums<8>();
  check_sums<13>();
  check_sums<64>();
}

TEST_CASE("associative_scan of products of matrices keeps their order") {
  const auto m = between<double, 7, 2, 2>(-1, 1);
  const auto [forward, backward] = ct::jit([](auto m) { return std::tuple(ct::associative_scan(products, m), ct::associative_scan([](auto a, auto b) { return ct::matmul(b, a); }, m, ct::reverse)); })(m);
  ct::array<double, 2, 2> p = ct::eye<double, 2>();
  for (int i = 0; i < 7; ++i) {
    ct::array<double, 2, 2> next;
    for (int r = 0; r < 2; ++r)
      for (int c = 0; c < 2; ++c) CHECK(forward(i, r, c) == Approx(next(r, c) = p(r, 0) * m(i, 0, c) + p(r, 1) * m(i, 1, c)).margin(1e-15));
    p = next;
  }
  for (int r = 0; r < 2; ++r)
    for (int c = 0; c < 2; ++c) CHECK(backward(0, r, c) == Approx(p(r, c)));
  check_rules(graph_of([](auto m) { return ct::associative_scan(products, m); }, m), tensors_of(m));
}

TEST_CASE("linear recurrences by associative_scan are those of scan, with their derivatives") {
  const auto each = [&]<extent N>(std::integral_constant<extent, N>) {
    INFO("length " << N);
    const auto a = between<double, N, 2>(-1, 1), b = between<double, N, 2>(-1, 1, 1);
    check_same(graph_of(recurrence, a, b), graph_of(recurrence_in_order, a, b), tensors_of(a, b));
  };
  each(std::integral_constant<extent, 1>());
  each(std::integral_constant<extent, 4>());
  each(std::integral_constant<extent, 11>());
  check_compiled<double, orders::first, batching::yes>(recurrence, std::tuple(between<double, 5, 2>(-1, 1), between<double, 5, 2>(-1, 1, 1)), std::tuple());
  const auto x = between<double, 9>(-1, 1);
  constexpr auto by_scan = [](auto x) { return ct::associative_scan(add, x, ct::axis<0>); };
  constexpr auto by_cumsum = [](auto x) { return ct::cumsum(x, ct::axis<0>); };
  check_same(graph_of(by_scan, x), graph_of(by_cumsum, x), tensors_of(x));
}

TEST_CASE("associative_scan over run-time extents") {
  constexpr auto f = [](auto a, auto b) {
    const auto loss = [](auto a, auto b) { return ct::sum(ct::sin(recurrence(a, b))); };
    return std::tuple(recurrence(a, b), ct::associative_scan(add, a, ct::reverse), ct::grad(loss, ct::wrt<0, 1>)(a, b), ct::associative_scan([](auto a, auto b) { return ct::maximum(a, b); }, a, ct::axis<1>));
  };
  for (extent n : {0, 1, 2, 7, 30}) {
    INFO("length " << n);
    ct::array<double, ct::dyn, 2> a({n, 2}), b({n, 2});
    std::copy_n(between<double, 60>(-1, 1).data(), 2 * n, a.data());
    std::copy_n(between<double, 60>(-1, 1, 1).data(), 2 * n, b.data());
    check_jit(f, 1e-12, a, b);
    if (n > 0) check_same(graph_of(recurrence, a, b), graph_of(recurrence_in_order, a, b), tensors_of(a, b));
    if (n == 7) check_rules(graph_of(recurrence, a, b), tensors_of(a, b));
  }
}

TEST_CASE("cumlogsumexp does not overflow, and its gradient is a running softmax") {
  constexpr auto f = [](auto x) { return ct::cumlogsumexp(x, ct::axis<0>); };
  const auto far = ct::jit(f)(ct::array<double, 4>{-1000, 0, 1000, 1000});
  CHECK(far == ct::array<double, 4>{-1000, 0, 1000, 1000 + std::log(2.)});
  const auto x = between<double, 6>(-2, 2);
  const auto y = interpret(f, x);
  double sum = 0;
  for (int i = 0; i < 6; ++i) CHECK(y(i) == Approx(std::log(sum += std::exp(x(i)))));
  check_rules_of(f, std::tuple(x));
  check_rules_of([](auto x) { return ct::cumlogsumexp(x, ct::axis<-1>); }, std::tuple(between<double, 2, 3>(-1, 1)));
  // What each element of a long line adds is less than the last place of a float.
  const ct::array<float, ct::dyn> zeros({200000});
  const ct::array<float, ct::dyn> line = ct::cumlogsumexp(zeros, ct::axis<0>);
  CHECK(line(199999) == Approx(std::log(200000.)).epsilon(1e-7));
  CHECK(ct::jit(ct::grad([](auto v) { return ct::cumlogsumexp(v, ct::axis<0>)(ct::index<99>); }))(zeros)(7) == Approx(0.01));
}
