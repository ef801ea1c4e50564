/// The gradient of a recurrent network on one sequence: each turn of the way back adds an outer product to the cotangent of a matrix.

#include <Eigen/Dense>

#include <oneapi/tbb/parallel_for.h>

#include "loops.hpp"

namespace loops {
namespace {

constexpr int turns = 200, hidden = 512, inputs = 32;
using weights = ct::array<float, hidden, hidden>;
using input_weights = ct::array<float, hidden, inputs>;
using sequence = ct::array<float, turns, inputs>;

constexpr auto network_loss = [](auto w, auto u, auto xs) {
  const auto step = [w, u](auto h, auto x) {
    const auto next = ct::tanh(ct::matmul(w, h) + ct::matmul(u, x));
    return std::tuple(next, ct::sum(ct::square(next)));
  };
  const auto [end, squares] = ct::scan(step, 0.0f * ct::sum(w, ct::axis<0>), xs);
  return ct::sum(squares);
};
constexpr auto network_gradient = ct::grad(network_loss, ct::wrt<0, 1>);

struct network {
  weights w, slope_w;
  input_weights u, slope_u;
  sequence xs;
  std::tuple<weights, input_weights> result;

  network() {
    const auto fill = [](auto& a, float size, float phase) {
      for (ct::extent i = 0; i < a.size(); ++i) a.data()[i] = size * std::sin(1.37f * float(i) + phase);
    };
    fill(w, 0.05f, 0), fill(u, 0.3f, 1), fill(xs, 1, 2);
  }
  void ours() { ct::jit(network_gradient).into(result)(w, u, xs); }
  /// States and cotangents of all turns are kept; two threads multiply them, by rows.
  [[gnu::noinline]] void by_hand() {
    using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    using vector = Eigen::VectorXf;
    static matrix states(turns + 1, hidden), cotangents(turns, hidden), driven(turns, hidden);
    const Eigen::Map<const matrix> w_of(w.data(), hidden, hidden), u_of(u.data(), hidden, inputs), x_of(xs.data(), turns, inputs);
    Eigen::Map<matrix> to_w(slope_w.data(), hidden, hidden), to_u(slope_u.data(), hidden, inputs);
    driven.noalias() = x_of * u_of.transpose();
    states.row(0).setZero();
    vector h(hidden), g = vector::Zero(hidden);
    for (int t = 0; t < turns; ++t) {
      h.noalias() = w_of * states.row(t).transpose();
      states.row(t + 1) = (h.transpose() + driven.row(t)).array().tanh();
    }
    for (int t = turns; t-- > 0;) {
      const auto state = states.row(t + 1).transpose().array();
      h = (g.array() + 2 * state) * (1 - state * state);
      cotangents.row(t) = h;
      g.noalias() = w_of.transpose() * h;
    }
    tbb::parallel_for(0, 2, [&](int half) {
      const auto rows = cotangents.middleCols(half * hidden / 2, hidden / 2).transpose();
      to_w.middleRows(half * hidden / 2, hidden / 2).noalias() = rows * states.topRows(turns);
      to_u.middleRows(half * hidden / 2, hidden / 2).noalias() = rows * x_of;
    });
  }
};

}  // namespace

void add_network() {
  bench::compare("loops", "recurrent network [512], 200 steps, grad", 2, "Eigen", [] {
    auto data = std::make_shared<network>();
    data->ours(), data->by_hand();
    double largest = 0, difference = 0;
    for (ct::extent i = 0; i < data->slope_w.size(); ++i) {
      const double a = std::get<0>(data->result).data()[i], b = data->slope_w.data()[i];
      largest = std::max(largest, std::abs(b)), difference = std::max(difference, std::abs(a - b));
    }
    expect_close("recurrent network", largest + difference, largest, 1e-4);
    return bench::sides{[=] { data->ours(); }, [=] { data->by_hand(); }};
  });
}

}  // namespace loops
