/// Programs of products of matrices.

#include "measure.hpp"

namespace {

// A network 784-512-512-10 and a step of gradient descent on a batch.
constexpr auto network_loss = [](auto weights, auto x, auto y) {
  const auto [w1, b1, w2, b2, w3, b3] = weights;
  const auto hidden = ct::nn::gelu(ct::matmul(ct::nn::gelu(ct::matmul(x, w1) + b1), w2) + b2);
  return -ct::mean(ct::sum(y * ct::nn::log_softmax(ct::matmul(hidden, w3) + b3), ct::axis<-1>));
};
constexpr auto network_step = [](auto weights, auto x, auto y) {
  const auto slopes = ct::grad(network_loss)(weights, x, y);
  return std::apply([&](const auto&... w) { return std::apply([&](const auto&... g) { return std::tuple((w - 0.01f * g)...); }, slopes); }, weights);
};

constexpr auto attention = [](auto q, auto k, auto v) {
  return ct::vmap([](auto q, auto k, auto v) { return ct::matmul(ct::nn::softmax(0.125f * ct::matmul(q, ct::transpose(k))), v); })(q, k, v);
};

/// A layer's products by themselves: y = x w and, on the way back, the gradients of w and, but for the first layer, of x. (cuBLAS is
/// column-major: it sees the transposes.)
struct layer_products {
  int rows, inputs, outputs;
  bool first;

  void run(cublasHandle_t handle, const float* x, const float* w, const float* slope, float* y, float* w_slope, float* x_slope) const {
    const float one = 1, zero = 0;
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, outputs, rows, inputs, &one, w, outputs, x, inputs, &zero, y, outputs);
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, outputs, inputs, rows, &one, slope, outputs, x, inputs, &zero, w_slope, outputs);
    if (!first) cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, inputs, rows, outputs, &one, w, outputs, slope, outputs, &zero, x_slope, inputs);
  }
};

}  // namespace

void measure_networks(const ct::device& d) {
  {
    constexpr extent batch = 4096;
    auto weights = std::tuple(numbers<float, 784, 512>(d, -0.05, 0.05), numbers<float, 512>(d), numbers<float, 512, 512>(d, -0.05, 0.05), numbers<float, 512>(d),
                              numbers<float, 512, 10>(d, -0.05, 0.05), numbers<float, 10>(d));
    const auto x = numbers<float, batch, 784>(d);
    const auto y = numbers<float, batch, 10>(d, 0, 0.2);
    constexpr double flops = 2.0 * batch * (2 * 784 * 512 + 3 * 512 * 512 + 3 * 512 * 10);
    measure("MLP training step", d, 0, flops, [&] { weights = ct::jit(network_step)(std::move(weights), x, y); });

    const auto hidden = numbers<float, batch, 512>(d), slopes = numbers<float, batch, 512>(d);
    auto made = hidden, back = hidden;
    auto into = std::tuple(numbers<float, 784, 512>(d), numbers<float, 512, 512>(d), numbers<float, 512, 10>(d));
    const cublasHandle_t handle = ct::gpu::queue(d).cublas();
    measure("MLP, its products alone", d, 0, flops, [&] {
      layer_products{batch, 784, 512, true}.run(handle, x.data(), std::get<0>(weights).data(), slopes.data(), made.data(), std::get<0>(into).data(), nullptr);
      layer_products{batch, 512, 512, false}.run(handle, hidden.data(), std::get<2>(weights).data(), slopes.data(), made.data(), std::get<1>(into).data(), back.data());
      layer_products{batch, 512, 10, false}.run(handle, hidden.data(), std::get<4>(weights).data(), y.data(), made.data(), std::get<2>(into).data(), back.data());
    });
  }
  {
    constexpr extent heads = 64, length = 1024, width = 64;
    const auto q = numbers<float, heads, length, width>(d), k = numbers<float, heads, length, width>(d), v = numbers<float, heads, length, width>(d);
    auto out = q;
    measure("attention", d, 0, 4.0 * heads * length * length * width, [&] { ct::jit(attention).into(out)(q, k, v); });
  }
}
