/// Loops whose carries stay in registers, few rows or one point; while loops of instances that stop by themselves; and loops that
/// are found in others.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <cotangent/cotangent.hpp>

#include "catch.hpp"

namespace ct = cotangent;

namespace {

/// Carries of three types over rows, the index of the turn, elements of x and y.
constexpr auto counted = [](auto start, auto xs) {
  const auto turn = [](auto carry, auto x) {
    const auto [sum, above, switched] = carry;
    const auto next = 0.75 * sum + x;
    const auto now = next > 0.25;
    return std::tuple(std::tuple(next, above + ct::astype<std::int32_t>(now), switched ^ now), ct::where(switched, next, -next));
  };
  return ct::scan(turn, std::tuple(start, ct::astype<std::int32_t>(0 * start), start > 10), xs, ct::reverse);
};

/// The element that depends on place k.
double element(ct::extent k) { return std::sin(1.3 * double(k) + 0.4); }

template <class T, ct::extent N, ct::extent Length> void check_few_rows() {
  ct::array<T, N> start;
  ct::array<T, Length, N> xs;
  for (ct::extent k = 0; k < N; ++k) start.data()[k] = T(element(k));
  for (ct::extent k = 0; k < Length * N; ++k) xs.data()[k] = T(element(100 + k));
  const auto [last, ys] = ct::jit(counted)(start, xs);
  const auto& [sum, above, switched] = last;
  const T tolerance = T(sizeof(T) == 4 ? 1e-5 : 1e-13);
  for (ct::extent i = 0; i < N; ++i) {
    T s = start(i);
    int count = 0;
    bool on = false;
    for (ct::extent t = Length; t-- > 0;) {
      s = T(0.75) * s + xs(t, i);
      REQUIRE(std::abs(ys(t, i) - (on ? s : -s)) <= tolerance);
      count += s > T(0.25), on = on != (s > T(0.25));
    }
    CAPTURE(N, Length, i);
    CHECK(std::abs(sum(i) - s) <= tolerance);
    CHECK(above(i) == count);
    CHECK(switched(i) == on);
  }
}
template <ct::extent... N> void check_rows() {
  (check_few_rows<double, N, 7>(), ...);
  (check_few_rows<float, N, 3>(), ...);
}

}  // namespace

TEST_CASE("scans of few rows keep carries of several types") {
  check_rows<1, 2, 7, 8, 9, 16, 17, 33>();
  check_few_rows<double, 5, 0>();
  check_few_rows<double, 5, 1>();
}

namespace {

/// One point: scalars of several types and the elements of a short array.
constexpr auto spun = [](auto x, auto v) {
  const auto turn = [](auto i, auto carry) {
    const auto [x, v, n, flag, angle] = carry;
    const auto a = ct::stack<0>(-v(ct::index<1>), v(ct::index<0>), ct::astype<double>(i) * 0.01);
    const auto next = v + 0.1 * a;
    return std::tuple(x + 0.1 * ct::sum(next * next), next, n + ct::astype<std::int64_t>(flag), !flag, angle + ct::astype<float>(next(ct::index<2>)));
  };
  return ct::fori_loop<0, 25>(turn, std::tuple(x, v, ct::astype<std::int64_t>(0.0 * x), x > 0, ct::astype<float>(x)));
};

}  // namespace

namespace {
/// Turns of many rows that differ by a table's entry and by a time: a polynomial, and two coupled rates with a driving force.
constexpr auto polynomial = [](auto x, auto c) { return ct::fori_loop<0, 5>([x, c](auto i, auto y) { return y * x + c(4 - i); }, ct::zeros_like(x)); };
constexpr auto driven = [](auto x, auto v, auto rate) {
  const auto turn = [rate](auto i, auto state) {
    const auto [x, v, passed] = state;
    const auto t = 0.1 * ct::astype<double>(i), force = ct::sin(t * rate);
    const auto faster = v + 0.1 * (ct::astype<typename decltype(v)::value_type>(force) - x);
    return std::tuple(x + 0.1 * faster, faster, passed + ct::astype<std::int32_t>(x > faster));
  };
  return ct::fori_loop<3, 20>(turn, std::tuple(x, v, ct::astype<std::int32_t>(0 * x)));
};

template <class T, class Rows> void check_many_rows(const Rows& x, const Rows& v) {
  const T tolerance = T(sizeof(T) == 4 ? 2e-6 : 1e-14);
  const ct::array<T, 5> c{T(0.5), T(-1), T(0.25), T(2), T(-0.75)};
  const auto y = ct::jit(polynomial)(x, c);
  const auto slopes = ct::jit(ct::grad([](auto a, auto b) { return ct::sum(polynomial(a, b)); }, ct::wrt<0, 1>))(x, c);
  double sums[5] = {};
  for (ct::extent k = 0; k < x.size(); ++k) {
    T want = 0, slope = 0;
    double power = 1;
    for (int i = 4; i >= 0; --i) slope = slope * x.data()[k] + want, want = want * x.data()[k] + c(i);
    for (double& sum : sums) sum += power, power *= double(x.data()[k]);
    REQUIRE(std::abs(y.data()[k] - want) <= tolerance);
    REQUIRE(std::abs(std::get<0>(slopes).data()[k] - slope) <= 4 * tolerance);
  }
  for (int i = 0; i < 5; ++i) CHECK(std::abs(double(std::get<1>(slopes)(i)) - sums[i]) <= double(tolerance) * double(1 + x.size()));

  const auto [position, speed, passed] = ct::jit(driven)(x, v, ct::array<double>(0.7));
  for (ct::extent k = 0; k < x.size(); ++k) {
    T a = x.data()[k], b = v.data()[k];
    int count = 0;
    for (int i = 3; i < 20; ++i) {
      const T faster = b + T(0.1) * (T(std::sin(0.1 * i * 0.7)) - a);
      count += a > faster;
      a += T(0.1) * faster, b = faster;
    }
    REQUIRE(std::abs(position.data()[k] - a) <= 4 * tolerance);
    REQUIRE(std::abs(speed.data()[k] - b) <= 4 * tolerance);
    REQUIRE(passed.data()[k] == count);
  }
}
template <class T, ct::extent N> void check_many_static_rows() {
  ct::array<T, N> x, v;
  for (ct::extent k = 0; k < N; ++k) x(k) = T(element(k)), v(k) = T(element(k + 50));
  check_many_rows<T>(x, v);
}
template <class T> void check_run_time_rows(ct::extent n) {
  ct::array<T, ct::dyn> x({n}), v({n});
  for (ct::extent k = 0; k < n; ++k) x(k) = T(element(k)), v(k) = T(element(k + 50));
  check_many_rows<T>(x, v);
}
}  // namespace

TEST_CASE("loops of many rows whose turns differ by a time or a table's entry") {
  check_many_static_rows<float, 1>();
  check_many_static_rows<double, 67>();
  check_many_static_rows<float, 131>();
  check_many_static_rows<float, 100003>();
  for (ct::extent n : {0, 1, 65, 20011}) check_run_time_rows<float>(n), check_run_time_rows<double>(n);
  const ct::array<float, 100003> x;
  const ct::array<float, 5> c;
  const std::string kernels = ct::jit(polynomial).kernels(x, c);
  CHECK(kernels.find("computes sub lt add select clamp gather fma") != std::string::npos);  // a turn is one kernel
  CHECK(kernels.find("over []") == std::string::npos);
}

namespace {

/// A turn's sums, extrema and counts over rows; `c` is what all rows share in a turn.
constexpr auto observed = [](auto x, auto c) {
  const auto turn = [](auto state, auto c) {
    const auto [x, n] = state;
    const auto y = 0.5 * x + c;
    const auto up = ct::astype<std::int32_t>(y > x);
    return std::pair(std::pair(y, n + up), std::tuple(ct::sum(y * y), ct::max(y), ct::min(y - c), ct::sum(up), ct::sum(c - y)));
  };
  return ct::scan(turn, std::pair(x, ct::astype<std::int32_t>(0 * x)), c, ct::reverse);
};
template <class T, class Rows> void check_observed(const Rows& start) {
  const T tolerance = T(sizeof(T) == 4 ? 2e-6 : 1e-14);
  ct::array<T, 9> c;
  for (int t = 0; t < 9; ++t) c(t) = T(element(t + 7));
  const auto program = ct::jit(observed);
  CHECK(program.kernels(start, c).find("all turns in registers") != std::string::npos);
  const auto result = program(start, c);
  const auto& [last, seen] = result;
  const auto& [squares, greatest, least, ups, differences] = seen;
  std::vector<T> x(start.data(), start.data() + start.size());
  for (int t = 9; t-- > 0;) {
    double square = 0, total = 0;
    T most = -std::numeric_limits<T>::infinity(), fewest = -most;
    int up = 0;
    for (T& a : x) {
      const T y = T(0.5) * a + c(t);
      square += y * y, total += y, most = std::max(most, y), fewest = std::min(fewest, y - c(t)), up += y > a;
      a = y;
    }
    const double scale = 1 + double(x.size());
    CAPTURE(x.size(), t);
    CHECK(std::abs(squares(t) - square) <= tolerance * scale);
    CHECK(std::abs(differences(t) - (double(c(t)) * double(x.size()) - total)) <= 2 * tolerance * scale);
    CHECK((greatest(t) == most || std::abs(greatest(t) - most) <= tolerance));  // of no rows: infinite
    CHECK((least(t) == fewest || std::abs(least(t) - fewest) <= tolerance));
    CHECK(ups(t) == up);
  }
  for (std::size_t k = 0; k < x.size(); ++k) REQUIRE(std::abs(std::get<0>(last).data()[k] - x[k]) <= tolerance);
  ct::set_num_threads(1);
  CHECK(program(start, c) == result);
  ct::set_num_threads(2);
}
template <class T, ct::extent... N> void check_observed_rows() {
  const auto one = []<ct::extent Rows>(std::integral_constant<ct::extent, Rows>) {
    ct::array<T, Rows> x;
    for (ct::extent k = 0; k < Rows; ++k) x(k) = T(element(k));
    check_observed<T>(x);
  };
  (one(std::integral_constant<ct::extent, N>()), ...);
}

}  // namespace

namespace {
template <bool Reverse> constexpr auto totals = [](auto x, auto c) {
  const auto turn = [](auto x, auto c) {
    const auto y = 0.5 * x + c;
    return std::pair(y, ct::sum(y));
  };
  if constexpr (Reverse) return ct::scan(turn, x, c, ct::reverse);
  else return ct::scan(turn, x, c);
};
template <bool Reverse> void check_many_turns() {
  constexpr int turns = 70000;
  ct::array<double, 43> x;
  static ct::array<double, turns> c;
  for (int k = 0; k < 43; ++k) x(k) = element(k);
  for (int t = 0; t < turns; ++t) c(t) = element(t);
  const auto [last, sums] = ct::jit(totals<Reverse>)(x, c);
  double total = 0;
  for (int k = 0; k < 43; ++k) total += x(k);
  for (int i = 0; i < turns; ++i) {
    const int t = Reverse ? turns - 1 - i : i;
    total = 0.5 * total + 43 * c(t);
    REQUIRE(std::abs(sums(t) - total) <= 1e-12 * (1 + std::abs(total)));
  }
  double end = 0;
  for (int k = 0; k < 43; ++k) end += last(k);
  CHECK(std::abs(end - total) <= 1e-12 * (1 + std::abs(total)));
}
}  // namespace

TEST_CASE("more turns than partial sums are kept of") {
  check_many_turns<false>();
  check_many_turns<true>();
}

TEST_CASE("turns that reduce over rows, which stay in registers") {
  check_observed_rows<float, 1, 43, 40001>();
  check_observed_rows<double, 8, 131>();
  for (ct::extent n : {0, 1, 77, 5003}) {
    ct::array<double, ct::dyn> x({n});
    for (ct::extent k = 0; k < n; ++k) x(k) = element(k);
    check_observed<double>(x);
  }
}

namespace {

/// A state of 14 rows and its sums of many kinds: the way back carries more than side by side vectors would, and goes over much.
constexpr auto mixed = [](auto p, auto start, auto xs) {
  const auto step = [p](auto s, auto x) {
    const auto a = ct::tanh(p(ct::index<0>) * s + p(ct::index<1>) * x), b = ct::logistic(p(ct::index<2>) * s + p(ct::index<3>));
    const auto c = ct::sin(p(ct::index<4>) * a + p(ct::index<5>) * b), d = ct::exp(p(ct::index<6>) * c) * b, e = ct::cos(p(ct::index<7>) * d + a);
    const auto f = ct::tanh(p(ct::index<8>) * e + p(ct::index<9>) * d), g = p(ct::index<10>) * f * e + p(ct::index<11>) * c, h = p(ct::index<12>) * g + p(ct::index<13>);
    return std::tuple(0.5 * s + 0.1 * h, h * s);
  };
  const auto [end, ys] = ct::scan(step, start, xs);
  return ct::sum(end) + ct::sum(ys * ys);
};
template <int Turns> void check_mixed() {
  ct::array<double, 14, 14> p;
  ct::array<double, 14> start;
  ct::array<double, Turns, 14> xs;
  for (int i = 0; i < 196; ++i) p.data()[i] = element(i);
  for (int i = 0; i < 14; ++i) start(i) = element(3 * i + 1);
  for (int i = 0; i < 14 * Turns; ++i) xs.data()[i] = element(7 * i + 2);
  // Row by row: a loop of one row has no second vector.
  const auto [of_p, of_start] = ct::jit(ct::grad(mixed, ct::wrt<0, 1>))(p, start, xs);
  for (int r = 0; r < 14; ++r) {
    ct::array<double, 14, 1> own;
    ct::array<double, Turns, 1> x;
    for (int i = 0; i < 14; ++i) own(i, 0) = p(i, r);
    for (int i = 0; i < Turns; ++i) x(i, 0) = xs(i, r);
    const auto [one_of_p, one_of_start] = ct::jit(ct::grad(mixed, ct::wrt<0, 1>))(own, ct::array<double, 1>{start(r)}, x);
    for (int i = 0; i < 14; ++i) CHECK(of_p(i, r) == Approx(one_of_p(i, 0)).epsilon(1e-11).margin(1e-13));
    CHECK(of_start(r) == Approx(one_of_start(0)).epsilon(1e-11).margin(1e-13));
  }
}

}  // namespace

TEST_CASE("vectors of rows that carry much take some turns each, in turn") {
  check_mixed<0>();
  check_mixed<1>();
  check_mixed<700>();
}

TEST_CASE("a loop of one point keeps scalars and short arrays") {
  const ct::array<double> x(0.3);
  const ct::array<double, 3> v{0.5, -0.25, 1.0};
  const auto [y, w, n, flag, angle] = ct::jit(spun)(x, v);
  double s = 0.3, u[3] = {0.5, -0.25, 1.0};
  std::int64_t count = 0;
  bool on = true;
  float turned = 0.3f;
  for (int i = 0; i < 25; ++i) {
    const double a[3] = {-u[1], u[0], i * 0.01};
    for (int k = 0; k < 3; ++k) u[k] += 0.1 * a[k];
    s += 0.1 * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
    count += on, on = !on, turned += float(u[2]);
  }
  CHECK(std::abs(y() - s) <= 1e-13);
  for (int k = 0; k < 3; ++k) CHECK(std::abs(w(k) - u[k]) <= 1e-13);
  CHECK(n() == count);
  CHECK(flag() == on);
  CHECK(std::abs(angle() - turned) <= 1e-5f);
  static_assert(ct::jit(spun).cost(ct::array<double>(), ct::array<double, 3>()).peak_bytes < 1024);
}

namespace {

/// Newton's method for the square root, and how many steps it took.
constexpr auto root = [](auto a) {
  const auto far = [](auto s) { return ct::abs(std::get<0>(s) * std::get<0>(s) - std::get<1>(s)) > 1e-10 * std::get<1>(s); };
  const auto step = [](auto s) {
    const auto [x, a, n] = s;
    return std::tuple(0.5 * (x + a / x), a, n + 1);
  };
  const auto [x, unused, n] = ct::while_loop(far, step, std::tuple(0.0 * a + 1.0, a, ct::astype<std::int32_t>(0.0 * a)));
  return std::tuple(x, n);
};
constexpr auto slope_of_root = [](auto a, auto t) { return std::get<0>(std::get<1>(ct::jvp(root, std::tuple(a), std::tuple(t)))); };

template <class A> void check_roots(const A& a) {
  const auto [x, n] = ct::jit(ct::vmap(root))(a);
  const auto slopes = ct::jit(ct::vmap(slope_of_root))(a, a);
  for (ct::extent i = 0; i < a.extent(0); ++i) {
    const auto [one, steps] = ct::jit(root)(ct::array<double>(a(i)));
    CHECK(x(i) == one());
    CHECK(n(i) == steps());
    CHECK(std::abs(x(i) * x(i) - a(i)) <= 1e-9 * a(i));
    CHECK(std::abs(slopes(i) - 0.5 * x(i)) <= 1e-6 * x(i));  // a / (2 sqrt(a))
  }
}
template <ct::extent N> void check_static_roots() {
  ct::array<double, N> a;
  for (ct::extent i = 0; i < N; ++i) a(i) = std::exp(20 * element(i));
  check_roots(a);
}

}  // namespace

TEST_CASE("instances of a while loop take as many turns as they need") {
  check_static_roots<1>();
  check_static_roots<7>();
  check_static_roots<8>();
  check_static_roots<19>();
  check_static_roots<300>();
  for (const ct::extent n : {0, 1, 16, 101}) {
    ct::array<double, ct::dyn> a({n});
    for (ct::extent i = 0; i < n; ++i) a(i) = std::exp(20 * element(i));
    check_roots(a);
  }
}

TEST_CASE("rows of an array go on together where the condition is one of all") {
  const auto halved = [](auto x) {
    return ct::while_loop([](auto s) { return ct::any(s > 1.0); }, [](auto s) { return 0.5 * s; }, x);
  };
  ct::array<double, 300> x;
  for (ct::extent i = 0; i < 300; ++i) x(i) = double(i + 1);
  const auto y = ct::jit(halved)(x);
  for (ct::extent i = 0; i < 300; ++i) CHECK(y(i) == double(i + 1) / 512);
  ct::array<double, 3, 11> rows;  // each row has a condition of its own
  for (ct::extent k = 0; k < 33; ++k) rows.data()[k] = double(k + 1);
  const auto z = ct::jit(ct::vmap(halved))(rows);
  for (ct::extent i = 0; i < 3; ++i)
    for (ct::extent j = 0; j < 11; ++j) CHECK(z(i, j) == rows(i, j) / (i == 0 ? 16 : i == 1 ? 32 : 64));
}

namespace {

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

constexpr auto decayed = [](auto x) { return ct::sum(std::get<0>(ct::scan([](auto c, auto u) { return std::tuple(ct::sin(c) + u, c * u); }, x, ct::stack<0>(x, 2.0 * x, x)))); };
/// A function and its gradient, written as two calls.
constexpr auto both = [](auto x) { return std::tuple(decayed(x), ct::grad(decayed)(x)); };
constexpr auto root_and_slope = [](auto a) { return std::tuple(std::get<0>(root(a)), slope_of_root(a, a)); };
/// Loops that differ in what they do, in their start and in their length.
constexpr auto alike = [](auto x) {
  const auto a = ct::fori_loop<0, 6>([](auto, auto s) { return ct::sin(s); }, x);
  const auto b = ct::fori_loop<0, 6>([](auto, auto s) { return ct::cos(s); }, x);
  const auto c = ct::fori_loop<0, 6>([](auto, auto s) { return ct::sin(s); }, 2.0 * x);
  const auto d = ct::fori_loop<0, 7>([](auto, auto s) { return ct::sin(s); }, x);
  const auto again = ct::fori_loop<0, 6>([](auto, auto s) { return ct::sin(s); }, x);
  return std::tuple(a, b, c, d, again);
};
/// The second loop starts where the first one ends, and has its body.
constexpr auto chained = [](auto x) {
  const auto once = ct::fori_loop<0, 6>([](auto, auto s) { return ct::sin(s); }, x);
  return ct::fori_loop<0, 6>([](auto, auto s) { return ct::sin(s); }, once);
};

}  // namespace

TEST_CASE("a loop that another one contains runs once") {
  const ct::array<double, 5> x{0.1, -0.7, 0.4, 1.2, 0.9};
  CHECK(count(ct::jit(both).kernels(x), ": scan") == 2);  // forward and back
  const auto [value, gradient] = ct::jit(both)(x);
  CHECK(value() == ct::jit(decayed)(x)());
  const auto alone = ct::jit(ct::grad(decayed))(x);
  for (int i = 0; i < 5; ++i) CHECK(gradient(i) == alone(i));

  const ct::array<double> a(7.0);
  CHECK(count(ct::jit(root_and_slope).kernels(a), ": while") == 1);
  const auto [r, slope] = ct::jit(root_and_slope)(a);
  CHECK(std::abs(r() * r() - 7.0) <= 1e-9);
  CHECK(std::abs(slope() - 0.5 * r()) <= 1e-6);
}

TEST_CASE("loops that differ stay apart") {
  const ct::array<double> x(0.6);
  CHECK(count(ct::jit(alike).kernels(x), ": scan") == 4);
  const auto [a, b, c, d, again] = ct::jit(alike)(x);
  const auto repeated = [](auto f, double s, int n) {
    for (int i = 0; i < n; ++i) s = f(s);
    return s;
  };
  const auto sine = [](double s) { return std::sin(s); };
  CHECK(std::abs(a() - repeated(sine, 0.6, 6)) <= 1e-14);
  CHECK(std::abs(b() - repeated([](double s) { return std::cos(s); }, 0.6, 6)) <= 1e-14);
  CHECK(std::abs(c() - repeated(sine, 1.2, 6)) <= 1e-14);
  CHECK(std::abs(d() - repeated(sine, 0.6, 7)) <= 1e-14);
  CHECK(again() == a());
  CHECK(count(ct::jit(chained).kernels(x), ": scan") == 2);
  CHECK(std::abs(ct::jit(chained)(x)() - repeated(sine, 0.6, 12)) <= 1e-14);
}
