/// Complex numbers beside std::complex, their derivatives, and everything that moves, adds up, multiplies and loops over them.

#include <complex>

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;
using namespace std::complex_literals;

namespace {

using c64 = std::complex<float>;
using c128 = std::complex<double>;

/// Points near and far from 0, on both axes, and on both sides of the branch cuts.
std::vector<c128> points() {
  std::vector<c128> p;
  for (double r : {1e-3, 0.3, 0.98, 1.0, 1.7, 12.0})
    for (int k = 0; k < 12; ++k) p.push_back(std::polar(r, (k + 0.25) * M_PI / 6));
  for (double x : {-3.0, -1.0, -0.4, 0.0, 0.4, 1.0, 3.0})
    for (double y : {0.0, -0.0, 1e-8, -1e-8, 2.0, -2.0}) p.push_back({x, y});
  return p;
}
template <class T> auto point_array() {
  const auto p = points();
  ct::array<std::complex<T>, ct::dyn> z({ct::extent(p.size())});
  for (std::size_t i = 0; i < p.size(); ++i) z(ct::extent(i)) = std::complex<T>(p[i]);
  return z;
}
/// Numbers whose parts are in [-limit, limit].
template <class T, ct::extent... E> ct::array<std::complex<T>, E...> complex_between(double limit, int seed) {
  ct::array<std::complex<T>, E...> z;
  const auto parts = between<double, (2 * ... * E)>(-limit, limit, std::uint64_t(seed));
  for (ct::extent i = 0; i < z.size(); ++i) z.data()[i] = {T(parts(2 * i)), T(parts(2 * i + 1))};
  return z;
}
template <class A> void check_near(const A& got, const A& want, double tolerance) { check_close(tensors_of(got), tensors_of(want), tolerance); }

constexpr auto functions = [](auto z) {
  return std::tuple(ct::exp(z), ct::log(z), ct::sqrt(z), ct::sin(z), ct::cos(z), ct::tan(z), ct::sinh(z), ct::cosh(z), ct::tanh(z), ct::asin(z), ct::acos(z), ct::atan(z), ct::asinh(z), ct::acosh(z),
                    ct::atanh(z), ct::reciprocal(z), ct::square(z), ct::pow(z, 3), ct::pow(z, -2), ct::rsqrt(z), ct::log10(z), ct::conj(z));
};
const std::vector<std::pair<const char*, c128 (*)(c128)>> by_library{
    {"exp", [](c128 z) { return std::exp(z); }},     {"log", [](c128 z) { return std::log(z); }},     {"sqrt", [](c128 z) { return std::sqrt(z); }},   {"sin", [](c128 z) { return std::sin(z); }},
    {"cos", [](c128 z) { return std::cos(z); }},     {"tan", [](c128 z) { return std::tan(z); }},     {"sinh", [](c128 z) { return std::sinh(z); }},   {"cosh", [](c128 z) { return std::cosh(z); }},
    {"tanh", [](c128 z) { return std::tanh(z); }},   {"asin", [](c128 z) { return std::asin(z); }},   {"acos", [](c128 z) { return std::acos(z); }},   {"atan", [](c128 z) { return std::atan(z); }},
    {"asinh", [](c128 z) { return std::asinh(z); }}, {"acosh", [](c128 z) { return std::acosh(z); }}, {"atanh", [](c128 z) { return std::atanh(z); }}, {"reciprocal", [](c128 z) { return 1.0 / z; }},
    {"square", [](c128 z) { return z * z; }},        {"pow 3", [](c128 z) { return z * z * z; }},     {"pow -2", [](c128 z) { return 1.0 / (z * z); }}, {"rsqrt", [](c128 z) { return 1.0 / std::sqrt(z); }},
    {"log10", [](c128 z) { return std::log10(z); }}, {"conj", [](c128 z) { return std::conj(z); }}};

// Of the parts of complex numbers, so that finite differences are taken of real arrays.
constexpr auto arithmetic = [](auto x, auto y) {
  const auto z = ct::complex(x, y), w = ct::conj(z) * c64(1.5f, -0.5f) + x;
  const auto both = std::tuple(z * w, z / w, z - 2.0f * w, -z, x / z, z * x, ct::square(z), ct::pow(w, 3), 1if / w);
  return std::apply([](auto... v) { return std::tuple(ct::real(v)..., ct::imag(v)...); }, both);
};
constexpr auto real_valued = [](auto x, auto y) {
  const auto z = ct::complex(x, y), w = z * z + 0.3f;
  return std::tuple(ct::abs(z), ct::angle(w), ct::imag(ct::sign(w)), ct::variance(w), ct::linalg::norm(z), ct::real(ct::vdot(z, w)), ct::imag(ct::mean(z * w)), ct::where(ct::real(w) < x, ct::abs(w), y));
};
constexpr auto holomorphic = [](auto x, auto y) {
  const auto z = ct::complex(x, y);
  const auto f = std::tuple(ct::exp(z), ct::log(z), ct::sqrt(z), ct::rsqrt(z), ct::sin(z) * ct::cos(z), ct::tan(z), ct::sinh(z) * ct::cosh(z), ct::tanh(z), ct::asin(z), ct::acos(z), ct::atan(z));
  const auto g = std::tuple(ct::asinh(z), ct::acosh(z), ct::atanh(z), ct::logistic(z), ct::expm1(z), ct::log1p(z), ct::exp2(z), ct::log2(z), ct::pow(z, z + 0.5f), ct::pow(z, 0.7f));
  return std::apply([](auto... v) { return std::tuple((ct::real(v) + 0.5f * ct::imag(v))...); }, std::tuple_cat(f, g));
};
constexpr auto moved = [](auto x, auto y) {
  const auto z = ct::complex(x, y);  // [4, 3]
  const auto m = std::tuple(ct::transpose(z), ct::flip<0>(z), ct::concatenate<1>(z, 2if * z), z(ct::index<2>), z(ct::range<1, 4>, ct::index<0>), ct::reshape<12>(z), ct::roll<0>(z, 1), ct::take<0>(z, ct::array<int, 3>{3, 0, 3}),
                            ct::at(z, ct::array<int, 2>{1, 1}).add(ct::full<c64, 3>(c64(1, 2)) * z(ct::range<0, 2>)), ct::at(z, 1).set(1if), ct::pad<ct::low<1, 0>, ct::high<0, 2>>(z), ct::cumsum(z, ct::axis<0>), ct::sum(z, ct::axis<1>),
                            ct::broadcast_to<2, 4, 3>(z), ct::where(x < y, z, 0.5f), ct::stack<0>(z, z * z));
  return std::apply([](auto... v) { return std::tuple((ct::real(v) - 2 * ct::imag(v))...); }, m);
};
constexpr auto products = [](auto x, auto y) {
  const auto z = ct::complex(x, y), w = ct::conj(z) * z + 1if;
  const auto m = std::tuple(ct::matmul(z, ct::transpose(w)), ct::matmul(x, ct::transpose(z)), ct::dot(z(ct::index<0>), w(ct::index<1>)), ct::einsum<"ij,ij->j">(z, w), ct::outer(z(ct::index<0>), y(ct::index<1>)), ct::kron(z(ct::index<0>), w(ct::index<0>)));
  return std::apply([](auto... v) { return std::tuple((ct::real(v) - 2 * ct::imag(v))...); }, m);
};
constexpr auto loops = [](auto x, auto y) {
  const auto z = ct::complex(x, y);
  const auto step = [](auto carry, auto row) { return std::tuple(0.5f * carry * row + 1if, carry * carry); };
  const auto [last, all] = ct::scan(step, z(ct::index<0>), z);
  const auto chosen = ct::cond(ct::sum(x) > 0.0f, [](auto a) { return a * a; }, [](auto a) { return ct::conj(a); }, z);
  const auto kept = ct::checkpoint([](auto a) { return ct::exp(ct::checkpoint_name<"squares">(a * a)); })(0.5f * z);
  return std::apply([](auto... v) { return std::tuple((ct::real(v) - 2 * ct::imag(v))...); }, std::tuple(last, all, chosen, kept));
};

/// How often z -> z^2 + c stays near 0, of at most 30 times.
constexpr auto escapes = [](auto c) {
  const auto one = [](auto c) {
    const auto stays = [](auto s) { return ct::abs(std::get<0>(s)) <= 2.0f && std::get<1>(s) < 30; };
    return std::get<1>(ct::while_loop(stays, [c](auto s) { return std::tuple(ct::square(std::get<0>(s)) + c, std::get<1>(s) + 1); }, std::tuple(0.0f * c, 0)));
  };
  return ct::vmap(one)(c);
};

}  // namespace

TEMPLATE_TEST_CASE("functions of complex numbers", "", float, double) {
  using T = TestType;
  const auto z = point_array<T>();
  const auto got = ct::jit(functions)(z);
  const double unit = std::numeric_limits<T>::epsilon();
  const auto compare = [&]<std::size_t... K>(std::index_sequence<K...>) {
    const auto one = [&](const auto& values, std::size_t k) {
      for (ct::extent i = 0; i < z.size(); ++i) {
        const c128 x(z(i)), want = by_library[k].second(x), have(values(i));
        if (!std::isfinite(want.real()) || !std::isfinite(want.imag()) || std::abs(want) > 1e30) continue;  // poles, which the library has as infinities of its own
        INFO(by_library[k].first << " of " << x << ": " << have << " where " << want << " is right");
        CHECK(std::abs(have - want) <= 12 * unit * std::max(std::abs(want), 1e-3));
      }
    };
    (one(std::get<K>(got), K), ...);
  };
  compare(std::make_index_sequence<22>());
}

TEST_CASE("quotients, powers and logarithms of unusual complex numbers") {
  constexpr auto f = [](auto a, auto b) { return std::tuple(a / b, ct::abs(a), ct::pow(a, b), ct::log(a), ct::sign(a), a == b, a != b, ct::is_finite(a / b), ct::is_nan(a / b)); };
  const auto [quotients, moduli, powers, logarithms, signs, same, differs, finite, nan] =
      ct::jit(f)(ct::array<c64, 6>{c64(1e30f, 1e30f), c64(3e-30f, 4e-30f), c64(1, 0), c64(0, 0), c64(0, 0), c64(1, 1e-5f)}, ct::array<c64, 6>{c64(1e30f, 1e30f), c64(1e-30f, 0), c64(0, 0), c64(0, 0), c64(2, 1), c64(1, -1e-5f)});
  CHECK(std::abs(quotients(0) - c64(1)) < 1e-6f);
  CHECK(std::abs(quotients(1) - c64(3, 4)) < 1e-5f);
  CHECK((std::isinf(quotients(2).real()) && std::isnan(quotients(3).real())));
  CHECK(std::abs(moduli(0) / 1.41421356e30f - 1) < 1e-6f);
  CHECK(std::abs(moduli(1) / 5e-30f - 1) < 1e-6f);
  CHECK((powers(3) == c64(1) && powers(4) == c64(0)));
  CHECK(std::abs(logarithms(5).real() / 5e-11f - 1) < 1e-5f);
  CHECK((signs(3) == c64(0) && std::abs(signs(1) - c64(0.6f, 0.8f)) < 1e-6f));
  CHECK((finite(0) && !finite(2) && !nan(1) && nan(3)));
  CHECK((same(0) && !same(5) && differs(5) && !differs(3)));
}

/// The element type of f(X, Y).
template <class F, class X, class Y> using element_of = typename decltype(ct::jit(F())(std::declval<ct::array<X, 2>>(), std::declval<ct::array<Y, 2>>()))::value_type;
constexpr auto sum_of = [](auto x, auto y) { return x + y; };
template <class X, class Y> using sum_type = element_of<decltype(sum_of), X, Y>;
static_assert(std::is_same_v<sum_type<c64, float>, c64> && std::is_same_v<sum_type<c64, double>, c128> && std::is_same_v<sum_type<c128, float>, c128>);
static_assert(std::is_same_v<sum_type<c64, ct::half>, c64> && std::is_same_v<sum_type<std::int32_t, c64>, c64> && std::is_same_v<sum_type<c64, c128>, c128>);
constexpr auto with_numbers = [](auto x, auto) { return x * 2.0 + 1i - 1if; };
static_assert(std::is_same_v<element_of<decltype(with_numbers), c64, int>, c64> && std::is_same_v<element_of<decltype(with_numbers), float, int>, c64>);
static_assert(std::is_same_v<element_of<decltype(with_numbers), double, int>, c128>);

TEST_CASE("cotangents of complex numbers are JAX's") {
  // jax.grad of these, JAX 0.10: conjugates of the directions of steepest ascent.
  const ct::array<c64, 2> z{c64(1, 2), c64(-0.5f, 0.25f)};
  check_near(ct::grad([](auto z) { return ct::sum(ct::abs(z) * ct::abs(z)); })(z), ct::array<c64, 2>{c64(2, -4), c64(-1, -0.5f)}, 1e-6);
  check_near(ct::grad([](auto z) { return ct::sum(ct::real(z * z)); })(z), ct::array<c64, 2>{c64(2, 4), c64(-1, 0.5f)}, 1e-6);
  check_near(ct::grad([](auto z) { return ct::sum(ct::imag(z)); })(z), ct::array<c64, 2>{c64(0, -1), c64(0, -1)}, 0);
  CHECK(ct::grad([](auto z) { return ct::sum(ct::abs(z)); })(ct::array<c64, 1>()) == ct::array<c64, 1>());
  // Of a holomorphic function: its derivative, in both modes, with numbers as arguments.
  const auto cube = [](auto z) { return z * z * z; };
  const auto [value, tangent] = ct::jvp(cube, std::tuple(c64(1, 2)), std::tuple(c64(0, 1)));
  const auto [again, pull] = ct::vjp(cube, c64(1, 2));
  CHECK(c64(value) == c64(-11, -2));
  CHECK((c64(tangent) == c64(0, 1) * c64(-9, 12) && c64(again) == c64(value)));
  CHECK(c64(std::get<0>(pull(c64(1, 1)))) == c64(1, 1) * c64(-9, 12));
  // With respect to what is real on the way to something complex.
  CHECK(float(ct::grad([](auto t) { return ct::real(ct::exp(2if * t)); })(0.3f)) == Approx(-2 * std::sin(0.6f)));
}

/// The rules of a function of x and y in both precisions, and its compiled values.
template <orders Order = orders::second, class F, class A> void check_function(const F& f, const A& x, const A& y) {
  check_rules_of<Order>(f, std::tuple(x, y));
  check_jit(f, compiled_tolerance<double>, x, y);
}
TEST_CASE("derivatives, batches and kernels of complex arithmetic") {
  const auto x = between<double, 5>(0.4, 1.2, 1), y = between<double, 5>(-0.9, 0.8, 2);
  check_function(arithmetic, x, y);
  check_function(real_valued, x, y);
  check_function<orders::first>(holomorphic, x, between<double, 5>(0.2, 0.8, 2));
}
TEST_CASE("derivatives, batches and kernels of moved, summed and multiplied complex numbers") {
  const auto x = between<double, 4, 3>(-1, 1, 1), y = between<double, 4, 3>(-1, 1, 2);
  check_function(moved, x, y);
  check_function(products, x, y);
}
TEST_CASE("derivatives, batches and kernels of loops with complex carries") {
  check_derivatives(loops, std::tuple(between<double, 4, 3>(-1, 1, 1), between<double, 4, 3>(-1, 1, 2)));
  const auto c = complex_between<double, 301>(1.5, 1);
  ct::array<int, 301> counts;
  for (int i = 0; i < 301; ++i)
    for (c128 z = 0; std::abs(z) <= 2 && counts(i) < 30; ++counts(i)) z = z * z + c(i);
  CHECK(ct::jit(escapes)(c) == counts);
}

TEMPLATE_TEST_CASE("complex arrays of all sizes", "", float, double) {
  using T = TestType;
  constexpr auto f = [](auto z, auto w) { return std::tuple(z * w + ct::conj(z), ct::sum(z * w), ct::sum(ct::abs(z)), ct::vmap([](auto a, auto b) { return ct::dot(ct::stack<0>(a, b), ct::stack<0>(b, b)); })(z, w)); };
  const auto check = [&]<ct::extent N>() {
    const auto z = complex_between<T, N>(1, 1), w = complex_between<T, N>(1, 2);
    check_jit(f, compiled_tolerance<T>, z, w);
    ct::array<std::complex<T>, ct::dyn> a({N}), b({N});
    std::copy_n(z.data(), N, a.data()), std::copy_n(w.data(), N, b.data());
    const auto [point, sum, moduli, dots] = ct::jit(f)(a, b);
    const auto [static_point, static_sum, static_moduli, static_dots] = ct::jit(f)(z, w);
    check_close(tensors_of(point, sum, moduli, dots), tensors_of(static_point, static_sum, static_moduli, static_dots), compiled_tolerance<T>);
  };
  check.template operator()<0>(), check.template operator()<1>(), check.template operator()<7>(), check.template operator()<70003>();
}

TEST_CASE("complex arrays as arguments, results and constants") {
  const auto z = complex_between<float, 8, 3>(1, 1);
  constexpr auto f = [](auto z) { return z * z; };
  ct::array<c64, 8, 3> want;
  for (int i = 0; i < 24; ++i) want.data()[i] = z.data()[i] * z.data()[i];
  check_near(ct::jit(f)(z), want, 1e-6);
  check_near(ct::jit(f)(ct::view<const c64, 8, 3>(z)), want, 1e-6);
  ct::array<c64, 8, 3> out, given = z;
  ct::jit(f).into(out)(z);
  check_near(out, want, 1e-6);
  check_near(ct::jit(f)(std::move(given)), want, 1e-6);
  ct::array<c64, ct::dyn, 3> wrong({7, 3}), rows({8, 3});
  CHECK_THROWS_AS(ct::jit(f).into(wrong)(rows), ct::shape_error);
  // Outside of functions, as a number, as a constant.
  check_near(ct::array<c64, 8, 3>(z * z), want, 1e-6);
  CHECK(std::abs(c64(ct::jit([](auto a, auto z) { return a * ct::sum(z); })(c64(0, 2), z)) - c64(0, 2) * std::accumulate(z.begin(), z.end(), c64())) < 1e-5f);
  CHECK(ct::jit([](auto x) { return ct::matmul(ct::eye<c64, 2>(), x) * ct::array<c64, 2>{c64(1, 2), c64(3, -1)} + ct::full<c64, 2>(c64(0, 1)); })(ct::ones<float, 2>()) == ct::array<c64, 2>{c64(1, 3), c64(3, 0)});
  CHECK(ct::jit([](auto x) { return std::tuple(ct::astype<float>(x), ct::astype<c128>(x), ct::astype<bool>(x)); })(ct::array<c64, 2>{c64(1, 2), c64(0, -1)}) ==
        std::tuple(ct::array<float, 2>{1, 0}, ct::array<c128, 2>{c128(1, 2), c128(0, -1)}, ct::array<bool, 2>{true, true}));
  // 16-bit floats beside them.
  CHECK(ct::jit([](auto h, auto z) { return h * z; })(ct::array<ct::half, 1>{ct::half(0.5f)}, ct::array<c64, 1>{c64(1, 2)}) == ct::array<c64, 1>{c64(0.5f, 1)});
}

TEST_CASE("complex numbers on devices") {
  check_devices(arithmetic, 2e-5, between<float, 203>(0.4, 1.2, 1), between<float, 203>(-0.9, 0.8, 2));
  check_devices(moved, 2e-5, between<float, 4, 3>(-1, 1, 1), between<float, 4, 3>(-1, 1, 2));
  check_devices(products, 2e-5, between<float, 4, 3>(-1, 1, 1), between<float, 4, 3>(-1, 1, 2));
  check_devices(loops, 2e-5, between<float, 4, 3>(-1, 1, 1), between<float, 4, 3>(-1, 1, 2));
  check_devices([](auto z) { return z * z; }, 2e-5, complex_between<float, 7, 5>(1, 1));
}
