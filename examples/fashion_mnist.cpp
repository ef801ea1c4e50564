/// Trains a 784-512-256-10 network on Fashion-MNIST: GELU, softmax cross-entropy, Adam, minibatches of 256.
///
///     ./examples/run fashion_mnist [--epochs N] [--out DIR] [--data DIR] [--threads N] [--seed N] [--resume]
///
/// Writes DIR/fashion_mnist.npz (parameters, optimizer state and curves) and DIR/fashion_mnist.svg after every epoch
/// and on Ctrl-C. --resume goes on from the file and ends with the same numbers as a run that was never stopped.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>

#include <cotangent/cotangent.hpp>
#include <cotangent/io/npz.hpp>

#include "support/idx.hpp"
#include "support/progress.hpp"
#include "support/signals.hpp"
#include "support/svg.hpp"

namespace ct = cotangent;

// ---- the network and its training step: everything that is traced ----

constexpr ct::extent batch = 256, pixels = 784, classes = 10;

template <template <class, ct::extent...> class A> struct network {
  A<float, pixels, 512> w1;
  A<float, 512> b1;
  A<float, 512, 256> w2;
  A<float, 256> b2;
  A<float, 256, classes> w3;
  A<float, classes> b3;
};

constexpr auto logits = [](const auto& net, auto images) {
  const auto h1 = ct::nn::gelu(ct::matmul(images, net.w1) + net.b1);
  const auto h2 = ct::nn::gelu(ct::matmul(h1, net.w2) + net.b2);
  return ct::matmul(h2, net.w3) + net.b3;
};

/// Mean loss over the samples of a batch whose weight is 1 (a last, partial batch is filled up with weight 0), and the
/// sums of losses and of right answers.
constexpr auto loss = [](const auto& net, auto images, auto labels, auto weights) {
  const auto scores = logits(net, images);
  const auto losses = -ct::sum(ct::nn::one_hot<classes>(labels) * ct::nn::log_softmax(scores), ct::axis<1>) * weights;
  const auto right = ct::where(ct::argmax(scores, ct::axis<1>) == labels, weights, 0);
  const auto total = ct::sum(losses);
  return std::tuple(total / ct::sum(weights), std::tuple(total, ct::sum(right)));
};

constexpr auto optimizer = ct::optimizers::adam(1e-3);

constexpr auto train_step = [](const auto& net, const auto& state, auto images, auto labels, auto weights) {
  const auto [result, gradient] = ct::value_and_grad(loss, ct::has_aux)(net, images, labels, weights);
  const auto [updates, next] = optimizer.update(gradient, state, net);
  return std::tuple_cat(std::tuple(ct::optimizers::apply_updates(net, updates), next), std::get<1>(result));
};

constexpr auto evaluate = [](const auto& net, auto images, auto labels, auto weights) {
  return std::get<1>(loss(net, images, labels, weights));
};

// ---- data, files, and the loop ----

using image_batch = ct::array<float, batch, pixels>;
using label_batch = ct::array<std::int32_t, batch>;
using weight_batch = ct::array<float, batch>;

/// Copies samples order[first], order[first + 1], … into a batch; returns how many there are.
ct::extent fill_batch(const examples::labelled_images& data, const std::vector<std::uint32_t>& order, std::size_t first,
                      image_batch& images, label_batch& labels, weight_batch& weights) {
  const ct::extent count = std::min<ct::extent>(batch, ct::extent(order.size() - first));
  for (ct::extent i = 0; i < batch; ++i) {
    const std::size_t sample = order[first + std::size_t(i < count ? i : 0)];
    std::memcpy(images.data() + i * pixels, data.images.data() + sample * std::size_t(pixels), pixels * sizeof(float));
    labels(i) = data.labels[sample];
    weights(i) = i < count ? 1.0f : 0.0f;
  }
  return count;
}

/// The order of the samples in an epoch; it depends on the seed and the epoch alone, so that a resumed run repeats it.
std::vector<std::uint32_t> shuffled(std::size_t count, unsigned seed, int epoch) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::seed_seq sequence{seed, unsigned(epoch)};
  std::mt19937 random(sequence);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

network<ct::array> initial_network(unsigned seed) {
  network<ct::array> net;
  std::mt19937 random(seed);
  const auto fill = [&](auto& w) {
    std::normal_distribution<float> normal(0, std::sqrt(2.0f / float(w.extent(0))));  // He et al., 2015
    for (float& x : w) x = normal(random);
  };
  fill(net.w1), fill(net.w2), fill(net.w3);
  return net;
}

/// Everything a run is: what --resume needs.
struct training {
  network<ct::array> net;
  decltype(optimizer.init(net)) state = optimizer.init(net);
  ct::array<std::int64_t, 4> position;                // seed, epoch, next sample of its order, samples of the data set
  ct::array<double, 2> sums;                          // of losses and right answers in the running epoch
  ct::array<double, ct::dyn, 4> curves = ct::zeros<double, ct::dyn, 4>({0, 4});  // per epoch: train loss and accuracy, test loss and accuracy

  template <class Self, class Visit> static void visit(Self& self, Visit&& v) {
    const auto tree = [&](auto& t, const std::string& prefix) {
      v(prefix + "w1", t.w1), v(prefix + "b1", t.b1), v(prefix + "w2", t.w2);
      v(prefix + "b2", t.b2), v(prefix + "w3", t.w3), v(prefix + "b3", t.b3);
    };
    auto& adam = std::get<0>(self.state);
    tree(self.net, ""), tree(adam.mu, "adam_mean_"), tree(adam.nu, "adam_square_");
    v("adam_steps", adam.count), v("position", self.position), v("sums", self.sums);
  }

  void save(const std::string& folder) const {
    std::vector<ct::io::npz_item> items;
    visit(*this, [&](const std::string& name, const auto& a) { items.push_back({name, a}); });
    items.push_back({"curves", curves});
    ct::io::save_npz(folder + "/fashion_mnist.npz", items);
    draw(folder);
  }
  void load(const std::string& folder) {
    const auto file = ct::io::load_npz(folder + "/fashion_mnist.npz");
    visit(*this, [&](const std::string& name, auto& a) { file.read(name, a); });
    curves = file.get<double, ct::dyn, 4>("curves");
  }

  void draw(const std::string& folder) const {
    examples::panel loss_panel{"loss", {{"train", {}, {}}, {"test", {}, {}}}, false};
    examples::panel accuracy_panel{"accuracy", {{"train", {}, {}}, {"test", {}, {}}}, true};
    for (ct::extent e = 0; e < curves.extent(0); ++e)
      for (int k = 0; k < 4; ++k) {
        examples::curve& c = (k % 2 == 0 ? loss_panel : accuracy_panel).curves[std::size_t(k / 2)];
        c.x.push_back(double(e + 1)), c.y.push_back(curves(e, k));
      }
    ct::io::atomic_file file(folder + "/fashion_mnist.svg");
    file.write(examples::line_chart("Fashion-MNIST", "784-512-256-10, GELU, Adam, batch 256", "epoch", {loss_panel, accuracy_panel}));
    file.commit();
  }

  void add_epoch(const double (&row)[4]) {
    ct::array<double, ct::dyn, 4> longer({curves.extent(0) + 1, 4});
    std::copy(curves.begin(), curves.end(), longer.begin());
    std::copy(row, row + 4, longer.end() - 4);
    curves = longer;
  }
};

struct options {
  int epochs = 10, threads = 0;
  unsigned seed = 0;
  bool resume = false;
  std::string out = ".", data = "/usr/share/datasets/fashion-mnist";
};

options parse(int argc, char** argv) {
  options o;
  const auto whole_number = [&](const std::string& name, const char* text, long low) {
    char* end = nullptr;
    const long n = std::strtol(text, &end, 10);
    if (end == text || *end || n < low || n > 1000000) throw ct::error(name + " needs a whole number of at least " + std::to_string(low) + ", not '" + text + "'");
    return n;
  };
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--resume") {
      o.resume = true;
      continue;
    }
    const bool known = name == "--epochs" || name == "--threads" || name == "--seed" || name == "--out" || name == "--data";
    if (!known) throw ct::error("unknown option '" + name + "'; there are --epochs N, --threads N, --seed N, --out DIR, --data DIR, --resume");
    if (i + 1 == argc) throw ct::error(name + " needs a value");
    const char* value = argv[++i];
    if (name == "--epochs") o.epochs = int(whole_number(name, value, 1));
    else if (name == "--threads") o.threads = int(whole_number(name, value, 1));
    else if (name == "--seed") o.seed = unsigned(whole_number(name, value, 0));
    else if (name == "--out") o.out = value;
    else o.data = value;
  }
  return o;
}

/// Loss and accuracy over a data set.
std::pair<double, double> test(const network<ct::array>& net, const examples::labelled_images& data) {
  static image_batch images;
  label_batch labels;
  weight_batch weights;
  std::vector<std::uint32_t> order(data.count);
  std::iota(order.begin(), order.end(), 0u);
  double loss_sum = 0, right = 0;
  for (std::size_t first = 0; first < data.count; first += std::size_t(batch)) {
    fill_batch(data, order, first, images, labels, weights);
    const auto [l, r] = ct::jit(evaluate)(net, images, labels, weights);
    loss_sum += double(l), right += double(r);
  }
  return {loss_sum / double(data.count), right / double(data.count)};
}

int run(const options& o) {
  if (o.threads > 0) ct::set_num_threads(o.threads);
  const auto train_data = examples::read_labelled_images(o.data + "/train-images-idx3-ubyte.gz", o.data + "/train-labels-idx1-ubyte.gz");
  const auto test_data = examples::read_labelled_images(o.data + "/t10k-images-idx3-ubyte.gz", o.data + "/t10k-labels-idx1-ubyte.gz");
  for (const auto* d : {&train_data, &test_data})
    if (ct::extent(d->rows * d->cols) != pixels || d->count == 0) throw ct::io_error("the images in " + o.data + " are not 28 x 28 pixels, or there are none");

  training t;
  t.net = initial_network(o.seed);
  t.position = {std::int64_t(o.seed), 0, 0, std::int64_t(train_data.count)};
  if (o.resume) {
    t.load(o.out);
    if (t.position(3) != std::int64_t(train_data.count))
      throw ct::io_error(o.out + "/fashion_mnist.npz comes from a training set of " + std::to_string(t.position(3)) + " images; this one has " + std::to_string(train_data.count));
  }
  t.save(o.out);  // a full or missing folder is an error now, and not after an epoch

  image_batch images;
  label_batch labels;
  weight_batch weights;
  const auto step = ct::jit(train_step);
  examples::progress bar(o.epochs, (long long)train_data.count);
  const examples::interrupt_guard interrupts;
  for (int epoch = int(t.position(1)); epoch < o.epochs; ++epoch) {
    const auto order = shuffled(train_data.count, unsigned(t.position(0)), epoch);
    const std::size_t start = std::size_t(t.position(2));
    bar.begin(epoch + 1);
    for (std::size_t first = start; first < order.size(); first += std::size_t(batch)) {
      const ct::extent count = fill_batch(train_data, order, first, images, labels, weights);
      auto [net, state, losses, right] = step(std::move(t.net), std::move(t.state), images, labels, weights);
      t.net = std::move(net), t.state = std::move(state);
      t.sums(0) += double(losses), t.sums(1) += double(right);
      t.position(2) = std::int64_t(first) + count;
      const double seen = double(t.position(2));
      bar.update((long long)(seen) - (long long)start, t.sums(0) / seen, t.sums(1) / seen);
      if (interrupts.requested()) {
        bar.clear();
        t.save(o.out);
        std::printf("stopped in epoch %d at sample %lld; saved to %s/fashion_mnist.npz (continue with --resume)\n", epoch + 1, (long long)seen, o.out.c_str());
        return interrupts.exit_code();
      }
    }
    const double seen = double(order.size()), train_loss = t.sums(0) / seen, train_accuracy = t.sums(1) / seen;
    const long long done = (long long)(order.size() - start);
    bar.end(done, train_loss, train_accuracy);
    const auto [test_loss, test_accuracy] = test(t.net, test_data);
    std::printf("%*stest loss %.4f  accuracy %.2f%%\n", 12, "", test_loss, 100 * test_accuracy);
    t.add_epoch({train_loss, train_accuracy, test_loss, test_accuracy});
    t.position(1) = epoch + 1, t.position(2) = 0;
    t.sums = {0, 0};
    t.save(o.out);
  }
  if (t.curves.extent(0) > 0) std::printf("test accuracy %.2f%%\n", 100 * t.curves(t.curves.extent(0) - 1, 3));
  std::printf("parameters: %s/fashion_mnist.npz, curves: %s/fashion_mnist.svg\n", o.out.c_str(), o.out.c_str());
  return 0;
}

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "fashion_mnist: %s\n", e.what());
    return 1;
  }
}
