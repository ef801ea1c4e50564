/// Less memory for more computation: the gradient of six residual GELU blocks, with and without ct::checkpoint around
/// each block. Prints the peak memory of both programs, which is a constant of their types, and their times.
///
///     ./examples/run residual_blocks [--rounds N] [--seed N] [--threads N]

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include <cotangent/cotangent.hpp>

#include "support/options.hpp"

namespace ct = cotangent;

// ---- the network: everything that is traced ----

constexpr ct::extent batch = 1024, width = 128, hidden = 512;

template <template <class, ct::extent...> class A> struct block {
  A<float, width, hidden> w1;
  A<float, hidden> b1;
  A<float, hidden, width> w2;
};
template <template <class, ct::extent...> class A> struct network {
  block<A> block1, block2, block3, block4, block5, block6;
};

/// x + gelu(x W1 + b1) W2
constexpr auto residual_block = [](const auto& p, auto x) { return x + ct::matmul(ct::nn::gelu(ct::matmul(x, p.w1) + p.b1), p.w2); };

/// The mean squared error of the stack; `apply` calls one block.
template <class Apply> struct stack_loss {
  [[no_unique_address]] Apply apply;
  constexpr auto operator()(const auto& net, auto x, auto y) const {
    x = apply(net.block1, x), x = apply(net.block2, x), x = apply(net.block3, x);
    x = apply(net.block4, x), x = apply(net.block5, x), x = apply(net.block6, x);
    return ct::mean(ct::square(x - y));
  }
};
constexpr auto keeps_all = ct::value_and_grad(stack_loss<decltype(residual_block)>{});
constexpr auto computes_again = ct::value_and_grad(stack_loss<decltype(ct::checkpoint(residual_block))>{});

// ---- the comparison ----

/// The shortest of `rounds` calls, in seconds.
template <class F> double seconds(int rounds, const F& f) {
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

int run(int rounds, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  network<ct::array> net;
  ct::for_each_leaf([&](auto& leaf) { for (float& w : leaf) w = normal(random) / std::sqrt(float(leaf.extent(0))); }, net);
  ct::array<float, batch, width> x, y;
  for (float& v : x) v = normal(random);
  for (float& v : y) v = normal(random);

  const auto plain = ct::jit(keeps_all);
  const auto again = ct::jit(computes_again);
  constexpr ct::program_cost plain_cost = plain.cost(net, x, y);
  constexpr ct::program_cost again_cost = again.cost(net, x, y);
  static_assert(again_cost.peak_bytes < plain_cost.peak_bytes / 2);

  const auto [loss, gradient] = plain(net, x, y);
  const auto [same_loss, same_gradient] = again(net, x, y);
  double difference = 0, largest = 0;
  ct::for_each_leaf(
      [&](const auto& a, const auto& b) {
        for (ct::extent i = 0; i < a.size(); ++i) {
          difference = std::max(difference, std::abs(double(a.data()[i]) - double(b.data()[i])));
          largest = std::max(largest, std::abs(double(a.data()[i])));
        }
      },
      gradient, same_gradient);

  const auto print = [&](const char* name, const ct::program_cost& cost, double time) {
    std::printf("%-22s peak %6.1f MB   %5.2f Gflop   %3d steps   %6.1f ms\n", name, double(cost.peak_bytes) / 1e6, cost.flops / 1e9, cost.kernels, 1e3 * time);
    std::fflush(stdout);
  };
  std::printf("6 blocks x + gelu(x W1 + b1) W2, batch %d, width %d, hidden %d: loss %.4f\n", int(batch), int(width), int(hidden), double(loss));
  const double plain_time = seconds(rounds, [&] { static_cast<void>(plain(net, x, y)); });
  print("everything kept", plain_cost, plain_time);
  const double again_time = seconds(rounds, [&] { static_cast<void>(again(net, x, y)); });
  print("ct::checkpoint", again_cost, again_time);
  std::printf("checkpoint takes %.0f%% of the memory and %.0f%% of the time; the gradients differ by %.1e of the largest element\n",
              100.0 * double(again_cost.peak_bytes) / double(plain_cost.peak_bytes), 100 * again_time / plain_time, difference / largest);
  if (!(loss == same_loss && difference <= 1e-5 * largest)) throw ct::error("the results with and without checkpoint differ");
  return 0;
}

int main(int argc, char** argv) {
  return examples::guarded("residual_blocks", [&] {
    int rounds = 20, threads = 0;
    unsigned seed = 0;
    examples::option_parser().number("--rounds", rounds, 1).number("--seed", seed, 0).number("--threads", threads, 1).parse(argc, argv);
    if (threads > 0) ct::set_num_threads(threads);
    return run(rounds, seed);
  });
}
