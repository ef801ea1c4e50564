#pragma once
/// The main job's network, examples/fashion_mnist.cpp, its minibatches, and its training step, which train_step.cpp compiles.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include <cotangent/cotangent.hpp>

namespace mlp {

namespace ct = cotangent;

constexpr ct::extent batch = 256, pixels = 784, classes = 10, examples = 60000;

template <template <class, ct::extent...> class A> struct network {
  A<float, pixels, 512> w1;
  A<float, 512> b1;
  A<float, 512, 256> w2;
  A<float, 256> b2;
  A<float, 256, classes> w3;
  A<float, classes> b3;
};

constexpr auto optimizer = ct::optimizers::adam(1e-3);
using adam_state = decltype(optimizer.init(network<ct::array>()));

/// The samples, as in jax_baselines.py.
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

/// The loss of the minibatch, with which net and state are updated.
float train_step(network<ct::array>& net, adam_state& state, const minibatch& data);

}  // namespace mlp
