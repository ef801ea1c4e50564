/// Fused forward and backward kernels of traced functions as `__global__` functions: an activation, and a reduction
/// with its gradient. The whole pipeline runs in this file's constant evaluation.

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cotangent/backends/cpu/maths.hpp>
#include <cotangent/backends/cuda/kernel.hpp>
#include <cotangent/compiler/lower.hpp>
#include <cotangent/nn/nn.hpp>

namespace cuda_tests {

namespace ct = cotangent;

template <class F, class... V> struct canonical_graph {
  constexpr ct::graph operator()() const { return ct::canonicalize(ct::simplify(ct::trace_function<V...>(F{}).body)); }
};
struct no_donations {
  constexpr ct::flag_list operator()() const { return ct::flag_list(8, 0); }
};
/// The first kernel of F compiled for arguments of the types V.
template <class F, class... V> struct compiled {
  static constexpr auto graph = ct::freeze<canonical_graph<F, V...>{}>();
  static constexpr auto plan = ct::make_plan<canonical_graph<F, V...>{}, no_donations{}>();
  static_assert(plan.steps.size() == 1, "the function is one fused kernel");
  using kernel = typename ct::lowering<plan, graph>::template kernel_of<0>;
};

constexpr ct::extent n = 100000;
using vector = ct::var<float, n>;

/// gelu(x) and its pullback, in one pass.
constexpr auto activation = [](auto x, auto g) {
  const auto [y, pullback] = ct::vjp([](auto v) { return ct::nn::gelu(v); }, x);
  return std::tuple(y, std::get<0>(pullback(g)));
};
using activation_kernel = compiled<decltype(activation), vector, vector>::kernel;

/// sum(tanh(x w)^2) and its gradient with respect to both, in one pass.
constexpr auto reduction = [](auto x, auto w) {
  return ct::value_and_grad([](auto a, auto b) { return ct::sum(ct::square(ct::tanh(a * b))); }, ct::wrt<0, 1>)(x, w);
};
using reduction_kernel = compiled<decltype(reduction), vector, vector>::kernel;

bool close(double a, double b) { return std::abs(a - b) <= 1e-5 * (1 + std::abs(b)); }

int run() {
  int failures = 0;
  std::vector<float> x(n), w(n), y(n), z(n);
  for (ct::extent i = 0; i < n; ++i) x[i] = float(i % 200) / 50 - 2, w[i] = float(i % 7) / 4 - 0.8f;
  float* device[5];
  for (float*& p : device) cudaMalloc(&p, n * sizeof(float));
  cudaMemcpy(device[0], x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(device[1], w.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  {
    void* buffers[] = {device[0], device[1], device[2], device[3]};
    const ct::cuda::arguments<activation_kernel> a(buffers, nullptr);
    ct::cuda::run<activation_kernel><<<64, 256>>>(a, ct::cuda::points_of(a));
    cudaMemcpy(y.data(), device[2], n * sizeof(float), cudaMemcpyDeviceToHost);
    bool right = cudaGetLastError() == cudaSuccess;
    for (ct::extent i = 0; i < n; ++i) {
      const double v = x[i], t = std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v));
      right = right && close(y[i], 0.5 * v * (1 + t));
    }
    failures += !right;
    std::printf("%s gelu and its pullback\n", right ? "ok    " : "FAILED");
  }
  {
    float* total = nullptr;
    cudaMalloc(&total, sizeof(float));
    cudaMemset(total, 0, sizeof(float));
    void* buffers[] = {device[0], device[1], total, device[2], device[3]};
    const ct::cuda::arguments<reduction_kernel> a(buffers, nullptr);
    ct::cuda::run_sums<reduction_kernel><<<64, 256>>>(a, ct::cuda::points_of(a));
    float sum = 0;
    cudaMemcpy(&sum, total, sizeof(float), cudaMemcpyDeviceToHost);
    double expected = 0;
    for (ct::extent i = 0; i < n; ++i) expected += std::pow(std::tanh(double(x[i]) * w[i]), 2);
    const bool right = cudaGetLastError() == cudaSuccess && std::abs(sum - expected) <= 1e-4 * expected;
    failures += !right;
    std::printf("%s sum and its gradient\n", right ? "ok    " : "FAILED");
  }
  std::printf("%d passed, %d failed\n", 2 - failures, failures);
  return failures;
}

}  // namespace cuda_tests

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no CUDA device: compiled only\n");
    return 0;
  }
  return cuda_tests::run();
}
