/// Operations on concrete arrays, and transforms of functions that capture variables.

#include <cmath>
#include <sstream>
#include <tuple>
#include <vector>

#include <cotangent/cotangent.hpp>

#include "catch.hpp"

namespace {

namespace ct = cotangent;

template <class A> bool close(const A& a, const A& b, double tolerance = 1e-6) {
  if (!(a.shape() == b.shape())) return false;
  for (ct::extent i = 0; i < a.size(); ++i)
    if (!(std::abs(double(a.data()[i]) - double(b.data()[i])) <= tolerance * (1 + std::abs(double(b.data()[i]))))) return false;
  return true;
}

template <class T, ct::extent N> ct::array<T, N> ramp(double first, double step) {
  ct::array<T, N> a;
  for (ct::extent i = 0; i < N; ++i) a(i) = T(first + step * double(i));
  return a;
}

template <class T, ct::extent N> void check_arithmetic() {
  const auto x = ramp<T, N>(-1, 0.25), z = ramp<T, N>(0.5, 0.125);
  const T a = 2;
  const ct::array<T, N> y = a * x + ct::sin(z) / (1 + z) - x * 0.5;
  ct::array<T, N> expected;
  for (ct::extent i = 0; i < N; ++i) expected(i) = T(double(a) * x(i) + std::sin(double(z(i))) / (1 + double(z(i))) - double(x(i)) * 0.5);
  CHECK(close(y, expected));
  ct::array<T, N> updated = x;
  updated += z * 2;
  updated = -updated;
  for (ct::extent i = 0; i < N; ++i) expected(i) = -(x(i) + z(i) * 2);
  CHECK(close(updated, expected));
  double total = 0;
  for (ct::extent i = 0; i < N; ++i) total += double(x(i)) * double(z(i));
  const T sum = ct::sum(x * z);
  CHECK(std::abs(double(sum) - total) <= 1e-5 * (1 + std::abs(total)));
}

}  // namespace

TEST_CASE("operations on arrays compute when they are assigned") {
  check_arithmetic<float, 0>(), check_arithmetic<float, 1>(), check_arithmetic<float, 7>(), check_arithmetic<float, 1000>();
  check_arithmetic<double, 3>(), check_arithmetic<double, 33>();
}

TEST_CASE("expressions of run-time extents check their shapes") {
  for (ct::extent n : {0, 1, 5, 100}) {
    ct::array<double, ct::dyn> x({n}), y({n});
    for (ct::extent i = 0; i < n; ++i) x(i) = double(i), y(i) = 2;
    const ct::array<double, ct::dyn> z = x * y + 1;
    REQUIRE(z.extent(0) == n);
    for (ct::extent i = 0; i < n; ++i) CHECK(z(i) == 2 * double(i) + 1);
  }
  const ct::array<double, ct::dyn> two({2}), three({3});
  const auto wrong = [&] { return ct::array<double, ct::dyn>(two + three); };
  CHECK_THROWS_AS(wrong(), ct::shape_error);
}

TEST_CASE("expressions take views, numbers and expressions, and promote as in a trace") {
  std::vector<float> memory{1, 2, 3};
  const ct::view<const float, 3> v(memory.data());
  const ct::array<std::int32_t, 3> i{1, 2, 3};
  const ct::array<double, 3> d{0.5, 0.25, 0.125};
  const ct::array<float, 3> half = v / 2;
  CHECK(half == ct::array<float, 3>{0.5f, 1, 1.5f});
  const ct::array<std::int32_t, 3> doubled = i * 2;
  CHECK(doubled == ct::array<std::int32_t, 3>{2, 4, 6});
  const ct::array<float, 3> quotient = i / 2;  // true division
  CHECK(quotient == half);
  const ct::array<double, 3> promoted = v * d;
  CHECK(promoted == ct::array<double, 3>{0.5, 0.5, 0.375});
  const ct::array<bool, 3> greater = v > 1.5;
  CHECK(greater == ct::array<bool, 3>{false, true, true});
  const ct::array<float, 3> chosen = ct::where(v > 1.5, v, 0.0), clipped = ct::clip(v, 1.5, 2.5);
  CHECK(chosen == ct::array<float, 3>{0, 2, 3});
  CHECK(clipped == ct::array<float, 3>{1.5f, 2, 2.5f});
}

TEST_CASE("expressions cover reductions, products, indexing and shapes") {
  const ct::array<float, 2, 3> m{{1, 2, 3}, {4, 5, 6}};
  const ct::array<float, 3> x{1, 0, -1};
  CHECK(ct::array<float, 2>(ct::matmul(m, x)) == ct::array<float, 2>{-2, -2});
  CHECK(ct::array<float, 2>(ct::einsum<"ij,j->i">(m, x)) == ct::array<float, 2>{-2, -2});
  CHECK(ct::array<float, 3>(ct::sum(m, ct::axis<0>)) == ct::array<float, 3>{5, 7, 9});
  CHECK(ct::array<float, 2>(ct::take<1>(m, 2)) == ct::array<float, 2>{3, 6});
  CHECK(ct::array<float, 3, 2>(ct::transpose(m)) == ct::array<float, 3, 2>{{1, 4}, {2, 5}, {3, 6}});
  CHECK(ct::array<float, 6>(ct::concatenate<0>(x, x + 1)) == ct::array<float, 6>{1, 0, -1, 2, 1, 0});
  CHECK(ct::array<float, 1, 2>(ct::dynamic_slice<1, 2>(m, 1, 1)) == ct::array<float, 1, 2>{{5, 6}});
  CHECK(float(ct::mean(m)) == 3.5f);
  const ct::array<float, 3> softmax = ct::nn::softmax(x);
  CHECK(std::abs(softmax(0) + softmax(1) + softmax(2) - 1) < 1e-6f);
  std::ostringstream text;
  text << x + 1;
  CHECK(text.str() == "[2. 1. 0.]");
}

TEST_CASE("an expression keeps the small arrays that it was made of, and refers to large ones") {
  const auto make = [] { return ct::array<float, 3>{1, 2, 3}; };
  const auto e = make() * 2;
  CHECK(ct::array<float, 3>(e) == ct::array<float, 3>{2, 4, 6});
  ct::array<float, 1000> large = ct::full<float, 1000>(1.0f);
  const auto later = large + 1;
  large.fill(4);
  CHECK(float(ct::sum(later)) == 5000);
}

TEST_CASE("transforms take expressions as arguments, and traces take them as constants") {
  const ct::array<float, 3> x{1, 2, 3};
  const auto square_sum = [](auto v) { return ct::sum(v * v); };
  CHECK(ct::array<float, 3>(ct::grad(square_sum)(x + 1)) == ct::array<float, 3>{4, 6, 8});
  CHECK(float(ct::jit(square_sum)(x * 2)) == 56);
  constexpr auto scaled = [](auto v) { return v * (ct::array<float, 3>{1, 2, 3} * 2); };
  CHECK(ct::jit(scaled)(x) == ct::array<float, 3>{2, 8, 18});
}

TEST_CASE("functions that capture arrays and numbers can be transformed outside a trace") {
  const ct::array<float, 3> x{1, 2, 3}, w{2, 0, 1};
  float k = 3;
  const auto f = [k, w](auto v) { return ct::sum(ct::sin(v) * w * k); };
  ct::array<float, 3> gradient;
  for (int i = 0; i < 3; ++i) gradient(i) = std::cos(x(i)) * w(i) * k;
  CHECK(std::abs(float(ct::jit(f)(x)) - 3 * (2 * std::sin(1.0f) + std::sin(3.0f))) < 1e-5f);
  CHECK(close(ct::grad(f)(x), gradient));
  const ct::array<float, 2, 3> batch{{1, 2, 3}, {4, 5, 6}};
  const ct::array<float, 2, 3> gradients = ct::vmap(ct::grad(f))(batch);
  for (int b = 0; b < 2; ++b)
    for (int i = 0; i < 3; ++i) CHECK(std::abs(gradients(b, i) - std::cos(batch(b, i)) * w(i) * k) < 1e-5f);
  const ct::array<float, 3, 3> hessian = ct::hessian(f)(x);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) CHECK(std::abs(hessian(i, j) - (i == j ? -std::sin(x(i)) * w(i) * k : 0)) < 1e-5f);

  const auto g = [&](auto v) { return k * v + w; };  // by reference: the values at the time of the call
  CHECK(ct::jit(g)(x) == ct::array<float, 3>{5, 6, 10});
  k = 5;
  CHECK(ct::jit(g)(x) == ct::array<float, 3>{7, 10, 16});
  const auto [value, tangent] = ct::jvp(g, std::tuple(x), std::tuple(w));
  CHECK(value == ct::array<float, 3>{7, 10, 16});
  CHECK(tangent == ct::array<float, 3>{10, 0, 5});
  const auto two = [&](auto a, auto b) { return std::tuple(a * k, ct::sum(b - w), w); };
  const auto [scaled, rest, same] = ct::jit(two)(x, w);
  CHECK(scaled == ct::array<float, 3>{5, 10, 15});
  CHECK(float(rest) == 0);
  CHECK(same == w);
}

TEST_CASE("captured variables are no arguments of a derivative") {
  const ct::array<double> x = 3.0;
  const double k = 4;
  const auto outer = [k](auto v) { return k * v * v; };
  CHECK(double(ct::grad(outer)(x)) == 24);
  CHECK(double(ct::grad(ct::grad(outer))(x)) == 8);
  const auto pairs = ct::value_and_grad(outer)(x);
  CHECK(double(std::get<0>(pairs)) == 36);
  CHECK(double(std::get<1>(pairs)) == 24);
}

TEST_CASE("a function that captures variables can transform another") {
  const ct::array<float, 3> x{1, 2, 3}, w{2, 0, 1};
  const float k = 3;
  const auto cubes = [](auto v) { return ct::sum(v * v * v); };
  const auto f = [&](auto v) { return ct::sum(ct::grad(cubes)(v) * w) * k; };  // 3 k sum(w v^2)
  CHECK(float(ct::jit(f)(x)) == 99);
  CHECK(ct::grad(f)(x) == ct::array<float, 3>{36, 0, 54});
}

TEST_CASE("iota is an array outside a trace and a constant inside") {
  const ct::array<float, 4> x = ct::iota<float, 4>();
  CHECK(x == ct::array<float, 4>{0, 1, 2, 3});
  CHECK(ct::iota<std::int32_t, 0>().evaluate().size() == 0);
  CHECK(double(ct::sum(ct::iota<double, 5>())) == 10);
  CHECK(ct::jit([](auto v) { return v * ct::iota<float, 4>() + ct::iota<std::int32_t, 4>(); })(x) == ct::array<float, 4>{0, 2, 6, 12});
  const auto sums = ct::jit([](auto start) {
    return ct::scan([](auto carry, auto element) { return std::tuple(carry + element, carry); }, start, ct::iota<float, 5>());
  });
  const auto [last, before] = sums(1.0f);
  CHECK(float(last) == 11);
  CHECK(before == ct::array<float, 5>{1, 1, 2, 4, 7});
  CHECK(ct::grad([](auto v) { return ct::sum(ct::vmap([](auto a, auto b) { return a * b; })(v, ct::iota<float, 4>())); })(x) == x);
  const ct::array<std::int32_t, 3> squares = ct::vmap([](auto v) { return v * v; })(ct::iota<std::int32_t, 3>());
  CHECK(squares == ct::array<std::int32_t, 3>{0, 1, 4});
}

TEST_CASE("arrays beside vars are constants: operands, tables, arguments, carries and results") {
  const ct::array<float, 3> x{1, 2, 3};
  const ct::array<std::int32_t, 2> k{2, 0};
  const auto as_tables = ct::jit([](auto x, auto k) {
    const ct::array<float, 3> c{4, 5, 6};
    return std::tuple(ct::take<0>(c, k), ct::take_along_axis<0>(c, k), ct::dynamic_slice<2>(c, k(ct::index<0>)), c(k), c(k(ct::index<1>)) + x, (ct::iota<std::int32_t, 6>() - 3)(k), ct::clip(c, 0, x + 3),
                      ct::dynamic_update_slice(c, ct::slice<ct::range<0, 2>>(x), k(ct::index<1>)));
  })(x, k);
  const ct::array<float, 2> chosen{6, 4};
  CHECK(std::get<0>(as_tables) == chosen);
  CHECK(std::get<1>(as_tables) == chosen);
  CHECK(std::get<2>(as_tables) == ct::array<float, 2>{5, 6});
  CHECK(std::get<3>(as_tables) == chosen);
  CHECK(std::get<4>(as_tables) == ct::array<float, 3>{5, 6, 7});
  CHECK(std::get<5>(as_tables) == ct::array<std::int32_t, 2>{-1, -3});
  CHECK(std::get<6>(as_tables) == ct::array<float, 3>{4, 5, 6});
  CHECK(std::get<7>(as_tables) == ct::array<float, 3>{1, 2, 6});

  const auto updated = ct::jit([](auto x, auto k) {
    return std::tuple(ct::at(ct::zeros<float, 4>(), k).add(1), ct::at(ct::zeros<double, 2, 3>(), 1).set(x), ct::at(ct::zeros<float, 2000>(), k).add(ct::array<float, 2>{1, 2}),
                      ct::at(ct::array<float, 3>{1, 2, 3}, 1).multiply(ct::sum(x)));
  })(x, k);
  CHECK(std::get<0>(updated) == ct::array<float, 4>{1, 0, 1, 0});
  CHECK(std::get<1>(updated) == ct::array<double, 2, 3>{{0, 0, 0}, {1, 2, 3}});
  CHECK((std::get<2>(updated)(0) == 2 && std::get<2>(updated)(2) == 1 && std::get<2>(updated)(1999) == 0));
  CHECK(std::get<3>(updated) == ct::array<float, 3>{1, 12, 3});

  const auto transformed = ct::jit([](auto x, auto k) {
    const ct::array<float, 3> c{4, 5, 6};
    const auto product = [](auto a, auto b) { return a * b; };
    const auto [last, all] = ct::scan([](auto s, auto v) { return std::tuple(s + v, ct::ones<float, 2>()); }, ct::zeros<float, 3>(), ct::stack<0>(x, x));
    return std::tuple(ct::vmap(product)(x, c), ct::grad([](auto a, auto b) { return ct::sum(a * a * b); })(c, x), ct::cond(k(ct::index<0>) > 1, [](auto v) { return v + 1; }, [](auto v) { return v; }, c),
                      ct::while_loop([](auto s) { return std::get<1>(s) < 3; }, [](auto s) { return std::tuple(std::get<0>(s) * 2, std::get<1>(s) + 1); }, std::tuple(x, ct::array<std::int32_t>(0))),
                      last, all, std::get<1>(ct::vjp([](auto v) { return v * v; }, x))(c), ct::checkpoint(product)(c, x), c);
  })(x, k);
  const ct::array<float, 3> products{4, 10, 18};
  CHECK(std::get<0>(transformed) == products);
  CHECK(std::get<1>(transformed) == ct::array<float, 3>{8, 20, 36});
  CHECK(std::get<2>(transformed) == ct::array<float, 3>{5, 6, 7});
  CHECK(std::get<0>(std::get<3>(transformed)) == ct::array<float, 3>{8, 16, 24});
  CHECK(std::get<4>(transformed) == ct::array<float, 3>{2, 4, 6});
  CHECK(std::get<5>(transformed) == ct::ones<float, 2, 2>());
  CHECK(std::get<0>(std::get<6>(transformed)) == ct::array<float, 3>{8, 20, 36});
  CHECK(std::get<7>(transformed) == products);
  CHECK(std::get<8>(transformed) == ct::array<float, 3>{4, 5, 6});
}

TEST_CASE("large arrays that follow from a rule cost a trace nothing") {
  constexpr ct::extent n = 3000;
  const auto f = ct::jit([](auto x) {  // [3000]
    const ct::array<double, n, n> e = ct::eye<double, n>();
    const auto kept = e;
    auto changed = ct::full<double, 20, 30>(2);
    changed(3, 4) = 7;
    auto moved = std::move(changed);
    const auto copied = moved;
    moved.fill(5);
    const ct::array<std::int32_t, 40, 50> empty;
    return std::tuple(ct::matmul(x, kept + 0.5 * ct::eye<double, n>()), ct::sum(x + ct::zeros<double, n, n>()) + ct::sum(ct::ones<std::int32_t, 100, n>() * x), x * ct::arange<double, n>(), x + ct::linspace<double, n>(-1, 2),
                      copied, moved, empty, ct::eye<bool, 50, 40>(), ct::linspace<float, 1000>(3, 3) * ct::astype<float>(0.0 * x(ct::index<0>) + 2.0), ct::sum(ct::full<double, n>(0.25) * x) + copied(3, 4));
  });
  auto x = ct::linspace<double, n>(0, 1);
  const auto [product, sums, counted, spaced, copied, moved, empty, flags, equal, element] = f(x);
  ct::array<double, n> expected;
  double sum = 0;
  for (int i = 0; i < n; ++i) expected(i) = 1.5 * x(i), sum += x(i);
  CHECK(close(product, expected, 1e-14));
  CHECK(double(sums) == Approx(3100 * sum));
  const auto count = ct::arange<double, n>(), space = ct::linspace<double, n>(-1, 2);
  for (int i = 0; i < n; ++i) expected(i) = x(i) + space(i);
  CHECK(close(spaced, expected, 1e-15));
  for (int i = 0; i < n; ++i) expected(i) = x(i) * count(i);
  CHECK(close(counted, expected, 0));
  auto want = ct::full<double, 20, 30>(2);
  want(3, 4) = 7;
  CHECK(copied == want);
  CHECK(moved == ct::full<double, 20, 30>(5));
  CHECK(empty == ct::zeros<std::int32_t, 40, 50>());
  CHECK(flags == ct::eye<bool, 50, 40>());
  CHECK(equal == ct::full<float, 1000>(6));
  CHECK(double(element) == Approx(0.25 * sum + 7));
}

TEST_CASE("updates at indices outside a trace") {
  const ct::array<float, 3> x{1, 2, 3};
  const ct::array<std::int32_t, 2> k{2, 2};
  const ct::array<float, 3> sum = ct::at(x, k).add(ct::array<float, 2>{10, 20}), set = ct::at(x, -1).set(7), twice = ct::at(x + 1, k).multiply(2.0f);
  CHECK(sum == ct::array<float, 3>{1, 2, 33});
  CHECK(set == ct::array<float, 3>{1, 2, 7});
  CHECK(twice == ct::array<float, 3>{2, 3, 16});
  ct::array<double, ct::dyn> rows({4});
  rows = ct::at(rows, ct::array<std::int32_t, 2>{1, 9}).set(5);
  CHECK((rows(1) == 5 && rows(3) == 0));
}

TEST_CASE("expressions of concrete arrays are results of traced functions") {
  const ct::array<float, 5> x{1, 2, 3, 4, 5};
  const auto [same, doubled] = ct::jit([](auto x) { return std::tuple(x, 2.0f * ct::ones<float, 5>()); })(x);
  CHECK(same == x);
  CHECK(doubled == ct::full<float, 5>(2));
  CHECK(ct::jit([](auto) { return ct::arange<int, 3>() * 2; })(x) == ct::array<int, 3>{0, 2, 4});
  const auto [value, gradient] = ct::value_and_grad([](auto x) { return std::tuple(ct::sum(x * x), ct::sqrt(ct::full<float, 2>(9))); }, ct::has_aux)(x);
  CHECK(std::get<1>(value) == ct::array<float, 2>{3, 3});
  CHECK(std::get<1>(ct::scan([](auto c, auto e) { return std::tuple(c + e, 2.0f * ct::ones<float, 2>()); }, ct::array<float>(0), x)) == ct::full<float, 5, 2>(2));
  CHECK(std::get<1>(ct::vmap([](auto e) { return std::tuple(e, std::tuple(3.0f * ct::ones<float, 2>(), e)); })(x)) == std::tuple(ct::full<float, 5, 2>(3), x));
}
