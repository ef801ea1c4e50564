#pragma once
/// The Fashion-MNIST network by hand: forward, backward and Adam of a 784-512-256-10 perceptron in C++ with Eigen.
///
/// What a careful C++ programmer writes without a framework. Each thread keeps its columns of the weights: weights are
/// the largest arrays and change in every step, so splitting the batch instead would move them between the cores'
/// caches each time (2.3 ms per step instead of 2.0 on two cores of a Zen 5 server). Adam consumes each block of
/// gradients while it is in cache. The bench compares cotangent with this.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <Eigen/Core>
#include <tbb/partitioner.h>
#include <tbb/parallel_for.h>
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
  float step(const float* x, const std::int32_t* y, int rows) {
    ++steps_;
    const rows_in input(x, rows, widths[0]);
    const auto in_parallel = [&](int extent, auto&& body) {
      tbb::parallel_for(
          0, threads_,
          [&](int i) {
            const int first = extent * i / threads_, last = extent * (i + 1) / threads_;
            if (first < last) body(first, last - first);
          },
          tbb::static_partitioner{});
    };
    arena_.execute([&] {
      in_parallel(widths[1], [&](int first, int n) { hidden_forward(input, layers_[0], first, n, rows); });
      in_parallel(widths[2], [&](int first, int n) { hidden_forward(layers_[0].a.topRows(rows), layers_[1], first, n, rows); });
      in_parallel(rows, [&](int first, int n) { output_and_loss(y, first, n, rows); });
      in_parallel(widths[1], [&](int first, int n) { hidden_backward(layers_[0], layers_[1], first, n, rows); });
      in_parallel(widths[1], [&](int first, int n) { update(input, layers_[0], first, n, rows); });
      in_parallel(widths[2], [&](int first, int n) { update(layers_[0].a.topRows(rows), layers_[1], first, n, rows); });
    });
    update(layers_[1].a.topRows(rows), layers_[2], 0, widths[3], rows);
    double loss = 0;
    for (int i = 0; i < rows; ++i) loss += double(losses_[std::size_t(i)]);
    return float(loss / rows);
  }

  const layer& parameters(int k) const { return layers_[std::size_t(k)]; }

 private:
  static constexpr float c0 = 0.7978845608028654f;  // sqrt(2 / pi)
  static constexpr float c1 = 0.044715f;
  static constexpr float learning_rate = 1e-3f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;

  /// a = gelu(x w + b) for columns [first, first + n) of a hidden layer.
  template <class X> static void hidden_forward(const X& x, layer& l, int first, int n, int rows) {
    l.h.block(0, first, rows, n).noalias() = x * l.w.middleCols(first, n);
    for (int i = 0; i < rows; ++i) {
      auto z = l.h.row(i).segment(first, n).array();
      auto t = l.t.row(i).segment(first, n).array();
      z += l.b.segment(first, n).array();
      t = (c0 * (z + c1 * z.cube())).tanh();
      l.a.row(i).segment(first, n).array() = 0.5f * z * (1.0f + t);
    }
  }

  /// Rows [first, first + n) of the logits, their loss, and the gradients of the logits and of the layer below.
  void output_and_loss(const std::int32_t* y, int first, int n, int rows) {
    layer &top = layers_[2], &below = layers_[1];
    top.h.middleRows(first, n).noalias() = below.a.middleRows(first, n) * top.w;
    for (int i = first; i < first + n; ++i) {
      auto z = top.h.row(i).array();
      auto d = top.dh.row(i).array();
      z += top.b.array();
      const float largest = z.maxCoeff();
      d = (z - largest).exp();
      const float sum = d.sum();
      losses_[std::size_t(i)] = std::log(sum) + largest - z(y[i]);
      d *= 1.0f / (sum * float(rows));
      d(y[i]) -= 1.0f / float(rows);
    }
    below.dh.middleRows(first, n).noalias() = top.dh.middleRows(first, n) * top.w.transpose();
    for (int i = first; i < first + n; ++i) gelu_backward(below.h.row(i), below.t.row(i), below.dh.row(i));
  }

  /// The gradient of columns [first, first + n) of a hidden layer from the layer above.
  static void hidden_backward(layer& l, const layer& above, int first, int n, int rows) {
    l.dh.block(0, first, rows, n).noalias() = above.dh.topRows(rows) * above.w.middleRows(first, n).transpose();
    for (int i = 0; i < rows; ++i)
      gelu_backward(l.h.row(i).segment(first, n), l.t.row(i).segment(first, n), l.dh.row(i).segment(first, n));
  }

  template <class H, class T, class D> static void gelu_backward(const H& h, const T& t_row, D&& d) {
    const auto z = h.array();
    const auto t = t_row.array();
    d.array() *= 0.5f * (1.0f + t) + (0.5f * c0) * z * (1.0f - t.square()) * (1.0f + (3.0f * c1) * z.square());
  }

  /// The gradient of columns [first, first + n) of a layer's parameters and their Adam step.
  template <class X> void update(const X& x, layer& l, int first, int n, int rows) const {
    const auto dh = l.dh.block(0, first, rows, n);
    thread_local matrix gradient;
    constexpr int block = 196;
    for (int k = 0; k < l.w.rows(); k += block) {
      const int count = std::min(block, int(l.w.rows()) - k);
      gradient.resize(count, n);
      gradient.noalias() = x.middleCols(k, count).transpose() * dh;
      for (int i = 0; i < count; ++i)
        adam(l.w.row(k + i).segment(first, n), l.w_m.row(k + i).segment(first, n), l.w_v.row(k + i).segment(first, n),
             gradient.row(i));
    }
    const row sum = dh.colwise().sum();
    adam(l.b.segment(first, n), l.b_m.segment(first, n), l.b_v.segment(first, n), sum);
  }

  template <class P, class G> void adam(P&& p, P&& m, P&& v, const G& g) const {
    const float correction1 = 1.0f / (1.0f - std::pow(beta1, float(steps_)));
    const float correction2 = 1.0f / (1.0f - std::pow(beta2, float(steps_)));
    m.array() = beta1 * m.array() + (1.0f - beta1) * g.array();
    v.array() = beta2 * v.array() + (1.0f - beta2) * g.array().square();
    p.array() -= learning_rate * (m.array() * correction1) / ((v.array() * correction2).sqrt() + epsilon);
  }

  std::array<layer, layers> layers_;
  std::vector<float> losses_;
  tbb::task_arena arena_;
  int threads_;
  int steps_ = 0;
};

}  // namespace baselines
