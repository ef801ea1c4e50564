/// scan and fori_loop: derivatives of derivatives, vmap of them, and over run-time lengths.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {
/// A recurrent network: the weights are captured; sin(w) does not change from step to step.
constexpr auto network = [](auto h, auto xs, auto w, auto b) {
  return ct::scan(
      [w, b](auto h, auto x) {
        const auto next = ct::tanh(ct::matmul(ct::sin(w), h) + b * x);
        return std::pair(next, ct::sum(next * x));
      },
      h, xs);
};
constexpr auto network_loss = [](auto h, auto xs, auto w, auto b) {
  const auto [last, ys] = network(h, xs, w, b);
  return ct::sum(last * last) + ct::sum(ct::sin(ys));
};


template <class... Options> struct running {
  template <class C, class X> constexpr auto operator()(const C& c, const X& xs) const {
    return ct::scan([](auto c, auto x) { return std::tuple(ct::sin(c) * x + c, c * c); }, c, xs, Options()...);
  }
};
template <int K> using turns_of = ct::unroll_tag<K>;

constexpr auto running_loss = [](auto c, auto xs) {
  const auto [last, ys] = running<turns_of<2>>{}(c, xs);
  return last * last + ct::sum(ct::sin(ys));
};

constexpr auto power = [](auto a, auto x) { return ct::fori_loop<1, 4>([a](auto i, auto c) { return c * a + ct::astype<double>(i) * ct::sin(c); }, x); };
}  // namespace

TEST_CASE("fori_loop with static bounds in reverse mode") {
  check_rules_of([](auto a, auto x) { return power(ct::astype<double>(a), ct::astype<double>(x)); }, std::tuple(between<double, 2>(-1, 1), between<double, 2>(-1, 1, 1)));
  check_rules_of([](auto a, auto x) { return ct::fori_loop<3, 3>([a](auto, auto c) { return c * a; }, x); }, std::tuple(between<double>(-1, 1), between<double>(-1, 1, 1)));
  check_compiled<double, orders::second, batching::no>(power, std::tuple(between<double, 2>(-1, 1), between<double, 2>(-1, 1, 1)), std::tuple());
}

TEST_CASE("towers: grad of grad, hessian, vmap of grad and grad of vmap of a scan") {
  constexpr auto first = [](auto h, auto xs, auto w, auto b) { return ct::grad(network_loss, ct::wrt<0, 1, 2, 3>)(h, xs, w, b); };
  check_rules_of<orders::first>(first, std::tuple(between<double, 2>(-1, 1), between<double, 3, 2>(-1, 1, 1), between<double, 2, 2>(-1, 1, 2), between<double, 2>(-1, 1, 3)));
  constexpr auto second = [](auto h, auto xs, auto w, auto b) {
    return ct::grad([xs, b](auto h, auto w) { const auto [dh, dw] = ct::grad([xs, b](auto h, auto w) { return network_loss(h, xs, w, b); }, ct::wrt<0, 1>)(h, w); return ct::sum(ct::sin(dh)) + ct::sum(dw * dw); }, ct::wrt<0, 1>)(h, w);
  };
  check_rules_of<orders::first>(second, std::tuple(between<double, 2>(-1, 1), between<double, 3, 2>(-1, 1, 1), between<double, 2, 2>(-1, 1, 2), between<double, 2>(-1, 1, 3)));
  constexpr auto towers = [](auto c, auto xs, auto starts) {
    return std::tuple(ct::hessian(running_loss, ct::wrt<1>)(c, xs), ct::vmap(ct::grad(running_loss), ct::in_axes<0, ct::none>)(starts, xs), ct::grad(ct::grad(running_loss))(c, xs),
                      ct::grad([xs](auto starts) { return ct::sum(ct::vmap(running_loss, ct::in_axes<0, ct::none>)(starts, xs)); })(starts));
  };
  const auto c = between<double>(-1, 1);
  const auto xs = between<double, 3>(-1, 1, 1), starts = between<double, 3>(-1, 1, 2);
  check_jit(towers, 1e-12, c, xs, starts);
  const auto r = interpret(towers, c, xs, starts);
  CHECK(difference(tensors_of(std::get<1>(r)), tensors_of(std::get<3>(r)), 1e-13) == "");
}

TEST_CASE("derivatives over run-time lengths, and vmap of run-time sizes") {
  constexpr auto both = [](auto c, auto xs, auto starts) {
    const auto second = [](auto c, auto xs) { return ct::sum(ct::grad(running_loss, ct::wrt<1>)(c, xs)); };
    return std::tuple(ct::grad(running_loss, ct::wrt<0, 1>)(c, xs), ct::grad(second)(c, xs), ct::vmap(ct::grad(running_loss), ct::in_axes<0, ct::none>)(starts, xs));
  };
  const auto c = between<double>(-1, 1);
  for (extent n : {0, 1, 2, 7, 100}) {
    INFO("length " << n);
    ct::array<double, ct::dyn> xs({n}), starts({n == 2 ? 0 : n / 2 + 1});
    std::copy_n(between<double, 100>(-1, 1).data(), n, xs.data());
    std::copy_n(between<double, 100>(-1, 1, 1).data(), starts.size(), starts.data());
    check_jit(both, 1e-12, c, xs, starts);
    if (n <= 7) check_rules(graph_of(running<>{}, c, xs), tensors_of(c, xs));
  }
}

namespace {
constexpr auto lorenz = [](auto s) {
  const auto x = s(ct::index<0>), y = s(ct::index<1>), z = s(ct::index<2>);
  return ct::stack<0>(10.0 * (y - x), x * (28.0 - z) - y, x * y - (8.0 / 3.0) * z);
};
/// Steps of several substeps: the loops' bodies, with tangents, are too large for a look at what each result depends on.
constexpr auto substeps = [](auto x) {
  const auto step = [](auto, auto s) { return s + 0.005 * lorenz(s + 0.0025 * lorenz(s + 0.0025 * lorenz(s))); };
  return ct::fori_loop<0, 3>([step](auto, auto s) { return ct::fori_loop<0, 4>(step, s); }, x);
};
}  // namespace

TEST_CASE("the Jacobian of a loop in a loop, forward") {
  const ct::array<double, 3> x{1.0, -2.0, 15.0};
  const auto forward = ct::jit(ct::jacfwd(substeps))(x), reverse = ct::jit(ct::jacrev(substeps))(x);
  CHECK(difference(tensors_of(forward), tensors_of(reverse), 1e-13) == "");
  for (int k = 0; k < 3; ++k) {
    ct::array<double, 3> above = x, below = x;
    above(k) += 1e-5, below(k) -= 1e-5;
    const auto high = ct::jit(substeps)(above), low = ct::jit(substeps)(below);
    for (int i = 0; i < 3; ++i) CHECK(forward(i, k) == Approx((high(i) - low(i)) / 2e-5).epsilon(1e-7).margin(1e-8));
  }
}
