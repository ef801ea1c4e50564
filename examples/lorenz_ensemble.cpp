/// 65,536 Lorenz systems (Lorenz, J. Atmos. Sci. 20, 1963) side by side: 1,000 steps of Runge-Kutta in one fused loop, the
/// gradient of a mean with respect to the parameters by reverse and by forward mode, and where such gradients end: after a
/// long time they grow like the distance of neighbouring trajectories, and measure the Lyapunov exponent instead.
///
///     ./examples/run lorenz_ensemble [--seed N] [--threads N] [--out DIR]
///
/// Writes DIR/lorenz_ensemble.svg: the density of the ensemble in the x-z plane.

#include <chrono>
#include <cmath>
#include <random>

#include <cotangent/cotangent.hpp>

#include "support/options.hpp"
#include "support/raster.hpp"

namespace ct = cotangent;

// ---- the model: everything that is traced ----

constexpr ct::extent N = 65536;  // trajectories
constexpr double dt = 0.01;

template <template <class, ct::extent...> class A> struct ensemble {
  A<float, N> x, y, z;
};

/// The parameters p: [3] are sigma, rho and beta.
constexpr auto velocity = [](auto p, const auto& s) {
  const auto sigma = p(ct::index<0>);
  const auto rho = p(ct::index<1>);
  const auto beta = p(ct::index<2>);
  return ensemble<ct::var>{sigma * (s.y - s.x), s.x * (rho - s.z) - s.y, s.x * s.y - beta * s.z};
};

/// s + h k
constexpr auto moved = [](const auto& s, double h, const auto& k) { return ct::tree_map([h](auto a, auto b) { return a + h * b; }, s, k); };

/// One step of the classical Runge-Kutta method.
constexpr auto rk4_step = [](auto p, const auto& s) {
  const auto k1 = velocity(p, s);
  const auto k2 = velocity(p, moved(s, dt / 2, k1));
  const auto k3 = velocity(p, moved(s, dt / 2, k2));
  const auto k4 = velocity(p, moved(s, dt, k3));
  return ct::tree_map([](auto a, auto a1, auto a2, auto a3, auto a4) { return a + (dt / 6) * (a1 + 2 * a2 + 2 * a3 + a4); }, s, k1, k2, k3, k4);
};

template <int Steps>
inline constexpr auto advance = [](auto p, const auto& s) { return ct::fori_loop<0, Steps>([p](auto, const auto& state) { return rk4_step(p, state); }, s); };

constexpr int short_run = 50;

constexpr auto mean_height = [](auto p, const auto& s) { return ct::mean(advance<short_run>(p, s).z); };

/// The ensemble after a short run and its tangent, the derivative by p in a direction, if it was `tangent` before. Also
/// the means of the tangent of z and of the logarithm of the tangent's length.
constexpr auto advance_tangent = [](auto p, auto direction, const auto& s, const auto& tangent) {
  const auto [end, end_tangent] = ct::jvp(advance<short_run>, std::tuple(p, s), std::tuple(direction, tangent));
  const auto length = ct::sqrt(ct::square(end_tangent.x) + ct::square(end_tangent.y) + ct::square(end_tangent.z));
  return std::tuple(end, end_tangent, ct::mean(end_tangent.z), ct::mean(ct::log(length)));
};

// ---- the experiments ----

/// Counts of the ensemble in the x-z plane, seen from the front.
struct density {
  static constexpr int width = 300, height = 300;
  static constexpr double x_low = -22, x_high = 22, z_low = 2, z_high = 48;
  std::vector<double> counts = std::vector<double>(std::size_t(width * height));

  void add(const ensemble<ct::array>& s) {
    for (ct::extent i = 0; i < N; ++i) {
      const int column = int((double(s.x(i)) - x_low) / (x_high - x_low) * width), row = int((z_high - double(s.z(i))) / (z_high - z_low) * height);
      if (column >= 0 && column < width && row >= 0 && row < height) ++counts[std::size_t(row * width + column)];
    }
  }
  examples::field picture(const std::string& title) const {
    examples::field f{title, width, height, {}, 0, 1, examples::magma};
    double most = 1;
    for (const double c : counts) most = std::max(most, c);
    for (const double c : counts) f.values.push_back(std::log1p(c) / std::log1p(most));
    return f;
  }
};

int run(unsigned seed, const std::string& out) {
  const std::string path = out + "/lorenz_ensemble.svg";
  examples::check_writable(path);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  const ct::array<float, 3> p{10, 28, 8.0 / 3};
  ensemble<ct::array> s;
  for (ct::extent i = 0; i < N; ++i) s.x(i) = 1 + 0.1f * normal(random), s.y(i) = 1 + 0.1f * normal(random), s.z(i) = 20 + 0.1f * normal(random);

  density early, late;
  for (int i = 0; i < 100; ++i) s = ct::jit(advance<4>)(p, std::move(s)), early.add(s);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 5; ++i) s = ct::jit(advance<1000>)(p, std::move(s));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 5;
  std::printf("%d trajectories, 1,000 steps of %.2f: %.3f s, %.0f million steps a second\n", int(N), dt, seconds, double(N) * 1e-3 / seconds);
  std::fflush(stdout);
  const ensemble<ct::array> attractor = s;
  for (int i = 0; i < 100; ++i) s = ct::jit(advance<4>)(p, std::move(s)), late.add(s);
  examples::write_file(path, examples::field_chart("65,536 Lorenz systems", "density in the x-z plane, logarithmic: x from -22 to 22, z from 2 to 48",
                                                   {early.picture("time 0 to 4: a small cloud spreads"), late.picture("time 54 to 58: the attractor")}, 360, true));

  // A short time, from the attractor: reverse mode gives all three derivatives at once.
  const auto gradient = ct::value_and_grad(mean_height);
  const auto tangents = ct::jit(advance_tangent);
  const auto [height, by_reverse] = gradient(p, attractor);
  std::printf("mean z at time %.1f: %.4f; its derivatives\n                reverse    forward  differences\n", short_run * dt, double(height));
  double worst = 0;
  for (int k = 0; k < 3; ++k) {
    ct::array<float, 3> above = p, below = p, direction;
    above(k) *= 1.01f, below(k) *= 0.99f, direction(k) = 1;  // a step that is large for float, and small for the model
    const double rise = double(std::get<0>(gradient(above, attractor))) - double(std::get<0>(gradient(below, attractor)));
    const double reverse = double(by_reverse(k)), difference = rise / double(above(k) - below(k));
    const double forward = double(std::get<2>(tangents(p, direction, attractor, ensemble<ct::array>{})));
    constexpr const char* names[] = {"sigma", "rho", "beta"};
    std::printf("  d/d %-8s %9.5f  %9.5f  %9.5f\n", names[k], reverse, forward, difference);
    worst = std::max({worst, std::abs(reverse - forward), std::abs(reverse - difference)});
  }

  // A long time, by forward mode: tangents that a change of rho starts grow without end, and by the same factor.
  std::printf("  time   mean of dz/d rho   typical length of the tangents\n");
  constexpr int runs = 48, aligned = 16;  // by run 16 the tangents point where the flow stretches most
  ensemble<ct::array> tangent;
  s = attractor;
  double first = 0, last = 0;
  for (int i = 1; i <= runs; ++i) {
    const ct::array<float, 3> direction{0, i <= aligned ? 1 : 0, 0};
    auto [end, end_tangent, sensitivity, growth] = tangents(p, direction, std::move(s), std::move(tangent));
    s = std::move(end), tangent = std::move(end_tangent);
    (i <= aligned ? first : last) = double(growth);
    if (i == 1 || i % 8 == 0) std::printf("  %4.1f   %16.3g   e^%.2f\n", i * short_run * dt, double(sensitivity), double(growth));
  }
  const double exponent = (last - first) / ((runs - aligned) * short_run * dt);
  std::printf("picture: %s\n", path.c_str());
  std::printf("derivatives agree to %.4f; largest Lyapunov exponent %.4f (0.9056 in Sprott, Chaos and Time-Series Analysis, 2003)\n", worst, exponent);
  if (!(worst < 0.01 && std::abs(exponent - 0.9056) < 0.02)) throw ct::error("the derivatives or the Lyapunov exponent are not what they should be");
  return 0;
}

int main(int argc, char** argv) {
  return examples::guarded("lorenz_ensemble", [&] {
    int threads = 0;
    unsigned seed = 0;
    std::string out = ".";
    examples::option_parser().number("--seed", seed, 0).number("--threads", threads, 1).folder("--out", out).parse(argc, argv);
    if (threads > 0) ct::set_num_threads(threads);
    return run(seed, out);
  });
}
