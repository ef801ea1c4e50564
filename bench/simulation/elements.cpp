/// Finite elements: nodal forces and tangent stiffness [8, 3, 8, 3] of hexahedra of 8 nodes and 8 points of quadrature, of a
/// compressible neo-Hookean material (Bonet and Wood, "Nonlinear continuum mechanics for finite element analysis", 2008, 6.4.3). What
/// depends on the mesh at rest, gradients of shape functions and weights, is given. bench/meson.build compiles this file once with
/// the tangent of the material alone differentiated twice, and once with the Hessian of an element's energy.

#include "problems.hpp"

namespace simulation {
namespace {

constexpr float mu = 0.4f, lambda = 0.6f;

/// The energy of a deformation gradient [3, 3].
constexpr auto material = [](auto f) {
  const auto column = [&]<int K>(std::integral_constant<int, K>) { return f(ct::full_extent, ct::index<K>); };
  const auto a = column(std::integral_constant<int, 0>()), b = column(std::integral_constant<int, 1>()), c = column(std::integral_constant<int, 2>());
  const auto log_volume = ct::log(ct::dot(a, ct::cross(b, c)));
  return 0.5f * mu * (ct::sum(f * f) - 3.0f) - mu * log_volume + 0.5f * lambda * log_volume * log_volume;
};
/// Stress and tangent of the material at each point of quadrature, and sums over the points.
constexpr auto by_points = [](auto u, auto nodes, auto gradients, auto weights) {
  const auto f = ct::eye<float, 3>() + ct::einsum<"eai,eqaj->eqij">(ct::take<0>(u, nodes), gradients);  // [elements, 8, 3, 3]
  const auto stress = ct::vmap(ct::vmap(ct::grad(material)))(f);
  const auto tangent = ct::vmap(ct::vmap(ct::hessian(material)))(f);
  const auto weighted = gradients * ct::expand_dims<-1>(ct::expand_dims<-1>(weights));
  const auto forces = ct::einsum<"eqaj,eqij->eai">(weighted, stress);
  const auto stiffness = ct::einsum<"eqaikl,eqbl->eaibk">(ct::einsum<"eqaj,eqijkl->eqaikl">(weighted, tangent), gradients);
  return std::tuple(ct::at(ct::zeros_like(u), nodes).add(forces), stiffness);
};
/// The energy of an element, of displacements [8, 3], gradients [8, 8, 3] by point and node, and weights [8].
constexpr auto energy = [](auto u, auto gradients, auto weights) {
  const auto at = [](auto u, auto gradient) { return material(ct::eye<float, 3>() + ct::matmul(ct::transpose(u), gradient)); };
  return ct::sum(weights * ct::vmap(at, ct::in_axes<ct::none, 0>)(u, gradients));
};
constexpr auto by_elements = [](auto u, auto nodes, auto gradients, auto weights) {
  const auto own = ct::take<0>(u, nodes);
  const auto forces = ct::vmap(ct::grad(energy))(own, gradients, weights);
  return std::tuple(ct::at(ct::zeros_like(u), nodes).add(forces), ct::vmap(ct::hessian(energy))(own, gradients, weights));
};

/// A block of W x D x H elements, whose inner nodes are moved a little.
template <auto& Assembled, int W, int D, int H> struct block {
  static constexpr ct::extent count = ct::extent(W) * D * H, points = ct::extent(W + 1) * (D + 1) * (H + 1);
  ct::array<float, points, 3> u;
  ct::array<std::int32_t, count, 8> nodes;
  ct::array<float, count, 8, 8, 3> gradients;
  ct::array<float, count, 8> weights;
  std::tuple<ct::array<float, points, 3>, ct::array<float, count, 8, 3, 8, 3>> result, expected;

  block() {
    source random;
    ct::array<float, points, 3> at;
    random.uniform(-0.1, 0.1, at), random.uniform(-0.05, 0.05, u);
    for (int i = 0; i < points; ++i) at(i, 0) += float(i % (W + 1)), at(i, 1) += float(i / (W + 1) % (D + 1)), at(i, 2) += float(i / (W + 1) / (D + 1));
    for (int e = 0; e < count; ++e) {
      const int x = e % W, y = e / W % D, z = e / W / D;
      for (int a = 0; a < 8; ++a) nodes(e, a) = (x + (a & 1)) + (W + 1) * ((y + (a >> 1 & 1)) + (D + 1) * (z + (a >> 2)));
      for (int q = 0; q < 8; ++q) shape(e, q, at);
    }
  }
  /// Gradients of the trilinear shape functions at a point of Gauss, and the volume that it stands for.
  void shape(int e, int q, const ct::array<float, points, 3>& at) {
    double local[8][3], j[3][3] = {};
    for (int a = 0; a < 8; ++a) {
      double factor[3];
      for (int k = 0; k < 3; ++k) factor[k] = 0.5 * (1 + ((q ^ a) >> k & 1 ? -1 : 1) / std::sqrt(3.0));
      for (int k = 0; k < 3; ++k) local[a][k] = (a >> k & 1 ? 0.5 : -0.5) * factor[(k + 1) % 3] * factor[(k + 2) % 3];
      for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k) j[i][k] += at(nodes(e, a), i) * local[a][k];
    }
    double cofactor[3][3], volume = 0;
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k)
        cofactor[i][k] = j[(i + 1) % 3][(k + 1) % 3] * j[(i + 2) % 3][(k + 2) % 3] - j[(i + 1) % 3][(k + 2) % 3] * j[(i + 2) % 3][(k + 1) % 3];
    for (int k = 0; k < 3; ++k) volume += j[0][k] * cofactor[0][k];
    for (int a = 0; a < 8; ++a)
      for (int i = 0; i < 3; ++i) gradients(e, q, a, i) = float((cofactor[i][0] * local[a][0] + cofactor[i][1] * local[a][1] + cofactor[i][2] * local[a][2]) / volume);
    weights(e, q) = float(volume);
  }

  void ours() { ct::jit(Assembled).into(result)(u, nodes, gradients, weights); }
  double difference() const {
    return std::max(simulation::difference(std::get<0>(result), std::get<0>(expected)), simulation::difference(std::get<1>(result), std::get<1>(expected)));
  }

  struct work { floats columns[8][24], moved[8][8][3], one[8], two[8], stiffness[576], own[8][3], forces[8][3]; };

  /// 16 elements at a time. With the gradients g in the deformed body, the stiffness of nodes a and b is the sum of
  /// w (mu (G_a . G_b) 1 + lambda g_a g_b^T + (mu - lambda log J) g_b g_a^T), half of which follows by symmetry. Each of two
  /// threads adds forces of its own.
  [[gnu::noinline]] void by_hand() {
    static std::vector<float> sums(2 * 3 * points);
    auto& [forces, stiffness] = expected;
    tbb::parallel_for(0, 2, [&, this](int thread) {
      static thread_local work w;
      float* own = sums.data() + 3 * points * thread;
      std::fill_n(own, 3 * points, 0.0f);
      const ct::extent half = count / 32 * 16;
      for (ct::extent e = thread ? half : 0; e < (thread ? count : half); e += 16) elements(e, w, own, stiffness.data());
    }, tbb::static_partitioner{});
    in_blocks(3 * points, 1 << 14, [&](std::ptrdiff_t first, std::ptrdiff_t last) {
      for (std::ptrdiff_t i = first; i < last; ++i) forces.data()[i] = sums[std::size_t(i)] + sums[std::size_t(3 * points + i)];
    });
  }
  void elements(ct::extent e, work& w, float* sums, float* to) const {
    for (int a = 0; a < 8; ++a)
      for (int i = 0; i < 3; ++i) {
        w.forces[a][i] = floats{};
        for (int l = 0; l < 16; ++l) w.own[a][i][l] = u(nodes(e + l, a), i);
      }
    floats t[16], weight[8];
    for (int l = 0; l < 16; ++l) t[l] = floats{}, __builtin_memcpy(&t[l], &weights(e + l, 0), 32);
    transpose(t);
    std::copy_n(t, 8, weight);
    floats* rest = &w.columns[0][0];  // [8, 8, 3], one element per lane
    for (int part = 0; part < 12; ++part) {
      for (int l = 0; l < 16; ++l) t[l] = load<floats>(&gradients(e + l, 0, 0, 0) + 16 * part);
      transpose(t);
      std::copy_n(t, 16, rest + 16 * part);
    }
    for (int q = 0; q < 8; ++q) {
      floats f[3][3] = {}, inverse[3][3], stress[3][3];
      const floats* g = rest + 24 * q;
      for (int i = 0; i < 3; ++i) f[i][i] = floats{} + 1.0f;
      for (int a = 0; a < 8; ++a)
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 3; ++j) f[i][j] += w.own[a][i] * g[3 * a + j];
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
          inverse[i][j] = f[(i + 1) % 3][(j + 1) % 3] * f[(i + 2) % 3][(j + 2) % 3] - f[(i + 1) % 3][(j + 2) % 3] * f[(i + 2) % 3][(j + 1) % 3];
      const floats volume = f[0][0] * inverse[0][0] + f[0][1] * inverse[0][1] + f[0][2] * inverse[0][2], scale = 1.0f / volume;
      const floats pressure = lambda * logarithm(volume) - mu;
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) inverse[i][j] *= scale, stress[i][j] = weight[q] * (mu * f[i][j] + pressure * inverse[i][j]);  // inverse is transposed
      w.one[q] = lambda * weight[q], w.two[q] = -pressure * weight[q];
      for (int a = 0; a < 8; ++a)
        for (int i = 0; i < 3; ++i) {
          w.moved[q][a][i] = inverse[i][0] * g[3 * a] + inverse[i][1] * g[3 * a + 1] + inverse[i][2] * g[3 * a + 2];
          w.forces[a][i] += stress[i][0] * g[3 * a] + stress[i][1] * g[3 * a + 1] + stress[i][2] * g[3 * a + 2];
        }
    }
    for (int a = 0; a < 8; ++a)
      for (int b = 0; b <= a; ++b) {
        floats k[3][3] = {}, diagonal{};
        for (int q = 0; q < 8; ++q) {
          const floats *ga = rest + 24 * q + 3 * a, *gb = rest + 24 * q + 3 * b, *ma = w.moved[q][a], *mb = w.moved[q][b];
          diagonal += (mu * weight[q]) * (ga[0] * gb[0] + ga[1] * gb[1] + ga[2] * gb[2]);
          for (int i = 0; i < 3; ++i) {
            const floats one = w.one[q] * ma[i], two = w.two[q] * mb[i];
            for (int j = 0; j < 3; ++j) k[i][j] += one * mb[j] + two * ma[j];
          }
        }
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 3; ++j) {
            if (i == j) k[i][j] += diagonal;
            w.stiffness[24 * (3 * a + i) + 3 * b + j] = w.stiffness[24 * (3 * b + j) + 3 * a + i] = k[i][j];
          }
      }
    for (int part = 0; part < 36; ++part) {
      std::copy_n(w.stiffness + 16 * part, 16, t);
      transpose(t);
      for (int l = 0; l < 16; ++l) store_once(to + 576 * (e + l) + 16 * part, t[l]);
    }
    for (int l = 0; l < 16; ++l)
      for (int a = 0; a < 8; ++a)
        for (int i = 0; i < 3; ++i) sums[3 * nodes(e + l, a) + i] += w.forces[a][i][l];
  }
};

}  // namespace

template <bool Direct> void add_elements() {
  const double bytes = 4 * (576 + 192 + 8 + 8);  // of an element
  if constexpr (Direct) add<block<by_elements, 20, 20, 10>>("neo-Hookean hexahedra: 4,000, Hessians of elements", 1e-5, {.bytes = 4000 * bytes});
  else add<block<by_points, 50, 50, 40>>("neo-Hookean hexahedra: 100,000, forces and stiffness", 1e-5, {.bytes = 100000 * bytes});
}
template void add_elements<ELEMENTS_DIRECT>();

}  // namespace simulation
