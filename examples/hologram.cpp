/// Which phases must a spatial light modulator give to a laser beam, so that a lens behind it shows a wanted picture? What the lens shows is
/// the Fourier transform of the beam. Gradient descent (Adam) through it finds the phases of 128 x 128 pixels.
///
///     ./examples/run hologram [--steps N] [--threads N] [--out DIR]
///
/// Writes DIR/hologram.svg: the wanted picture, the phases, and the picture that they make.

#include <chrono>
#include <cmath>

#include <cotangent/cotangent.hpp>

#include "support/options.hpp"
#include "support/raster.hpp"

namespace ct = cotangent;
using namespace std::complex_literals;

// ---- the optics and the step of the search: everything that is traced ----

constexpr ct::extent n = 128;  // pixels along each side
using field = ct::array<float, n, n>;

/// The amplitude of the light behind the lens, of a beam of energy 1.
constexpr auto amplitude = [](auto phase, auto beam) { return ct::fft::fftshift(ct::abs(ct::fft::fft2(beam * ct::exp(1if * phase), ct::fft::ortho))); };

constexpr auto optimizer = ct::optimizers::adam(0.1);

/// A step down what is missing from the wanted amplitude, which has energy 1 too.
constexpr auto descend = [](auto phase, const auto& state, auto beam, auto wanted) {
  const auto loss = [beam, wanted](auto phase) { return ct::sum(ct::square(amplitude(phase, beam) - wanted)); };
  const auto [value, gradient] = ct::value_and_grad(loss)(phase);
  const auto [update, next] = optimizer.update(gradient, state);
  return std::tuple(phase + update, next, value);
};

// ---- the experiment ----

/// A ring, a disc in it, and two bars: amplitudes of energy 1.
field wanted_amplitude() {
  field a;
  double energy = 0;
  const auto inside = [](double distance) { return 1 / (1 + std::exp(2 * distance)); };  // 1 for distance < 0, 0 for > 0
  for (ct::extent i = 0; i < n; ++i)
    for (ct::extent j = 0; j < n; ++j) {
      const double y = double(i) - n / 2, x = double(j) - n / 2, r = std::hypot(x, y);
      const double ring = inside(std::abs(r - 34) - 3), disc = inside(r - 12);
      const double bars = inside(std::max(std::abs(std::abs(x) - 50) - 3, std::abs(y) - 30));
      a(i, j) = float(std::sqrt(ring + disc + bars));
      energy += double(a(i, j)) * double(a(i, j));
    }
  for (float& x : a) x /= float(std::sqrt(energy));
  return a;
}

/// A Gaussian beam of energy 1.
field gaussian_beam() {
  field b;
  double energy = 0;
  for (ct::extent i = 0; i < n; ++i)
    for (ct::extent j = 0; j < n; ++j) {
      const double y = double(i) - n / 2, x = double(j) - n / 2;
      b(i, j) = float(std::exp(-(x * x + y * y) / (40 * 40)));
      energy += double(b(i, j)) * double(b(i, j));
    }
  for (float& x : b) x /= float(std::sqrt(energy));
  return b;
}

int run(int steps, const std::string& out) {
  const std::string picture = out + "/hologram.svg";
  examples::check_writable(picture);
  const field beam = gaussian_beam(), wanted = wanted_amplitude();

  field phase;  // a lens to begin with: it spreads the light over the picture
  for (ct::extent i = 0; i < n; ++i)
    for (ct::extent j = 0; j < n; ++j) phase(i, j) = 0.01f * float((i - n / 2) * (i - n / 2) + (j - n / 2) * (j - n / 2));
  auto state = optimizer.init(phase);
  const auto step = ct::jit(descend);
  const auto began = std::chrono::steady_clock::now();
  double first = 0, error = 0;
  for (int i = 1; i <= steps; ++i) {
    auto [next, next_state, value] = step(std::move(phase), std::move(state), beam, wanted);
    phase = std::move(next), state = std::move(next_state), error = double(value);
    if (i == 1) first = error;
    if (i == 1 || i % std::max(steps / 5, 1) == 0) std::printf("step %4d/%d  error of the amplitude %6.2f%%\n", i, steps, 100 * error);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();

  const field made = ct::jit(amplitude)(phase, beam);
  const auto intensity = [](const field& a) {
    std::vector<double> r;
    for (float x : a) r.push_back(1e4 * double(x) * double(x));
    return r;
  };
  std::vector<double> turns;
  for (float x : phase) turns.push_back(double(x) / 6.283185307179586 - std::floor(double(x) / 6.283185307179586));
  const std::vector<double> goal = intensity(wanted), result = intensity(made);
  const double brightest = *std::max_element(goal.begin(), goal.end());
  const std::vector<examples::field> fields{{"wanted", int(n), int(n), goal, 0, brightest, examples::inferno, "light"},
                                            {"made", int(n), int(n), result, 0, brightest, examples::inferno, ""},
                                            {"phase of the pixels", int(n), int(n), turns, 0, 1, examples::viridis, "turns"}};
  examples::write_file(picture, examples::field_chart("A hologram", "the phases of 128 x 128 pixels whose Fourier transform is a picture", fields, 256));
  std::printf("%d steps in %.2f s; picture: %s\n", steps, seconds, picture.c_str());
  std::printf("error of the amplitude %.2f%%, at the start %.2f%%\n", 100 * error, 100 * first);
  if (!(error < first / 10)) throw ct::error("the phases were not found: the error is not below a tenth of that at the start");
  return 0;
}

int main(int argc, char** argv) {
  return examples::guarded("hologram", [&] {
    int steps = 300, threads = 0;
    std::string out = ".";
    examples::option_parser().number("--steps", steps, 1).number("--threads", threads, 1).folder("--out", out).parse(argc, argv);
    if (threads > 0) ct::set_num_threads(threads);
    return run(steps, out);
  });
}
