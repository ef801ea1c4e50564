/// Attention of 8 heads with 512 rows of 64 numbers, forward and backward: the result and the cotangents of queries, keys and values.

#include "problems.hpp"

#include <Eigen/Core>

namespace simulation {
namespace {

/// Of a head: queries, keys and values [n, d].
constexpr auto head = [](auto q, auto k, auto v) { return ct::matmul(ct::nn::softmax(0.125f * ct::matmul(q, ct::transpose(k))), v); };
constexpr auto both_ways = [](auto cotangent, auto q, auto k, auto v) {
  const auto [y, pullback] = ct::vjp(ct::vmap(head), q, k, v);
  return std::tuple(y, pullback(cotangent));
};

struct attention {
  static constexpr int heads = 8, n = 512, d = 64, block = 128;
  using table = ct::array<float, heads, n, d>;
  table q, k, v, g;
  std::tuple<table, std::tuple<table, table, table>> result, expected;

  attention() { source().normal(q, k, v, g); }
  void ours() { ct::jit(both_ways).into(result)(g, q, k, v); }
  double difference() const {
    double most = simulation::difference(std::get<0>(result), std::get<0>(expected));
    ct::tree_map([&](const auto& a, const auto& b) { return most = std::max(most, simulation::difference(a, b)); }, std::get<1>(result), std::get<1>(expected));
    return most;
  }

  /// Eigen's products of 128 rows of a head at a time, a head per task; between them rows of 512 on vectors.
  [[gnu::noinline]] void by_hand() {
    auto& [y, cotangents] = expected;
    auto& [by_q, by_k, by_v] = cotangents;
    tbb::parallel_for(0, heads, [&, this](int h) {
      using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
      using map = Eigen::Map<matrix>;
      using view = Eigen::Map<const matrix>;
      thread_local matrix p(block, n), t(block, n);
      const view keys(&k(h, 0, 0), n, d), values(&v(h, 0, 0), n, d);
      map to_keys(&by_k(h, 0, 0), n, d), to_values(&by_v(h, 0, 0), n, d);
      to_keys.setZero(), to_values.setZero();
      for (int first = 0; first < n; first += block) {
        const view queries(&q(h, first, 0), block, d), cotangent(&g(h, first, 0), block, d);
        map out(&y(h, first, 0), block, d), to_queries(&by_q(h, first, 0), block, d);
        p.noalias() = queries * keys.transpose();
        for (int r = 0; r < block; ++r) normalize(p.data() + r * n);
        out.noalias() = p * values;
        to_values.noalias() += p.transpose() * cotangent;
        t.noalias() = cotangent * values.transpose();
        for (int r = 0; r < block; ++r) pull(p.data() + r * n, t.data() + r * n);
        to_queries.noalias() = t * keys;
        to_keys.noalias() += t.transpose() * queries;
      }
    });
  }
  /// Softmax of a row / 8.
  static void normalize(float* p) {
    floats most = load<floats>(p), sum{};
    for (int i = 16; i < n; i += 16) most = larger(most, load<floats>(p + i));
    const float largest = largest_of(most);
    for (int i = 0; i < n; i += 16) {
      const floats e = exponential(0.125f * (load<floats>(p + i) - largest));
      sum += e, store(p + i, e);
    }
    const float scale = 1 / total(sum);
    for (int i = 0; i < n; i += 16) store(p + i, scale * load<floats>(p + i));
  }
  /// From the cotangents of the softmax to those of the products / 8.
  static void pull(const float* p, float* t) {
    floats sum{};
    for (int i = 0; i < n; i += 16) sum += load<floats>(p + i) * load<floats>(t + i);
    const float along = total(sum);
    for (int i = 0; i < n; i += 16) store(t + i, 0.125f * load<floats>(p + i) * (load<floats>(t + i) - along));
  }
};

}  // namespace

void add_attention() {
  using a = attention;
  add<a>("attention, 8 heads of [512, 64], forward and backward", 1e-5, {.float_operations = 6.0 * 2 * a::heads * a::n * a::n * a::d});
}

}  // namespace simulation
