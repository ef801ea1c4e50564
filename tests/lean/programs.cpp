/// Programs of every kind of step: kernels, products of matrices, loops, branches, packets, solvers, run-time extents.

#include <cotangent/cotangent.hpp>

namespace ct = cotangent;

using vector = ct::array<double, 30>;
using matrix = ct::array<double, 30, 30>;
using rows = ct::array<float, ct::dyn, 40>;

auto kernels(const rows& x) { return ct::jit(ct::grad([](auto v) { return ct::sum(ct::square(ct::nn::softmax(v))); }))(x); }
auto products(const matrix& x, const vector& y) {
  return ct::jit([](auto a, auto b) { return std::tuple(ct::tanh(ct::matmul(a, b)), ct::matmul(ct::tril(a), a)); })(x, y);
}
auto solvers(const matrix& x, const vector& y) { return ct::jit([](auto a, auto b) { return ct::linalg::solve(a, b); })(x, y); }
auto loops(const vector& x) {
  return ct::jit(ct::grad([](auto v) {
    const auto step = [](auto c, auto i) { return std::pair(ct::sin(c) + i, ct::sum(c)); };
    const auto [c, sums] = ct::scan(step, v, ct::iota<double, 100>());
    return ct::sum(c) + ct::sum(sums);
  }))(x);
}
auto branches(const vector& x) {
  return ct::jit([](auto v) {
    const auto halved = ct::while_loop([](auto s) { return ct::sum(s) > 1.0; }, [](auto s) { return s * 0.5; }, v);
    return ct::cond(ct::sum(v) > 0.0, [](auto a) { return ct::exp(a); }, [](auto a) { return -a; }, halved);
  })(x);
}
auto instances(const ct::array<double, 500, 3>& x, const ct::array<std::int32_t, 500>& i) {
  const auto f = [](auto at, auto table, auto v) { return ct::sum(ct::square(ct::take<0>(table, at) - v)); };
  return ct::jit(ct::vmap(ct::jacfwd(f, ct::wrt<2>), ct::in_axes<0, ct::none, 0>))(i, x, x);
}
auto scatters(const vector& x, const ct::array<std::int32_t, 7>& i) { return ct::jit([](auto v, auto at) { return ct::at(v, at).add(1.0); })(x, i); }
auto sorts(const vector& x) { return ct::jit([](auto v) { return std::tuple(ct::sort(v), ct::cumsum(v, ct::axis<0>), ct::top_k<3>(v)); })(x); }
vector expressions(const vector& x, const vector& y) { return 2.0 * x + ct::sin(y); }
