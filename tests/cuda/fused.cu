// spills: none
/// Fused forward and backward kernels of traced functions on a CUDA device, against the CPU: an activation, and a reduction with
/// its gradient. The whole pipeline runs in this file's constant evaluation.

#include <cmath>
#include <cstdio>

#include <cotangent/cotangent.hpp>

namespace fused {

namespace ct = cotangent;
using vector = ct::array<float, 100000>;

/// gelu(x) and its pullback, in one pass.
struct activation {
  template <class X> constexpr auto operator()(const X& x, const X& g) const {
    const auto [y, pullback] = ct::vjp([](auto v) { return ct::nn::gelu(v); }, x);
    return std::tuple(y, std::get<0>(pullback(g)));
  }
};
/// sum(tanh(x w)^2), which is differentiated with respect to both in one pass.
struct energy {
  template <class X> constexpr auto operator()(const X& x, const X& w) const { return ct::sum(ct::square(ct::tanh(x * w))); }
};

/// The largest difference between what a device and the CPU compute, relative to 1 or the number.
template <class F> double difference(const F& f, const vector& x, const vector& w) {
  const auto want = f(x, w);
  const auto have = ct::device_get(f(ct::device_put(x), ct::device_put(w)));
  double most = 0;
  ct::for_each_leaf(
      [&](const auto& a, const auto& b) {
        for (ct::extent i = 0; i < a.size(); ++i) most = std::fmax(most, std::abs(double(a.data()[i]) - b.data()[i]) / std::fmax(1, std::abs(double(b.data()[i]))));
      },
      have, want);
  return most;
}

int run() {
  vector x, w;
  for (ct::extent i = 0; i < x.size(); ++i) x(i) = float(i % 200) / 50 - 2, w(i) = float(i % 7) / 4 - 0.8f;
  int failures = 0;
  const auto tell = [&](const char* what, double error) {
    failures += !(error < 1e-5);
    std::printf("%s %s: differs by %.1e\n", error < 1e-5 ? "ok    " : "FAILED", what, error);
  };
  tell("gelu and its pullback", difference(ct::jit(activation{}), x, w));
  tell("a sum and its gradient", difference(ct::jit(ct::value_and_grad(energy{}, ct::wrt<0, 1>)), x, w));
  std::printf("%d passed, %d failed\n", 2 - failures, failures);
  return failures;
}

}  // namespace fused

int main() {
  try {
    cotangent::devices<cotangent::cuda>();
  } catch (const cotangent::device_error& e) {
    std::printf("%s: compiled only\n", e.what());
    return 77;
  }
  return fused::run();
}
