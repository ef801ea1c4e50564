/// Optimizers beside optax 0.2.8 (JAX 0.10.2, float64 unless said), and what optax does not do: traced rates, and what a step costs.

#include "check_derivatives.hpp"

namespace ct = cotangent;
namespace opt = ct::optimizers;
using namespace checks;

namespace {

/// An optimizer by its place in a constexpr tuple.
template <auto& Optimizers, std::size_t... I> struct steps_of {
  constexpr auto operator()(const auto& params, const auto& states) const {
    const auto one = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
      const auto p = std::get<K>(params);
      const auto [updates, state] = std::get<K>(Optimizers).update(p * p + 1, std::get<K>(states), p);
      return std::pair(opt::apply_updates(p, updates), state);
    };
    const auto all = std::tuple(one(std::integral_constant<std::size_t, I>())...);
    return std::tuple(std::tuple(std::get<I>(all).first...), std::tuple(std::get<I>(all).second...));
  }
};
/// Five steps down sum(p^3 / 3 + p) from (1, -2, 0.5), of all optimizers side by side.
template <auto& Optimizers, std::size_t N> void check_steps(const ct::array<double, 3> (&expected)[N]) {
  static_assert(std::tuple_size_v<std::remove_cvref_t<decltype(Optimizers)>> == N);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const ct::array<double, 3> start{1, -2, 0.5};
    std::tuple params((static_cast<void>(I), start)...);
    std::tuple states(std::get<I>(Optimizers).init(start)...);
    for (int i = 0; i < 5; ++i) std::tie(params, states) = ct::jit(steps_of<Optimizers, I...>{})(params, states);
    const auto check = [&](std::size_t k, const ct::array<double, 3>& p) {
      INFO("optimizer " << k);
      for (int i = 0; i < 3; ++i) CHECK(p(i) == Approx(expected[k](i)).epsilon(2e-7).margin(1e-9));  // some of optax's factors are float32
    };
    (check(I, std::get<I>(params)), ...);
  }(std::make_index_sequence<N>{});
}

constexpr std::tuple first(
    opt::sgd(0.1),
    opt::sgd(0.1, 0.9),
    opt::sgd(0.1, {.momentum = 0.9, .nesterov = true}),
    opt::sign_sgd(0.1),
    opt::adam(0.1),
    opt::adam(0.1, {.b1 = 0.8, .b2 = 0.9, .eps = 1e-3, .eps_root = 1e-2}),
    opt::nadam(0.1),
    opt::adamw(0.1, {.weight_decay = 0.1}),
    opt::nadamw(0.1),
    opt::amsgrad(0.1));
constexpr std::tuple second(
    opt::adamax(0.1),
    opt::adabelief(0.1),
    opt::yogi(0.1),
    opt::radam(0.1, {.b2 = 0.7}),
    opt::lion(0.1),
    opt::adagrad(0.1),
    opt::rmsprop(0.1),
    opt::rmsprop(0.1, {.decay = 0.8, .eps_in_sqrt = false}, 0.9),
    opt::centered_rmsprop(0.1, {.decay = 0.8}),
    opt::adadelta(10.0));
constexpr std::tuple third(
    opt::adafactor(0.1),
    opt::lamb(0.1, {.weight_decay = 0.1}),
    opt::lars(1.0),
    opt::chain(opt::clip_by_global_norm(1.0), opt::adam(opt::cosine_decay_schedule(0.1, 4))),
    opt::chain(opt::clip(0.5), opt::ema(0.9), opt::scale_by_schedule(opt::linear_schedule(-0.1, -0.2, 3))),
    opt::chain(opt::normalize_by_update_norm(), opt::sgd(0.1)),
    opt::chain(opt::clip_by_block_rms(0.5), opt::scale_by_param_block_norm(), opt::scale(-0.1)),
    opt::chain(opt::scale(-10), opt::keep_params_nonnegative()),
    opt::multi_steps(opt::adam(0.1), 2),
    opt::apply_if_finite(opt::adam(0.1), 3));

}  // namespace

TEST_CASE("five steps of each optimizer") {
  check_steps<first>({
      {0.2572297713, -10.52868959, -0.04851474065},
      {-1.021818399, -33.31082894, -1.004535886},
      {-1.455745129, -375.6697768, -1.519221828},
      {0.5, -2.5, 2.775557562e-17},
      {0.5061128014, -2.502088624, 0.003332877577},
      {0.5075956114, -2.502251914, 0.00578557464},
      {0.4454235169, -2.594616766, -0.06543206736},
      {0.4676230158, -2.393929022, -0.01120539395},
      {0.4453874583, -2.59450164, -0.0654445065},
      {0.5465396626, -2.502088624, 0.03260660228},
  });
  check_steps<second>({
      {0.5457002974, -2.469430493, 0.03171131201},
      {0.3993758597, -2.615951324, -0.1070127614},
      {0.5066913584, -2.501772051, 0.004101218535},
      {0.1596508364, -6.33139007, -0.07796612476},
      {0.49960009, -2.49890021, -0.0001499600045},
      {0.6971341428, -2.337528931, 0.1944411482},
      {0.08904808927, -3.196979877, -0.5271505712},
      {-1.007378235, -4.484944979, -1.749913319},
      {0.08895260532, -3.184041086, -0.5346231678},
      {0.8418805496, -2.169485811, 0.3403274644},
  });
  check_steps<third>({
      {0.3715590782, -2.763243277, -0.1661488478},
      {0.2523905306, -2.557483134, -0.2216175812},
      {0.9891422594, -2.027303783, 0.4932072991},
      {0.7517710676, -2.25014996, 0.251333476},
      {0.5999999903, -2.40000001, 0.09999999031},
      {0.8475433714, -2.465351073, 0.4016911164},
      {0.7161432343, -3.063445661, 0.3117311385},
      {0, 0, 0},
      {0.8003837768, -2.20012769, 0.300264211},
      {0.5061128014, -2.502088624, 0.003332877577},
  });
}

namespace {

template <template <class, ct::extent...> class A> struct net {
  A<float, 3> w;
  A<double, 2, 2> b;
};
constexpr auto loss = [](const auto& n) { return ct::sum(n.w * n.w) + ct::sum(n.b * n.b * n.b); };
constexpr auto decaying = opt::chain(opt::clip_by_global_norm(3.0), opt::adamw(opt::exponential_decay(0.1, 2, 0.5), {.weight_decay = 0.1}));
constexpr auto net_step = [](const auto& n, const auto& state) {
  const auto [updates, next] = decaying.update(ct::grad(loss)(n), state, n);
  return std::tuple(opt::apply_updates(n, updates), next);
};

/// The step of a rate that is known at run time.
constexpr auto step_at_rate = [](auto rate, auto x, const auto& state) {
  const auto [updates, next] = opt::adam(rate).update(x * x + 1, state, x);
  return std::tuple(opt::apply_updates(x, updates), next);
};
constexpr auto loss_after_steps = [](auto rate, auto x) {
  const auto optimizer = opt::adam(rate);
  auto state = optimizer.init(x);
  for (int i = 0; i < 3; ++i) std::tie(x, state) = step_at_rate(rate, x, state);
  return ct::sum(x * x * x);
};

template <class T> T steps_with_scan(const T& x) {
  return std::get<0>(ct::jit([](const auto& x) {
    const auto step = [](const auto& carry, auto) {
      const auto& [p, state] = carry;
      const auto [updates, next] = opt::adam(0.1).update(p * p + 1, state, p);
      return std::tuple(std::tuple(opt::apply_updates(p, updates), next), ct::sum(p));
    };
    return std::get<0>(ct::scan(step, std::tuple(x, opt::adam(0.1).init(x)), ct::arange<int, 5>()));
  })(x));
}

/// The values of schedules at a step.
constexpr std::tuple schedules(
    opt::constant_schedule(0.3),
    opt::polynomial_schedule(1, 0.1, 2, 10, 2),
    opt::linear_schedule(1, 0.1, 10, 2),
    opt::exponential_decay(1, 5, 0.5, {.transition_begin = 3}),
    opt::exponential_decay(1, 5, 0.5, {.staircase = true, .end_value = 0.1}),
    opt::exponential_decay(1, 5, 1.5, {.end_value = 2}),
    opt::cosine_decay_schedule(1, 100, 0.1),
    opt::cosine_decay_schedule(1, 100, 0.1, 2),
    opt::warmup_cosine_decay_schedule(0.1, 1, 10, 100, 0.01),
    opt::warmup_exponential_decay_schedule(0.1, 1, 10, 5, 0.9),
    opt::piecewise_constant_schedule(1, {{5, 0.1}, {12, 0.5}}),
    opt::piecewise_interpolate_schedule(opt::interpolation::linear, 1, {{5, 0.1}, {10, 0.01}}),
    opt::piecewise_interpolate_schedule(opt::interpolation::cosine, 1, {{5, 0.1}, {10, 0.01}}),
    opt::linear_onecycle_schedule(100, 1.0),
    opt::cosine_onecycle_schedule(100, 1.0),
    opt::join_schedules(opt::constant_schedule(1), opt::linear_schedule(1, 0, 10), 5));
constexpr auto all_schedules = [](auto step) {
  return std::apply([&](const auto&... schedule) { return ct::stack<0>(schedule(step)...); }, schedules);
};

}  // namespace

TEST_CASE("a tree of two dtypes, with a schedule, at once and compiled") {
  net<ct::array> compiled{{1, 2, 3}, {{1, 0.5}, {-0.25, 2}}}, at_once = compiled;
  auto state = decaying.init(compiled), state_at_once = state;
  for (int i = 0; i < 5; ++i) {
    std::tie(compiled, state) = ct::jit(net_step)(compiled, state);
    const auto [updates, next] = decaying.update(ct::grad(loss)(at_once), state_at_once, at_once);
    at_once = opt::apply_updates(at_once, updates), state_at_once = next;
  }
  CHECK(compiled.w(0) == Approx(0.69426376).epsilon(1e-6));
  CHECK(compiled.w(1) == Approx(1.6658547).epsilon(1e-6));
  CHECK(compiled.w(2) == Approx(2.6379225).epsilon(1e-6));
  CHECK(compiled.b(0, 0) == Approx(0.6964520226).epsilon(1e-7));
  CHECK(compiled.b(1, 1) == Approx(1.666495835).epsilon(1e-7));
  for (int i = 0; i < 3; ++i) CHECK(at_once.w(i) == Approx(compiled.w(i)).epsilon(1e-6));
  for (int i = 0; i < 4; ++i) CHECK(at_once.b.data()[i] == Approx(compiled.b.data()[i]).epsilon(1e-12));
  const auto& adam = std::get<0>(std::get<1>(state));
  CHECK((adam.count == 5 && std::get<0>(std::get<1>(state_at_once)).count == 5));
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(adam.mu)>, net<ct::array>>);
}

TEST_CASE("schedules") {
  const double steps[] = {0, 1, 3, 5, 7, 10, 12, 50, 100, 130};
  const double expected[][10] = {
      {0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3},
      {1, 1, 0.829, 0.541, 0.325, 0.136, 0.1, 0.1, 0.1, 0.1},
      {1, 1, 0.91, 0.73, 0.55, 0.28, 0.1, 0.1, 0.1, 0.1},
      {1, 1, 1, 0.757858, 0.574349, 0.378929, 0.287175, 0.00148019, 1.4455e-06, 2.25859e-08},
      {1, 1, 1, 0.5, 0.5, 0.25, 0.25, 0.1, 0.1, 0.1},
      {1, 1.08447, 1.27542, 1.5, 1.76412, 2, 2, 2, 2, 2},
      {1, 0.999778, 0.998003, 0.99446, 0.989163, 0.977975, 0.968399, 0.55, 0.1, 0.1},
      {1, 0.999556, 0.99601, 0.988954, 0.978456, 0.95649, 0.937908, 0.325, 0.1, 0.1},
      {0.1, 0.19, 0.37, 0.55, 0.73, 1, 0.998794, 0.590956, 0.01, 0.01},
      {0.1, 0.19, 0.37, 0.55, 0.73, 1, 0.958732, 0.430467, 0.150095, 0.0797664},
      {1, 1, 1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05},
      {1, 0.82, 0.46, 0.1, 0.0604, 0.001, 0.001, 0.001, 0.001, 0.001},
      {1, 0.914058, 0.410942, 0.1, 0.0657963, 0.001, 0.001, 0.001, 0.001, 0.001},
      {0.04, 0.072, 0.136, 0.2, 0.264, 0.36, 0.424, 0.650909, 4e-06, 4e-06},
      {0.04, 0.0426295, 0.0634929, 0.104308, 0.16329, 0.28, 0.371672, 0.811746, 4e-06, 4e-06},
      {1, 1, 1, 1, 0.8, 0.5, 0.3, 0, 0, 0},
  };
  for (int k = 0; k < 10; ++k) {
    const ct::array<double, 16> values = ct::jit(all_schedules)(ct::array<double>(steps[k]));
    for (int i = 0; i < 16; ++i) CHECK(values(i) == Approx(expected[i][k]).epsilon(1e-5).margin(1e-9));
  }
  // In a trace, of an integer and of a double.
  static constexpr auto warm = opt::warmup_cosine_decay_schedule(0.1, 1, 10, 100, 0.01);
  const auto both = ct::jit([](auto i, auto x) { return std::tuple(warm(i), warm(x)); })(ct::array<int>(50), ct::array<double>(50));
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(both)>, std::tuple<ct::array<float>, ct::array<double>>>);
  CHECK(double(std::get<0>(both)) == Approx(0.590956).epsilon(1e-5));
  CHECK(double(std::get<1>(both)) == Approx(warm(50)).epsilon(1e-12));
  CHECK_THROWS_WITH(opt::cosine_decay_schedule(1, 0), "cosine_decay_schedule: decay_steps must be positive");
  CHECK_THROWS_WITH(opt::linear_onecycle_schedule(0, 1), "linear_onecycle_schedule: transition_steps must be positive");
}

TEST_CASE("a traced rate: its derivative, and many at once") {
  const ct::array<double, 3> x{1, -2, 0.5};
  const auto f = ct::jit(loss_after_steps);
  const double h = 1e-6, slope = double(ct::grad(loss_after_steps)(ct::array<double>(0.1), x));
  CHECK(slope == Approx((double(f(ct::array<double>(0.1 + h), x)) - double(f(ct::array<double>(0.1 - h), x))) / (2 * h)).epsilon(1e-6));

  const ct::array<float, 4> rates{0.1f, 0.2f, 0.3f, 0.4f};
  const ct::array<float, 4, 5> many = between<float, 4, 5>(-1, 1);
  const auto start = [](const auto& x) { return opt::adam(0.0).init(x); };
  auto state = ct::jit(ct::vmap(start))(many);
  auto moved = many;
  for (int i = 0; i < 3; ++i) std::tie(moved, state) = ct::jit(ct::vmap(step_at_rate))(rates, moved, state);
  CHECK(std::get<0>(state).count == ct::array<int, 4>{3, 3, 3, 3});
  for (int k = 0; k < 4; ++k) {
    ct::array<float, 5> one;
    for (int i = 0; i < 5; ++i) one(i) = many(k, i);
    auto own = start(one);
    for (int i = 0; i < 3; ++i) std::tie(one, own) = ct::jit(step_at_rate)(ct::array<float>(rates(k)), one, own);
    for (int i = 0; i < 5; ++i) CHECK(moved(k, i) == Approx(one(i)).epsilon(1e-6));
  }
}

TEST_CASE("steps in a scan, of run-time extents, of no elements, of 16 bits, and of numbers") {
  const auto fixed = steps_with_scan(ct::array<double, 3>{1, -2, 0.5});
  CHECK(fixed(1) == Approx(-2.502088624));
  ct::array<double, ct::dyn> open({3});
  open(0) = 1, open(1) = -2, open(2) = 0.5;
  CHECK(ct::array<double, ct::dyn>(steps_with_scan(open))(2) == Approx(0.003332877577));
  CHECK(steps_with_scan(ct::array<float, 0>()).size() == 0);
  const ct::array<float, 1000> long_one = steps_with_scan(ct::full<float, 1000>(-2.0f));
  CHECK(long_one(999) == Approx(-2.502088624));

  const ct::array<ct::half, 3> x{ct::half(1.0f), ct::half(-2.0f), ct::half(0.5f)};
  const auto [updates, state] = opt::adam(0.1).update(x, opt::adam(0.1).init(x), x);
  CHECK(float(opt::apply_updates(x, updates)(1)) == Approx(-1.9).epsilon(1e-3));

  const std::tuple numbers(1.0, 2.0f);
  const auto [u, s] = opt::sgd(0.5, 0.9).update(numbers, opt::sgd(0.5, 0.9).init(numbers));
  const auto after = opt::apply_updates(numbers, u);
  CHECK((double(std::get<0>(after)) == 0.5 && float(std::get<1>(after)) == 1));
}

TEST_CASE("updates that are not finite are left out, and a step of several gradients waits for them") {
  static constexpr auto optimizer = opt::apply_if_finite(opt::sgd(1.0), 1);
  const ct::array<float, 2> x{1, 2}, good{0.5f, 0.5f}, bad{0.5f, NAN};
  auto state = optimizer.init(x);
  const auto apply = [&](const ct::array<float, 2>& g) {
    const auto [updates, next] = ct::jit([](auto g, const auto& s) { return optimizer.update(g, s); })(g, state);
    state = next;
    return updates;
  };
  CHECK((apply(good) == ct::array<float, 2>{-0.5f, -0.5f}));
  CHECK((apply(bad) == ct::array<float, 2>{0, 0}));
  CHECK((state.notfinite_count == 1 && state.total_notfinite == 1 && !bool(state.last_finite)));
  CHECK(std::isnan(apply(bad)(1)));  // the second in a row
  CHECK((apply(good) == ct::array<float, 2>{-0.5f, -0.5f}));
  CHECK((state.notfinite_count == 0 && state.total_notfinite == 2 && bool(state.last_finite)));

  static constexpr auto slow = opt::multi_steps(opt::sgd(1.0), 2);
  auto waiting = slow.init(x);
  const auto [none, half_way] = slow.update(good, waiting, x);
  const auto [all, done] = slow.update(x, half_way, x);
  CHECK((none == ct::array<float, 2>{0, 0} && all == ct::array<float, 2>{-0.75f, -1.25f}));
  CHECK((done.mini_step == 0 && done.gradient_step == 1 && half_way.mini_step == 1));
  CHECK_THROWS_WITH(opt::multi_steps(opt::sgd(1.0), 0), "multi_steps: a step needs at least one gradient");
  const ct::array<float, 2> repaired = std::get<0>(opt::zero_nans().update(bad, std::tuple<>()));
  CHECK((repaired == ct::array<float, 2>{0.5f, 0}));
  const ct::array<double, 2, 3> centred = std::get<0>(opt::centralize().update(ct::array<double, 2, 3>{{1, 2, 6}, {0, 0, 3}}, std::tuple<>()));
  CHECK((centred == ct::array<double, 2, 3>{{-2, -1, 3}, {-1, -1, 2}}));
}

TEST_CASE("factored squares are kept by rows and columns") {
  const auto x = between<double, 4, 6>(-1, 1);
  static constexpr auto optimizer = opt::scale_by_factored_rms<4>();
  ct::array<double, 6> row_of_x;
  for (int j = 0; j < 6; ++j) row_of_x(j) = x(0, j);
  const auto start = optimizer.init(std::tuple(x, row_of_x));
  const auto [updates, state] = ct::jit([](const auto& g, const auto& s) { return optimizer.update(g, s); })(std::tuple(x, row_of_x), start);
  const auto& factored = std::get<0>(state.leaves);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(factored.v_row)>, ct::array<double, 4, 1>>);
  double all = 0, row = 0, column = 0;  // the first step keeps nothing of the zeros
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 6; ++j) all += x(i, j) * x(i, j) / 24, row += i == 1 ? x(i, j) * x(i, j) / 6 : 0, column += j == 2 ? x(i, j) * x(i, j) / 4 : 0;
  CHECK(factored.v_row(1, 0) == Approx(row));
  CHECK(std::get<0>(updates)(1, 2) == Approx(x(1, 2) / std::sqrt(row * column / all)));
  CHECK(std::abs(std::get<1>(updates)(3)) == Approx(1));
}

TEST_CASE("losses") {
  const ct::array<double, 3> p{0.5, -2, 3}, t{1, 0, 2.5};
  const auto near = [](const auto& have, std::initializer_list<double> want) {
    const ct::array<double, ct::dyn> a = have;
    const double* w = want.begin();
    REQUIRE(a.size() == ct::extent(want.size()));
    for (double e : a) CHECK(e == Approx(*w++).epsilon(1e-9).margin(1e-12));
  };
  near(opt::squared_error(p, t), {0.25, 4, 0.25});
  near(opt::l2_loss(p, t), {0.125, 2, 0.125});
  near(opt::huber_loss(p, t), {0.125, 1.5, 0.125});
  near(opt::log_cosh(p, t), {0.120114507, 1.325002747, 0.120114507});
  near(opt::hinge_loss(p, t), {0.5, 1, 0});
  near(opt::sigmoid_binary_cross_entropy(p, t), {0.4740769842, 0.126928011, -4.451412648});
  near(opt::huber_loss(p, t, 0.25), {0.09375, 0.46875, 0.09375});
  CHECK(double(ct::array<double>(opt::kl_divergence(ct::log(ct::array<double, 3>{0.2, 0.5, 0.3}), ct::array<double, 3>{0, 0.25, 0.75}))) == Approx(0.25 * std::log(0.5) + 0.75 * std::log(2.5)));
  CHECK(double(ct::array<double>(opt::cosine_distance(p, p))) == Approx(0).margin(1e-15));
  near(opt::smooth_labels(ct::array<double, 2>{0, 1}, 0.2), {0.1, 0.9});
  const auto of_traced = [](auto l, auto k) { return opt::softmax_cross_entropy_with_integer_labels(l, k); };
  const auto logits = between<double, 4, 5>(-2, 2);
  const ct::array<int, 4> labels{0, 4, 2, 1};
  const ct::array<double, 4> have = ct::jit(of_traced)(logits, labels), want = opt::softmax_cross_entropy(logits, ct::nn::one_hot<5, double>(labels));
  for (int i = 0; i < 4; ++i) CHECK(have(i) == Approx(want(i)));
}

TEST_CASE("trees as vectors") {
  const net<ct::array> n{{1, 2, 3}, {{4, 5}, {6, 7}}};
  const auto [v, unravel] = ct::ravel_tree(n);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(v)>, ct::array<double, 7>>);
  CHECK((v == ct::array<double, 7>{1, 2, 3, 4, 5, 6, 7}));
  const net<ct::array> twice = unravel(2 * v);
  CHECK((twice.w == ct::array<float, 3>{2, 4, 6} && twice.b == ct::array<double, 2, 2>{{8, 10}, {12, 14}}));
  CHECK_THROWS_WITH(unravel(ct::array<double, 3>()), "unravel: a vector of 7 elements is needed, got 3");

  // The Hessian of a function of a tree.
  using make = std::remove_cvref_t<decltype(unravel)>;
  const auto hessian = ct::hessian([](auto v) { return loss(make{}(v)); })(v);
  CHECK((hessian(0, 0) == 2 && hessian(4, 4) == 30 && hessian(0, 4) == 0));

  const auto inside = ct::jit([](const auto& n, auto open) {
    const auto [v, unravel] = ct::ravel_tree(std::tuple(n.w, open, ct::sum(n.b)));
    const auto [w, squares, one] = unravel(v * v);
    return std::tuple(v, w, squares, one);
  });
  ct::array<float, ct::dyn, 2> open({2, 2});
  open(1, 0) = 3;
  const auto [all, w, squares, one] = inside(n, open);
  CHECK((all.size() == 8 && all(5) == 3 && w == ct::array<float, 3>{1, 4, 9} && squares(1, 0) == 9 && one == 484));

  const auto [sized, back] = ct::ravel_tree(std::tuple(open, 5.0f));
  CHECK((sized.size() == 5 && std::get<0>(back(sized)) == open && std::get<1>(back(sized)) == 5.0f));
}
