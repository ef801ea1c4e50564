/// Times the hand-written training step alone: mnist_eigen [steps] [threads].

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "mlp_eigen.hpp"

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 500, threads = argc > 2 ? std::atoi(argv[2]) : 2, batch = 256;
  std::vector<float> x(std::size_t(batch) * 784);
  std::vector<std::int32_t> y(std::size_t(batch), 0);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(0.5 + 0.5 * std::sin(double(i) * double(i)));
  for (int i = 0; i < batch; ++i) y[std::size_t(i)] = i * 7 % 10;

  baselines::mlp_eigen network(batch, threads);
  std::vector<double> ms;
  for (int i = 0; i < steps; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const float loss = network.step(x.data(), y.data(), batch);
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    if (i < 3 || i == 19) std::printf("step %d: loss %.7f\n", i + 1, double(loss));
  }
  std::nth_element(ms.begin(), ms.begin() + steps / 2, ms.end());
  const double median = ms[std::size_t(steps / 2)];
  std::printf("%d threads: median %.3f ms per step, %.3f s per epoch of 60000\n", threads, median, median * 60000 / batch / 1e3);
}
