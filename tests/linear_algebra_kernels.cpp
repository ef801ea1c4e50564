/// linalg: small systems inside fused kernels, and their derivatives.

#include "linear_algebra.hpp"

namespace ct = cotangent;
using namespace checks;
using namespace linear_algebra;

TEMPLATE_TEST_CASE("small systems are solved inside the fused kernel", "", float, double) {
  using T = TestType;
  const auto both = [](auto a, auto b) {
    const auto x = ct::linalg::solve(a, b);
    const auto s = ct::matmul(a, ct::transpose(a)) + 1;  // positive definite
    return std::tuple(x, ct::linalg::cho_solve(ct::linalg::cholesky(s), b), ct::sum(x * x));
  };
  const auto a = matrices<T, 131, 4, 4>();
  const auto b = between<T, 131, 4>(-1, 1);
  const auto f = ct::vmap(both);
  check_jit(f, 10 * compiled_tolerance<T>, a, b);
  CHECK(ct::jit(f).kernels(a, b).find("step 1") == std::string::npos);
  const auto g = ct::vmap(ct::grad([](auto m, auto v) { return ct::sum(ct::linalg::solve(m, v)); }, ct::wrt<0, 1>));
  check_jit(g, 10 * compiled_tolerance<T>, a, b);
  CHECK(ct::jit(g).kernels(a, b).find("step 1") == std::string::npos);
  // One matrix for all instances: it is factored once.
  const auto shared = ct::vmap(solve, ct::in_axes<ct::none, 0>);
  check_jit(shared, compiled_tolerance<T>, matrices<T, 4, 4>(), b);
  check_jit(shared, compiled_tolerance<T>, matrices<T, 4, 4>(), between<T, 131, 4, 2>(-1, 1));
}
