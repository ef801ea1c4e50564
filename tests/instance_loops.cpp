/// Batched loops as per-instance programs: over vectors of instances, and with blocks of instances for threads.

#include <cmath>
#include <vector>

#include <cotangent/cotangent.hpp>

#include "catch.hpp"
#include "instances.hpp"

namespace ct = cotangent;
using namespace instances;

namespace {

/// Twenty steps of dx/dt = W tanh(x).
constexpr auto evolved = [](auto x, auto w) {
  return ct::fori_loop<0, 20>([w](auto, auto x) { return x + 0.05 * ct::matmul(w, ct::tanh(x)); }, x);
};

}  // namespace

TEST_CASE("the bodies of batched loops are per-instance programs too") {
  constexpr ct::extent n = 101;
  const auto w = random_array<ct::array<double, 3, 3>>(1);
  const auto x = random_array<ct::array<double, n, 3>>(2);
  const auto all = ct::jit(ct::vmap(evolved, ct::in_axes<0, ct::none>));
  constexpr ct::program_cost cost = all.cost(x, w);
  static_assert(cost.kernels == 3, "taking the elements apart, a turn, and putting them together");
  const auto loss = [](auto x, auto w) { return ct::sum(ct::square(evolved(x, w))); };
  const auto y = all(x, w);
  const auto gradient = ct::jit(ct::vmap(ct::grad(loss), ct::in_axes<0, ct::none>))(x, w);
  for (ct::extent i = 0; i < n; i += 10) {
    CHECK(row_error(y, i, ct::jit(evolved)(row(x, i), w)) <= 1e-14);
    CHECK(row_error(gradient, i, ct::jit(ct::grad(loss))(row(x, i), w)) <= 1e-13);
  }
  for (const ct::extent m : {0, 1, 101}) {
    ct::array<double, ct::dyn, 3> some({m, 3});
    for (ct::extent k = 0; k < 3 * m; ++k) some.data()[k] = x.data()[k];
    const auto z = all(some, w);
    REQUIRE(z.extent(0) == m);
    for (ct::extent k = 0; k < 3 * m; ++k) CHECK(z.data()[k] == y.data()[k]);
    const auto g = ct::jit(ct::vmap(ct::grad(loss), ct::in_axes<0, ct::none>))(some, w);
    for (ct::extent k = 0; k < 3 * m; ++k) CHECK(g.data()[k] == gradient.data()[k]);
  }
}

namespace {

/// A scan with a carry of an array and a scalar, elements of x and y per instance, the index, in reverse.
constexpr auto filtered = [](auto state, auto xs, auto w) {
  const auto step = [w](auto carry, auto x) {
    const auto [h, n] = carry;
    const auto next = ct::tanh(ct::matmul(w, h) + x) * n;
    return std::tuple(std::tuple(next, n * 0.9 + ct::sum(h) * 0.1), std::tuple(next * x, ct::sum(next)));
  };
  return ct::scan(step, std::tuple(state, ct::sum(state)), xs, ct::reverse);
};
constexpr auto filtered_loss = [](auto state, auto xs, auto w) {
  const auto [last, ys] = filtered(state, xs, w);
  return ct::sum(ct::square(std::get<0>(last))) + std::get<1>(last) + ct::sum(std::get<0>(ys)) + ct::sum(ct::square(std::get<1>(ys)));
};

template <ct::extent Length> void check_filter() {
  constexpr ct::extent n = 1100;
  const auto w = random_array<ct::array<double, 3, 3>>(1);
  const auto state = random_array<ct::array<double, n, 3>>(2);
  const auto xs = random_array<ct::array<double, n, Length, 3>>(3);
  const auto all = ct::jit(ct::vmap(filtered, ct::in_axes<0, 0, ct::none>));
  ct::set_num_threads(1);
  const auto serial = all(state, xs, w);
  ct::set_num_threads(2);
  const auto [last, ys] = all(state, xs, w);
  CHECK(std::get<0>(std::get<0>(serial)) == std::get<0>(last));
  CHECK(std::get<0>(std::get<1>(serial)) == std::get<0>(ys));
  for (ct::extent i = 0; i < n; i += 89) {
    const auto [last_one, ys_one] = ct::jit(filtered)(row(state, i), row(xs, i), w);
    CHECK(row_error(std::get<0>(last), i, std::get<0>(last_one)) <= 1e-14);
    CHECK(std::abs(std::get<1>(last)(i) - double(std::get<1>(last_one))) <= 1e-14);
    CHECK(row_error(std::get<0>(ys), i, std::get<0>(ys_one)) <= 1e-14);
    CHECK(row_error(std::get<1>(ys), i, std::get<1>(ys_one)) <= 1e-14);
  }
  if constexpr (Length == 9) {
    constexpr auto gradient = ct::grad(filtered_loss, ct::wrt<0, 1, 2>);
    const auto [of_state, of_xs, of_w] = ct::jit(ct::vmap(gradient, ct::in_axes<0, 0, ct::none>))(state, xs, w);
    for (ct::extent i = 0; i < n; i += 89) {
      const auto [s, x, g] = ct::jit(gradient)(row(state, i), row(xs, i), w);
      CHECK(row_error(of_state, i, s) <= 1e-13);
      CHECK(row_error(of_xs, i, x) <= 1e-13);
      CHECK(row_error(of_w, i, g) <= 1e-13);
    }
  }
}

}  // namespace

TEST_CASE("the carries, elements and results of a batched scan are split into vectors of instances") {
  check_filter<9>();
  check_filter<1>();
  check_filter<0>();
}

namespace {

/// Newton steps for the root of x^3 + W x = b until they are short, and their number.
constexpr auto solved = [](auto b, auto w) {
  const auto residual = [b, w](auto x) { return x * x * x + ct::matmul(w, x) - b; };
  const auto step = [residual](auto s) {
    const auto [x, n, last] = s;
    const auto next = x - residual(x) / (3.0 * x * x + 1.5);
    return std::tuple(next, n + 1, ct::sum(ct::square(next - x)));
  };
  const auto goes_on = [](auto s) { return std::get<2>(s) > 1e-20 && std::get<1>(s) < 100; };
  return ct::while_loop(goes_on, step, std::tuple(b * 0.5, ct::astype<std::int32_t>(ct::sum(b) * 0.0), ct::sum(b) * 0.0 + 1.0));
};

}  // namespace

namespace {

/// The forward algorithm of hidden Markov models: 256 exponentials a turn for 16 states.
constexpr auto forward = [](auto transitions, auto emissions) {
  const auto turn = [&](auto state, auto emitted) { return std::pair(ct::logsumexp(ct::expand_dims<1>(state) + transitions, ct::axis<0>) + emitted, ct::none); };
  return ct::logsumexp(std::get<0>(ct::scan(turn, emissions(0), emissions(ct::range<1, 6>))));
};
constexpr auto likelihood = [](auto transitions, auto emissions) { return ct::sum(ct::vmap(forward, ct::in_axes<ct::none, 0>)(transitions, emissions)); };

}  // namespace

TEST_CASE("a turn of very many exponentials stays one of arrays") {
  const auto transitions = random_array<ct::array<double, 16, 16>>(1);
  const auto emissions = random_array<ct::array<double, 40, 6, 16>>(2);
  const auto [value, slopes] = ct::jit(ct::value_and_grad(likelihood, ct::wrt<0, 1>))(transitions, emissions);
  double sum = 0;
  for (int b = 0; b < 40; ++b) {
    std::vector<double> state(16);
    for (int k = 0; k < 16; ++k) state[std::size_t(k)] = emissions(b, 0, k);
    for (int t = 1; t < 6; ++t) {
      std::vector<double> next(16);
      for (int k = 0; k < 16; ++k) {
        double total = 0;
        for (int j = 0; j < 16; ++j) total += std::exp(state[std::size_t(j)] + transitions(j, k));
        next[std::size_t(k)] = std::log(total) + emissions(b, t, k);
      }
      state = next;
    }
    double total = 0;
    for (double s : state) total += std::exp(s);
    sum += std::log(total);
  }
  CHECK(value == Approx(sum).epsilon(1e-12));
  // Each element of the last emissions adds its share of the end; those of one instance and time add up to 1.
  for (int b = 0; b < 40; b += 13)
    for (int t = 0; t < 6; ++t) {
      double shares = 0;
      for (int k = 0; k < 16; ++k) shares += std::get<1>(slopes)(b, t, k);
      CHECK(shares == Approx(1).epsilon(1e-12));
    }
  double of_transitions = 0;
  for (double s : std::get<0>(slopes)) of_transitions += s;
  CHECK(of_transitions == Approx(40 * 5).epsilon(1e-12));
}

TEST_CASE("a batched while loop runs over elements too") {
  constexpr ct::extent n = 90;
  ct::array<double, 3, 3> w{{1, 0.1, 0}, {0.1, 1.5, -0.1}, {0, 0.2, 1}};
  const auto b = random_array<ct::array<double, n, 3>>(2);
  const auto all = ct::jit(ct::vmap(solved, ct::in_axes<0, ct::none>));
  constexpr ct::program_cost cost = all.cost(b, w);
  static_assert(cost.kernels <= 6);
  const auto [x, turns, last] = all(b, w);
  const auto tangents = ct::jit(ct::vmap([](auto b, auto w) { return std::get<0>(ct::jvp([w](auto b) { return solved(b, w); }, std::tuple(b), std::tuple(b * 0.0 + 1.0))); }, ct::in_axes<0, ct::none>))(b, w);
  for (ct::extent i = 0; i < n; ++i) {
    const auto [one, count, size] = ct::jit(solved)(row(b, i), w);
    CHECK(row_error(x, i, one) <= 1e-12);
    CHECK(turns(i) == std::int32_t(count));
    CHECK(row_error(std::get<0>(tangents), i, one) <= 1e-12);
    for (int k = 0; k < 3; ++k) {
      double r = std::pow(x(i, k), 3) - b(i, k);
      for (int j = 0; j < 3; ++j) r += w(k, j) * x(i, j);
      CHECK(std::abs(r) <= 1e-8);
    }
  }
}

namespace {
/// Steps of Gauss and Newton for a exp(-b t) + c, whose derivatives by a and c have known zeros and ones.
constexpr auto fitted = [](auto p, auto t, auto y) {
  const auto residual = [t, y](auto p) { return p(ct::index<0>) * ct::exp(-p(ct::index<1>) * t) + p(ct::index<2>) - y; };
  return ct::fori_loop<0, 3>([residual](auto, auto p) {
    const auto j = ct::jacfwd(residual)(p);
    return p - ct::linalg::solve(ct::matmul(ct::transpose(j), j) + 0.01 * ct::eye<double, 3>(), ct::matmul(ct::transpose(j), residual(p)));
  }, p);
};
}  // namespace

TEST_CASE("loops keep known arrays inside, where elements see their zeros") {
  const auto fits = ct::jit(ct::vmap(fitted, ct::in_axes<0, ct::none, 0>));
  const auto p = random_array<ct::array<double, 70, 3>>(2);
  const auto y = random_array<ct::array<double, 70, 20>>(3);
  const auto t = random_array<ct::array<double, 20>>(5);
  static_assert(fits.cost(p, t, y).kernels <= 5);
  const auto all = fits(p, t, y);
  for (ct::extent i = 0; i < 70; ++i) CHECK(row_error(all, i, ct::jit(fitted)(row(p, i), t, row(y, i))) <= 1e-9);
}
