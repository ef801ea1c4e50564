/// The programs that JAX tutorials start from.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {
template <template <class, extent...> class A> struct network {
  A<float, 3, 8> w1;
  A<float, 8> b1;
  A<float, 8, 2> w2;
  A<float, 2> b2;
};
using parameters = network<ct::array>;

constexpr auto predict = [](const auto& p, auto x) { return ct::matmul(ct::tanh(ct::matmul(x, p.w1) + p.b1), p.w2) + p.b2; };
constexpr auto loss = [](const auto& p, auto x, auto y) { return ct::mean(ct::square(predict(p, x) - y)); };

constexpr auto sgd_step = [](const auto& p, auto x, auto y) {
  const auto g = ct::grad(loss)(p, x, y);
  return ct::tree_map([](auto p, auto g) { return p - 0.1f * g; }, p, g);
};

parameters initial() {
  return {between<float, 3, 8>(-1, 1), {}, between<float, 8, 2>(-1, 1, 30), {}};
}
const auto inputs = between<float, 16, 3>(-1, 1, 50);
ct::array<float, 16, 2> targets() {
  ct::array<float, 16, 2> y;
  for (int i = 0; i < 16; ++i) y(i, 0) = inputs(i, 0) * inputs(i, 1), y(i, 1) = std::sin(inputs(i, 2));
  return y;
}

/// A state of momentum SGD, a struct that holds the parameters twice.
template <template <class, extent...> class A> struct training {
  network<A> parameters, momentum;
  A<float> steps;
};
constexpr auto loss_and_metrics = [](const auto& p, auto x, auto y) {
  const auto out = predict(p, x);
  const auto l = ct::mean(ct::square(out - y));
  return std::pair(l, std::tuple(ct::max(ct::abs(out - y)), ct::mean(ct::astype<float>(ct::argmax(out, ct::axis<1>) == ct::argmax(y, ct::axis<1>)))));
};
constexpr auto train = [](auto s, auto x, auto y) {
  const auto [value, g] = ct::value_and_grad(loss_and_metrics, ct::has_aux)(s.parameters, x, y);
  s.momentum = ct::tree_map([](auto m, auto g) { return 0.9f * m + g; }, s.momentum, g);
  s.parameters = ct::tree_map([](auto p, auto m) { return p - 0.05f * m; }, s.parameters, s.momentum);
  s.steps = s.steps + 1.0f;
  return std::tuple(std::get<0>(value), std::get<1>(value), s);
};
}  // namespace

TEST_CASE("an SGD step on a two-layer model with donated parameters lowers the loss") {
  const auto y = targets();
  const auto step = ct::jit(sgd_step);
  parameters p = initial();
  const auto kept = step(p, inputs, y);
  CHECK(difference(tensors_of(kept), tensors_of(interpret(sgd_step, p, inputs, y)), 1e-5) == "");
  CHECK(tensors_of(p)[0].x == tensors_of(initial())[0].x);  // an lvalue is not touched
  const double before = interpret(loss, p, inputs, y);
  parameters donated = step(std::move(p), inputs, y);
  CHECK(difference(tensors_of(donated), tensors_of(kept), 0) == "");
  for (int i = 0; i < 300; ++i) donated = step(std::move(donated), inputs, y);
  CHECK(interpret(loss, donated, inputs, y) < before / 10);
}

TEST_CASE("a per-example loss batched by vmap, and nested over time and batch") {
  constexpr auto one = [](const auto& p, auto x, auto y) { return ct::sum(ct::square(predict(p, x) - y)); };
  const parameters p = initial();
  const auto y = targets();
  const auto per_example = ct::vmap(one, ct::in_axes<ct::none, 0, 0>);
  const auto losses = ct::jit(per_example)(p, inputs, y);
  for (int i = 0; i < 16; ++i) {
    ct::array<float, 3> x{inputs(i, 0), inputs(i, 1), inputs(i, 2)};
    ct::array<float, 2> t{y(i, 0), y(i, 1)};
    CHECK(losses(i) == Approx(float(interpret(one, p, x, t))).epsilon(1e-5));
  }
  constexpr auto nested = [](const auto& p, auto x, auto y) {
    return ct::vmap(ct::vmap([](const auto& p, auto x, auto y) { return ct::sum(ct::square(predict(p, x) - y)); }, ct::in_axes<ct::none, 0, 0>), ct::in_axes<ct::none, 0, 0>)(
        p, ct::reshape<4, 4, 3>(x), ct::reshape<4, 4, 2>(y));
  };
  const auto grid = ct::jit(nested)(p, inputs, y);
  for (int i = 0; i < 16; ++i) CHECK(grid(i / 4, i % 4) == Approx(losses(i)).epsilon(1e-5));
  constexpr auto gradients = [](const auto& p, auto x, auto y) {
    constexpr auto one = [](auto w, auto x, auto y) { return ct::sum(ct::square(ct::matmul(x, w) - y)); };
    return ct::vmap(ct::grad(one), ct::in_axes<ct::none, 0, 0>)(ct::slice<ct::full_extent, ct::range<0, 2>>(p.w1), x, y);
  };
  check_jit(gradients, 1e-5, p, inputs, y);
}

TEST_CASE("a training step returns loss, metrics and new optimizer state from one forward pass") {
  const auto y = targets();
  training<ct::array> s{initial(), {}, 0.0f};
  const auto step = ct::jit(train);
  const auto [first, metrics, next] = step(s, inputs, y);
  CHECK(difference(tensors_of(first, metrics, next), tensors_of(interpret(train, s, inputs, y)), 1e-5) == "");
  CHECK(next.steps == 1);
  CHECK(double(first) == Approx(double(interpret(loss, s.parameters, inputs, y))).epsilon(1e-5));
  const graph g = ct::simplify(graph_of(train, s, inputs, y));
  int tanhs = 0;
  for (const ct::node& n : g.nodes) tanhs += !n.is_input() && n.op->name == "tanh";
  CHECK(tanhs == 1);
  float last = first;
  for (int i = 0; i < 200; ++i) {
    auto [l, m, n] = step(std::move(s), inputs, y);
    last = l, s = std::move(n);
  }
  CHECK(last < float(first) / 20);
  CHECK(s.steps == 200);
}
