/// Packets of a run-time number of instances: none, one, a packet that is not full, several threads; at hand of one program.

#include <cotangent/cotangent.hpp>

#include "catch.hpp"
#include "instances.hpp"

namespace ct = cotangent;
using namespace instances;

namespace {

/// The sum of squares of (a w)^T x with a row of a table added, of a [12, 12], x [12], and w [12, 12] for all instances.
constexpr auto loss = [](auto a, auto x, auto row, auto w) { return ct::sum(ct::square(ct::matmul(ct::transpose(ct::matmul(a, w)), x) + row)); };
constexpr auto gradients = [](auto a, auto x, auto table, auto index, auto w) {
  const auto [by_a, by_x] = ct::vmap(ct::grad(loss, ct::wrt<0, 1>), ct::in_axes<0, 0, 0, ct::none>)(a, x, ct::take<0>(table, index), w);
  return std::tuple(by_a, by_x, by_a > 0.0);
};

}  // namespace

TEST_CASE("the number of instances of packets may be known at run time only") {
  const auto w = random_array<ct::array<double, 12, 12>>(3);
  const auto f = ct::jit(gradients);
  for (const ct::extent n : {0, 1, 15, 16, 17, 64, 1000}) {
    const ct::extent rows = 7 + n % 5;
    ct::array<double, ct::dyn, 12, 12> a({n, 12, 12});
    ct::array<double, ct::dyn, 12> x({n, 12}), table({rows, 12});
    ct::array<std::int32_t, ct::dyn> index({n});
    unsigned k = 0;
    for (double& v : a) v = 0.01 * (++k * 7 % 101) - 0.5;
    for (double& v : x) v = 0.01 * (++k * 11 % 103) - 0.5;
    for (double& v : table) v = 0.01 * (++k * 13 % 107) - 0.5;
    for (ct::extent i = 0; i < n; ++i) index(i) = std::int32_t(i * 5 % rows);
    if (n == 0) CHECK(f.kernels(a, x, table, index, w).find("packets") != std::string::npos);
    const auto [by_a, by_x, positive] = f(a, x, table, index, w);
    REQUIRE(by_a.extent(0) == n);
    double error = 0;
    for (ct::extent i = 0; i < n; ++i) {
      double u[12] = {}, z[12];  // u = a^T x, z = w^T u + row
      for (int p = 0; p < 12; ++p)
        for (int q = 0; q < 12; ++q) u[q] += a(i, p, q) * x(i, p);
      for (int r = 0; r < 12; ++r) {
        z[r] = table(index(i), r);
        for (int q = 0; q < 12; ++q) z[r] += w(q, r) * u[q];
      }
      for (int p = 0; p < 12; ++p) {
        double slope = 0;
        for (int q = 0; q < 12; ++q) {
          double v = 0;  // (w z)_q
          for (int r = 0; r < 12; ++r) v += w(q, r) * z[r];
          slope += 2 * a(i, p, q) * v;
          error = std::max(error, std::abs(by_a(i, p, q) - 2 * x(i, p) * v));
        }
        error = std::max(error, std::abs(by_x(i, p) - slope));
      }
    }
    CHECK(error <= 1e-12);
    bool same = true;
    for (ct::extent k = 0; k < by_a.size(); ++k) same = same && positive.data()[k] == (by_a.data()[k] > 0);
    CHECK(same);
  }
  const ct::array<double, ct::dyn, 12, 12> a({3, 12, 12});
  const ct::array<double, ct::dyn, 12> x({2, 12}), table({7, 12});
  CHECK_THROWS_AS(f(a, x, table, ct::array<std::int32_t, ct::dyn>({3}), w), ct::shape_error);
}
