/// What is inside the plate? A heater moves over a plate of unknown diffusivity k, and a noisy camera takes ten pictures of
/// the temperature u. Gradient descent (Adam) through 500 steps of u_t = div(k grad u) + q finds k.
///
///     ./examples/run heat_inverse [--steps N] [--seed N] [--threads N] [--out DIR]
///
/// Writes DIR/heat_inverse.svg: the true diffusivity, the first guess, the recovery, and what the camera saw last.

#include <chrono>
#include <cmath>
#include <random>

#include <cotangent/cotangent.hpp>

#include "support/options.hpp"
#include "support/raster.hpp"

namespace ct = cotangent;

// ---- the model and its training step: everything that is traced ----

constexpr ct::extent n = 64, pictures = 10, between = 50;  // cells along each side, pictures, time steps between two
constexpr double k_low = 0.02, k_high = 0.24;              // an explicit step of length 1 is stable for k < 0.25
constexpr double noise = 0.01;

using field = ct::array<float, n, n>;

/// Each cell beside the one above it, and beside the one to its left: of x the first and the second of the pairs.
constexpr auto vertical_pairs = [](auto x) { return std::pair(ct::slice<ct::range<0, n - 1>>(x), ct::slice<ct::range<1, n>>(x)); };
constexpr auto horizontal_pairs = [](auto x) {
  return std::pair(ct::slice<ct::full_extent, ct::range<0, n - 1>>(x), ct::slice<ct::full_extent, ct::range<1, n>>(x));
};
constexpr auto difference = [](const auto& pairs) { return pairs.second - pairs.first; };
constexpr auto middle = [](const auto& pairs) { return 0.5 * (pairs.first + pairs.second); };

/// div(k grad u) by finite volumes on cells of side 1: no heat passes the boundary, and none gets lost.
constexpr auto diffusion = [](auto k, auto u) {
  const auto vertical = middle(vertical_pairs(k)) * difference(vertical_pairs(u));  // the flux between two cells
  const auto horizontal = middle(horizontal_pairs(k)) * difference(horizontal_pairs(u));
  const auto from_below = ct::pad<ct::low<0, 0>, ct::high<1, 0>>(vertical, 0), to_above = ct::pad<ct::low<1, 0>, ct::high<0, 0>>(vertical, 0);
  const auto from_right = ct::pad<ct::low<0, 0>, ct::high<0, 1>>(horizontal, 0), to_left = ct::pad<ct::low<0, 1>, ct::high<0, 0>>(horizontal, 0);
  return from_below - to_above + from_right - to_left;
};

/// A warm spot around (row, column).
constexpr auto heater = [](auto row, auto column) {
  const auto place = ct::iota<float, n>(row);
  return ct::outer(ct::exp(-ct::square(place - row) / 30), ct::exp(-ct::square(place - column) / 30)) * 0.1;
};

/// The temperatures when the pictures are taken: [pictures, n, n]. The path of the heater is [pictures, between, 2].
/// Reverse mode keeps a few temperatures between two pictures and computes the others again.
constexpr auto temperatures = [](auto k, auto path) {
  const auto step = [k](auto u, auto place) {
    const auto next = u + diffusion(k, u) + heater(place(ct::index<0>), place(ct::index<1>));
    return std::tuple(next, ct::none);
  };
  const auto until_picture = [step](auto u, auto part_of_path) {
    const auto [next, nothing] = ct::checkpointed_scan<2>(step, u, part_of_path);
    return std::tuple(next, next);
  };
  const auto [last, seen] = ct::scan(until_picture, ct::zeros_like(k), path);
  return seen;
};

/// theta, without bounds, is what is optimized.
constexpr auto diffusivity = [](auto theta) { return k_low + (k_high - k_low) * ct::nn::sigmoid(theta); };

/// The squared error in units of the noise, and a little of the square of the gradient of theta, which keeps it smooth.
constexpr auto loss = [](auto theta, auto path, auto seen) {
  const auto misfit = ct::mean(ct::square((temperatures(diffusivity(theta), path) - seen) / noise));
  const auto roughness = ct::mean(ct::square(difference(vertical_pairs(theta)))) + ct::mean(ct::square(difference(horizontal_pairs(theta))));
  return std::tuple(misfit + 1.5 * roughness, misfit);
};

constexpr auto optimizer = ct::optimizers::adam(0.05);

constexpr auto descend = [](auto theta, const auto& state, auto path, auto seen) {
  const auto [values, gradient] = ct::value_and_grad(loss, ct::has_aux)(theta, path, seen);
  const auto [update, next] = optimizer.update(gradient, state);
  return std::tuple(theta + update, next, std::get<1>(values));
};

// ---- the experiment ----

/// A plate with a well conducting disc, a badly conducting bar, and a slow change from side to side.
field true_diffusivity() {
  field k;
  const auto inside = [](double distance) { return 1 / (1 + std::exp(1.5 * distance)); };  // 1 for distance < 0, 0 for > 0
  for (ct::extent i = 0; i < n; ++i)
    for (ct::extent j = 0; j < n; ++j) {
      const double disc = inside(std::hypot(double(i) - 22, double(j) - 42) - 11);
      const double bar = inside(std::max(std::abs(double(i + j) - 58) / 1.414 - 5, std::abs(double(i - j) - 22) / 1.414 - 17));
      k(i, j) = float(0.10 + 0.03 * std::sin(0.08 * double(j)) + 0.09 * disc - 0.07 * bar);
    }
  return k;
}

double relative_error(const field& k, const field& truth) {
  double error = 0, size = 0;
  for (ct::extent i = 0; i < k.size(); ++i) {
    error += std::pow(double(k.data()[i]) - double(truth.data()[i]), 2);
    size += std::pow(double(truth.data()[i]), 2);
  }
  return std::sqrt(error / size);
}

examples::field drawn(const std::string& title, const float* values, double low, double high, const examples::colour_map& map, const std::string& bar) {
  return {title, int(n), int(n), std::vector<double>(values, values + n * n), low, high, map, bar};
}

int run(int steps, unsigned seed, const std::string& out) {
  const std::string picture = out + "/heat_inverse.svg";
  examples::check_writable(picture);

  ct::array<float, pictures, between, 2> path;  // a Lissajous curve, so that the heat comes by everywhere
  for (ct::extent t = 0; t < pictures * between; ++t) {
    const double angle = 2 * 3.14159265358979 * double(t) / double(pictures * between);
    path.data()[2 * t] = float(31.5 + 30 * std::sin(5 * angle)), path.data()[2 * t + 1] = float(31.5 + 30 * std::cos(4 * angle));
  }
  const field truth = true_diffusivity();
  auto seen = ct::jit(temperatures)(truth, path);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, float(noise));
  for (float& u : seen) u += normal(random);

  field theta;
  auto state = optimizer.init(theta);
  const field start = ct::jit(diffusivity)(theta);
  const auto step = ct::jit(descend);
  constexpr ct::program_cost cost = step.cost(theta, state, path, seen);
  std::printf("%d x %d cells, %d time steps: the gradient takes %.1f MB and %.2f Gflop\n",
              int(n), int(n), int(pictures * between), double(cost.peak_bytes) / 1e6, cost.flops / 1e9);
  const auto began = std::chrono::steady_clock::now();
  double misfit = 0;
  for (int i = 1; i <= steps; ++i) {
    auto [next, next_state, value] = step(std::move(theta), std::move(state), path, seen);
    theta = std::move(next), state = std::move(next_state), misfit = double(value);
    if (i == 1 || i % std::max(steps / 10, 1) == 0) {
      std::printf("step %4d/%d  misfit %10.3f  relative error of k %5.1f%%\n", i, steps, misfit, 100 * relative_error(ct::jit(diffusivity)(theta), truth));
      std::fflush(stdout);
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();

  const field k = ct::jit(diffusivity)(theta);
  const double at_start = relative_error(start, truth), error = relative_error(k, truth);
  const float* last = seen.data() + (pictures - 1) * n * n;
  const double hottest = double(*std::max_element(last, last + n * n));
  const std::vector<examples::field> fields{drawn("camera, last picture", last, 0, hottest, examples::inferno, "u"),
                                            drawn("first guess", start.data(), 0, k_high, examples::viridis, ""),
                                            drawn("recovery", k.data(), 0, k_high, examples::viridis, ""),
                                            drawn("truth", truth.data(), 0, k_high, examples::viridis, "k")};
  const char* subtitle = "diffusivity from ten noisy pictures of the temperature, by gradient descent through 500 time steps";
  examples::write_file(picture, examples::field_chart("What is inside the plate?", subtitle, fields, 224));
  std::printf("%d steps in %.1f s; picture: %s\n", steps, seconds, picture.c_str());
  std::printf("misfit %.3f (the noise alone: 1), relative error of the diffusivity %.1f%%, at the start %.1f%%\n", misfit, 100 * error, 100 * at_start);
  if (!(misfit < 1.5 && error < at_start / 3))
    throw ct::error("the diffusivity was not found: the misfit is not below 1.5, or its error not below a third of the first guess's");
  return 0;
}

int main(int argc, char** argv) {
  return examples::guarded("heat_inverse", [&] {
    int steps = 200, threads = 0;
    unsigned seed = 0;
    std::string out = ".";
    examples::option_parser().number("--steps", steps, 1).number("--seed", seed, 0).number("--threads", threads, 1).folder("--out", out).parse(argc, argv);
    if (threads > 0) ct::set_num_threads(threads);
    return run(steps, seed, out);
  });
}
