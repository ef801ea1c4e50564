/// 131,072 symmetric positive definite systems of six unknowns, as filters and inertia tensors make them: their solutions by Cholesky's
/// factors, and the negative logarithm of a normal density, (bᵀ a⁻¹ b + log det a) / 2, with its gradient by a and b.

#include "problems.hpp"

namespace simulation {
namespace {

constexpr int order = 6, systems = 131072;

constexpr auto solutions = ct::vmap([](auto a, auto b) { return ct::linalg::cho_solve(ct::linalg::cholesky(a), b); });
constexpr auto density = ct::vmap(ct::value_and_grad([](auto a, auto b) {
  const auto l = ct::linalg::cholesky(a);
  const auto i = ct::iota<int, order>(b);
  const auto diagonal = ct::where(ct::expand_dims<1>(i) == i, l, 1);
  return 0.5 * ct::sum(ct::square(ct::linalg::solve_triangular(l, b, ct::linalg::lower))) + ct::sum(ct::log(diagonal));
}, ct::wrt<0, 1>));

/// Sixteen instances, one per lane.
struct lanes {
  floats l[order][order], inverse_diagonal[order], x[order];

  [[gnu::always_inline]] lanes(const float* a, const float* b) {
    floats elements[order * order];
    for (int first : {0, 16, 20}) {
      floats rows[16];
      for (int k = 0; k < 16; ++k) rows[k] = load<floats>(a + k * order * order + first);
      transpose(rows);
      for (int k = 0; k < 16; ++k) elements[first + k] = rows[k];
    }
    for (int j = 0; j < order; ++j)
      for (int k = 0; k < 16; ++k) x[j][k] = b[k * order + j];
#pragma GCC unroll 6
    for (int j = 0; j < order; ++j)
#pragma GCC unroll 6
      for (int i = j; i < order; ++i) {
        floats sum = elements[i * order + j];
#pragma GCC unroll 6
        for (int k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
        if (i == j) l[j][j] = root(sum), inverse_diagonal[j] = 1 / l[j][j];
        else l[i][j] = sum * inverse_diagonal[j];
      }
  }
  /// x = L⁻¹ x
  [[gnu::always_inline]] void forward() {
#pragma GCC unroll 6
    for (int i = 0; i < order; ++i) {
#pragma GCC unroll 6
      for (int k = 0; k < i; ++k) x[i] -= l[i][k] * x[k];
      x[i] *= inverse_diagonal[i];
    }
  }
  /// x = L⁻ᵀ x
  [[gnu::always_inline]] void backward() {
#pragma GCC unroll 6
    for (int i = order - 1; i >= 0; --i) {
#pragma GCC unroll 6
      for (int k = i + 1; k < order; ++k) x[i] -= l[k][i] * x[k];
      x[i] *= inverse_diagonal[i];
    }
  }
};

struct inputs {
  ct::array<float, systems, order, order> a;
  ct::array<float, systems, order> b;

  inputs() {
    source s;
    s.uniform(-1, 1, a, b);
    for (int k = 0; k < systems; ++k) {
      for (int i = 0; i < order; ++i)
        for (int j = 0; j < i; ++j) a(k, j, i) = a(k, i, j);
      for (int i = 0; i < order; ++i) a(k, i, i) += order;
    }
  }
};

struct solving : inputs {
  ct::array<float, systems, order> result, expected;
  void ours() { ct::jit(solutions).into(result)(a, b); }
  [[gnu::noinline]] void by_hand() {
    in_blocks(systems, 256, [this](std::ptrdiff_t first, std::ptrdiff_t last) {
      for (std::ptrdiff_t n = first; n < last; n += 16) {
        lanes s(a.data() + n * order * order, b.data() + n * order);
        s.forward(), s.backward();
        for (int i = 0; i < order; ++i)
          for (int k = 0; k < 16; ++k) expected.data()[(n + k) * order + i] = s.x[i][k];
      }
    });
  }
  double difference() const { return simulation::difference(result, expected); }
};

struct normal_density : inputs {
  using results = std::tuple<ct::array<float, systems>, std::tuple<ct::array<float, systems, order, order>, ct::array<float, systems, order>>>;
  results result, expected;
  void ours() { ct::jit(density).into(result)(a, b); }
  /// By the closed form: (a⁻¹ - x xᵀ) / 2 and x, where a x = b.
  [[gnu::noinline]] void by_hand() {
    in_blocks(systems, 256, [this](std::ptrdiff_t first, std::ptrdiff_t last) {
      for (std::ptrdiff_t n = first; n < last; n += 16) {
        lanes s(a.data() + n * order * order, b.data() + n * order);
        s.forward();
        floats energy{}, determinant = s.l[0][0];
        for (int i = 0; i < order; ++i) energy += s.x[i] * s.x[i];
        for (int i = 1; i < order; ++i) determinant *= s.l[i][i];
        store(std::get<0>(expected).data() + n, 0.5f * energy + logarithm(determinant));
        s.backward();
        floats inverse[order][order];  // of L
#pragma GCC unroll 6
        for (int j = 0; j < order; ++j) {
          inverse[j][j] = s.inverse_diagonal[j];
#pragma GCC unroll 6
          for (int i = j + 1; i < order; ++i) {
            floats sum{};
#pragma GCC unroll 6
            for (int k = j; k < i; ++k) sum -= s.l[i][k] * inverse[k][j];
            inverse[i][j] = sum * s.inverse_diagonal[i];
          }
        }
        floats elements[order * order];
#pragma GCC unroll 6
        for (int i = 0; i < order; ++i)
#pragma GCC unroll 6
          for (int j = 0; j <= i; ++j) {
            floats sum = -s.x[i] * s.x[j];
#pragma GCC unroll 6
            for (int k = i; k < order; ++k) sum += inverse[k][i] * inverse[k][j];
            elements[i * order + j] = elements[j * order + i] = 0.5f * sum;
          }
        auto& [by_a, by_b] = std::get<1>(expected);
        for (int start : {0, 16, 20}) {
          floats rows[16];
          for (int k = 0; k < 16; ++k) rows[k] = elements[start + k];
          transpose(rows);
          for (int k = 0; k < 16; ++k) store(by_a.data() + (n + k) * order * order + start, rows[k]);
        }
        for (int i = 0; i < order; ++i)
          for (int k = 0; k < 16; ++k) by_b.data()[(n + k) * order + i] = s.x[i][k];
      }
    });
  }
  double difference() const {
    const auto& [value, gradient] = result;
    const auto& [own_value, own_gradient] = expected;
    return std::max({simulation::difference(value, own_value), simulation::difference(std::get<0>(gradient), std::get<0>(own_gradient)),
                     simulation::difference(std::get<1>(gradient), std::get<1>(own_gradient))});
  }
};

}  // namespace

void add_systems() {
  constexpr double size = sizeof(float) * double(systems);
  add<solving>("131,072 systems of 6 unknowns: solutions", 1e-5, {.bytes = size * (36 + 6 + 6)});
  add<normal_density>("131,072 normal densities in 6 dimensions: value and gradient", 1e-5, {.bytes = size * (36 + 6 + 1 + 36 + 6)});
}

}  // namespace simulation
