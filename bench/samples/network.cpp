/// A network with a hidden layer of tanh.

#include "samples.hpp"

namespace samples {
namespace {

struct network_parts {
  double loss = 0;
  matrix by_w = matrix::Zero(features, hidden), by_v = matrix::Zero(hidden, targets);
  row by_b = row::Zero(hidden), by_c = row::Zero(targets);
  void operator+=(const network_parts& o) { loss += o.loss, by_w += o.by_w, by_v += o.by_v, by_b += o.by_b, by_c += o.by_c; }
};
constexpr auto network = [](auto w, auto b, auto v, auto c, auto x, auto y) {
  return ct::mean(ct::square(ct::matmul(ct::tanh(ct::matmul(x, w) + b), v) + c - y));
};
struct network_problem {
  ct::array<float, features, hidden> w;
  ct::array<float, hidden> b;
  ct::array<float, hidden, targets> v;
  ct::array<float, targets> c;
  ct::array<float, samples, features> x;
  ct::array<float, samples, targets> y;
  network_problem() { fill(w, 0.1), fill(b, 0.1), fill(v, 0.1), fill(c, 0.1), fill(x, 1), fill(y, 1); }

  network_parts by_hand(int threads) const {
    return sum_of_blocks<network_parts>(threads, [&](network_parts& own, ct::extent first, ct::extent n) {
      const rows_in xs(x.data() + first * features, n, features), ys(y.data() + first * targets, n, targets);
      const rows_in ws(w.data(), features, hidden), vs(v.data(), hidden, targets);
      matrix h(n, hidden), r(n, targets), back(n, hidden);
      h.noalias() = xs * ws;
      h = (h.rowwise() + Eigen::Map<const row>(b.data(), hidden)).array().tanh().matrix();
      r.noalias() = h * vs;
      r = (r - ys).rowwise() + Eigen::Map<const row>(c.data(), targets);
      own.loss += r.squaredNorm() / (samples * targets);
      r *= 2.0f / (samples * targets);
      own.by_v.noalias() += h.transpose() * r;
      own.by_c += r.colwise().sum();
      back.noalias() = r * vs.transpose();
      back.array() *= 1.0f - h.array().square();
      own.by_w.noalias() += xs.transpose() * back;
      own.by_b += back.colwise().sum();
    });
  }
};

}  // namespace

void add_network(int threads) {
  const char* const name = "network 64-64-8, tanh";
  const auto f = ct::jit(ct::value_and_grad(network, ct::wrt<0, 1, 2, 3>));
  bench::compare("samples", name, threads, "eigen by hand", [=] {
    ct::set_num_threads(threads);
    const auto p = std::make_shared<network_problem>();
    const auto ours = [=] { return f(p->w, p->b, p->v, p->c, p->x, p->y); };
    const auto [loss, gradients] = ours();
    const network_parts parts = p->by_hand(threads);
    require(name, loss(), parts.loss, parts.loss);
    for (int i = 0; i < features * hidden; ++i) require(name, std::get<0>(gradients).data()[i], parts.by_w.data()[i], parts.by_w.norm());
    for (int i = 0; i < hidden; ++i) require(name, std::get<1>(gradients)(i), parts.by_b(i), parts.by_b.norm());
    return bench::sides{ours, [=] { return p->by_hand(threads).loss; }};
  });
}

}  // namespace samples
