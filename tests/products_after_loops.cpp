/// Sums of products over the turns of a loop, which are one product after it.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {
/// A recurrent network: the way back adds an outer product to the cotangent of w in each turn.
constexpr auto network = [](auto w, auto u, auto xs) {  // [h, h] [h, d] [T, d]
  const auto step = [w, u](auto h, auto x) {
    const auto next = ct::tanh(ct::matmul(w, h) + ct::matmul(u, x));
    return std::tuple(next, ct::sum(next));
  };
  const auto [end, sums] = ct::scan(step, 0.0 * ct::sum(w, ct::axis<0>), xs);
  return ct::sum(ct::square(end)) + ct::sum(sums);
};
/// Both products with a matrix and with its transpose, from the last element to the first; two terms go to one carry.
constexpr auto both_ways = [](auto w, auto xs) {
  const auto step = [w](auto h, auto x) {
    const auto a = ct::sin(ct::matmul(w, h) + x);
    return std::tuple(ct::cos(ct::matmul(ct::transpose(w), a) * 0.1), a);
  };
  const auto [end, as] = ct::scan(step, 0.0 * ct::sum(w, ct::axis<0>), xs, ct::reverse);
  return ct::sum(end) + ct::sum(ct::square(as));
};
/// Sums of outer products that the user adds up: of elements alone, of elements and computed ones, in a batch, transposed.
constexpr auto moments = [](auto xs, auto start) {  // [T, n] [n, n]
  const auto step = [](auto carries, auto x) {
    const auto [a, b, c, d] = carries;
    const auto y = ct::exp(x) - 1.0;
    const auto outer = [](auto x, auto y) { return ct::einsum<"i,j->ij">(x, y); };
    return std::tuple(std::tuple(a + outer(x, x), outer(y, x) + b + ct::transpose(outer(x, y)), c + ct::transpose(outer(x, y)), d * 0.5 + outer(x, y)), ct::sum(y));
  };
  return ct::scan(step, std::tuple(start, start * 2.0, 0.0 * start, start), xs);
};
/// What must stay in the loop: the sum is read in each turn, is what a turn returns, or is multiplied.
constexpr auto seen = [](auto xs, auto start) {
  const auto step = [](auto carries, auto x) {
    const auto [a, b, c] = carries;
    const auto outer = ct::einsum<"i,j->ij">(x, x);
    return std::tuple(std::tuple(a + outer, b + outer, c - outer), std::tuple(ct::sum(a, ct::axis<0>), (b + outer)(ct::index<0>)));
  };
  return ct::scan(step, std::tuple(start, start, start), xs);
};
constexpr auto of_batch = ct::vmap([](auto w, auto xs) { return ct::grad(both_ways)(w, xs); });
constexpr auto counted = [](auto x) {  // [n]
  return ct::fori_loop<0, 20>([](auto i, auto carries) {
    const auto [x, sum] = carries;
    const auto y = 0.5 * ct::sin(x) + 0.1 * ct::astype<double>(i);
    return std::tuple(y, sum + ct::einsum<"i,j->ij">(y, x));
  }, std::tuple(x, ct::expand_dims<1>(x) * x));
};
/// A loop in a loop.
constexpr auto nested = ct::grad([](auto w, auto x) {
  return ct::sum(ct::fori_loop<0, 3>([w](auto, auto x) { return ct::fori_loop<0, 9>([w](auto, auto x) { return ct::sin(ct::matmul(w, x)); }, x) * 0.5; }, x));
});
}  // namespace

TEST_CASE("sums of products after a loop: gradients") {
  check_jit(ct::grad(network, ct::wrt<0, 1, 2>), 1e-12, between<double, 70, 70>(-0.2, 0.2), between<double, 70, 65>(-0.2, 0.2, 1), between<double, 12, 65>(-1, 1, 2));
  check_jit(ct::grad(network), 1e-4, between<float, 65, 65>(-0.2, 0.2), between<float, 65, 3>(-0.2, 0.2, 1), between<float, 40, 3>(-1, 1, 2));
  check_jit(ct::grad(both_ways, ct::wrt<0, 1>), 1e-12, between<double, 80, 80>(-0.2, 0.2), between<double, 9, 80>(-1, 1, 1));
  check_jit(nested, 1e-12, between<double, 66, 66>(-0.3, 0.3), between<double, 66>(-1, 1, 1));
  check_jit(of_batch, 1e-12, between<double, 3, 70, 70>(-0.2, 0.2), between<double, 3, 10, 70>(-1, 1, 1));
}
TEST_CASE("sums of products after a loop: of elements, and what must stay") {
  check_jit(moments, 1e-13, between<double, 50, 64>(-1, 1), between<double, 64, 64>(-1, 1, 1));
  check_jit(moments, 1e-13, between<double, 3, 64>(-1, 1), between<double, 64, 64>(-1, 1, 1));
  check_jit(seen, 1e-13, between<double, 20, 70>(-1, 1), between<double, 70, 70>(-1, 1, 1));
  check_jit(counted, 1e-13, between<double, 80>(-1, 1));
  for (int n : {0, 1, 30}) {
    ct::array<double, ct::dyn, 66> xs({n, 66});
    for (ct::extent i = 0; i < xs.size(); ++i) xs.data()[i] = std::sin(double(i) * i);
    check_jit(moments, 1e-13, xs, between<double, 66, 66>(-1, 1, 1));
  }
}
TEST_CASE("sums of products after a loop: the turns keep vectors, and no matrix is in memory for each") {
  // By the way forward and back 4 n^2 a turn for the products with vectors; the sums are 2 n^2 a turn either way, but read and write no matrix.
  const auto text = ct::jit(ct::grad(both_ways)).kernels(ct::array<double, 100, 100>{}, ct::array<double, 50, 100>{});
  CHECK(text.find("float64[1,100,100]") != std::string::npos);
  CHECK(text.find("    step 0: kernel over [100,100]") == std::string::npos);
}
