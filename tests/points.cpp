/// Points of the instances of packets: what is done to each by itself, along directions of differentiation, as elements.

#include <cotangent/cotangent.hpp>

#include "catch.hpp"
#include "instances.hpp"

namespace ct = cotangent;
using namespace instances;

namespace {

/// The energy of a deformation gradient [2, 2].
constexpr auto material = [](auto f) {
  const auto element = [&]<int I, int J>(std::integer_sequence<int, I, J>) { return f(ct::index<I>, ct::index<J>); };
  const auto volume = element(std::integer_sequence<int, 0, 0>()) * element(std::integer_sequence<int, 1, 1>()) - element(std::integer_sequence<int, 0, 1>()) * element(std::integer_sequence<int, 1, 0>());
  return 0.2 * ct::sum(f * f) - 0.4 * ct::log(volume) + 0.3 * ct::square(ct::log(volume));
};
/// Forces [6, 2] and stiffness [6, 2, 6, 2] of an element, of its displacements [6, 2], gradients [points, nodes, 2] and weights [points].
constexpr auto element = [](auto u, auto gradients, auto weights) {
  const auto f = ct::eye<double, 2>() + ct::einsum<"ai,qaj->qij">(u, gradients);
  const auto weighted = gradients * ct::expand_dims<1>(ct::expand_dims<1>(weights));
  const auto forces = ct::einsum<"qaj,qij->ai">(weighted, ct::vmap(ct::grad(material))(f));
  const auto tangent = ct::vmap(ct::hessian(material))(f);
  return std::tuple(forces, ct::einsum<"qaikl,qbl->aibk">(ct::einsum<"qaj,qijkl->qaikl">(weighted, tangent), gradients));
};
constexpr auto elements = ct::vmap(element);
/// The same with the elements along other axes.
constexpr auto elements_inside = ct::vmap(element, ct::in_axes<1, 2, 1>, ct::out_axes<2, 1>);
constexpr auto moved = [](auto u, auto gradients, auto weights) {
  return elements_inside(ct::transpose<1, 0, 2>(u), ct::transpose<1, 2, 0, 3>(gradients), ct::transpose<1, 0>(weights));
};

/// An instance without points: values [12] of its matrix, and the Hessian of their sum of squares by p [3].
constexpr auto values = [](auto p, auto a, auto b) { return ct::tanh(ct::matmul(a, ct::matmul(b, ct::sin(p)))) + ct::matmul(b, p * p); };
constexpr auto curvature = ct::hessian([](auto p, auto a, auto b) { return ct::sum(ct::square(values(p, a, b))); });
constexpr auto curvatures = ct::vmap([](auto p, auto a, auto b) { return std::tuple(values(p, a, b), curvature(p, a, b)); }, ct::in_axes<0, 0, ct::none>);

/// A product of which d/da is said to be b, and d/db to be 3 a: its gradient has no symmetric Jacobian.
constexpr auto product = ct::custom_jvp([](auto a, auto b) { return a * b; }, [](auto primals, auto tangents) {
  const auto [a, b] = primals;
  const auto [da, db] = tangents;
  return std::tuple(a * b, da * b + 3.0 * a * db);
});
constexpr auto product_of_two = [](auto y) { return product(y(ct::index<0>), y(ct::index<1>)); };

/// Whether the packets of a function have points.
template <class F, class... A> constexpr bool has_points() {
  const ct::graph g = ct::thaw(ct::canonical_function<ct::host::backend, F, ct::traced_tree<A>...>);
  for (const ct::graph& body : g.subgraphs)
    for (ct::extent lanes : {16, 32, 48, 64})
      if (ct::extent_of_points(body, lanes) > 0) return true;
  return false;
}

template <class T, ct::extent N> struct mesh {
  ct::array<T, N, 6, 2> u;
  ct::array<T, N, 6, 6, 2> gradients;
  ct::array<T, N, 6> weights;
};
template <class T, ct::extent N> mesh<T, N> random_mesh(ct::extent n) {
  mesh<T, N> r;
  if constexpr (N == ct::dyn) r = {ct::array<T, N, 6, 2>({n, 6, 2}), ct::array<T, N, 6, 6, 2>({n, 6, 6, 2}), ct::array<T, N, 6>({n, 6})};
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (T& x : r.u) x = T(0.1 * uniform(random));
  for (T& x : r.gradients) x = T(uniform(random));
  for (T& x : r.weights) x = T(1 + 0.5 * uniform(random));
  return r;
}

/// Instance i of a run-time number of them.
template <ct::extent... E> ct::array<double, E...> copied(const ct::array<double, ct::dyn, E...>& a, ct::extent i) {
  ct::array<double, E...> r;
  std::copy_n(a.data() + i * r.size(), r.size(), r.data());
  return r;
}

}  // namespace

TEMPLATE_TEST_CASE("points of packets give what single instances give", "", float, double) {
  using T = TestType;
  constexpr ct::extent n = 2003;  // the last packet is not full
  const auto x = random_mesh<T, n>(n);
  using F = std::remove_const_t<decltype(elements)>;
  static_assert(has_points<F, decltype(x.u), decltype(x.gradients), decltype(x.weights)>());
  const auto [forces, stiffness] = ct::jit(elements)(x.u, x.gradients, x.weights);
  const auto [forces_inside, stiffness_inside] = ct::jit(moved)(x.u, x.gradients, x.weights);
  double error = 0, asymmetry = 0, inside = 0;
  for (ct::extent e = 0; e < n; e += 11) {
    const auto [force, one] = ct::jit(element)(row(x.u, e), row(x.gradients, e), row(x.weights, e));
    error = std::max({error, row_error(forces, e, force), row_error(stiffness, e, one)});
    for (int i = 0; i < 12; ++i) {
      inside = std::max(inside, std::abs(double(forces_inside(i / 2, i % 2, e)) - double(force(i / 2, i % 2))));
      for (int j = 0; j < 12; ++j) {
        const double k = double(stiffness(e, i / 2, i % 2, j / 2, j % 2));
        asymmetry = std::max(asymmetry, std::abs(k - double(stiffness(e, j / 2, j % 2, i / 2, i % 2))));
        inside = std::max(inside, std::abs(k - double(stiffness_inside(i / 2, e, i % 2, j / 2, j % 2))));
      }
    }
  }
  const double tolerance = std::is_same_v<T, float> ? 1e-5 : 1e-13;
  CHECK(error <= tolerance);
  CHECK(asymmetry <= 20 * tolerance);
  CHECK(inside <= 20 * tolerance);
}

TEST_CASE("the number of instances with points may be known at run time only") {
  const auto f = ct::jit(elements);
  for (const ct::extent n : {0, 1, 15, 16, 17, 200}) {
    const auto x = random_mesh<double, ct::dyn>(n);
    if (n == 0) CHECK(f.kernels(x.u, x.gradients, x.weights).find("packets") != std::string::npos);
    const auto [forces, stiffness] = f(x.u, x.gradients, x.weights);
    REQUIRE(stiffness.extent(0) == n);
    double error = 0;
    for (ct::extent e = 0; e < n; ++e) {
      const auto [force, k] = ct::jit(element)(copied<6, 2>(x.u, e), copied<6, 6, 2>(x.gradients, e), copied<6>(x.weights, e));
      for (int i = 0; i < 12; ++i)
        for (int j = 0; j < 12; ++j) error = std::max(error, std::abs(stiffness(e, i / 2, i % 2, j / 2, j % 2) - k(i / 2, i % 2, j / 2, j % 2)));
    }
    CHECK(error <= 1e-12);
  }
}

TEST_CASE("the directions of an instance need no points where products with unit arrays are choices") {
  constexpr ct::extent n = 4001;
  const auto p = random_array<ct::array<double, n, 3>>(1);
  const auto a = random_array<ct::array<double, n, 12, 12>>(2);
  const auto b = random_array<ct::array<double, 12, 3>>(3);
  static_assert(!has_points<std::remove_const_t<decltype(curvatures)>, decltype(p), decltype(a), decltype(b)>());
  const auto [all, hessians] = ct::jit(curvatures)(p, a, b);
  double error = 0;
  for (ct::extent i = 0; i < n; i += 13) {
    error = std::max(error, row_error(all, i, ct::jit(values)(row(p, i), row(a, i), b)));
    error = std::max(error, row_error(hessians, i, ct::jit(curvature)(row(p, i), row(a, i), b)));
  }
  CHECK(error <= 1e-12);
}

TEST_CASE("elements of a Hessian that are equal are computed once, but for rules of the user's") {
  const auto x = random_array<ct::array<double, 100, 5>>(1);
  const auto f = [](auto y) { return ct::sum(ct::exp(y * ct::flip<0>(y)) * ct::sum(y * y * y)); };
  const auto all = ct::jit(ct::vmap(ct::hessian(f)))(x);
  const auto columns = ct::jit(ct::vmap(ct::jacfwd(ct::grad(f))))(x);
  double error = 0;
  bool symmetric = true;
  for (ct::extent n = 0; n < 100; ++n)
    for (int i = 0; i < 5; ++i)
      for (int j = 0; j < 5; ++j) error = std::max(error, std::abs(all(n, i, j) - columns(n, i, j))), symmetric = symmetric && all(n, i, j) == all(n, j, i);
  CHECK(error <= 1e-12);
  CHECK(symmetric);
  CHECK(ct::jit(ct::vmap(ct::hessian(f))).cost(x).flops < ct::jit(ct::vmap(ct::jacfwd(ct::grad(f)))).cost(x).flops);

  const auto said = ct::jit(ct::vmap(ct::hessian(product_of_two)))(random_array<ct::array<double, 100, 2>>(2));
  CHECK(said(0, 0, 1) != said(0, 1, 0));

  // Third derivatives and reverse mode go through.
  const auto third = ct::jit(ct::vmap(ct::jacfwd(ct::hessian(f))))(x);
  const auto by_rows = ct::jit(ct::vmap(ct::jacrev(ct::hessian(f))))(x);
  double difference = 0;
  for (ct::extent k = 0; k < third.size(); ++k) difference = std::max(difference, std::abs(third.data()[k] - by_rows.data()[k]));
  CHECK(difference <= 1e-10);
}
