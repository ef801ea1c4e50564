/// A convolutional network on Fashion-MNIST: two layers of convolutions and pools, one dense layer, Adam, minibatches of 128. Then the gradient of the
/// winning class's score by the pixels says what the network looked at.
///
///     ./examples/run convolutional [--epochs N] [--seed N] [--threads N] [--data DIR] [--out DIR]
///
/// Writes DIR/convolutional.svg: test images and their gradients.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>

#include <cotangent/cotangent.hpp>

#include "support/idx.hpp"
#include "support/options.hpp"
#include "support/raster.hpp"

namespace ct = cotangent;

// ---- the network and its training step: everything that is traced ----

constexpr ct::extent batch = 128, side = 28, classes = 10;

template <template <class, ct::extent...> class A> struct network {
  A<float, 3, 3, 1, 32> kernel1;
  A<float, 32> bias1;
  A<float, 3, 3, 32, 64> kernel2;
  A<float, 64> bias2;
  A<float, 7 * 7 * 64, classes> weights;
  A<float, classes> bias;
};

/// Images [n, 28, 28, 1] to the scores of the classes [n, 10].
constexpr auto scores = [](const auto& net, auto images) {
  const auto layer = [](auto x, auto kernel, auto bias) {
    return ct::nn::max_pool<2, 2>(ct::nn::relu(ct::conv(x, kernel, ct::same) + bias), ct::strides<2, 2>);
  };
  const auto features = layer(layer(images, net.kernel1, net.bias1), net.kernel2, net.bias2);
  return ct::matmul(ct::reshape<-1, 7 * 7 * 64>(features), net.weights) + net.bias;
};
constexpr auto loss = [](const auto& net, auto images, auto labels) { return ct::nn::softmax_cross_entropy(scores(net, images), labels); };

constexpr auto optimizer = ct::optimizers::adam(1e-3);

constexpr auto train_step = [](const auto& net, const auto& state, auto images, auto labels) {
  const auto [value, gradient] = ct::value_and_grad(loss)(net, images, labels);
  const auto [updates, next] = optimizer.update(gradient, state, net);
  return std::tuple(ct::optimizers::apply_updates(net, updates), next, value);
};
constexpr auto is_right = [](const auto& net, auto images, auto labels) { return ct::argmax(scores(net, images), ct::axis<1>) == labels; };
/// The gradient of each image's highest score by its pixels: images do not mix, so that of the sum is that of each.
constexpr auto saliency = [](const auto& net, auto images) {
  return ct::abs(ct::grad([](auto images, const auto& net) { return ct::sum(ct::max(scores(net, images), ct::axis<1>)); })(images, net));
};

// ---- data and the loop ----

struct samples {
  ct::array<float, batch, side, side, 1> images;
  ct::array<std::int32_t, batch> labels;

  /// As many from `first` on in this order as there are; then those from the begin. Returns how many there were.
  std::size_t fill(const examples::labelled_images& data, const std::vector<std::uint32_t>& order, std::size_t first) {
    constexpr std::size_t pixels = std::size_t(side) * side;
    for (std::size_t i = 0; i < std::size_t(batch); ++i) {
      const std::size_t sample = order[(first + i) % order.size()];
      std::copy_n(data.images.data() + sample * pixels, pixels, images.data() + i * pixels);
      labels(ct::extent(i)) = data.labels[sample];
    }
    return std::min(std::size_t(batch), order.size() - first);
  }
};

double accuracy(const network<ct::array>& net, const examples::labelled_images& data) {
  static samples s;
  std::vector<std::uint32_t> order(data.count);
  std::iota(order.begin(), order.end(), 0u);
  long right = 0;
  for (std::size_t first = 0; first < data.count; first += std::size_t(batch)) {
    const std::size_t count = s.fill(data, order, first);
    const auto found = ct::jit(is_right)(net, s.images, s.labels);
    right += std::count(found.begin(), found.begin() + count, true);
  }
  return double(right) / double(data.count);
}

int run(int epochs, unsigned seed, const std::string& data, const std::string& out) {
  const std::string picture = out + "/convolutional.svg";
  examples::check_writable(picture);
  const auto train_data = examples::read_labelled_images(data + "/train-images-idx3-ubyte.gz", data + "/train-labels-idx1-ubyte.gz");
  const auto test_data = examples::read_labelled_images(data + "/t10k-images-idx3-ubyte.gz", data + "/t10k-labels-idx1-ubyte.gz");
  for (const auto* d : {&train_data, &test_data})
    if (d->rows != std::size_t(side) || d->cols != std::size_t(side) || d->count < std::size_t(batch)) throw ct::io_error("the images in " + data + " are not 28 x 28 pixels, or too few");

  std::mt19937 random(seed);
  network<ct::array> net;
  const auto fill = [&](auto& w) {
    std::normal_distribution<float> normal(0, std::sqrt(2.0f / float(w.size() / w.extent(w.rank() - 1))));  // He et al., 2015
    for (float& x : w) x = normal(random);
  };
  fill(net.kernel1), fill(net.kernel2), fill(net.weights);
  auto state = optimizer.init(net);
  static samples s;
  std::vector<std::uint32_t> order(train_data.count);
  std::iota(order.begin(), order.end(), 0u);
  const auto step = ct::jit(train_step);
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    std::shuffle(order.begin(), order.end(), random);
    const auto start = std::chrono::steady_clock::now();
    double losses = 0;
    int steps = 0;
    for (std::size_t first = 0; first + std::size_t(batch) <= order.size(); first += std::size_t(batch), ++steps) {
      s.fill(train_data, order, first);
      auto [next, next_state, value] = step(std::move(net), std::move(state), s.images, s.labels);
      net = std::move(next), state = std::move(next_state), losses += double(value);
    }
    const double time = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("epoch %d: train loss %.4f, test accuracy %.2f%%, %.1f s (%.1f ms a step)\n", epoch, losses / steps, 100 * accuracy(net, test_data), time, 1e3 * time / steps);
    std::fflush(stdout);
  }

  order.resize(test_data.count);
  std::iota(order.begin(), order.end(), 0u);
  s.fill(test_data, order, 0);
  const auto gradients = ct::jit(saliency)(net, s.images);
  constexpr std::string_view names[] = {"T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot"};
  std::vector<examples::field> fields;
  for (int i = 0; i < 3; ++i) {
    const auto field = [&](std::string title, const auto& x, const examples::colour_map& map) {
      examples::field f{std::move(title), int(side), int(side), {}, 0, 1, map};
      for (int p = 0; p < side * side; ++p) f.values.push_back(x.data()[i * side * side + p]);
      f.high = *std::max_element(f.values.begin(), f.values.end());
      return f;
    };
    fields.push_back(field(std::string(names[s.labels(i)]), s.images, examples::magma));
    fields.push_back(field("what it is known by", gradients, examples::viridis));
  }
  examples::write_file(picture, examples::field_chart("What the network looks at", "test images, and the gradients of their class's score by the pixels", fields, 128));
  std::printf("picture: %s\n", picture.c_str());
  return 0;
}

int main(int argc, char** argv) {
  return examples::guarded("convolutional", [&] {
    int epochs = 3, threads = 0;
    unsigned seed = 0;
    std::string out = ".", data = "/usr/share/datasets/fashion-mnist";
    examples::option_parser().number("--epochs", epochs, 1).number("--seed", seed, 0).number("--threads", threads, 1).folder("--data", data).folder("--out", out).parse(argc, argv);
    if (threads > 0) ct::set_num_threads(threads);
    return run(epochs, seed, data, out);
  });
}
