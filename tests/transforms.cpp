/// grad, value_and_grad, jvp, vjp, linearize, linear_transpose, vmap and jit, alone and nested.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {
template <extent N> using list = ct::array<double, N>;

template <template <class, extent...> class A> struct line {
  A<double, 3> slope;
  A<double> offset;
};
template <template <class, extent...> class A> struct model {
  line<A> first;
  A<double, 2, 3> rest;
};

constexpr auto product = [](auto x, auto y, auto z) { return ct::sum(x * x * y + ct::sin(z)); };
constexpr auto with_aux = [](auto x, auto y) { return std::pair(ct::sum(x * y), std::tuple(x + y, ct::max(x))); };
constexpr auto cube = [](auto x) { return x * x * x; };
constexpr auto cubic = [](auto x) { return ct::sum(x * x * x) + ct::prod(x); };
constexpr auto compiled_square = ct::jit([](auto x) { return x * x; });

/// The nodes of the optimized gradient of f that compute something.
template <class F, class... A> int compute_nodes(const F& f, const A&... arguments) {
  const graph g = ct::simplify(graph_of(f, arguments...));
  int n = 0;
  for (const ct::node& x : g.nodes) n += !x.is_input() && x.op->kind != ct::role::source;
  return n;
}
}  // namespace

TEST_CASE("grad takes one argument, several, negative ones, in any order") {
  const list<2> x{1, 2}, y{3, 4}, z{0, 1};
  CHECK(ct::grad(product)(x, y, z) == list<2>{6, 16});
  const auto several = ct::grad(product, ct::wrt<-1, 0>)(x, y, z);
  CHECK(std::get<0>(several)(0) == 1);
  CHECK(std::get<1>(several) == list<2>{6, 16});
  const auto f = [](auto x, auto y, auto z) { return std::tuple(ct::grad(product, ct::wrt<1>)(x, y, z), ct::grad(product, ct::wrt<-2>)(x, y, z), ct::grad(product, ct::wrt<0, 2, 1>)(x, y, z)); };
  const auto [positive, negative, all] = interpret(f, x, y, z);
  CHECK(positive == list<2>{1, 4});
  CHECK(negative == positive);
  CHECK(std::get<0>(all) == list<2>{6, 16});
  CHECK(std::get<2>(all) == positive);
}

TEST_CASE("value_and_grad returns both; has_aux passes the second result through") {
  const list<2> x{1, 2}, y{3, 4};
  const auto [value, gradient] = ct::value_and_grad(with_aux, ct::has_aux)(x, y);
  CHECK(std::get<0>(value) == 11);
  CHECK(std::get<0>(std::get<1>(value)) == list<2>{4, 6});
  CHECK(std::get<1>(std::get<1>(value)) == 2);
  CHECK(gradient == y);
  const auto f = [](auto x, auto y) { return std::tuple(ct::grad(with_aux, ct::wrt<1>, ct::has_aux)(x, y), ct::value_and_grad(with_aux, ct::wrt<0, 1>, ct::has_aux)(x, y)); };
  const auto [a, b] = interpret(f, x, y);
  CHECK(std::get<0>(a) == x);
  CHECK(std::get<1>(std::get<1>(a)) == 2);
  CHECK(std::get<0>(std::get<1>(b)) == y);
  CHECK(std::get<1>(std::get<1>(b)) == x);
}

TEST_CASE("grad of a number is a number, to any order") {
  CHECK(ct::grad(cube)(2.0) == 12);
  CHECK(ct::grad(ct::grad(cube))(2.0) == 12);
  CHECK(ct::grad(ct::grad(ct::grad(cube)))(2.0) == 6);
  CHECK(interpret(ct::grad(ct::grad(ct::grad(ct::grad(cube)))), 2.0) == 0);
}

TEST_CASE("perturbations are not confused") {
  constexpr auto f = [](auto x) { return x * ct::grad([x](auto y) { return x + y; })(1.0); };
  CHECK(ct::grad(f)(1.0) == 1);
  constexpr auto forward = [](auto x) {
    return std::get<1>(ct::jvp([](auto x) { return x * std::get<1>(ct::jvp([x](auto y) { return x + y; }, std::tuple(1.0), std::tuple(1.0))); }, std::tuple(x), std::tuple(ct::ones_like(x))));
  };
  CHECK(interpret(forward, 1.0) == 1);
  constexpr auto mixed = [](auto x) { return x * ct::grad([x](auto y) { return x * y * y; })(3.0); };  // 6 x^2
  CHECK(interpret(ct::grad(mixed), 2.0) == 24);
  CHECK(interpret(ct::grad(ct::grad(mixed)), 2.0) == 12);
}

TEST_CASE("jvp, vjp and linearize outside of a trace") {
  const list<2> x{1, 2}, t{0.5, -1};
  constexpr auto f = [](auto x) { return x * x; };
  const auto [y, dy] = ct::jvp(f, std::tuple(x), std::tuple(t));
  CHECK(y == list<2>{1, 4});
  CHECK(dy == list<2>{1, -4});
  const auto [z, pull] = ct::vjp(f, x);
  CHECK(z == y);
  CHECK(std::get<0>(pull(t)) == list<2>{1, -4});
  const auto [w, push] = ct::linearize(f, x);
  CHECK(w == y);
  CHECK(push(t) == dy);
}

TEST_CASE("linear_transpose of a linear function, of one and two arguments") {
  const auto one = ct::linear_transpose([](auto x) { return ct::concatenate<0>(2.0 * x, ct::sum(x, ct::axis<0>, ct::keepdims)); }, list<2>());
  CHECK(std::get<0>(one(list<3>{1, 2, 3})) == list<2>{5, 7});
  constexpr auto two = [](auto c) { return ct::linear_transpose([](auto x, auto y) { return x - 3.0 * y; }, c, c)(c); };
  const auto [x, y] = interpret(two, list<2>{1, 2});
  CHECK(x == list<2>{1, 2});
  CHECK(y == list<2>{-3, -6});
}

TEST_CASE("vmap: in_axes per argument, negative, none; out_axes; axis_size") {
  const ct::array<double, 2, 3> a{{1, 2, 3}, {4, 5, 6}};
  constexpr auto f = [](auto a, auto v) {
    constexpr auto dot = [](auto x, auto y) { return ct::sum(x * y); };
    constexpr auto scale = [](auto x, auto y) { return x * y; };
    return std::tuple(ct::vmap(dot, ct::in_axes<0, ct::none>)(a, v), ct::vmap([](auto x) { return ct::sum(x); }, ct::in_axes<-1>)(a), ct::vmap([](auto x) { return x * 2.0; }, ct::in_axes<1>)(a),
                      ct::vmap(scale, ct::in_axes<0, ct::none>, ct::out_axes<1>)(a, v), ct::vmap(scale, ct::in_axes<1, 0>, ct::out_axes<-1>)(a, v),
                      ct::vmap([](auto x, auto y) { return std::tuple(x + y, y); }, ct::in_axes<0, ct::none>, ct::out_axes<0, ct::none>)(a, v),
                      ct::vmap([](auto x) { return x; }, ct::in_axes<ct::none>, ct::axis_size<2>)(v), ct::vmap(ct::vmap([](auto x) { return x * x; }))(a),
                      ct::vmap(ct::vmap(scale, ct::in_axes<0, ct::none>), ct::in_axes<ct::none, 0>)(v, v));
  };
  const auto [dots, columns, doubled, out1, last, both, repeated, nested, table] = interpret(f, a, list<3>{1, 0, -1});
  CHECK(dots == list<2>{-2, -2});
  CHECK(columns == list<3>{5, 7, 9});
  CHECK(doubled == ct::array<double, 3, 2>{{2, 8}, {4, 10}, {6, 12}});
  CHECK(out1 == ct::array<double, 3, 2>{{1, 4}, {0, 0}, {-3, -6}});
  CHECK(last == ct::array<double, 2, 3>{{1, 0, -3}, {4, 0, -6}});
  CHECK(std::get<0>(both) == ct::array<double, 2, 3>{{2, 2, 2}, {5, 5, 5}});
  CHECK(std::get<1>(both) == list<3>{1, 0, -1});
  CHECK(repeated == ct::array<double, 2, 3>{{1, 0, -1}, {1, 0, -1}});
  CHECK(nested == ct::array<double, 2, 3>{{1, 4, 9}, {16, 25, 36}});
  CHECK(table == ct::array<double, 3, 3>{{1, 0, -1}, {0, 0, 0}, {-1, 0, 1}});
}

TEST_CASE("vmap of tuples, with axes per leaf, and of run-time extents") {
  constexpr auto f = [](auto t) { return ct::vmap([](auto p) { return std::get<0>(p) + std::get<1>(p); }, ct::in_axes<ct::leaf_axes<0, ct::none>{}>)(t); };
  CHECK(interpret(f, std::tuple(list<2>{1, 2}, ct::array<double>(10))) == list<2>{11, 12});
  ct::array<double, ct::dyn, 2> x({3, 2});
  std::copy_n(between<double, 6>(-1, 1).data(), 6, x.data());
  const auto g = ct::vmap(ct::grad([](auto x) { return ct::prod(x); }));
  const auto r = g(x);
  for (int i = 0; i < 3; ++i) CHECK(r(i, 0) == x(i, 1));
  CHECK(r.extent(0) == 3);
}

TEST_CASE("towers: grad of vmap of grad, vmap of grad of vmap, hessians by jvp of grad") {
  constexpr auto energy = [](auto x) { return ct::sum(ct::vmap(ct::grad([](auto y) { return y * y * y; }))(x)); };  // sum of 3 x^2
  const list<3> x{1, -2, 0.5};
  CHECK(ct::grad(energy)(x) == list<3>{6, -12, 3});
  constexpr auto rows = [](auto a) { return ct::vmap(ct::grad([](auto x) { return ct::sum(ct::vmap([](auto y) { return ct::sin(y) * y; })(x)); }))(a); };
  const auto a = between<double, 2, 3>(-1, 1);
  const auto r = interpret(rows, a);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) CHECK(r(i, j) == Approx(std::cos(a(i, j)) * a(i, j) + std::sin(a(i, j))));
  constexpr auto hessian = [](auto x) {
    return ct::vmap([](auto x, auto t) { return std::get<1>(ct::jvp(ct::grad(cubic), std::tuple(x), std::tuple(t))); }, ct::in_axes<ct::none, 0>)(
        x, ct::astype<double>(ct::expand_dims<1>(ct::iota<std::int32_t, 3>(x)) == ct::iota<std::int32_t, 3>(x)));
  };
  CHECK(difference(tensors_of(ct::jit(hessian)(x)), tensors_of(ct::array<double, 3, 3>{{6, 0.5, -2}, {0.5, -12, 1}, {-2, 1, 3}}), 1e-14) == "");
}

TEST_CASE("jit inside of jit and of transforms is inlined") {
  constexpr auto outer = [](auto x) { return ct::grad(ct::jit([](auto y) { return ct::sum(compiled_square(y) + 1.0); }))(x) + ct::jit(compiled_square)(x); };
  CHECK(ct::jit(outer)(list<2>{1, 3}) == list<2>{3, 15});
}

TEST_CASE("functions inside of a trace capture traced values") {
  constexpr auto g = [](auto x, auto w) {
    const auto scaled = ct::vmap([x](auto w) { return ct::sum(x * w); })(w);
    const auto gradient = ct::grad([w](auto x) { return ct::sum(ct::matmul(w, x)); })(x);
    const auto nested = ct::vmap([=](auto row) { return ct::grad([=](auto y) { return ct::sum(row * y * x); })(x); })(w);
    const auto by_captured = ct::grad([w](auto x) { return ct::sum(ct::vmap([x](auto row) { return ct::sum(row * x * x); })(w)); })(x);
    return std::tuple(scaled, gradient, nested, by_captured);
  };
  const list<2> x{2, 3};
  const ct::array<double, 3, 2> w{{1, 0}, {0, 1}, {1, 1}};
  const auto [scaled, gradient, nested, by_captured] = interpret(g, x, w);
  CHECK(scaled == list<3>{2, 3, 5});
  CHECK(gradient == list<2>{2, 2});
  CHECK(nested == ct::array<double, 3, 2>{{2, 0}, {0, 3}, {2, 3}});
  CHECK(by_captured == list<2>{8, 12});
  const auto through = ct::grad([](auto x, auto w) { return ct::sum(ct::vmap([x](auto row) { return ct::sum(row * x * x); })(w)); });
  CHECK(interpret(through, x, w) == list<2>{8, 12});
}

TEST_CASE("functions inside of a trace capture traced values, though their arguments are arrays") {
  constexpr auto g = [](auto x) {  // [2, 3]
    const auto [counted, kept] = ct::fori_loop<0, 4>([=](auto i, auto s) {
      const auto [a, b] = s;
      return std::tuple(a + ct::sum(ct::expand_dims<1>(b) * x, ct::axis<0>) + x(ct::index<0>, i - i), b);
    }, std::tuple(ct::zeros<double, 3>(), ct::ones<double, 2>()));
    const auto last = ct::while_loop([=](auto s) { return ct::sum(s) < ct::sum(x); }, [](auto s) { return s + 1; }, ct::zeros<double, 300>());
    const auto [carry, ys] = ct::scan([=](auto c, auto e) { return std::tuple(c + e * ct::sum(x), c); }, ct::array<double>(1), ct::array<double, 2>{2, 3});
    const auto mapped = ct::vmap([=](auto row) { return ct::sum(row * x(ct::index<1>)); })(ct::ones<double, 4, 3>());
    const auto slope = ct::grad([=](auto y) { return ct::sum(y * y * x(ct::index<0>)); })(ct::ones<double, 3>());
    return std::tuple(counted, kept, ct::sum(last), carry, ys, mapped, slope);
  };
  const ct::array<double, 2, 3> x{{1, 2, 3}, {4, 5, 6}};
  const auto [counted, kept, last, carry, ys, mapped, slope] = interpret(g, x);
  CHECK(counted == list<3>{24, 32, 40});
  CHECK(kept == list<2>{1, 1});
  CHECK(last == 300);
  CHECK(carry == 106);
  CHECK(ys == list<2>{1, 43});
  CHECK(mapped == list<4>{15, 15, 15, 15});
  CHECK(slope == list<3>{2, 4, 6});
  const auto total = [](auto x) { return ct::sum(ct::fori_loop<0, 4>([=](auto i, auto s) { return s + ct::sum(x) + x(ct::index<0>, i - i); }, ct::zeros<double, 2>())); };
  CHECK(interpret(ct::grad(total), x) == ct::array<double, 2, 3>{{16, 8, 8}, {8, 8, 8}});
}

TEST_CASE("an inner function captures values of deeper traces than its arguments belong to") {
  constexpr auto f = [](auto x, auto w) {
    return ct::vmap([x, w](auto row) {
      return ct::vmap([x, w, row](auto entry) {
        const auto slope = ct::grad([entry, row](auto x) { return ct::sum(x * row) * entry; })(x);         // row entry
        const auto twice = ct::grad([=](auto x) { return ct::sum(x * x) * entry + ct::sum(w) * x(0); })(x);  // 2 x entry, + sum of w
        return slope + twice;
      })(row);
    })(w);
  };
  const list<2> x{2, 3};
  const ct::array<double, 3, 2> w{{1, 4}, {0, 1}, {5, 1}};
  const auto r = interpret(f, x, w);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j)
      for (int k = 0; k < 2; ++k) CHECK(r(i, j, k) == w(i, k) * w(i, j) + 2 * x(k) * w(i, j) + (k == 0 ? 12 : 0));
}

TEST_CASE("structs, tuples and std::array as arguments and results") {
  constexpr auto loss = [](const auto& m, auto x) { return ct::sum(m.first.slope * x) * m.first.offset + ct::sum(m.rest); };
  model<ct::array> m{{list<3>{1, 2, 3}, 2.0}, {}};
  const auto [value, gradient] = ct::value_and_grad(loss)(m, list<3>{1, 1, 1});
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(gradient)>, model<ct::array>>);
  CHECK(value == 12);
  CHECK(gradient.first.slope == list<3>{2, 2, 2});
  CHECK(gradient.first.offset == 6);
  CHECK(gradient.rest == ct::ones<double, 2, 3>());
  constexpr auto swap = [](auto pair) { return std::array{std::get<1>(pair), std::get<0>(pair) * 2.0}; };
  const auto swapped = interpret(swap, std::array{list<2>{1, 2}, list<2>{3, 4}});
  CHECK(swapped[0] == list<2>{3, 4});
  CHECK(swapped[1] == list<2>{2, 4});
  const auto per_layer = ct::grad([](auto layers, auto x) {
    for (const auto& w : layers) x = ct::matmul(w, x);
    return ct::sum(x);
  });
  const auto g = interpret(per_layer, std::array{ct::eye<double, 2>(), ct::eye<double, 2>()}, list<2>{1, 2});
  CHECK(g[0] == ct::array<double, 2, 2>{{1, 2}, {1, 2}});
  constexpr auto second = [](const auto& m) { return ct::sum(ct::grad([](const auto& m) { return ct::sum(m.slope * m.slope) * m.offset; })(m).slope); };
  const auto twice = interpret(ct::grad(second), line<ct::array>{list<3>{1, 2, 3}, 2.0});
  CHECK(twice.slope == list<3>{4, 4, 4});
  CHECK(twice.offset == 12);
}

TEST_CASE("stop_gradient is a constant of every derivative") {
  constexpr auto f = [](auto x) { return ct::sum(x * ct::stop_gradient(x * x)); };
  CHECK(interpret(ct::grad(f), list<2>{2, 3}) == list<2>{4, 9});
  CHECK(interpret(ct::grad([](auto x) { return ct::stop_gradient(ct::sum(x)); }), list<2>{2, 3}) == list<2>{0, 0});
}

TEST_CASE("structural zeros are never materialized") {
  const list<2> x{1, 2}, y{3, 4};
  constexpr auto unused = [](auto x, auto y) { return ct::sum(x) + 0.0 * ct::sum(ct::stop_gradient(y)); };
  CHECK(compute_nodes(ct::grad([](auto, auto y) { return ct::sum(y); }), x, y) == 0);
  CHECK(compute_nodes(ct::grad(unused, ct::wrt<1>), x, y) == 0);
  constexpr auto heavy = [](auto x, auto y) { return ct::sum(ct::tanh(x)) + ct::sum(ct::floor(ct::exp(y)) * ct::sign(y)); };
  CHECK(compute_nodes(ct::grad(heavy, ct::wrt<1>), x, y) == 0);
  CHECK(compute_nodes(ct::grad(heavy, ct::wrt<0, 1>), x, y) == compute_nodes(ct::grad(heavy), x, y));
  const auto forward = [](auto x, auto y) { return std::get<1>(ct::jvp([y](auto x) { return ct::tanh(y) + x; }, std::tuple(x), std::tuple(x))); };
  CHECK(compute_nodes(forward, x, y) == 0);
}

namespace {
template <int First, int Last> constexpr auto part = [](auto p) { return ct::slice<ct::range<First, Last>>(p); };
/// Functions of a vector in parts: what two of them make together, a third joins; results of one part; parts beside what has met; slices that
/// overlap; conditions and whole numbers; an operation of several results; small parts; the whole vector; elements that nothing uses.
constexpr auto joined = [](auto p) {
  const auto a = part<0, 3>(p), b = part<3, 6>(p), c = part<6, 12>(p);
  const auto ab = ct::sin(a) * ct::expand_dims<1>(ct::cos(b));
  return ab * ct::sum(c * c) + ct::reshape<2, 3>(c)(ct::index<1>);
};
constexpr auto apart = [](auto p) { return std::tuple(ct::sin(part<0, 4>(p)), ct::exp(part<4, 12>(p)) * 2.0, ct::sum(part<0, 4>(p))); };
constexpr auto beside = [](auto p) {
  const auto a = part<0, 3>(p), b = part<3, 6>(p), c = part<6, 12>(p);
  const auto m = ct::exp(a) * ct::sum(b) * ct::sum(c);
  return std::tuple(m * b + ct::tanh(a) * m, b * 3.0, ct::matmul(ct::reshape<2, 3>(c), m));
};
constexpr auto overlapping = [](auto p) { return part<0, 5>(p) * part<3, 8>(p) + ct::sum(part<8, 12>(p)) * ct::slice<ct::range<8, 12, 1>>(p)(ct::index<2>); };
constexpr auto chosen = [](auto p) {
  const auto a = part<0, 6>(p), b = part<6, 12>(p);
  return ct::where(a > ct::sum(b) * 0.1, a * a, b) * ct::astype<double>(ct::astype<std::int32_t>(b * 10.0)) + ct::sort(a * b);
};
constexpr auto factored = [](auto p) { return std::get<1>(ct::linalg::qr(ct::reshape<3, 3>(part<0, 9>(p)) + 3.0 * ct::eye<double, 3>())) * ct::sum(part<9, 12>(p)); };
constexpr auto small = [](auto p) { return part<0, 2>(p) * part<2, 4>(p) * ct::sum(part<4, 12>(p)); };
constexpr auto whole = [](auto p) { return part<0, 6>(p) * part<6, 12>(p) + ct::sum(p); };
constexpr auto strided = [](auto p) { return ct::slice<ct::range<0, 12, 2>>(p) * ct::exp(part<0, 6>(p)); };
constexpr auto partly_used = [](auto p) { return ct::sin(part<3, 6>(p)) * part<7, 10>(p); };
constexpr auto unused = [](auto) { return ct::array<double, 2>{1, 2}; };

constexpr auto energy_of_parts = [](auto p) { return ct::sum(ct::square(joined(p))) * ct::sum(part<3, 6>(p)); };

template <class F, class G, class... A> void agree(F f, G g, const A&... x) { check_close(tensors_of(interpret(f, x...)), tensors_of(interpret(g, x...)), 1e-11); }
template <class F> void check_parts(F f) {
  const auto p = between<double, 12>(0.2, 1.4);
  agree(ct::jacfwd(f), ct::jacrev(f), p);
  agree(ct::vmap(ct::jacfwd(f)), ct::vmap(ct::jacrev(f)), between<double, 2, 12>(0.2, 1.4));
}
}  // namespace

TEST_CASE("Jacobians by parts of a vector") {
  check_parts(joined), check_parts(apart), check_parts(beside), check_parts(overlapping), check_parts(chosen), check_parts(factored);
  check_parts(small), check_parts(whole), check_parts(strided), check_parts(partly_used), check_parts(unused);
  const auto p = between<double, 12>(0.2, 1.4);
  agree(ct::hessian(energy_of_parts), ct::jacrev(ct::jacrev(energy_of_parts)), p);
  agree(ct::jacfwd(ct::jacfwd(beside)), ct::jacrev(ct::jacrev(beside)), p);
  check_jit(ct::jacfwd(joined), 1e-13, p);
  check_jit(ct::jacfwd(beside), 1e-5, between<float, 12>(0.2, 1.4));
  // 20 directions go through two layers, not 70.
  const auto layers = [](auto p, auto first, auto second) { return ct::tanh(ct::matmul(second, ct::tanh(ct::matmul(first, part<0, 20>(p))))) * ct::cos(part<20, 70>(p)); };
  CHECK(ct::jit(ct::jacfwd(layers)).cost(ct::array<double, 70>(), ct::array<double, 50, 20>(), ct::array<double, 50, 50>()).flops < 2 * 50 * 50 * 40);
}
