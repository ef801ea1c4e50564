/// Less memory for more computation: the gradient of six residual GELU blocks, with and without ct::checkpoint around
/// each block. Prints the peak memory of both programs, which is a constant of their types, and their times.
///
///     ./examples/run residual_blocks [--rounds N] [--seed N] [--threads N] [--out DIR]
///
/// Writes DIR/residual_blocks.svg: memory and operations by the number of blocks.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include <cotangent/cotangent.hpp>

#include "support/options.hpp"
#include "support/svg.hpp"

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

/// The mean squared error of the first `Blocks` blocks; `apply` calls one.
template <class Apply, int Blocks> struct stack_loss {
  [[no_unique_address]] Apply apply;
  constexpr auto operator()(const auto& net, auto x, auto y) const {
    const auto blocks = std::tie(net.block1, net.block2, net.block3, net.block4, net.block5, net.block6);
    [&]<std::size_t... K>(std::index_sequence<K...>) { ((x = apply(std::get<K>(blocks), x)), ...); }(std::make_index_sequence<Blocks>{});
    return ct::mean(ct::square(x - y));
  }
};
constexpr auto checkpointed_block = ct::checkpoint(residual_block);
template <int Blocks> constexpr auto keeps_all = ct::value_and_grad(stack_loss<decltype(residual_block), Blocks>{});
template <int Blocks> constexpr auto computes_again = ct::value_and_grad(stack_loss<decltype(checkpointed_block), Blocks>{});

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

/// What gradients of 2, 4 and 6 blocks cost, in a unit.
examples::panel cost_panel(const char* title, const ct::program_cost (&kept)[3], const ct::program_cost (&again)[3], double (*unit)(const ct::program_cost&)) {
  const auto curve = [&](const char* name, const ct::program_cost (&costs)[3]) {
    return examples::curve{name, {2, 4, 6}, {unit(costs[0]), unit(costs[1]), unit(costs[2])}};
  };
  return {title, {curve("everything kept", kept), curve("ct::checkpoint", again)}, false};
}

int run(int rounds, unsigned seed, const std::string& out) {
  const std::string picture = out + "/residual_blocks.svg";
  examples::check_writable(picture);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  network<ct::array> net;
  ct::for_each_leaf([&](auto& leaf) { for (float& w : leaf) w = normal(random) / std::sqrt(float(leaf.extent(0))); }, net);
  ct::array<float, batch, width> x, y;
  for (float& v : x) v = normal(random);
  for (float& v : y) v = normal(random);

  const auto plain = ct::jit(keeps_all<6>);
  const auto again = ct::jit(computes_again<6>);
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
  constexpr ct::program_cost kept[] = {ct::jit(keeps_all<2>).cost(net, x, y), ct::jit(keeps_all<4>).cost(net, x, y), plain_cost};
  constexpr ct::program_cost recomputed[] = {ct::jit(computes_again<2>).cost(net, x, y), ct::jit(computes_again<4>).cost(net, x, y), again_cost};
  const std::vector<examples::panel> panels{cost_panel("peak memory in MB", kept, recomputed, [](const ct::program_cost& c) { return double(c.peak_bytes) / 1e6; }),
                                            cost_panel("operations in Gflop", kept, recomputed, [](const ct::program_cost& c) { return c.flops / 1e9; })};
  examples::write_file(picture, examples::line_chart("What a gradient costs", "residual GELU blocks, batch 1024, width 128, hidden 512", "blocks", panels));
  std::printf("costs by the number of blocks: %s\n", picture.c_str());
  if (!(loss == same_loss && difference <= 1e-5 * largest)) throw ct::error("the results with and without checkpoint differ");
  return 0;
}

int main(int argc, char** argv) {
  return examples::guarded("residual_blocks", [&] {
    int rounds = 20, threads = 0;
    unsigned seed = 0;
    std::string out = ".";
    examples::option_parser().number("--rounds", rounds, 1).number("--seed", seed, 0).number("--threads", threads, 1).folder("--out", out).parse(argc, argv);
    if (threads > 0) ct::set_num_threads(threads);
    return run(rounds, seed, out);
  });
}
