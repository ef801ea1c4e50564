/// Per-instance programs with two axes of instances: functions of a small array each from two batches, for every pair.

#include <cotangent/cotangent.hpp>

#include "catch.hpp"
#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

/// F(a_i, b_j) for all pairs: [i, j, ...].
template <class F> struct pairs {
  template <class A, class B> constexpr auto operator()(const A& a, const B& b) const {
    const auto row = [](auto x, auto all) { return ct::vmap(F{}, ct::in_axes<ct::none, 0>)(x, all); };
    return ct::vmap(row, ct::in_axes<0, ct::none>)(a, b);
  }
};
constexpr auto attraction = [](auto x, auto y) {
  const auto d = x - y;
  const auto squares = ct::sum(d * d) + 0.25;
  return 1.0 / (squares * squares) - 1.0 / squares;
};
constexpr pairs<decltype(attraction)> potentials;
constexpr auto energy = [](auto a, auto b) { return ct::sum(potentials(a, b)); };

/// The log density of a mixture of K normal distributions with triangular precision factors given by their entries (log
/// diagonals, then rows), at points [n, 3].
constexpr auto mixture = [](auto weights, auto centers, auto entries, auto points) {
  const auto factor = [](auto v) {
    const auto j = ct::broadcast_to<3, 3>(ct::iota<std::int32_t, 3>(v)), i = ct::transpose(j);
    const auto below = ct::take<0>(v, ct::where(i > j, 3 + ((i * (i - 1)) >> 1) + j, 0));
    return ct::where(i == j, ct::exp(ct::take<0>(v, i)), ct::where(i > j, below, 0.0));
  };
  const auto one = [](auto x, auto w, auto m, auto l) {
    const auto y = ct::dot(l, x - m);
    return w - 0.5 * ct::sum(y * y);
  };
  const auto terms = ct::vmap([one](auto w, auto m, auto l, auto x) { return ct::vmap(one, ct::in_axes<0, ct::none, ct::none, ct::none>)(x, w, m, l); },
                              ct::in_axes<0, 0, 0, ct::none>)(weights, centers, ct::vmap(factor)(entries), points);
  return ct::sum(ct::logsumexp(terms, ct::axis<0>)) - ct::sum(ct::square(entries));
};

}  // namespace

TEST_CASE("a function of every pair of small arrays is one kernel") {  // behind one that copies columns and before one that puts sums together
  const auto a = between<double, 70, 3>(-1, 1);
  const auto b = between<double, 90, 3>(-1, 1, 1);
  static_assert(ct::jit(potentials).cost(a, b).kernels == 2);
  static_assert(ct::jit(ct::value_and_grad(energy)).cost(a, b).kernels == 3);
  check_jit(potentials, 1e-13, a, b);
  check_jit(ct::value_and_grad(energy, ct::wrt<0, 1>), 1e-12, a, b);
  check_jit(ct::value_and_grad(energy, ct::wrt<0, 1>), 1e-4, between<float, 64, 3>(-1, 1), between<float, 101, 3>(-1, 1, 1));
}

TEST_CASE("pairs whose numbers are known at run time only") {
  for (const ct::extent n : {0, 1, 7, 33})
    for (const ct::extent m : {0, 1, 64}) {
      const auto some = between<double, 64, 3>(-1, 1);
      ct::array<double, ct::dyn, 3> a({n, 3}), b({m, 3});
      for (ct::extent k = 0; k < 3 * n; ++k) a.data()[k] = some.data()[k];
      for (ct::extent k = 0; k < 3 * m; ++k) b.data()[k] = 0.5 - some.data()[k];
      static_assert(ct::jit(ct::grad(energy)).cost(a, b).kernels == 3);
      const auto [value, gradient] = ct::jit(ct::value_and_grad(energy))(a, b);
      double sum = 0;
      for (ct::extent i = 0; i < n; ++i) {
        double force[3] = {};
        for (ct::extent j = 0; j < m; ++j) {
          double squares = 0.25;
          for (int k = 0; k < 3; ++k) squares += (a(i, k) - b(j, k)) * (a(i, k) - b(j, k));
          sum += 1 / (squares * squares) - 1 / squares;
          for (int k = 0; k < 3; ++k) force[k] += 2 * (a(i, k) - b(j, k)) * (1 / (squares * squares) - 2 / (squares * squares * squares));
        }
        for (int k = 0; k < 3; ++k) CHECK(std::abs(gradient(i, k) - force[k]) <= 1e-11 * (1 + std::abs(force[k])));
      }
      CHECK(std::abs(double(value) - sum) <= 1e-11 * (1 + std::abs(sum)));
    }
}

TEST_CASE("a mixture: short axes of instances, masks and tables that are known, sums over either axis") {
  const auto gradient = ct::value_and_grad(mixture, ct::wrt<0, 1, 2>);
  // Few components are elements of an instance, 20 are instances themselves.
  const auto check = [&]<ct::extent K>(std::integral_constant<ct::extent, K>, std::size_t kernels) {
    const auto weights = between<double, K>(-1, 1);
    const auto centers = between<double, K, 3>(-1, 1, 1);
    const auto entries = between<double, K, 6>(-0.5, 0.5, 2);
    const auto points = between<double, 130, 3>(-1, 1, 3);
    constexpr ct::program_cost cost = ct::jit(ct::value_and_grad(mixture, ct::wrt<0, 1, 2>)).cost(weights, centers, entries, points);
    CHECK(std::size_t(cost.kernels) <= kernels);
    check_jit(gradient, 1e-12, weights, centers, entries, points);
  };
  check(std::integral_constant<ct::extent, 3>{}, 3);
  check(std::integral_constant<ct::extent, 20>{}, 12);
}

TEST_CASE("products and sums over pairs with transposes") {
  // [a, 2], [b, 2]: matrices of pairs, summed over one batch, contracted over the other, transposed.
  const auto f = [](auto a, auto b) {
    const auto outer = pairs<decltype([](auto x, auto y) { return ct::outer(x, ct::tanh(y)); })>{}(a, b);         // [a, b, 2, 2]
    const auto turned = ct::transpose<1, 0, 3, 2>(outer);           // [b, a, 2, 2]
    const auto over_b = ct::tensordot<1>(ct::transpose<0, 2, 1>(ct::sum(outer, ct::axis<2>)), b);  // [a, 2, 2]
    return std::tuple(ct::sum(turned, ct::axis<1>), ct::max(outer, ct::axis<0>), ct::sum(turned * 2.0 + 1.0, ct::axis<0, 3>), ct::sum(outer, ct::axis<0, 1>), over_b);
  };
  check_jit(f, 1e-13, between<double, 66, 2>(-1, 1), between<double, 75, 2>(-1, 1, 1));
}

TEST_CASE("tables of pairs by indices that are known, where the axes of instances swap places") {
  const auto f = pairs<decltype([](auto x, auto y) {
    const auto d = ct::sin(x - y);
    return ct::sum(d * ct::take<0>(d, 5 - ct::iota<std::int32_t, 6>(d)));
  })>{};
  check_jit(f, 1e-12, between<double, 100, 6>(-1, 1), between<double, 60, 6>(-1, 1, 1));
}

TEST_CASE("three long axes stay arrays") {
  const auto f = [](auto a, auto b) {
    return std::tuple(ct::sum(a, ct::axis<1, 2>), ct::sum(a, ct::axis<2>), ct::sum(ct::sin(b), ct::axis<1>), ct::max(a * 2.0, ct::axis<1>));
  };
  check_jit(f, 1e-12, between<double, 64, 65, 66>(-1, 1), between<double, 64, 3>(-1, 1, 1));
  check_jit(f, 1e-12, between<double, 100, 20, 20>(-1, 1), between<double, 20, 3>(-1, 1, 1));
}

TEST_CASE("products of large matrices stay matrix products") {
  const auto attention = [](auto q, auto k, auto v) {  // [2, 70, 65] each
    const auto p = ct::nn::softmax(ct::einsum<"hqd,hkd->hqk">(q, k));
    return ct::concatenate<0>(ct::einsum<"hqk,hkd->hqd">(p, v), q);
  };
  const auto q = between<double, 2, 70, 65>(-1, 1);
  const auto k = between<double, 2, 70, 65>(-1, 1, 1);
  CHECK(ct::jit(attention).kernels(q, k, k).find("gemm") != std::string::npos);
  check_jit(attention, 1e-12, q, k, k);
}

/// An array of all pairs of points x [n, 3] with charges q [n], and its sum along the first axis: which is made along the second where
/// the exchange of the two is nothing or a change of sign, and is right in any case.
template <class F> struct sum_along_first {
  template <class X, class Q> constexpr auto operator()(const X& x, const Q& q) const { return ct::sum(F{}(x, q), ct::axis<0>); }
};
template <class F> void check_exchanged(bool is_known, F pairs_of, int n) {
  using array_of_points = ct::array<double, ct::dyn, 3>;
  array_of_points x({n, 3});
  ct::array<double, ct::dyn> q({n});
  for (int i = 0; i < n; ++i) {
    q(i) = std::sin(0.7 * i) + 0.1;
    for (int k = 0; k < 3; ++k) x(i, k) = std::cos(1.3 * i + k);
  }
  const auto all = ct::jit(pairs_of)(x, q);
  const auto sums = ct::jit(sum_along_first<F>{})(x, q);
  const extent row = sums.size() / n;
  for (extent j = 0; j < n * row; ++j) {
    double sum = 0, size = 0;
    for (extent i = 0; i < n; ++i) sum += all.data()[i * n * row + j], size += std::abs(all.data()[i * n * row + j]);
    CHECK(std::abs(sums.data()[j] - sum) <= 1e-14 * size);
  }
  CHECK((ct::jit(sum_along_first<F>{}).graph(x, q).find("reduce_sum(1)") != std::string::npos) == is_known);
}
constexpr auto beside = [](auto x) { return ct::expand_dims<1>(x); };  // of the first of a pair
constexpr auto across = [](auto x) { return ct::expand_dims<0>(x); };  // of the second
constexpr auto distances = [](auto x) { return ct::sum(ct::square(beside(x) - across(x)), ct::axis<2>) + 0.1; };

TEST_CASE("sums of what particles do to each other") {
  for (int n : {1, 2, 17}) {
    check_exchanged(true, [](auto x, auto) { return beside(x) - across(x); }, n);
    check_exchanged(true, [](auto x, auto q) { return ct::expand_dims<2>(beside(q) * across(q) / distances(x)) * (across(x) - beside(x)) * -2.0; }, n);
    check_exchanged(true, [](auto x, auto q) { return ct::where(distances(x) > 0.5, beside(q) - across(q), 0.0) / ct::exp(distances(x)); }, n);
    check_exchanged(true, [](auto, auto q) { return ct::minimum(beside(q), across(q)) + ct::sin(beside(q)) * ct::sin(across(q)); }, n);
    check_exchanged(true, [](auto, auto q) { return -(ct::sin(beside(q)) - ct::sin(across(q))); }, n);
    check_exchanged(true, [](auto x, auto) { return ct::max(ct::abs(beside(x)) * ct::abs(across(x)), ct::axis<2>); }, n);
    // Neither the one nor the other, or not to be seen.
    check_exchanged(false, [](auto, auto q) { return beside(q) - 2.0 * across(q) + 0.0 * beside(q); }, n);
    check_exchanged(false, [](auto, auto q) { return ct::where(beside(q) > across(q), beside(q) * across(q), 0.5); }, n);
    check_exchanged(false, [](auto, auto q) { return ct::astype<double>(ct::astype<bool>(beside(q) - across(q))); }, n);
    check_exchanged(false, [](auto, auto q) { return ct::atan2(beside(q), across(q)); }, n);
    check_exchanged(false, [](auto, auto q) { return ct::exp(beside(q) - across(q)); }, n);
    check_exchanged(false, [](auto, auto q) { return beside(q) / across(q + 3.0); }, n);
    check_exchanged(false, [](auto, auto q) { return ct::where(beside(q) - across(q) > 0.0, 1.0, 0.0); }, n);
    check_exchanged(false, [](auto x, auto q) { return ct::expand_dims<2>(beside(q) - across(q)) * (beside(x) - across(x)) * beside(beside(q)); }, n);
    check_exchanged(false, [](auto, auto q) { return ct::max(beside(beside(q)) - across(across(q)), ct::axis<2>); }, n);
  }
  // The gradient of an energy of pairs is one sum.
  const auto energy = [](auto x) { return ct::sum(ct::exp(-ct::sum(ct::square(beside(x) - across(x)), ct::axis<2>))); };
  CHECK(occurrences("reduce_sum into", ct::jit(ct::grad(energy)).kernels(between<double, 100, 3>(-1, 1))) == 3);
  check_jit(ct::grad(energy), 1e-12, between<double, 100, 3>(-1, 1));
}

namespace {
constexpr auto pair_energies = [](auto x) {
  const auto squares = ct::sum(ct::square(beside(x) - across(x)), ct::axis<2>);
  const auto others = squares > 0;
  const auto inverse = 1 / (ct::where(others, squares, 1) + 0.01);
  return ct::where(others, inverse * inverse * inverse - 2 * inverse, 0);
};
constexpr auto energy_and_forces = ct::value_and_grad([](auto x) { return 0.5 * ct::sum(pair_energies(x)); });
constexpr auto of_each = [](auto x) { return std::tuple(ct::sum(pair_energies(x), ct::axis<1>), ct::sum(pair_energies(x), ct::axis<0>)); };
constexpr auto and_the_greatest = [](auto x) { return std::pair(ct::sum(pair_energies(x), ct::axis<1>), ct::max(pair_energies(x), ct::axis<1>)); };
constexpr auto and_the_array = [](auto x) { return std::pair(ct::sum(pair_energies(x), ct::axis<1>), pair_energies(x)); };
constexpr auto and_another = [](auto x) { return std::pair(ct::sum(pair_energies(x), ct::axis<1>), ct::sum(ct::exp(pair_energies(x) * ct::sum(beside(x), ct::axis<2>)), ct::axis<1>)); };

/// Whether f computes halves of arrays of pairs.
template <class F, class... A> bool computes_halves(F f, const A&... x) {
  const std::string kernels = ct::jit(f).kernels(x...);
  return kernels.find(" le ") != std::string::npos && kernels.find(" lt ") != std::string::npos;
}

/// Sums of what the order of two indices chooses.
template <ct::extent N, ct::extent M> constexpr auto chosen = [](auto a, auto b) {
  const auto v = ct::exp(beside(a) * across(b));
  const auto i = beside(ct::iota<std::int32_t, N>(a));
  const auto j = across(ct::iota<std::int32_t, M>(a));
  const auto ahead = ct::where(i < j, v, 0), not_behind = ct::where(i <= j, ct::sin(v), 0);
  const auto sums = std::tuple(ct::sum(ahead, ct::axis<1>), ct::sum(not_behind, ct::axis<0>), ct::sum(ahead, ct::axis<0>));
  return std::pair(sums, std::tuple(ct::sum(not_behind), ct::sum(ct::where(i < j, v, 1), ct::axis<1>), ct::sum(ct::where(j < i, v, 0), ct::axis<1>),
                                    ct::max(-ct::where(i < j, v, 0), ct::axis<1>), ct::prod(ct::where(i <= j, v, 0), ct::axis<0>)));
};
template <ct::extent N, ct::extent M> constexpr auto chosen_sums = [](auto a, auto b) { return chosen<N, M>(a, b).first; };
template <ct::extent N, ct::extent M> constexpr auto chosen_columns = [](auto a, auto b) { return std::get<1>(chosen_sums<N, M>(a, b)); };
template <ct::extent N, ct::extent M> constexpr auto chosen_total = [](auto a, auto b) { return std::get<0>(chosen<N, M>(a, b).second); };
template <class T, ct::extent N, ct::extent M> void check_chosen(double tolerance) {
  const auto a = between<T, N>(-1, 1);
  const auto b = between<T, M>(-1, 1, 1);
  check_jit(chosen<N, M>, tolerance, a, b);
  check_jit(chosen_sums<N, M>, tolerance, a, b);
  check_jit(chosen_columns<N, M>, tolerance, a, b);
  check_jit(chosen_total<N, M>, tolerance, a, b);
}
}  // namespace

TEST_CASE("each pair of particles is computed once") {
  using points = ct::array<double, ct::dyn, 3>;
  for (ct::extent n : {0, 1, 2, 3, 15, 16, 17, 33, 129, 300}) {
    points x({n, 3});
    const auto some = between<double, 300, 3>(-2, 2);
    std::copy_n(some.data(), 3 * n, x.data());
    check_jit(energy_and_forces, 1e-12, x);
    check_jit(of_each, 1e-12, x);
    check_jit(and_the_greatest, 1e-12, x);
    check_jit(and_the_array, 1e-12, x);
    check_jit(and_another, 1e-12, x);
  }
  const points x({2, 3});
  CHECK(computes_halves(energy_and_forces, x));
  CHECK(computes_halves(of_each, x));
  CHECK(!computes_halves(and_the_greatest, x));
  CHECK(!computes_halves(and_the_array, x));
  CHECK(!computes_halves(and_another, x));
  check_jit(energy_and_forces, 2e-4, between<float, 257, 3>(-2, 2));
  check_jit(ct::grad([](auto v) { return ct::sum(ct::square(std::get<1>(energy_and_forces(v)))); }), 1e-11, between<double, 130, 3>(-2, 2));
  const auto many = between<float, 1500, 3>(-3, 3);
  CHECK(computes_halves(energy_and_forces, many));
  ct::set_num_threads(1);
  const tensors one = tensors_of(ct::jit(energy_and_forces)(many));
  for (int threads : {2, 3, 5}) {
    ct::set_num_threads(threads);
    CHECK(difference(tensors_of(ct::jit(energy_and_forces)(many)), one, 0) == "");
  }
  ct::set_num_threads(2);
}

TEST_CASE("sums of what the order of two indices chooses") {
  check_chosen<double, 40, 50>(1e-13);
  check_chosen<double, 130, 37>(1e-13);
  check_chosen<float, 33, 129>(1e-5);
  check_jit(chosen_sums<20, 9001>, 1e-12, between<double, 20>(-1, 1), between<double, 9001>(-1, 1, 1));
}

namespace {
/// Sums along both axes and of everything at once, some of them of other terms; and extrema along both.
constexpr auto both_ways = [](auto a, auto b) {
  const auto v = ct::vmap(ct::vmap([](auto x, auto y) { return 1 / (ct::sum(ct::square(x - y)) + 0.5); }, ct::in_axes<ct::none, 0>), ct::in_axes<0, ct::none>)(a, b);
  return std::tuple(ct::sum(v, ct::axis<1>), ct::sum(v, ct::axis<0>), ct::sum(v), ct::sum(v * v, ct::axis<0>), ct::max(v, ct::axis<1>), ct::min(v, ct::axis<0>));
};
constexpr auto pulls_both_ways = ct::grad([](auto a, auto b) { return std::get<2>(both_ways(a, b)); }, ct::wrt<0, 1>);
/// The total of a table of pairs, its sums along rows included, which others need as well.
constexpr auto total_and_rows = [](auto x) {
  const auto rows = ct::sum(pair_energies(x), ct::axis<1>);
  return std::tuple(ct::sum(rows), rows, ct::sum(pair_energies(x)));
};
template <class T, ct::extent N, ct::extent M> void check_both_ways(double tolerance) {
  const auto a = between<T, N, 3>(-1, 1);
  const auto b = between<T, M, 3>(-1, 1, 1);
  check_jit(both_ways, tolerance, a, b);
  check_jit(pulls_both_ways, tolerance, a, b);
}
}  // namespace

TEST_CASE("sums along rows and across them at once") {
  check_both_ways<double, 1, 64>(1e-13);
  check_both_ways<double, 7, 65>(1e-13);
  check_both_ways<float, 66, 131>(2e-5);
  check_both_ways<float, 5, 3>(2e-5);
  check_jit(both_ways, 1e-12, between<double, 3, 3>(-1, 1), between<double, 8200, 3>(-1, 1, 1));
  using points = ct::array<double, ct::dyn, 3>;
  for (const ct::extent n : {0, 1, 2, 5})
    for (const ct::extent m : {0, 1, 31, 70}) {
      const auto some = between<double, 70, 3>(-1, 1);
      points a({n, 3});
      points b({m, 3});
      std::copy_n(some.data(), 3 * n, a.data()), std::copy_n(some.data(), 3 * m, b.data());
      check_jit(pulls_both_ways, 1e-12, a, b);
    }
  check_jit(total_and_rows, 1e-12, between<double, 131, 3>(-2, 2));
  check_jit(total_and_rows, 2e-4, between<float, 300, 3>(-2, 2));
  const auto a = between<float, 1100, 3>(-1, 1);
  const auto b = between<float, 1301, 3>(-1, 1, 1);
  ct::set_num_threads(1);
  const tensors one = tensors_of(ct::jit(pulls_both_ways)(a, b)), own = tensors_of(ct::jit(total_and_rows)(a));
  for (const int threads : {2, 7}) {
    ct::set_num_threads(threads);
    CHECK(difference(tensors_of(ct::jit(pulls_both_ways)(a, b)), one, 0) == "");
    CHECK(difference(tensors_of(ct::jit(total_and_rows)(a)), own, 0) == "");
  }
  ct::set_num_threads(2);
}
