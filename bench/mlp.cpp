/// Training of the main job's network, examples/fashion_mnist.cpp, against the same by hand with Eigen.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include <cotangent/cotangent.hpp>

#include "baselines/mlp_eigen.hpp"
#include "harness.hpp"

namespace {

namespace ct = cotangent;

// The network and its training step, as in examples/fashion_mnist.cpp.

constexpr ct::extent batch = 256, pixels = 784, classes = 10, examples = 60000;

template <template <class, ct::extent...> class A> struct network {
  A<float, pixels, 512> w1;
  A<float, 512> b1;
  A<float, 512, 256> w2;
  A<float, 256> b2;
  A<float, 256, classes> w3;
  A<float, classes> b3;
};

template <template <class, ct::extent...> class A> struct adam_state {
  network<A> mean, square;
  A<float> steps;
};

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

constexpr auto train_step = [](const auto& net, const auto& state, auto images, auto labels, auto weights) {
  const auto [result, gradient] = ct::value_and_grad(loss, ct::has_aux)(net, images, labels, weights);
  return std::tuple_cat(adam(net, state, gradient), std::get<1>(result));
};

// Data: as in jax_baselines.py.

struct data_set {
  std::vector<float> images = std::vector<float>(std::size_t(examples * pixels));
  std::vector<std::int32_t> labels = std::vector<std::int32_t>(std::size_t(examples));
  std::vector<std::size_t> in_order = std::vector<std::size_t>(std::size_t(examples)), shuffled;
  data_set() {
    for (std::size_t i = 0; i < images.size(); ++i) images[i] = float(0.5 + 0.5 * std::sin(double(i) * double(i)));
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = std::int32_t(i) * 7 % classes;
    std::iota(in_order.begin(), in_order.end(), std::size_t(0));
    shuffled = in_order;
    std::mt19937 random(0);
    for (std::size_t i = shuffled.size(); i > 1; --i) std::swap(shuffled[i - 1], shuffled[random() % i]);
  }
};

/// A minibatch; both sides fill theirs in the same way.
struct minibatch {
  ct::array<float, batch, pixels> images;
  ct::array<std::int32_t, batch> labels;
  ct::array<float, batch> weights;
  int rows = 0;

  void fill(const data_set& data, const std::vector<std::size_t>& order, std::size_t first) {
    rows = int(std::min(std::size_t(batch), order.size() - first));
    for (int i = 0; i < batch; ++i) {
      const std::size_t sample = order[first + std::size_t(i < rows ? i : 0)];
      if (i < rows) std::memcpy(images.data() + i * pixels, data.images.data() + sample * pixels, pixels * sizeof(float));
      labels(i) = data.labels[sample];
      weights(i) = i < rows ? 1.0f : 0.0f;
    }
  }
};

struct our_side {
  network<ct::array> net;
  adam_state<ct::array> state;
  minibatch data;

  our_side() {
    const auto initialize = [](auto& w) { baselines::mlp_eigen::initialize(w.data(), int(w.extent(0)), int(w.extent(1))); };
    initialize(net.w1), initialize(net.w2), initialize(net.w3);
  }
  float step() {
    auto [new_net, new_state, losses, right] = ct::jit(train_step)(std::move(net), std::move(state), data.images, data.labels, data.weights);
    net = std::move(new_net), state = std::move(new_state);
    return float(losses) / float(data.rows);
  }
};

struct their_side {
  baselines::mlp_eigen net;
  minibatch data;

  explicit their_side(int threads) : net(batch, threads) {}
  float step() { return net.step(data.images.data(), data.labels.data(), data.rows); }
};

template <class Side> float epoch(Side& side, const data_set& data) {
  float sum = 0;
  for (std::size_t first = 0; first < data.shuffled.size(); first += batch) {
    side.data.fill(data, data.shuffled, first);
    sum += side.step();
  }
  return sum;
}

void add(int threads, const std::shared_ptr<data_set>& data) {
  bench::compare("mlp", "train step, batch 256", threads, "eigen by hand", [=] {
    ct::set_num_threads(threads);
    const auto ours = std::make_shared<our_side>();
    const auto theirs = std::make_shared<their_side>(threads);
    for (minibatch* b : {&ours->data, &theirs->data}) b->fill(*data, data->in_order, 0);
    float a = 0, b = 0;
    for (int i = 0; i < 20; ++i) a = ours->step(), b = theirs->step();
    std::printf("loss after 20 steps: ours %.6f, by hand %.6f\n", double(a), double(b));
    if (!(std::abs(a - b) < 2e-3f)) std::fputs("mlp: the two sides do not train alike\n", stderr), std::exit(1);
    return bench::sides{[=] { return ours->step(); }, [=] { return theirs->step(); }};
  }, 601);
  bench::compare("mlp", "epoch of 60000, batch 256", threads, "eigen by hand", [=] {
    ct::set_num_threads(threads);
    const auto ours = std::make_shared<our_side>();
    const auto theirs = std::make_shared<their_side>(threads);
    return bench::sides{[=] { return epoch(*ours, *data); }, [=] { return epoch(*theirs, *data); }};
  }, 5);
}

}  // namespace

int main(int argc, char** argv) {
  bench::init(argc, argv);
  const auto data = std::make_shared<data_set>();
  add(2, data);
  add(1, data);
  return bench::run(argc, argv);
}
