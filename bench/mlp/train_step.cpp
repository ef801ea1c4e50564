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

constexpr auto step = [](const auto& net, const auto& state, auto images, auto labels, auto weights) {
  const auto [result, gradient] = ct::value_and_grad(loss, ct::has_aux)(net, images, labels, weights);
  const auto [updates, next] = optimizer.update(gradient, state, net);
  return std::tuple_cat(std::tuple(ct::optimizers::apply_updates(net, updates), next), std::get<1>(result));
};

}  // namespace

float train_step(network<ct::array>& net, adam_state& state, const minibatch& data) {
  auto [new_net, new_state, losses, right] = ct::jit(step)(std::move(net), std::move(state), data.images, data.labels, data.weights);
  net = std::move(new_net), state = std::move(new_state);
  return float(losses) / float(data.rows);
}

}  // namespace mlp
