/// dot_general in all layouts: matmul, dot, tensordot, einsum, vdot, outer, inner, cross, kron.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {
constexpr auto products = [](auto a, auto b, auto u, auto v) {  // [3,4] [4,5] [4] [3]
  return std::tuple(ct::matmul(a, b), ct::dot(a, u), ct::matmul(v, a), ct::matmul(u, b), ct::vdot(u, u), ct::outer(u, v), ct::inner(a, u), ct::inner(u, ct::transpose(b)),
                    ct::tensordot<1>(a, b), ct::tensordot<0>(u, v), ct::matmul(ct::transpose(b), ct::transpose(a)), ct::matmul(a, ct::transpose(a)), ct::dot(u, 2.0));
};
constexpr auto batched = [](auto a, auto b, auto c) {  // [2,3,4] [2,4,5] [4,2]
  return std::tuple(ct::matmul(a, b), ct::matmul(a, c), ct::matmul(ct::transpose(c), b), ct::einsum<"bij,bjk->bik">(a, b), ct::einsum<"bij,bjk->kbi">(a, b), ct::einsum<"bij,bjk->ik">(a, b),
                    ct::einsum<"bij,jb->bi">(a, c), ct::einsum<"bij,jc->cib">(a, c), ct::einsum<"bij->jb">(a), ct::einsum<"bij->">(a), ct::einsum<"bij,bij->bij">(a, a), ct::einsum<"bij,kb">(a, c),
                    ct::tensordot<2>(ct::transpose<1, 2, 0>(a), c), ct::dot(a, c), ct::vdot(a, a));
};
constexpr auto gemm = [](auto a, auto b, auto at, auto bt) {
  return std::tuple(ct::matmul(a, b), ct::matmul(ct::transpose(at), b), ct::matmul(a, ct::transpose(bt)), ct::matmul(ct::transpose(at), ct::transpose(bt)));
};
}  // namespace

TEST_CASE("derivatives of products of matrices and vectors") {
  check_rules_of(products, std::tuple(between<double, 3, 4>(-1, 1), between<double, 4, 5>(-1, 1, 5), between<double, 4>(-1, 1, 6), between<double, 3>(-1, 1, 8)));
  check_jit(products, 1e-13, between<double, 3, 4>(-1, 1), between<double, 4, 5>(-1, 1, 5), between<double, 4>(-1, 1, 6), between<double, 3>(-1, 1, 8));
}

TEST_CASE("derivatives of batched products in every layout") {
  check_rules_of(batched, std::tuple(between<double, 2, 3, 4>(-1, 1), between<double, 2, 4, 5>(-1, 1, 5), between<double, 4, 2>(-1, 1, 6)));
  check_jit(batched, 1e-5, between<float, 2, 3, 4>(-1, 1), between<float, 2, 4, 5>(-1, 1, 5), between<float, 4, 2>(-1, 1, 6));
}

TEST_CASE("matmul and its derivatives compile, batched and not") {
  constexpr auto f = [](auto a, auto b) { return ct::matmul(a, b); };
  const std::tuple x(between<double, 3, 4>(-1, 1), between<double, 4, 5>(-1, 1, 5));
  check_compiled<double, orders::second, batching::no>(f, x, std::tuple());
  check_compiled<float, orders::first, batching::yes>(f, std::tuple(as<float>(std::get<0>(x)), as<float>(std::get<1>(x))), std::tuple());
}

TEST_CASE("products of odd and large matrices, transposed operands, empty and single ones") {
  check_jit(gemm, 2e-5, between<float, 37, 65>(-1, 1), between<float, 65, 29>(-1, 1, 5), between<float, 65, 37>(-1, 1, 6), between<float, 29, 65>(-1, 1, 7));
  check_jit(gemm, 0, ct::array<double, 0, 4>(), between<double, 4, 5>(-1, 1), ct::array<double, 4, 0>(), between<double, 5, 4>(-1, 1));
  check_jit(gemm, 0, ct::array<double, 2, 0>(), ct::array<double, 0, 3>(), ct::array<double, 0, 2>(), ct::array<double, 3, 0>());
}

TEST_CASE("products over run-time extents") {
  constexpr auto f = [](auto x, auto w) { return std::tuple(ct::matmul(x, w), ct::matmul(ct::transpose(x), x), ct::einsum<"bi,bj->ij">(x, ct::matmul(x, w))); };
  ct::array<double, ct::dyn, 3> x({7, 3});
  std::copy_n(between<double, 21>(-1, 1).data(), 21, x.data());
  const auto w = between<double, 3, 2>(-1, 1, 30);
  check_rules(graph_of(f, x, w), tensors_of(x, w));
  check_jit(f, 1e-13, x, w);
}

namespace {
constexpr auto crosses = [](auto a, auto b, auto u) { return std::tuple(ct::cross(a, b), ct::cross(u, a), ct::cross(a, u), ct::cross(u, u)); };  // [2,1,3] [4,3] [3]
constexpr auto krons = [](auto a, auto b, auto u) { return std::tuple(ct::kron(a, b), ct::kron(b, a), ct::kron(u, u), ct::kron(a, u), ct::kron(u, b), ct::kron(a, 2.0)); };  // [2,3] [3,1] [5]

template <class T> void check_cross_and_kron() {
  const auto a = between<T, 4, 3>(-1, 1), b = between<T, 4, 3>(-1, 1, 20);
  const auto m = between<T, 2, 3>(-1, 1);
  const auto n = between<T, 4, 5>(-1, 1, 9);
  const auto r = ct::jit([](auto x, auto y, auto p, auto q) { return std::tuple(ct::cross(x, y), ct::kron(p, q)); })(a, b, m, n);
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 3; ++k) {
      const int k1 = (k + 1) % 3, k2 = (k + 2) % 3;
      CHECK(double(std::get<0>(r)(i, k)) == Approx(double(a(i, k1)) * b(i, k2) - double(a(i, k2)) * b(i, k1)).margin(1e-7));
    }
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 15; ++j) CHECK(std::get<1>(r)(i, j) == m(i / 4, j / 5) * n(i % 4, j % 5));
}
}  // namespace

TEST_CASE("cross and kron are those of loops, and their derivatives") {
  check_cross_and_kron<float>();
  check_cross_and_kron<double>();
  check_rules_of(crosses, std::tuple(between<double, 2, 1, 3>(-1, 1), between<double, 4, 3>(-1, 1, 5), between<double, 3>(-1, 1, 50)));
  check_rules_of(krons, std::tuple(between<double, 2, 3>(-1, 1), between<double, 3, 1>(-1, 1, 5), between<double, 5>(-1, 1, 50)));
  check_rules_of([](auto a, auto b) { return ct::kron(a, b); }, std::tuple(ct::array<double, 0, 2>(), between<double, 3, 1>(-1, 1)));
  constexpr auto both = [](auto a, auto b) { return std::tuple(ct::cross(a, b), ct::kron(a, b)); };
  check_compiled<double, orders::first, batching::yes>(both, std::tuple(between<double, 2, 3>(-1, 1), between<double, 3>(-1, 1, 7)), std::tuple());
  check_jit(both, 0, between<double, 3>(-1, 1), ct::array<double, 0, 3>());
  ct::array<double, ct::dyn, 3> x({4, 3});
  std::copy_n(between<double, 12>(-1, 1).data(), 12, x.data());
  check_rules(graph_of(both, x, between<double, 3>(-1, 1)), tensors_of(x, between<double, 3>(-1, 1)));
  check_jit(both, 1e-15, x, between<double, 3>(-1, 1));
  CHECK(ct::jit([](auto a, auto b) { return ct::kron(a, b); })(ct::array<int, 2, 2>{{1, 2}, {3, 4}}, ct::array<int, 2, 2>{{5, 6}, {7, 8}}) ==
        ct::array<int, 4, 4>{{5, 6, 10, 12}, {7, 8, 14, 16}, {15, 18, 20, 24}, {21, 24, 28, 32}});
}

TEST_CASE("the sum of a product along free axes is the product of sums") {
  const auto sums = [](auto a, auto b) {  // [6, 3, 4], [6, 5, 4]
    const auto p = ct::einsum<"bij,bkj->bik">(a, b);
    return std::tuple(ct::sum(p, ct::axis<1>), ct::sum(p, ct::axis<2>), ct::sum(p, ct::axis<1, 2>), ct::sum(p), ct::sum(-ct::transpose<2, 0, 1>(p), ct::axis<0, 1>),
                      ct::sum(-ct::transpose<2, 0, 1>(p), ct::axis<0>), ct::sum(p, ct::axis<0>));
  };
  const auto a = between<double, 6, 3, 4>(-1, 1);
  const auto b = between<double, 6, 5, 4>(-1, 1, 1);
  check_jit(sums, 1e-14, a, b);
  // sum over i of W x_i costs one product with the sum of the x_i.
  constexpr auto one = [](auto w, auto x) { return ct::sum(ct::matmul(x, ct::transpose(w)), ct::axis<0>); };
  static_assert(ct::jit(one).cost(ct::array<double, 32, 32>(), ct::array<double, 1000, 32>()).flops < 40000);
}

TEST_CASE("a product with an array that repeats itself is one with a smaller array") {
  const auto products = [](auto a, auto b, auto v) {  // [6, 3, 4], [6, 5, 4], [4]
    const auto rows = ct::broadcast_to<6, 5, 4>(v), ones = ct::full_like(b, 2.0);
    const auto batches = ct::broadcast_to<6, 5, 4>(ct::expand_dims<2>(ct::sum(b, ct::axis<2>)));
    return std::tuple(ct::einsum<"bij,bkj->bik">(a, rows), ct::einsum<"bkj,bij->bki">(ones, a), ct::einsum<"bij,bkj->bik">(a, batches), ct::einsum<"bij,bkj->ik">(a, rows),
                      ct::einsum<"bij,bkl->bikjl">(a, ones));
  };
  const auto a = between<double, 6, 3, 4>(-1, 1);
  const auto b = between<double, 6, 5, 4>(-1, 1, 1);
  check_jit(products, 1e-14, a, b, between<double, 4>(-1, 1, 2));
  // The gradient of the sum of a product needs sums of rows and of columns only.
  constexpr auto gradient = ct::grad([](auto x, auto y) { return ct::sum(ct::matmul(x, y)); }, ct::wrt<0, 1>);
  static_assert(ct::jit(gradient).cost(ct::array<double, 64, 64>(), ct::array<double, 64, 64>()).flops < 20000);
  check_jit(gradient, 1e-13, between<double, 5, 7>(-1, 1), between<double, 7, 3>(-1, 1, 1));
}

TEST_CASE("a product with a number, or with one for each index of a batch, multiplies") {
  const auto products = [](auto s, auto n, auto m, auto a) {  // [], [5], [5, 2], [2, 3, 5]
    return std::tuple(ct::einsum<",abc->cab">(s, a), ct::einsum<"abc,->abc">(a, s), ct::einsum<"c,abc->cab">(n, a), ct::einsum<"abc,ca->cab">(a, m), ct::einsum<"ca,abc->acb">(m, a), ct::einsum<"c,ca->ca">(n, m),
                      ct::einsum<",->">(s, s), ct::einsum<"c,c->c">(n, n));
  };
  const auto n = between<double, 5>(-1, 1);
  const auto m = between<double, 5, 2>(-1, 1, 1);
  const auto a = between<double, 2, 3, 5>(-1, 1, 2);
  check_jit(products, 1e-14, ct::array<double>(0.7), n, m, a);
  check_rules_of(products, std::tuple(ct::array<double>(0.7), n, m, a));
  const auto both = [](auto s, auto a) { return ct::einsum<",abc->abc">(s, a); };
  static_assert(ct::jit(both).cost(ct::array<double>(), ct::array<double, 2, 3, 5>()).kernels == 1);
  check_jit(both, 1e-14, ct::array<double>(0.7), ct::array<double, ct::dyn, 3, ct::dyn>(a));
}

TEST_CASE("sums of few products are multiply-adds of kernels: batches, pairs, several contracted axes, axes in any order") {
  constexpr auto f = [](auto a, auto b, auto c, auto d) {
    const auto rows = ct::matmul(c, ct::transpose(d));
    return std::tuple(ct::einsum<"bik,bkj->bij">(a, b), ct::einsum<"bik,bkj->bji">(a, b) * 2.0, ct::einsum<"bik,bkj->ibj">(a, b), ct::exp(-rows), ct::sum(rows * rows, ct::axis<0>), ct::transpose(rows),
                      ct::einsum<"bik,bil->bkl">(ct::sin(b), b), ct::einsum<"bki,bkj->bij">(b, b));
  };
  const auto a = between<double, 5, 8, 3>(-1, 1);
  const auto b = between<double, 5, 3, 27>(-1, 1, 1);
  const auto c = between<double, 33, 4>(-1, 1, 2);
  const auto d = between<double, 17, 4>(-1, 1, 3);
  check_jit(f, 1e-13, a, b, c, d);
  check_jit(ct::grad([f](auto... x) { return std::apply([](const auto&... y) { return (ct::sum(ct::sin(y)) + ...); }, f(x...)); }, ct::wrt<0, 1, 2, 3>), 1e-12, a, b, c, d);
  CHECK(ct::jit(f).kernels(a, b, c, d).find("gemm(-1") == std::string::npos);
  constexpr auto orders = [](auto x, auto y) {  // [4, 2, 3, 9] [9, 3, 10, 2], batch 9, contracted 2 x 3
    return std::tuple(ct::einsum<"ikmb,bmjk->bij">(x, y), ct::einsum<"ikmb,bmjk->jbi">(x, y));
  };
  check_jit(orders, 1e-13, between<double, 4, 2, 3, 9>(-1, 1), between<double, 9, 3, 10, 2>(-1, 1, 1));
  for (int n : {0, 1, 6}) {
    ct::array<float, ct::dyn, 3, 4> x({n, 3, 4});
    ct::array<float, ct::dyn, 4, ct::dyn> y({n, 4, 11});
    std::copy_n(between<float, 72>(-1, 1).data(), x.size(), x.data());
    std::copy_n(between<float, 264>(-1, 1, 1).data(), y.size(), y.data());
    check_jit([](auto x, auto y) { return std::tuple(ct::einsum<"bik,bkj->bij">(x, y), ct::einsum<"bik,bkj->bij">(x, y) + 1.0f); }, 1e-6, x, y);
  }
}

TEST_CASE("products that are one sum for each index of a batch are sums of kernels, along any axes") {
  constexpr auto f = [](auto x, auto y, auto z) {
    return std::tuple(ct::einsum<"ijk,ijk->">(x, y), ct::einsum<"ijk,ijk->k">(x, y), ct::einsum<"ijk,ijk->kj">(x, y), ct::einsum<"ijk,kij->ki">(x, z), ct::einsum<"kij,ijk->ij">(z, x), ct::einsum<"ijk,kij->">(x, z));
  };
  check_jit(f, 1e-13, between<double, 3, 5, 9>(-1, 1), between<double, 3, 5, 9>(-1, 1, 1), between<double, 9, 3, 5>(-1, 1, 2));
  // Of positive numbers: those of both signs cancel, the last sum to a 374th, and what is left of a float's precision is chance.
  check_jit(f, 2e-6, between<float, 3, 70, 40>(0, 1), between<float, 3, 70, 40>(0, 1, 1), between<float, 40, 3, 70>(0, 1, 2));
  const auto x = between<float, 100001>(-1, 1), y = between<float, 100001>(-1, 1, 1);
  check_jit([](auto x, auto y) { return std::tuple(ct::dot(x, y), ct::vdot(x, x)); }, 2e-6, x, y);
  CHECK(ct::jit([](auto x, auto y) { return ct::dot(x, y); }).kernels(x, y).find("gemm") == std::string::npos);
}

TEST_CASE("tril and triu are those of NumPy, and their derivatives") {
  constexpr auto f = [](auto x, auto y) { return std::tuple(ct::tril(x), ct::triu(x), ct::tril<1>(x), ct::triu<-2>(y), ct::tril<-1>(y), ct::triu<9>(y)); };
  const auto x = between<double, 2, 3, 5>(-1, 1);
  const auto y = between<double, 4, 4>(-1, 1, 1);
  const auto [lower, upper, above, most, below, none] = ct::jit(f)(x, y);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 5; ++j) CHECK((lower(1, i, j) == (j <= i ? x(1, i, j) : 0) && upper(1, i, j) == (j >= i ? x(1, i, j) : 0) && above(1, i, j) == (j <= i + 1 ? x(1, i, j) : 0)));
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) CHECK((most(i, j) == (j >= i - 2 ? y(i, j) : 0) && below(i, j) == (j < i ? y(i, j) : 0) && none(i, j) == 0));
  check_rules_of(f, std::tuple(x, y));
  check_compiled<float, orders::first, batching::yes>(f, std::tuple(as<float>(x), as<float>(y)), std::tuple());
}

namespace {
/// The triangles of the products in a function's kernels, as its report tells them.
template <class F, class... A> std::string triangles(const F& f, const A&... a) {
  std::string all, text = ct::jit(f).kernels(a...);
  for (std::size_t at = 0; (at = text.find("gemm(", at)) != std::string::npos;) {
    std::string attributes = text.substr(at + 5, text.find(')', at) - at - 5);
    int commas = 0;
    std::size_t i = 0;
    while (i < attributes.size() && commas < 6) commas += attributes[i++] == ',';
    all += commas < 6 ? "- " : attributes.substr(i) + " ";
    at += 5;
  }
  return all;
}
}  // namespace

TEST_CASE("products of triangular matrices, and products of which a triangle is used, skip the other half") {
  const auto a = between<double, 33, 33>(-1, 1);
  const auto b = between<double, 33, 40>(-1, 1, 1);
  const auto c = between<double, 40, 33>(-1, 1, 2);
  constexpr auto left = [](auto a, auto b) { return ct::matmul(ct::tril(a), b); };
  constexpr auto right = [](auto c, auto a) { return ct::matmul(c, ct::triu<2>(a)); };
  constexpr auto turned = [](auto c, auto a) { return ct::matmul(c, ct::transpose(ct::tril(a))); };
  constexpr auto outer = [](auto b, auto c) { return ct::tril(-ct::matmul(b, c)); };
  constexpr auto wide = [](auto a, auto b) { return ct::matmul(ct::tril<1>(a), b); };  // one diagonal more than a triangle
  constexpr auto both = [](auto b, auto c) {
    const auto p = ct::matmul(b, c);
    return std::tuple(ct::tril(p), ct::triu(p));
  };
  constexpr auto factors = [](auto d, auto l, auto b) {  // as in the mixture of Gaussians: exp(d) on the diagonal, l below it
    const auto i = ct::iota<std::int32_t, 33>(l);
    const auto row = ct::expand_dims<1>(i);
    const auto column = ct::expand_dims<0>(i);
    return ct::matmul(ct::where(row > column, l, ct::where(row == column, ct::expand_dims<0>(ct::exp(d)), 0.0)), b);
  };
  constexpr auto scaled = [](auto a, auto b) { return ct::matmul(2.0 * ct::where(ct::tril(a) != 0.0, 0.0, 1.0) * ct::triu(a), b); };
  CHECK(triangles(left, a, b) == "1,0,0 ");
  CHECK(triangles(right, c, a) == "0,2,0 ");
  CHECK(triangles(turned, c, a) == "0,2,0 ");
  CHECK(triangles(outer, b, c) == "0,0,1 ");
  CHECK(triangles(wide, a, b) == "- ");
  CHECK(triangles(both, b, c) == "- ");
  CHECK(triangles(factors, between<double, 33>(-1, 1), a, b) == "1,0,0 ");
  CHECK(triangles(scaled, a, b) == "2,0,0 ");
  check_jit(left, 1e-13, a, b);
  check_jit(right, 1e-13, c, a);
  check_jit(turned, 1e-13, c, a);
  check_jit(outer, 1e-13, b, c);
  check_jit(wide, 1e-13, a, b);
  check_jit(both, 1e-13, b, c);
  check_jit(factors, 1e-13, between<double, 33>(-1, 1), a, b);
  check_jit(scaled, 1e-13, a, b);
  constexpr auto loss = [](auto a, auto b) { return ct::sum(ct::sin(ct::matmul(ct::tril(a), b))); };
  constexpr auto gradient = ct::grad(loss, ct::wrt<0, 1>);
  CHECK(triangles(gradient, a, b).find("0,0,1 ") != std::string::npos);
  check_jit(gradient, 1e-12, a, b);
  check_jit(ct::vmap(gradient, ct::in_axes<0, ct::none>), 1e-5, between<float, 3, 33, 33>(-1, 1), as<float>(b));
}

TEST_CASE("of a matrix times its own transpose half is computed") {
  const auto a = between<double, 70, 45>(-1, 1);
  const auto batch = between<double, 3, 50, 40>(-1, 1, 1);
  constexpr auto gram = [](auto a) { return ct::matmul(ct::transpose(a), a); };
  constexpr auto batches = [](auto a) { return ct::einsum<"bij,bik->bjk">(a, a); };
  constexpr auto computed = [](auto a) { return ct::exp(ct::einsum<"ij,kj->ik">(ct::sin(a), ct::sin(a))); };  // [45, 45]
  constexpr auto other = [](auto a) { return ct::matmul(ct::transpose(a), ct::sin(a)); };
  constexpr auto square = [](auto a) { return ct::matmul(a, a); };
  const auto turned = between<double, 45, 70>(-1, 1, 2);
  const auto whole = between<double, 45, 45>(-1, 1, 3);
  CHECK(triangles(gram, a) == "0,0,1 ");
  CHECK(triangles(batches, batch) == "0,0,1 ");
  CHECK(triangles(computed, turned) == "0,0,1 ");
  CHECK(triangles(other, a) == "- ");
  CHECK(triangles(square, whole) == "- ");
  CHECK(triangles(gram, turned) == "- ");  // few terms: the mirror would cost as much
  check_jit(gram, 1e-13, a);
  check_jit(batches, 1e-13, batch);
  check_jit(computed, 1e-13, turned);
  check_jit(other, 1e-13, a);
  check_jit(square, 1e-13, whole);
  check_jit(gram, 1e-5, between<float, 1000, 33>(-1, 1));
  const auto y = ct::jit(gram)(a);
  bool same = true;
  for (int i = 0; i < 45; ++i)
    for (int j = 0; j < 45; ++j) same = same && y(i, j) == y(j, i);
  CHECK(same);
  constexpr auto loss = [](auto a) { return ct::sum(ct::sin(ct::matmul(ct::transpose(a), a))); };
  check_jit(ct::grad(loss), 1e-12, a);
  check_jit(ct::vmap(ct::grad(loss)), 2e-5, between<float, 2, 70, 45>(-1, 1));
  ct::array<double, ct::dyn, 40> rows({300, 40});
  for (ct::extent k = 0; k < rows.size(); ++k) rows.data()[k] = 0.01 * double(k * 7 % 101) - 0.5;
  check_jit(gram, 1e-13, rows);
}

namespace {

constexpr auto of_several = [](auto a, auto b, auto c, auto m) {
  return std::tuple(ct::einsum<"ij,jk,kl->il">(a, b, c), ct::einsum<"kl,ij,jk,il->">(c, a, b, ct::matmul(ct::matmul(a, b), c)), ct::einsum<"ii->i">(m), ct::einsum<"ii">(m),
                    ct::einsum<"ii,jj,ij->ji">(m, m, m), ct::einsum<"...ij,...jk->...ik">(a, b), ct::einsum<"i...,i...->...i">(m, m), ct::einsum<"ij,ij,ij->j">(a, a, a));
};

}  // namespace

TEST_CASE("einsum of several operands, of diagonals, of axes that an ellipsis stands for") {
  const auto a = between<double, 2, 3>(-1, 1);
  const auto b = between<double, 3, 4>(-1, 1, 3);
  const auto c = between<double, 4, 2>(-1, 1, 4);
  const auto m = between<double, 3, 3>(-1, 1, 5);
  const auto [chain, all, diagonal, trace, both, dots, rows, cubes] = ct::jit(of_several)(a, b, c, m);
  ct::array<double, 2, 2> product = ct::zeros<double, 2, 2>();
  for (int i = 0; i < 2; ++i)
    for (int l = 0; l < 2; ++l)
      for (int j = 0; j < 3; ++j)
        for (int k = 0; k < 4; ++k) product(i, l) += a(i, j) * b(j, k) * c(k, l);
  double squares = 0, sum = 0;
  for (int i = 0; i < 2; ++i)
    for (int l = 0; l < 2; ++l) {
      CHECK(std::abs(chain(i, l) - product(i, l)) <= 1e-14);
      squares += product(i, l) * product(i, l);
    }
  CHECK(std::abs(double(all) - squares) <= 1e-14);
  for (int i = 0; i < 3; ++i) {
    CHECK(diagonal(i) == m(i, i));
    sum += m(i, i);
    double cube = 0;
    for (int j = 0; j < 3; ++j) {
      CHECK(std::abs(both(j, i) - m(i, i) * m(j, j) * m(i, j)) <= 1e-15);
      CHECK(std::abs(rows(j, i) - m(i, j) * m(i, j)) <= 1e-15);
    }
    for (int k = 0; k < 2; ++k) cube += a(k, i) * a(k, i) * a(k, i);
    CHECK(std::abs(cubes(i) - cube) <= 1e-15);
  }
  CHECK(std::abs(double(trace) - sum) <= 1e-15);
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 4; ++k) {
      double dot = 0;
      for (int j = 0; j < 3; ++j) dot += a(i, j) * b(j, k);
      CHECK(std::abs(dots(i, k) - dot) <= 1e-15);
    }
  check_rules_of(of_several, std::tuple(a, b, c, m));

  // Axes of an ellipsis broadcast.
  const auto x = between<float, 5, 1, 2, 3>(-1, 1);
  const auto y = between<float, 4, 3, 2>(-1, 1, 2);
  const auto p = ct::jit([](auto x, auto y) { return ct::einsum<"...ij,...jk">(x, y); })(x, y);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(p)>, ct::array<float, 5, 4, 2, 2>>);
  for (int u = 0; u < 5; ++u)
    for (int v = 0; v < 4; ++v)
      for (int i = 0; i < 2; ++i)
        for (int k = 0; k < 2; ++k) CHECK(std::abs(p(u, v, i, k) - (x(u, 0, i, 0) * y(v, 0, k) + x(u, 0, i, 1) * y(v, 1, k) + x(u, 0, i, 2) * y(v, 2, k))) <= 1e-6f);
  ct::array<double, ct::dyn, 3> some({2, 3});
  std::copy_n(a.data(), 6, some.data());
  const auto q = ct::jit([](auto a, auto b, auto c) { return ct::einsum<"ij,jk,kl->li">(a, b, c); })(some, b, c);
  for (int i = 0; i < 2; ++i)
    for (int l = 0; l < 2; ++l) CHECK(std::abs(q(l, i) - product(i, l)) <= 1e-14);
}

TEST_CASE("products of vectors with matrices whose batch axes are apart read them where they are") {
  const auto scores = [](auto q, auto cache) { return ct::einsum<"bhk,bthk->bht">(q, cache); };
  const auto mixed = [](auto p, auto cache) { return ct::einsum<"bthk,bht->bhk">(cache, p); };
  const auto turned = [](auto p, auto cache) { return ct::einsum<"bht,bthk->khb">(p, cache); };
  const auto q = between<double, 3, 5, 18>(-1, 1);
  const auto p = between<double, 3, 5, 7>(-1, 1, 1);
  const auto of_scores = between<double, 3, 7, 5, 18>(-1, 1, 2);
  const auto in_place = [](const std::string& kernels) {
    return kernels.find("gemm") == std::string::npos && kernels.find("[3,5,7,18]") == std::string::npos && kernels.find("[3,5,18,7]") == std::string::npos;
  };
  CHECK(in_place(ct::jit(scores).kernels(q, of_scores)));
  CHECK(in_place(ct::jit(mixed).kernels(p, of_scores)));
  check_jit(scores, 1e-14, q, of_scores);
  check_jit(mixed, 1e-14, p, of_scores);
  check_jit(turned, 1e-14, p, of_scores);
  check_jit(ct::vmap(scores, ct::in_axes<ct::none, 2>), 1e-14, q, between<double, 3, 7, 4, 5, 18>(-1, 1, 3));
  const auto attention = [](auto q, auto keys, auto values) { return ct::sum(ct::square(decltype(mixed){}(ct::nn::softmax(decltype(scores){}(q, keys)), values))); };
  check_derivatives(attention, std::tuple(between<double, 2, 3, 4>(-1, 1), between<double, 2, 5, 3, 4>(-1, 1, 1), between<double, 2, 5, 3, 4>(-1, 1, 2)));
  ct::array<float, ct::dyn, ct::dyn, 2, 17> cache({3, 9, 2, 17});
  for (ct::extent i = 0; i < cache.size(); ++i) cache.data()[i] = std::sin(float(i));
  ct::array<float, ct::dyn, 2, 17> some({3, 2, 17});
  for (ct::extent i = 0; i < some.size(); ++i) some.data()[i] = std::cos(float(i));
  check_jit(scores, 2e-6, some, cache);
}
