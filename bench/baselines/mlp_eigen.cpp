#include "mlp_eigen.hpp"

#include <algorithm>

#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>

namespace baselines {

/// a = gelu(x w + b) for columns [first, first + n) of a hidden layer.
template <class X> void mlp_eigen::hidden_forward(const X& x, layer& l, int first, int n, int rows) {
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
void mlp_eigen::output_and_loss(const std::int32_t* y, int first, int n, int rows) {
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
void mlp_eigen::hidden_backward(layer& l, const layer& above, int first, int n, int rows) {
  l.dh.block(0, first, rows, n).noalias() = above.dh.topRows(rows) * above.w.middleRows(first, n).transpose();
  for (int i = 0; i < rows; ++i)
    gelu_backward(l.h.row(i).segment(first, n), l.t.row(i).segment(first, n), l.dh.row(i).segment(first, n));
}

template <class H, class T, class D> void mlp_eigen::gelu_backward(const H& h, const T& t_row, D&& d) {
  const auto z = h.array();
  const auto t = t_row.array();
  d.array() *= 0.5f * (1.0f + t) + (0.5f * c0) * z * (1.0f - t.square()) * (1.0f + (3.0f * c1) * z.square());
}

/// The gradient of columns [first, first + n) of a layer's parameters and their Adam step.
template <class X> void mlp_eigen::update(const X& x, layer& l, int first, int n, int rows) const {
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

template <class P, class G> void mlp_eigen::adam(P&& p, P&& m, P&& v, const G& g) const {
  const float correction1 = 1.0f / (1.0f - std::pow(beta1, float(steps_)));
  const float correction2 = 1.0f / (1.0f - std::pow(beta2, float(steps_)));
  m.array() = beta1 * m.array() + (1.0f - beta1) * g.array();
  v.array() = beta2 * v.array() + (1.0f - beta2) * g.array().square();
  p.array() -= learning_rate * (m.array() * correction1) / ((v.array() * correction2).sqrt() + epsilon);
}

float mlp_eigen::step(const float* x, const std::int32_t* y, int rows) {
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

}  // namespace baselines
