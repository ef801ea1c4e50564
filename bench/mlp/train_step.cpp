/// The network's loss and its training step, as in examples/fashion_mnist.cpp.

#include "mlp.hpp"

namespace mlp {
namespace {

constexpr auto loss = [](const auto& net, auto images, auto labels, auto weights) {
  const auto h1 = ct::nn::gelu(ct::matmul(images, net.w1) + net.b1);
  const auto h2 = ct::nn::gelu(ct::matmul(h1, net.w2) + net.b2);
  const auto scores = ct::matmul(h2, net.w3) + net.b3;
  const auto losses = -ct::sum(ct::nn::one_hot<classes>(labels) * ct::nn::log_softmax(scores), ct::axis<1>) * weights;
  const auto right = ct::where(ct::argmax(scores, ct::axis<1>) == labels, weights, 0);
  const auto total = ct::sum(losses);
  return std::tuple(total / ct::sum(weights), std::tuple(total, ct::sum(right)));
};

constexpr auto adam = [](const auto& net, const auto& state, const auto& gradient) {
  const auto steps = state.steps + 1;
  const auto mean = ct::tree_map([](auto m, auto g) { return 0.9 * m + 0.1 * g; }, state.mean, gradient);
  const auto square = ct::tree_map([](auto v, auto g) { return 0.999 * v + 0.001 * g * g; }, state.square, gradient);
  // The moments' decays: -0.105... is log(0.9), -0.00100... log(0.999).
  const auto rate = 1e-3 * ct::sqrt(1 - ct::exp(steps * -0.0010005003335835344)) / (1 - ct::exp(steps * -0.10536051565782628));
  const auto updated = ct::tree_map([rate](auto p, auto m, auto v) { return p - rate * m / (ct::sqrt(v) + 1e-8); }, net, mean, square);
  return std::tuple(updated, adam_state<ct::var>{mean, square, steps});
};

constexpr auto step = [](const auto& net, const auto& state, auto images, auto labels, auto weights) {
  const auto [result, gradient] = ct::value_and_grad(loss, ct::has_aux)(net, images, labels, weights);
  return std::tuple_cat(adam(net, state, gradient), std::get<1>(result));
};

}  // namespace

float train_step(network<ct::array>& net, adam_state<ct::array>& state, const minibatch& data) {
  auto [new_net, new_state, losses, right] = ct::jit(step)(std::move(net), std::move(state), data.images, data.labels, data.weights);
  net = std::move(new_net), state = std::move(new_state);
  return float(losses) / float(data.rows);
}

}  // namespace mlp
