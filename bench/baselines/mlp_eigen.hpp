#pragma once
/// The Fashion-MNIST network by hand: forward, backward and Adam of a 784-512-256-10 perceptron in C++ with Eigen.
///
/// What a careful C++ programmer writes without a framework. Each thread keeps its columns of the weights: weights are
/// the largest arrays and change in every step, so splitting the batch instead would move them between the cores'
/// caches each time (2.3 ms per step instead of 2.0 on two cores of a Zen 5 server). Adam consumes each block of
/// gradients while it is in cache. The bench compares cotangent with this.

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <Eigen/Core>
#include <tbb/task_arena.h>

namespace baselines {

class mlp_eigen {
 public:
  static constexpr int widths[] = {784, 512, 256, 10};
  static constexpr int layers = 3;

  using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using row = Eigen::Matrix<float, 1, Eigen::Dynamic>;
  using rows_in = Eigen::Map<const matrix>;

  /// One layer's parameters, their Adam moments, and what the backward pass needs from the forward pass.
  struct layer {
    matrix w, w_m, w_v;
    row b, b_m, b_v;
    matrix h;   // [batch, out]: before the activation
    matrix t;   // [batch, out]: the tanh inside GELU
    matrix a;   // [batch, out]: after the activation
    matrix dh;  // [batch, out]: gradient of h
  };

  /// `batch` is the largest number of rows that a step may take.
  mlp_eigen(int batch, int threads) : arena_(threads), threads_(threads) {
    for (int k = 0; k < layers; ++k) {
      layer& l = layers_[std::size_t(k)];
      const int in = widths[k], out = widths[k + 1];
      for (matrix* m : {&l.w, &l.w_m, &l.w_v}) m->setZero(in, out);
      for (row* r : {&l.b, &l.b_m, &l.b_v}) r->setZero(out);
      for (matrix* m : {&l.h, &l.t, &l.a, &l.dh}) m->setZero(batch, out);
      initialize(l.w.data(), in, out);
    }
    losses_.resize(std::size_t(batch));
  }

  /// Deterministic weights with the spread of He's normal initialization; jax_baselines.py has the same formula.
  static void initialize(float* w, int in, int out) {
    const double scale = std::sqrt(2.0 / in) * std::sqrt(2.0);
    for (int i = 0; i < in * out; ++i) w[i] = float(scale * std::sin(0.7 * i + 1e-3 * (double(i) * i / in)));
  }

  /// One Adam step on `rows` examples x: [rows, 784], y: [rows] with classes 0 to 9. Returns the mean loss before it.
  float step(const float* x, const std::int32_t* y, int rows);

  const layer& parameters(int k) const { return layers_[std::size_t(k)]; }

 private:
  static constexpr float c0 = 0.7978845608028654f;  // sqrt(2 / pi)
  static constexpr float c1 = 0.044715f;
  static constexpr float learning_rate = 1e-3f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;

  template <class X> static void hidden_forward(const X& x, layer& l, int first, int n, int rows);
  void output_and_loss(const std::int32_t* y, int first, int n, int rows);
  static void hidden_backward(layer& l, const layer& above, int first, int n, int rows);
  template <class H, class T, class D> static void gelu_backward(const H& h, const T& t_row, D&& d);
  template <class X> void update(const X& x, layer& l, int first, int n, int rows) const;
  template <class P, class G> void adam(P&& p, P&& m, P&& v, const G& g) const;

  std::array<layer, layers> layers_;
  std::vector<float> losses_;
  tbb::task_arena arena_;
  int threads_;
  int steps_ = 0;
};

}  // namespace baselines
