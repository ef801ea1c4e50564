/// Reductions over the turns of a loop that are done in the loop: against the interpreter.

#include <cotangent/cotangent.hpp>

#include "catch.hpp"
#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

constexpr ct::extent turns = 37;

/// The positions of all turns of oscillators that are pulled by a force of each turn.
constexpr auto path_of = [](auto x, auto v, auto forces) {
  const auto turn = [](auto s, auto force) {
    const auto [x, v] = s;
    const auto moved = x + 0.05 * v;
    return std::tuple(std::tuple(moved, v + 0.05 * (force - ct::sin(moved))), moved);
  };
  return std::get<1>(ct::scan(turn, std::tuple(x, v), forces));
};
constexpr auto misfit = [](auto x, auto v, auto forces, auto seen) { return ct::mean(ct::square(path_of(x, v, forces) - seen)); };
/// Over turns and over what each of them has; what all turns share, what all of a turn share, and numbers.
constexpr auto statistics = [](auto x, auto v, auto forces, auto weights) {
  const auto path = path_of(x, v, forces);
  const auto weighted = path * ct::expand_dims<-1>(weights);
  return std::tuple(ct::mean(path, ct::axis<0>), ct::max(path - x), ct::min(ct::abs(path), ct::axis<0>), ct::sum(weighted), ct::max(weighted * 2.0, ct::axis<0, 1>));
};
/// Positions [turns, n, 2], seen in several ways.
constexpr auto views = [](auto s) {
  const auto path = std::get<1>(ct::scan([](auto s, auto) {
    const auto next = s + 0.1 * ct::cos(s);
    return std::tuple(next, next);
  }, s, ct::none, ct::length<turns>));
  const auto first = path(ct::full_extent, ct::full_extent, ct::index<0>);
  const auto length = ct::sqrt(ct::sum(path * path, ct::axis<2>));
  return std::tuple(ct::sum(ct::square(first), ct::axis<0>), ct::max(ct::transpose(length), ct::axis<1>), ct::min(ct::reshape<turns, -1>(path), ct::axis<0>));
};
constexpr auto own_misfit = [](auto x, auto v, auto seen) {
  const auto path = std::get<1>(ct::scan([](auto s, auto) {
    const auto [x, v] = s;
    const auto moved = x + 0.05 * v;
    return std::tuple(std::tuple(moved, v - 0.05 * moved), moved);
  }, std::tuple(x, v), ct::none, ct::length<turns>));
  return std::tuple(ct::sum(ct::square(path - seen)), ct::max(path));
};
constexpr auto path_and_energy = [](auto x, auto v, auto forces) {
  const auto path = path_of(x, v, forces);
  return std::tuple(path, ct::sum(path * path));
};
constexpr auto variance = [](auto x, auto v, auto forces) { return ct::mean(ct::square(path_of(x, v, forces) - ct::mean(path_of(x, v, forces), ct::axis<0>)), ct::axis<0>); };
constexpr auto two_loops = [](auto x, auto v, auto forces) {
  const auto one = path_of(x, v, forces), two = path_of(v, x, forces);
  return std::tuple(ct::sum(one * two), ct::sum(two * 3.0, ct::axis<0>));
};
constexpr auto backwards = [](auto x, auto rates) {
  return ct::sum(std::get<1>(ct::scan([](auto x, auto r) { return std::tuple(x * r, x + r); }, x, rates, ct::reverse)) * rates);
};
constexpr auto drawn_path = [](auto x, auto v, auto forces) {
  const auto path = path_of(x, v, forces);
  return std::tuple(ct::mean(path), ct::matmul(ct::transpose(path), forces), x * ct::max(path));
};
constexpr auto counts = [](auto x) {
  return ct::sum(std::get<1>(ct::scan([](auto x, auto) { return std::tuple(x * 3 + 1, x % 7); }, x, ct::none, ct::length<turns>)), ct::axis<0>);
};

}  // namespace

TEMPLATE_TEST_CASE("sums, means and extrema over turns", "", float, double) {
  using T = TestType;
  constexpr double tolerance = std::is_same_v<T, float> ? 2e-4 : 1e-11;
  const auto check = [&]<ct::extent N>(std::integral_constant<ct::extent, N>) {
    const auto x = between<T, N>(-2, 2), v = between<T, N>(-1, 1, 1);
    const auto forces = between<T, turns, N>(-1, 1, 2), seen = between<T, turns, N>(-1, 1, 3);
    const auto weights = between<T, turns>(0, 1, 4);
    check_jit(misfit, tolerance, x, v, forces, seen);
    check_jit(statistics, tolerance, x, v, forces, weights);
  };
  check(std::integral_constant<ct::extent, 1>());
  check(std::integral_constant<ct::extent, 67>());
  check(std::integral_constant<ct::extent, 1500>());
}

TEST_CASE("the loop keeps nothing of its turns") {
  const auto x = between<double, 500>(-2, 2), v = between<double, 500>(-1, 1, 1);
  const auto forces = between<double, turns>(-1, 1, 2);
  const auto mean = [](auto x, auto v, auto forces) { return ct::mean(path_of(x, v, forces), ct::axis<0>); };
  CHECK(ct::jit(mean).kernels(x, v, forces).find("[37,500]") == std::string::npos);
  check_jit(mean, 1e-11, x, v, forces);
  CHECK(ct::jit(two_loops).kernels(x, v, forces).find("[37,500]") != std::string::npos);  // of one of them
  check_jit(two_loops, 1e-11, x, v, forces);
}

TEST_CASE("views of what turns make") {
  const auto s = between<double, 300, 2>(-2, 2);
  CHECK(ct::jit(views).kernels(s).find("[37,") == std::string::npos);
  check_jit(views, 1e-11, s);
}

TEST_CASE("of each instance under vmap") {
  const auto x = between<double, 300>(-2, 2), v = between<double, 300>(-1, 1, 1);
  check_jit(ct::vmap(own_misfit), 1e-11, x, v, between<double, 300, turns>(-1, 1, 2));
  check_jit(ct::vmap(ct::vmap(own_misfit, ct::in_axes<ct::none, 0, 0>), ct::in_axes<0, ct::none, 0>), 1e-11, between<double, 9>(-1, 1), between<double, 40>(-1, 1, 1), between<double, 9, 40, turns>(-1, 1, 2));
}

TEST_CASE("paths that are used otherwise are kept") {
  const auto x = between<double, 300>(-2, 2), v = between<double, 300>(-1, 1, 1);
  const auto forces = between<double, turns>(-1, 1, 2);
  check_jit(path_and_energy, 1e-11, x, v, forces);
  check_jit(variance, 1e-11, x, v, forces);
  const auto f = ct::value_and_grad(misfit, ct::wrt<0, 1, 2>);
  check_jit(f, 1e-11, x, v, between<double, turns, 300>(-1, 1, 3), between<double, turns, 300>(-1, 1, 4));
}

TEST_CASE("a run-time number of turns") {
  const auto mean_of_path = [](auto x, auto v, auto forces) { return ct::mean(path_of(x, v, forces)); };
  for (const ct::extent n : {1, 9}) {
    ct::array<double, ct::dyn> forces({n});
    for (ct::extent k = 0; k < n; ++k) forces(k) = std::cos(double(k));
    check_jit(drawn_path, 1e-11, between<double, 100>(-2, 2), between<double, 100>(-1, 1, 1), forces);
    check_jit(ct::grad(mean_of_path, ct::wrt<0, 2>), 1e-11, between<double, 100>(-2, 2), between<double, 100>(-1, 1, 1), forces);
  }
}

TEST_CASE("turns from the last one on, and integers") {
  check_jit(backwards, 1e-11, between<double, 100>(-2, 2), between<double, turns, 100>(0.5, 1.5));
  ct::array<std::int32_t, 100> x;
  for (int i = 0; i < 100; ++i) x(i) = i % 11;
  check_jit(counts, 0, x);
}

TEST_CASE("the largest of what is not a number is not a number") {
  auto x = between<double, 100>(-2, 2);
  const auto largest = [](auto x) {
    const auto path = std::get<1>(ct::scan([](auto x, auto) { return std::tuple(x * 2.0, x); }, x, ct::none, ct::length<turns>));
    return std::tuple(ct::max(path, ct::axis<0>), ct::min(path));
  };
  check_jit(largest, 1e-11, x);
  x(7) = std::numeric_limits<double>::quiet_NaN();
  const auto [most, least] = ct::jit(largest)(x);
  CHECK(std::isnan(most(7)));
  CHECK(!std::isnan(most(8)));
  CHECK(std::isnan(double(least)));
}

TEST_CASE("sums over all of a turn are made after the loop") {
  const auto f = [](auto x, auto v, auto forces) {
    const auto energies = ct::sum(ct::square(path_of(x, v, forces)), ct::axis<1>);
    return std::tuple(ct::max(energies), ct::sum(ct::sqrt(energies)));
  };
  const auto x = between<double, 500>(-2, 2), v = between<double, 500>(-1, 1, 1);
  const auto forces = between<double, turns>(-1, 1, 2);
  CHECK(ct::jit(f).kernels(x, v, forces).find("[37,500]") != std::string::npos);
  check_jit(f, 1e-11, x, v, forces);
}
