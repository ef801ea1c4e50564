/// Gradients through loops over the states of many instances, in chunks of instances: against the interpreter.

#include <cotangent/cotangent.hpp>

#include "catch.hpp"
#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

constexpr ct::extent turns = 96;

/// A turn of coupled oscillators, their parameters one by one.
template <class X, class V, class P> constexpr auto kick(const X& x, const V& v, const P& stiffness, const P& damping) {
  const auto moved = x + 0.05 * v;
  return std::tuple(moved, v - 0.05 * (stiffness * ct::sin(moved) + damping * v));
}
constexpr auto ends = [](auto stiffness, auto damping, auto x, auto v) {
  return ct::fori_loop<0, turns>([&](auto, const auto& s) { return kick(std::get<0>(s), std::get<1>(s), stiffness, damping); }, std::tuple(x, v));
};
constexpr auto mean_end = [](auto stiffness, auto damping, auto x, auto v) {
  const auto [a, b] = ends(stiffness, damping, x, v);
  return ct::mean(a * b);
};
/// The seed of the way back depends on where each instance ends; a parameter per instance.
constexpr auto misfit = [](auto stiffness, auto damping, auto x, auto v, auto seen) {
  const auto [a, b] = ct::fori_loop<0, turns>([&](auto, const auto& s) { return kick(std::get<0>(s), std::get<1>(s), stiffness, damping); }, std::tuple(x, v));
  return ct::sum(ct::square(a - seen)) + ct::max(b);
};
/// Of a state [2] and parameters [2], instances by vmap: the state at the end.
constexpr auto end_of_state = [](auto p, auto s) {
  const auto turn = [&](auto, auto s) {
    const auto [x, v] = kick(s(ct::index<0>), s(ct::index<1>), p(ct::index<0>), p(ct::index<1>));
    return ct::stack<0>(x, v);
  };
  return ct::fori_loop<0, turns>(turn, s);
};
constexpr auto of_state = [](auto p, auto s) { return ct::sum(end_of_state(p, s)); };
/// The states as one array [n, 2], of which the loop has columns.
constexpr auto mean_square_of_states = [](auto p, auto s) {
  return ct::mean(ct::square(ct::vmap([p](auto s) { return end_of_state(p, s); })(s)));
};
constexpr auto sum_of_states = [](auto p, auto s) { return ct::sum(ct::vmap(of_state, ct::in_axes<ct::none, 0>)(p, s)); };
constexpr auto by_state = ct::vmap(ct::grad(of_state, ct::wrt<0, 1>), ct::in_axes<ct::none, 0>);
/// What a way back begins with is a product with a number: of the loss, or of each instance.
constexpr auto energy_of_state = [](auto p, auto s) {
  const auto end = end_of_state(p, s);
  return 0.1 * ct::dot(end, end) + p(ct::index<1>) * ct::dot(end, s);
};
constexpr auto energies = ct::vmap(ct::value_and_grad(energy_of_state, ct::wrt<0, 1>), ct::in_axes<ct::none, 0>);
/// Forces that are the same for all instances and some for each, a time that all share, and the positions of all turns.
constexpr auto driven = [](auto amplitude, auto common, auto own, auto x) {
  const auto turn = [&](auto carry, auto forces) {
    const auto [x, time] = carry;
    const auto [c, o] = forces;
    const auto next = x + 0.05 * (amplitude * ct::cos(time) * c * x + o * ct::tanh(x));
    return std::tuple(std::tuple(next, time + 0.05), next);
  };
  return ct::scan(turn, std::tuple(x, amplitude * 0.0), std::tuple(common, own));
};
constexpr auto path_length = [](auto amplitude, auto common, auto own, auto x) {
  const auto [end, path] = driven(amplitude, common, own, x);
  return ct::sum(ct::square(path)) + ct::sum(std::get<0>(end)) * std::get<1>(end);
};
constexpr auto path_and_gradient = [](auto amplitude, auto common, auto own, auto x) {
  return std::tuple(std::get<1>(driven(amplitude, common, own, x)), ct::grad(path_length, ct::wrt<0, 1, 2, 3>)(amplitude, common, own, x));
};
/// The likelihood of hidden Markov models, whose transitions all instances share, by the forward algorithm (Rabiner, "A tutorial on
/// hidden Markov models", 1989, III.A), in logarithms.
constexpr auto log_likelihood = [](auto transitions, auto start, auto seen) {
  const auto turn = [&](auto a, auto s) { return std::tuple(ct::logsumexp(ct::expand_dims<-1>(a) + transitions, ct::axis<0>) + s, ct::none); };
  return ct::logsumexp(std::get<0>(ct::scan(turn, start, seen)));
};
constexpr auto log_likelihoods = [](auto transitions, auto start, auto seen) { return ct::sum(ct::vmap(log_likelihood, ct::in_axes<ct::none, ct::none, 0>)(transitions, start, seen)); };
/// A linear map that all instances share, by two of its elements and as a whole.
constexpr auto turned = [](auto a, auto s) {
  const auto turn = [a](auto, auto s) { return s + 0.05 * ct::stack<0>(a(ct::index<0>, ct::index<1>) * ct::sin(s(ct::index<1>)), a(ct::index<1>, ct::index<0>) * s(ct::index<0>)); };
  return ct::sum(ct::vmap([&](auto s) { return ct::fori_loop<0, turns>(turn, s); })(s)) + a(ct::index<0>, ct::index<0>);
};
/// The mean is needed before the way back can begin: no chunk can know it.
constexpr auto square_of_mean = [](auto stiffness, auto damping, auto x, auto v) { return ct::square(mean_end(stiffness, damping, x, v)); };
/// A turn that mixes instances.
constexpr auto mixed = [](auto stiffness, auto x) {
  return ct::sum(ct::fori_loop<0, turns>([&](auto, auto x) { return x + 0.05 * stiffness * ct::sin(x - ct::mean(x)); }, x));
};

template <class F, class... A> bool in_chunks(const F& f, const A&... x) { return ct::jit(f).kernels(x...).find("chunk, ") != std::string::npos; }

}  // namespace

TEMPLATE_TEST_CASE("gradients by parameters that all instances share", "", float, double) {
  using T = TestType;
  constexpr double tolerance = std::is_same_v<T, float> ? 2e-4 : 1e-11;
  const auto f = ct::value_and_grad(mean_end, ct::wrt<0, 1>);
  const auto x = between<T, 1500>(-2, 2), v = between<T, 1500>(-1, 1, 1);
  const ct::array<T> stiffness = T(1.5), damping = T(0.2);
  CHECK(in_chunks(f, stiffness, damping, x, v));
  check_jit(f, tolerance, stiffness, damping, x, v);
  check_jit(ct::grad(mean_end, ct::wrt<0, 1, 2, 3>), tolerance, stiffness, damping, x, v);
  const auto s = between<T, 1500, 2>(-2, 2);
  const ct::array<T, 2> p{T(1.5), T(0.2)};
  CHECK(in_chunks(ct::value_and_grad(sum_of_states), p, s));
  CHECK(in_chunks(ct::value_and_grad(mean_square_of_states, ct::wrt<0, 1>), p, s));
  check_jit(ct::value_and_grad(mean_square_of_states, ct::wrt<0, 1>), tolerance, p, s);
  check_jit(ct::value_and_grad(sum_of_states), tolerance, p, s);
}

TEST_CASE("gradients by a matrix that all instances share") {
  const auto f = ct::value_and_grad(log_likelihoods, ct::wrt<0, 1, 2>);
  const auto transitions = between<double, 3, 3>(-2, -0.5);
  const auto start = between<double, 3>(-1, 0, 1);
  const auto seen = between<double, 900, 60, 3>(-1, 0, 2);
  CHECK(in_chunks(f, transitions, start, seen));
  check_jit(f, 1e-10, transitions, start, seen);
  const auto a = between<double, 2, 2>(-1, 1);
  const auto s = between<double, 1500, 2>(-2, 2);
  CHECK(in_chunks(ct::grad(turned), a, s));
  check_jit(ct::value_and_grad(turned, ct::wrt<0, 1>), 1e-11, a, s);
}

TEST_CASE("numbers of instances that nothing divides") {
  const auto x = between<double, 1511>(-2, 2), v = between<double, 1511>(-1, 1, 1);
  const ct::array<double> stiffness = 1.5, damping = 0.2;
  const auto f = ct::grad(mean_end, ct::wrt<0, 1, 2>);
  CHECK(ct::jit(f).kernels(stiffness, damping, x, v).find("last chunk") != std::string::npos);
  check_jit(f, 1e-11, stiffness, damping, x, v);
}

TEST_CASE("few instances go as they are") {
  const auto x = between<double, 31>(-2, 2), v = between<double, 31>(-1, 1, 1);
  const ct::array<double> stiffness = 1.5, damping = 0.2;
  CHECK(!in_chunks(ct::grad(mean_end), stiffness, damping, x, v));
  check_jit(ct::grad(mean_end, ct::wrt<0, 2>), 1e-11, stiffness, damping, x, v);
}

TEST_CASE("gradients of each instance's own") {
  const auto x = between<double, 1500>(-2, 2), v = between<double, 1500>(-1, 1, 1), seen = between<double, 1500>(-1, 1, 2);
  const auto stiffness = between<double, 1500>(1, 2, 3), damping = between<double, 1500>(0, 1, 4);
  const auto f = ct::value_and_grad(misfit, ct::wrt<0, 1, 2, 3, 4>);
  check_jit(f, 1e-11, stiffness, damping, x, v, seen);
  const auto s = between<double, 1500, 2>(-2, 2);
  const ct::array<double, 2> p{1.5, 0.2};
  CHECK(in_chunks(by_state, p, s));
  check_jit(by_state, 1e-11, p, s);
  CHECK(in_chunks(energies, p, s));
  check_jit(energies, 1e-11, p, s);
}

TEST_CASE("what all instances share in each turn, and paths as results") {
  const auto common = between<double, 96>(-1, 1);
  const auto x = between<double, 2000>(-1, 1, 1);
  const auto own = between<double, 96, 2000>(-1, 1, 2);
  const ct::array<double> amplitude = 0.7;
  const auto f = ct::value_and_grad(path_length, ct::wrt<0, 2, 3>);
  check_jit(f, 1e-11, amplitude, common, own, x);
  check_jit(path_and_gradient, 1e-11, amplitude, common, own, x);
}

TEST_CASE("instances that wait for each other are no chunks of their own") {
  const auto x = between<double, 1500>(-2, 2), v = between<double, 1500>(-1, 1, 1);
  const ct::array<double> stiffness = 1.5, damping = 0.2;
  CHECK(!in_chunks(ct::grad(square_of_mean), stiffness, damping, x, v));
  check_jit(ct::value_and_grad(square_of_mean, ct::wrt<0, 1, 2, 3>), 1e-11, stiffness, damping, x, v);
  CHECK(!in_chunks(ct::grad(mixed), stiffness, x));
  check_jit(ct::value_and_grad(mixed, ct::wrt<0, 1>), 1e-10, stiffness, x);
}

TEST_CASE("sums along the last axis, and by a parameter of each row") {
  constexpr auto diffusion = [](auto rate, auto u) {
    return ct::sum(ct::square(ct::fori_loop<0, 40>([&](auto, auto u) { return u + rate * (ct::roll<0>(u, 1) - 2 * u + ct::roll<0>(u, -1)); }, u)));
  };
  check_jit(ct::vmap(ct::grad(diffusion)), 1e-10, between<double, 20>(0.1, 0.3), between<double, 20, 300>(-1, 1));
}

TEST_CASE("as many turns as instances") {
  constexpr auto f = [](auto k, auto x) { return ct::sum(ct::fori_loop<0, 400>([&](auto, auto x) { return x + 0.01 * k * ct::sin(x); }, x)); };
  check_jit(ct::value_and_grad(f, ct::wrt<0, 1>), 1e-11, ct::array<double>(1.5), between<double, 400>(-2, 2));
}

TEST_CASE("the same bits with any number of threads") {
  const auto x = between<float, 1511>(-2, 2), v = between<float, 1511>(-1, 1, 1);
  const ct::array<float> stiffness = 1.5f, damping = 0.2f;
  const auto program = ct::jit(ct::value_and_grad(mean_end, ct::wrt<0, 1, 2>));
  ct::set_num_threads(1);
  const auto one = program(stiffness, damping, x, v);
  for (const int threads : {2, 3, 7}) {
    ct::set_num_threads(threads);
    CHECK(program(stiffness, damping, x, v) == one);
  }
  ct::set_num_threads(2);
}
