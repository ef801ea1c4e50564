/// Products with arrays that are zero but on a diagonal: Jacobians of products, and diagonal matrices.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {
constexpr auto layer = [](auto x, auto w, auto b) { return ct::tanh(ct::matmul(w, x) + b); };  // [n] [m, n] [m]
constexpr auto two_layers = [](auto x, auto w, auto b) { return ct::matmul(ct::sin(layer(x, w, b)) / (2.0 + ct::square(b)), w); };
constexpr auto scalar_of_layers = [](auto x, auto w, auto b) { return ct::sum(ct::square(two_layers(x, w, b))) + ct::sum(layer(x, w, b)); };
constexpr auto chosen = [](auto x, auto w, auto b) { return ct::where(b > 0, ct::matmul(w, -x * 3.0), ct::matmul(w, x)) - ct::sum(x); };
constexpr auto jacobians = [](auto x, auto w, auto b) {
  return std::tuple(ct::jacfwd(layer)(x, w, b), ct::jacrev(layer)(x, w, b), ct::jacfwd(two_layers)(x, w, b), ct::jacrev(two_layers)(x, w, b), ct::hessian(scalar_of_layers)(x, w, b),
                    ct::jacfwd(chosen)(x, w, b), ct::jacrev(chosen)(x, w, b), ct::jacfwd(layer, ct::wrt<0, 2>)(x, w, b), ct::jacrev(layer, ct::wrt<2>)(x, w, b));
};
/// With respect to matrices: the directions are along two axes.
constexpr auto of_matrices = [](auto x, auto w) {  // [n, k] [m, n]
  const auto f = [](auto x, auto w) { return ct::tanh(ct::matmul(w, x)); };
  const auto twice = [](auto x, auto w) { return ct::matmul(ct::matmul(w, ct::matmul(ct::transpose(w), ct::matmul(w, ct::sin(x) * 2.0))), ct::transpose(x)); };
  return std::tuple(ct::jacfwd(f)(x, w), ct::jacrev(f)(x, w), ct::jacfwd(f, ct::wrt<1>)(x, w), ct::jacrev(f, ct::wrt<1>)(x, w), ct::jacfwd(twice)(x, w), ct::jacrev(twice)(x, w),
                    ct::jacfwd([](auto x, auto w) { return ct::sum(ct::matmul(w, x), ct::axis<0>); })(x, w), ct::jacfwd([](auto x, auto w) { return ct::einsum<"nk,mn->">(x, w); })(x, w));
};
/// Of each of a batch, with matrices that are shared and that are not.
constexpr auto of_batches = [](auto x, auto w, auto v) {  // [b, n] [m, n] [b, m, n]
  const auto f = [](auto x, auto w) { return ct::square(ct::matmul(w, ct::exp(x))); };
  return std::tuple(ct::vmap(ct::jacfwd(f), ct::in_axes<0, ct::none>)(x, w), ct::vmap(ct::jacrev(f))(x, v), ct::vmap(ct::jacfwd(f))(x, v),
                    ct::vmap(ct::hessian([f](auto x, auto w) { return ct::sum(f(x, w)); }))(x, v));
};
constexpr auto diagonal_matrices = [](auto w, auto d, auto e) {  // [m, n] [n] [m]
  const auto left = ct::diag(e);
  const auto right = ct::diag(d);
  const auto both = ct::matmul(left, ct::matmul(w, right));
  const auto one = ct::eye_like(left);
  return std::tuple(ct::matmul(w, right), ct::matmul(left, w), both, ct::matmul(left, ct::matmul(left + one, w)), ct::matmul(ct::transpose(w), left * 2.0 - left), ct::matmul(right, d),
                    ct::sum(right), ct::sum(left, ct::axis<0>), ct::sum(left * ct::expand_dims<0>(e), ct::axis<1>), ct::einsum<"ij,kj->ki">(right, w), ct::einsum<"ij,ij->">(left, left),
                    ct::matmul(one, w) - w, ct::matmul(ct::where(one > 0.5, 3.0, 0.0), w), ct::matmul(ct::transpose(left), w), ct::matmul(left, left), left * 0.5,
                    ct::reshape<ct::dyn>(ct::matmul(left, w)), ct::max(left), ct::matmul(ct::exp(left) - 1.0, w), ct::matmul(ct::where(one > 0.5, one, 1.0), w), ct::matmul(one * ct::sum(e), w));
};
constexpr auto slopes = ct::grad([](auto w, auto d, auto e) {
  const auto [wr, lw, both, more] = [&] {
    const auto all = diagonal_matrices(w, d, e);
    return std::tuple(std::get<0>(all), std::get<1>(all), std::get<2>(all), std::get<3>(all));
  }();
  return ct::sum(ct::sin(wr)) + ct::sum(ct::square(lw)) + ct::sum(both * more);
}, ct::wrt<0, 1, 2>);
/// Choices where two indices are the same, of numbers and by other conditions as well.
constexpr auto of_choices = [](auto w, auto e) {  // [40, 50] [40]
  const auto i = ct::iota<std::int32_t, 40>();
  const auto same = ct::expand_dims<1>(i) == i;
  const auto some = ct::where(same, ct::expand_dims<1>(e) > 0, false);
  return std::tuple(ct::matmul(ct::where(same, e, 0.0), w), ct::matmul(ct::where(same, 2.0, 0.0), w), ct::matmul(ct::where(same, ct::sum(e), 0.0), w), ct::matmul(ct::where(some, ct::expand_dims<1>(e), 0.0), w),
                    ct::matmul(ct::where(same, e, 1.0), w), ct::matmul(ct::where(same, 0.0, ct::expand_dims<1>(e) + e), w), ct::matmul(ct::astype<double>(some) * e, w), ct::sum(ct::where(same, e, 0.0)),
                    ct::matmul(ct::astype<double>(ct::logical_or(same, some)), w), ct::matmul(ct::astype<double>(same) + ct::astype<double>(some), w));
};
/// Transposes of what is computed from transposes.
constexpr auto turned_back = [](auto w, auto a, auto b) { return ct::transpose(ct::exp(ct::transpose(w)) * a + ct::expand_dims<1>(b)); };  // [m, n] [m] [n]
constexpr auto turned = [](auto x, auto a) {  // [p, m, n] [m, n]
  const auto t = ct::transpose<2, 0, 1>(x);
  return std::tuple(ct::transpose<1, 2, 0>(t * 2.0), ct::transpose<1, 2, 0>(ct::sin(t) + ct::expand_dims<1>(ct::expand_dims<1>(ct::sum(a, ct::axis<0>)))),
                    ct::transpose<0, 2, 1>(t * 3.0), ct::transpose<1, 2, 0>(t + ct::expand_dims<1>(ct::transpose(a))), ct::sum(t, ct::axis<0>));
};

}  // namespace

TEST_CASE("Jacobians of products, and diagonal matrices: fixed sizes") {
  const auto w = between<double, 70, 90>(-1, 1);
  const auto x = between<double, 90>(-1, 1);
  const auto b = between<double, 70>(-1, 1, 1);
  check_jit(jacobians, 1e-12, x, w, b);
  check_jit(diagonal_matrices, 1e-12, w, x, b);
  check_jit(slopes, 1e-12, w, x, b);
  check_jit(jacobians, 1e-4, between<float, 65>(-1, 1), between<float, 33, 65>(-1, 1, 1), between<float, 33>(-1, 1, 2));
}
TEST_CASE("Jacobians of products, and diagonal matrices: run-time sizes") {
  for (const auto& [m, n] : {std::pair(100, 70), std::pair(1, 80), std::pair(80, 1), std::pair(0, 70), std::pair(70, 0), std::pair(1, 1)}) {
    ct::array<double, ct::dyn, ct::dyn> w({m, n});
    ct::array<double, ct::dyn> x({n}), b({m});
    for (ct::extent i = 0; i < w.size(); ++i) w.data()[i] = std::sin(double(i) * i);
    for (ct::extent i = 0; i < x.size(); ++i) x.data()[i] = std::sin(double(i) * i + 1);
    for (ct::extent i = 0; i < b.size(); ++i) b.data()[i] = std::cos(double(i) * i);
    check_jit(jacobians, 1e-12, x, w, b);
    check_jit(diagonal_matrices, 1e-12, w, x, b);
  }
}
TEST_CASE("Jacobians of products: with respect to matrices, and of batches") {
  check_jit(of_matrices, 1e-11, between<double, 20, 5>(-1, 1), between<double, 18, 20>(-1, 1, 1));
  check_jit(of_matrices, 1e-11, between<double, 17, 30>(-1, 1), between<double, 3, 17>(-1, 1, 1));
  check_jit(of_batches, 1e-12, between<double, 5, 24>(-1, 1), between<double, 40, 24>(-1, 1, 1), between<double, 5, 40, 24>(-1, 1, 2));
  check_jit(of_batches, 1e-12, between<double, 0, 24>(-1, 1), between<double, 40, 24>(-1, 1, 1), between<double, 0, 40, 24>(-1, 1, 2));
}
TEST_CASE("choices where two indices are the same") { check_jit(of_choices, 1e-13, between<double, 40, 50>(-1, 1), between<double, 40>(-1, 1, 1)); }
TEST_CASE("transposes of what is computed from transposes") {
  check_jit(turned_back, 1e-14, between<double, 70, 90>(-1, 1), between<double, 70>(-1, 1, 1), between<double, 90>(-1, 1, 2));
  check_jit(turned, 1e-14, between<double, 7, 70, 90>(-1, 1), between<double, 70, 90>(-1, 1, 1));
  STATIC_REQUIRE(ct::jit(turned_back).cost(ct::array<double, 70, 90>{}, ct::array<double, 70>{}, ct::array<double, 90>{}).kernels == 1);
}
TEST_CASE("no product is left of what an array on a diagonal is multiplied with") {
  // 2 n^2 for W x; 4 n^2 for the Jacobian of 2 n^3 otherwise
  using vector = ct::array<double, 100>;
  using matrix = ct::array<double, 100, 100>;
  STATIC_REQUIRE(ct::jit(ct::jacfwd(layer)).cost(vector{}, matrix{}, vector{}).flops < 8e4);
  STATIC_REQUIRE(ct::jit(ct::jacrev(layer)).cost(vector{}, matrix{}, vector{}).flops < 8e4);
  STATIC_REQUIRE(ct::jit([](auto d, auto w) { return ct::matmul(ct::diag(d), w); }).cost(vector{}, matrix{}).flops < 2e4);
  STATIC_REQUIRE(ct::jit([](auto d, auto w) { return ct::matmul(w, ct::diag(d)); }).cost(vector{}, matrix{}).flops < 2e4);
  STATIC_REQUIRE(ct::jit([](auto d, auto w) { return ct::matmul(ct::where(ct::expand_dims<1>(ct::iota<std::int32_t, 100>()) == ct::iota<std::int32_t, 100>(), d, 0.0), w); }).cost(vector{}, matrix{}).flops < 2e4);
  STATIC_REQUIRE(ct::jit(ct::hessian([](auto x, auto w, auto b) { return ct::sum(layer(x, w, b)); })).cost(vector{}, matrix{}, vector{}).flops < 2.5e6);  // W^T D W is one
}
