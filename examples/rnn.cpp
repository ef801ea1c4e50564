/// A recurrent network that learns to see through noise: two noisy sensors see a sum of two sines, and the network says at
/// every step what the sines will be 8 steps later. Trained through ct::scan with Adam.
///
///     ./examples/run rnn [--steps N] [--seed N] [--threads N] [--out DIR]
///
/// Writes DIR/rnn.svg: the loss, and forecasts of one test series.

#include <chrono>
#include <cmath>
#include <random>

#include <cotangent/cotangent.hpp>

#include "support/options.hpp"
#include "support/svg.hpp"

namespace ct = cotangent;

// ---- the network and its training step: everything that is traced ----

constexpr ct::extent T = 64, B = 64, D = 2, H = 64;  // time steps, series in a batch, sensors, hidden units
constexpr ct::extent ahead = 8, warm_up = 24;        // errors count from step 24 on, when the network has seen enough

template <template <class, ct::extent...> class A> struct network {
  A<float, H, H> w_hh;
  A<float, D, H> w_xh;
  A<float, H> b;
  A<float, H> w_out;
};

/// What the network says of series x: [T, B, D] at each step: [T, B].
constexpr auto forecast = [](const auto& net, auto x) {
  const auto cell = [net](auto h, auto x_t) {  // h: [B, H], x_t: [B, D]
    const auto next = ct::tanh(ct::matmul(h, net.w_hh) + ct::matmul(x_t, net.w_xh) + net.b);
    return std::tuple(next, next);
  };
  const auto at_rest = ct::broadcast_to<B, H>(ct::zeros_like(net.b));
  const auto [last, states] = ct::scan(cell, at_rest, x);  // states: [T, B, H]
  return ct::matmul(states, net.w_out);
};

constexpr auto loss = [](const auto& net, auto x, auto y) {
  const auto error = ct::slice<ct::range<warm_up, T>>(forecast(net, x) - y);
  return ct::mean(ct::square(error));
};

/// Adam, the gradient shortened to norm 1 if it is longer.
constexpr auto optimizer = ct::optimizers::chain(ct::optimizers::clip_by_global_norm(1.0), ct::optimizers::adam(3e-3));

constexpr auto train_step = [](const auto& net, const auto& state, auto x, auto y) {
  const auto [value, gradient] = ct::value_and_grad(loss)(net, x, y);
  const auto [updates, next] = optimizer.update(gradient, state, net);
  return std::tuple(ct::optimizers::apply_updates(net, updates), next, value);
};

// ---- data and the loop ----

struct series {
  ct::array<float, T, B, D> x;  // what the sensors see
  ct::array<float, T, B> y;     // what there is to see, `ahead` steps later
};

/// s(t) = sin(a t + p) + sin(b t + q), with a, b, p, q of its own for each series, and noise of deviation 0.2.
series make_series(std::mt19937& random) {
  std::uniform_real_distribution<float> frequency(0.1f, 0.5f), phase(0, 6.2831853f);
  std::normal_distribution<float> noise(0, 0.2f);
  series s;
  for (ct::extent k = 0; k < B; ++k) {
    const float a = frequency(random), b = frequency(random), p = phase(random), q = phase(random);
    const auto signal = [&](ct::extent t) { return std::sin(a * float(t) + p) + std::sin(b * float(t) + q); };
    for (ct::extent t = 0; t < T; ++t) {
      for (ct::extent d = 0; d < D; ++d) s.x(t, k, d) = signal(t) + noise(random);
      s.y(t, k) = signal(t + ahead);
    }
  }
  return s;
}

network<ct::array> initial_network(std::mt19937& random) {
  network<ct::array> net;
  std::normal_distribution<float> normal;
  for (float& w : net.w_hh) w = normal(random) / std::sqrt(float(H));
  for (float& w : net.w_xh) w = normal(random) / std::sqrt(float(D));
  for (float& w : net.w_out) w = normal(random) / std::sqrt(float(H));
  return net;
}

/// Root mean square of prediction - y from step `warm_up` on.
template <class Prediction> double rms_error(const series& s, const Prediction& prediction) {
  double sum = 0;
  for (ct::extent t = warm_up; t < T; ++t)
    for (ct::extent k = 0; k < B; ++k) sum += std::pow(double(prediction(t, k)) - double(s.y(t, k)), 2);
  return std::sqrt(sum / double((T - warm_up) * B));
}

int run(int steps, unsigned seed, const std::string& out) {
  const std::string picture = out + "/rnn.svg";
  examples::check_writable(picture);
  std::mt19937 random(seed);
  const series test = make_series(random);
  network<ct::array> net = initial_network(random);
  auto state = optimizer.init(net);
  const auto step = ct::jit(train_step);

  const auto persistence = [&](ct::extent t, ct::extent k) { return 0.5f * (test.x(t, k, 0) + test.x(t, k, 1)); };
  const double untrained = rms_error(test, ct::jit(forecast)(net, test.x));
  examples::curve training{"training", {}, {}};
  const auto start = std::chrono::steady_clock::now();
  double sum = 0;
  for (int i = 1; i <= steps; ++i) {
    const series s = make_series(random);  // every batch is new
    auto [next, next_state, value] = step(std::move(net), std::move(state), s.x, s.y);
    net = std::move(next), state = std::move(next_state);
    sum += double(value);
    const int every = std::max(steps / 40, 1);
    if (i % every == 0) {
      training.x.push_back(i), training.y.push_back(sum / every);
      if (i % (4 * every) == 0 || i == every) std::printf("step %5d/%d  loss %.4f\n", i, steps, sum / every), std::fflush(stdout);
      sum = 0;
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  const auto prediction = ct::jit(forecast)(net, test.x);
  examples::curve truth{"truth", {}, {}}, sensors{"sensors", {}, {}}, network_says{"network", {}, {}};
  for (ct::extent t = 0; t < T; ++t) {
    const double then = double(t + ahead);
    truth.x.push_back(then), truth.y.push_back(double(test.y(t, 0)));
    network_says.x.push_back(then), network_says.y.push_back(t < warm_up ? std::nan("") : double(prediction(t, 0)));
    sensors.x.push_back(double(t)), sensors.y.push_back(double(persistence(t, 0)));
  }
  const std::vector<examples::panel> panels{{"loss by training step", {training}, false}, {"one test series by time step", {truth, network_says, sensors}, false}};
  examples::write_file(picture, examples::line_chart("A recurrent network sees through noise", "sums of two sines, forecast 8 steps ahead; 64 hidden units, Adam", "", panels));
  const double persistent = rms_error(test, persistence), none = rms_error(test, [](ct::extent, ct::extent) { return 0.0f; });
  const double trained = rms_error(test, prediction);
  std::printf("%d steps in %.1f s (%.0f series a second); curves: %s\n", steps, seconds, steps * double(B) / seconds, picture.c_str());
  std::printf("test error (root mean square): network %.3f, before training %.3f, what the sensors show now %.3f, always 0 %.3f\n", trained, untrained, persistent, none);
  if (!(trained < 0.4 * std::min(persistent, none)))
    throw ct::error("the network has not learned to forecast: its error is not below 0.4 of the better simple forecast");
  return 0;
}

int main(int argc, char** argv) {
  return examples::guarded("rnn", [&] {
    int steps = 4000, threads = 0;
    unsigned seed = 0;
    std::string out = ".";
    examples::option_parser().number("--steps", steps, 1).number("--seed", seed, 0).number("--threads", threads, 1).folder("--out", out).parse(argc, argv);
    if (threads > 0) ct::set_num_threads(threads);
    return run(steps, seed, out);
  });
}
