/// Row blocks and batches of products where extents are equal by accident, empty, or known at run time only, with windows, indices and
/// several outputs inside a group.

#include <thread>

#include <cotangent/cotangent.hpp>

#include "catch.hpp"
#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

constexpr auto softmax = [](auto x) { return ct::nn::softmax(x); };

/// Of a square matrix: concatenated and padded columns, row numbers, a transpose of what the group makes, rows taken from
/// it, sums over its rows, booleans and integers.
constexpr auto windows = [](auto x, auto i) {
  const auto p = softmax(x);
  const auto numbers = ct::reshape<300, 1>(ct::iota<double, 300>(x));
  const auto wide = ct::concatenate<1>(p, ct::exp(p) * numbers, x);
  const auto most = ct::max(wide, ct::axis<1>, ct::keepdims);
  const auto padded = ct::pad<ct::low<0, 1>, ct::high<0, 2>>(p - most, 0.5);
  const auto is_top = p == ct::max(p, ct::axis<1>, ct::keepdims);
  const auto turned = softmax(ct::transpose(p) * 2.0);
  return std::tuple(p, ct::sum(wide / most, ct::axis<0>), padded, ct::any(is_top, ct::axis<0>),
                    ct::sum(ct::astype<std::int32_t>(p * 900.0), ct::axis<1>), ct::sum(turned * p, ct::axis<1>), ct::take<0>(p, i),
                    ct::flip<0>(softmax(ct::flip<0>(p))));
};

/// Two arrays whose numbers of rows are known at run time only, and rows of both.
constexpr auto two_numbers = [](auto a, auto b) {
  const auto p = softmax(a);
  const auto q = softmax(b);
  return std::tuple(softmax(ct::concatenate<0>(p, q) * 2.0), ct::sum(p, ct::axis<0>), softmax(p - 0.5));
};

/// Parts of computed arrays in views of views: all of each element read once; read twice; a part of it; chains of computations.
constexpr auto views = [](auto x, auto y) {
  const auto once = ct::where(x > 0.0, ct::exp(x) * y, -x);
  const auto twice = ct::sin(x);
  const auto turned = ct::transpose<1, 2, 0>(ct::tanh(ct::transpose<2, 0, 1>(ct::cos(y))));
  return std::tuple(once(ct::full_extent, ct::index<0>) - once(ct::full_extent, ct::index<2>) * 2.0, ct::transpose(once(ct::full_extent, ct::index<1>)),
                    ct::slice<ct::full_extent, ct::range<0, 2>>(twice) + ct::slice<ct::full_extent, ct::range<1, 3>>(twice),
                    ct::slice<ct::range<4, 0, -2>>(ct::reshape<5, 3, 1, 4>(x * y)), ct::slice<ct::range<1, 2>>(turned));
};

template <ct::extent K> ct::array<double, ct::dyn, K> first_rows(ct::extent n) {
  const auto some = between<double, 3000, K>(-2, 2);
  ct::array<double, ct::dyn, K> x({n, K});
  std::copy_n(some.data(), n * K, x.data());
  return x;
}

}  // namespace

TEST_CASE("windows, indices and several outputs within row blocks of a square matrix") {
  const ct::array<std::int32_t, 5> i{0, 299, 3, 3, 150};
  const auto x = between<double, 300, 300>(-2, 2);
  CHECK(ct::jit(windows).kernels(x, i).find("run together") != std::string::npos);
  check_jit(windows, 1e-12, x, i);
  ct::set_num_threads(1);
  const tensors one = tensors_of(ct::jit(windows)(x, i));
  ct::set_num_threads(3);
  std::string differences[3];
  std::thread callers[3];
  for (int t = 0; t < 3; ++t) callers[t] = std::thread([&, t] { differences[t] = difference(tensors_of(ct::jit(windows)(x, i)), one, 0); });
  for (std::thread& t : callers) t.join();
  for (const std::string& d : differences) CHECK(d == "");
  ct::set_num_threads(2);
}

TEST_CASE("row blocks of two arrays whose numbers of rows are equal, 0 or far apart") {
  for (const auto& [n, m] : {std::pair{0, 0}, {1, 0}, {0, 700}, {16, 16}, {1000, 1000}, {3000, 7}, {129, 2049}})
    check_jit(two_numbers, 1e-12, first_rows<20>(n), first_rows<20>(m));
}

TEST_CASE("products whose batch axis is not the first, of numbers and of integers") {
  const auto f = [](auto q, auto k) {
    const auto a = ct::sin(q);
    const auto s = ct::einsum<"ibd,jbd->bij">(a, k);
    const auto n = ct::astype<std::int32_t>(q * 8.0);
    return std::tuple(ct::sum(ct::exp(s), ct::axis<2>), ct::einsum<"bij,ibd->bjd">(ct::tanh(s), a), ct::einsum<"bid,bjd->bij">(n, n + 1));
  };
  check_jit(f, 1e-11, between<double, 33, 64, 17>(-1, 1), between<double, 21, 64, 17>(-1, 1, 1));
}

namespace {
#ifdef __clang__
constexpr int rounds = 2;  // clang's limit of steps is lower
#else
constexpr int rounds = 6;
#endif
/// Chains of operations whose values are used several times, between reductions: passes that follow each use would take for ever.
constexpr auto deep_chains = [](auto x, auto a) {
  auto y = x;
  for (int j = 0; j < rounds; ++j) {
    for (int i = 0; i < rounds; ++i) y = 0.5 * y * y * a + 0.3 * y * x - ct::maximum(y, x) * a;
    y = y - ct::mean(y, ct::axis<1>, ct::keepdims);
  }
  return ct::sum(y);
};
}  // namespace

TEST_CASE("deep chains between reductions, of large arrays and of a few rows, compile") {
  const auto gradient = ct::grad(deep_chains);
  check_jit(gradient, 1e-11, between<double, 10, 1000>(-0.5, 0.5), between<double, 10, 1000>(-0.5, 0.5, 1));
  CHECK(ct::jit(gradient).cost(ct::array<double, 400, 1000>(), ct::array<double, 400, 1000>()).kernels > rounds);
}

TEST_CASE("a quotient by a number is a product with its reciprocal, where that is a normal number") {
  const auto quotients = [](auto x) { return std::tuple(x / 1.37f, x / -8.0f, x / 1e-39f, x / 3e38f); };
  const ct::array<float, 5> x{1.37f, -0.7f, 0.0f, 1e30f, std::numeric_limits<float>::infinity()};
  const auto f = ct::jit(quotients);
  const auto [a, b, c, d] = f(x);
  for (int i = 0; i < 5; ++i) {
    const float expected = x(i) / 1.37f;
    CHECK((a(i) == expected || std::abs(a(i) - expected) <= 2e-7f * std::abs(expected)));
    CHECK(b(i) == x(i) / -8.0f);
    CHECK(c(i) == x(i) / 1e-39f);
    CHECK(d(i) == x(i) / 3e38f);
  }
  const std::string kernels = f.kernels(x);
  CHECK(kernels.find("mul") != std::string::npos);
  CHECK(kernels.find("div") != std::string::npos);  // by 1e-39, whose reciprocal overflows, and by 3e38, whose is subnormal
}

TEST_CASE("quotients by what a program has the reciprocal of, as derivatives do, are products with it") {
  const auto quotients = [](auto x, auto y, auto z) { return ct::sum(ct::sin(x / z) * (y / z)); };
  const auto x = between<double, 37>(-2, 2), y = between<double, 37>(-2, 2, 1), z = between<double, 37>(0.5, 3, 2);
  const auto divisions = [&](const auto& f) { return occurrences(" div", ct::jit(f).kernels(x, y, z)); };
  const auto both = ct::value_and_grad(quotients, ct::wrt<0, 1, 2>);
  CHECK(divisions(quotients) == 2);
  CHECK(divisions(both) == 1);
  check_jit(both, 1e-14, x, y, z);
  check_jit(both, 3e-6, between<float, 37>(-2, 2), between<float, 37>(-2, 2, 1), between<float, 37>(0.5, 3, 2));
}

TEST_CASE("signs go through products and quotients up to what adds or subtracts") {
  const auto x = between<double, 37>(-2, 2), y = between<double, 37>(0.5, 2, 1), z = between<double, 37>(-1, 1, 2);
  const auto negations = [&](const auto& f) { return occurrences(" neg", ct::jit(f).kernels(x, y, z)); };
  const auto absorbed = [](auto x, auto y, auto z) {
    const auto w = -ct::sin(x);
    const auto p = w * y;
    const auto q = p / y;
    return std::tuple(p + z, z - p, q - (-q * z) + p + z, ct::where(x > y, p, 0.0) + z);
  };
  CHECK(negations(absorbed) == 0);
  check_jit(absorbed, 1e-15, x, y, z);
  const auto every_sign = [](auto x, auto y, auto z) {
    const auto w = -ct::sin(x);
    const auto p = w * y;
    const auto q = z * w;
    return std::tuple(p + q, p - q, -p - z, -p + q, w - z * y, ct::sum(p - z), -(p + p), p + 2.0 * p, 0.5 * -(p * 3.0) - z, ct::exp(p), p * w, w);
  };
  check_jit(every_sign, 1e-14, x, y, z);
  check_jit(every_sign, 3e-6, between<float, 37>(-2, 2), between<float, 37>(0.5, 2, 1), between<float, 37>(-1, 1, 2));
  check_jit(ct::grad([&](auto... a) { return ct::sum(std::get<3>(absorbed(a...)) * std::get<2>(every_sign(a...))); }, ct::wrt<0, 1, 2>), 1e-13, x, y, z);
  const auto whole = [](auto a, auto b) {
    const auto m = -a;
    const auto p = m * b;
    return std::tuple(p + b, b - p, m - b, p - m);
  };
  check_jit(whole, 0, ct::array<int, 5>{1, -2, 3, 0, 7}, ct::array<int, 5>{4, 5, -6, 7, 0});
}

TEST_CASE("views of computed values are computed as views, where no element is read twice") {
  const auto x = between<double, 5, 3, 4>(-2, 2), y = between<double, 5, 3, 4>(-1, 1);
  const ct::graph g = graph_of(views, x, y), h = ct::with_views_inside(g);
  check_same(g, h, tensors_of(x, y));
  const auto whole = [](const ct::graph& of, std::string_view op) {
    return std::count_if(of.nodes.begin(), of.nodes.end(), [&](const ct::node& n) { return n.op_id != 0 && n.op->name == op && n.dims.size() == 60; });
  };
  CHECK(whole(g, "exp") == 1);
  CHECK(whole(h, "exp") == 0);
  CHECK(whole(h, "select") == 0);
  CHECK(whole(h, "sin") == 1);   // read twice
  CHECK(whole(h, "tanh") == 0);
  CHECK(whole(h, "cos") == 0);
  // Views of what has another type than the result.
  const auto mixed = ct::with_views_inside(graph_of([](auto v, auto p) { return ct::astype<float>(ct::where(p, v, 2 * v))(ct::full_extent, ct::index<1>); }, x, ct::array<bool, 5, 3, 4>()));
  CHECK(whole(mixed, "select") == 0);
  for (const ct::node& n : mixed.nodes)
    if (n.op_id != 0 && n.op->name == "slice") CHECK(n.type == mixed[mixed.operands[std::size_t(n.operands)]].type);
  const auto all = [](auto v) { return ct::sum(ct::exp(v)) + ct::exp(v); };
  CHECK(ct::with_views_inside(graph_of(all, x)).size() == graph_of(all, x).size());
}

TEST_CASE("operations on concatenations are done to the parts, where nothing else reads the whole") {
  constexpr auto apart = [](auto x, auto y) {
    const auto one = ct::exp(-ct::concatenate<1>(ct::sin(x), y)) * ct::concatenate<1>(y, x);  // cut elsewhere
    const auto chosen = ct::where(ct::concatenate<2>(x, ct::tanh(x)) > 0.0, 1.5, ct::concatenate<2>(ct::cos(x), x));
    const auto twice = ct::concatenate<0>(ct::slice<ct::range<0, 2>>(y), y);
    return std::tuple(one, chosen, ct::sinh(twice), ct::cosh(twice));
  };
  const auto x = between<double, 5, 3, 4>(-2, 2);
  const auto y = between<double, 5, 6, 4>(-1, 1);
  const ct::graph g = graph_of(apart, x, y), h = ct::with_parts_apart(g);
  check_same(g, h, tensors_of(x, y));
  const auto of_size = [](const ct::graph& of, std::string_view op, ct::extent size) {
    return std::count_if(of.nodes.begin(), of.nodes.end(), [&](const ct::node& n) { return n.op_id != 0 && n.op->name == op && n.dims.size() == size; });
  };
  CHECK(of_size(g, "exp", 180) == 1);
  CHECK(of_size(h, "exp", 180) == 0);
  CHECK(of_size(h, "exp", 60) == 1);
  CHECK(of_size(h, "exp", 120) == 1);
  CHECK(of_size(h, "select", 120) == 0);
  CHECK(of_size(h, "cosh", 168) == 1);
  CHECK(ct::with_parts_apart(h).size() == h.size());
}

namespace {
/// Numbers that may wait for the sum, and some that may not: at outputs, in sums of several, where they are large or tiny.
constexpr auto with_numbers = [](auto x, auto y) {
  const auto twice = 2.0 * x, negative = -ct::sin(y);
  const auto chosen = ct::where(x > y, 3.0 * (twice * y) / 7.0, 0.0);
  return std::tuple(ct::sum(twice * negative), ct::sum(chosen, ct::axis<0>), ct::sum(ct::where(x > y, 0.0, -0.5 * x), ct::axis<1>), ct::sum(twice * y + negative), twice,
                    ct::sum(-(1e-30 * x) * (1e35 * y)), ct::sum(twice / ct::exp(negative * 0.25)), ct::max(-0.125 * twice, ct::axis<1>), 3.0 * x - 2.0 * x + 0.5 * (-x), 0.0 * y + y);
};
/// The same number left by both factors, by reductions of reductions, and to an integer.
constexpr auto numbers_of_numbers = [](auto x, auto y) {
  const auto a = -x, b = 4.0 * y;
  const auto rows = ct::sum(a * b, ct::axis<1>);
  return std::tuple(ct::sum(rows * 0.5), ct::sum((a * b) * (a * b)), ct::astype<std::int32_t>(rows), ct::sum(a * a * a), ct::sum(ct::where(rows > 0, rows, 0.0)));
};
/// Choices by a condition that what uses them makes again, and by others.
constexpr auto with_conditions = [](auto x, auto y) {
  const auto positive = x > 0, less = x < y;
  const auto safe = ct::where(positive, x, 1.0);
  const auto logarithm = ct::where(positive, ct::log(safe) * ct::where(positive, y, 7.0), 0.0);
  const auto other = ct::where(less, ct::sqrt(safe), 0.0);                    // by another condition
  const auto second = ct::where(positive, 0.0, ct::exp(ct::where(positive, x, y)));  // the other alternative
  const auto both = ct::where(less, ct::where(positive, ct::where(less, x, 3.0) + ct::where(positive, y, 4.0), 5.0), 6.0);
  const auto used_twice = ct::where(positive, y, 2.0);
  return std::tuple(logarithm, other, second, both, ct::where(positive, used_twice * x, 1.0) + used_twice,
                    ct::where(positive, ct::sum(ct::where(positive, x, 1.0), ct::axis<1>, ct::keepdims) + x, 0.0));
};
constexpr auto safe_log = [](auto v) { return ct::where(v > 0, ct::log(ct::where(v > 0, v, 1.0)), 0.0); };
constexpr auto sum_of_logs = [](auto v) { return ct::sum(safe_log(v)); };
constexpr auto sum_of_forms = [](auto a, auto b) { return ct::sum(std::get<1>(with_numbers(a, b))) + std::get<6>(with_numbers(a, b)); };
}  // namespace

TEST_CASE("numbers that multiply wait for a sum or another number") {
  for (const auto& [x, y] : {std::pair{between<double, 37, 11>(-2, 2), between<double, 37, 11>(-1, 3, 1)}, std::pair{between<double, 37, 11>(0, 1), between<double, 37, 11>(0.5, 3, 1)}}) {
    check_jit(with_numbers, 1e-13, x, y);
    check_jit(ct::grad(sum_of_forms, ct::wrt<0, 1>), 1e-13, x, y);
    check_jit(numbers_of_numbers, 1e-13, x, y);
  }
  check_jit(numbers_of_numbers, 1e-5, between<float, 3, 257>(-1, 1), between<float, 3, 257>(-1, 1, 1));
  check_jit([](auto v) { return std::tuple(0.0 * v + v, 2.0 * v + v, v + v - v, 1e300 * v + v); }, 1e-15,
            ct::array<double, 4>{1.0, 0.0, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()});
  // What may not wait: it would leave the range.
  const auto small = [](auto v) { return ct::sum((1e-20f * v) * (1e-20f * v)); };
  CHECK(ct::jit(small)(ct::array<float, 2>{1e25f, 2e25f})() == Approx(5e10f).epsilon(1e-6));
  // Six in place of twelve operations: powers of the reciprocal, and one product for the sums of the three forces.
  const auto force = ct::grad([](auto v) {
    const auto inverse = 1.0 / v, cube = inverse * inverse * inverse;
    return ct::sum(4.0 * (cube * cube - cube));
  });
  const std::string kernels = ct::jit(force).kernels(ct::array<double, 100>());
  CHECK(occurrences(" mul", kernels) + occurrences(" fma", kernels) <= 6);
  CHECK(occurrences(" neg", kernels) + occurrences(" add", kernels) + occurrences(" sub", kernels) == 0);
  check_jit(force, 1e-14, between<double, 100>(0.5, 2));
}

TEST_CASE("a choice that what uses it makes again is not made") {
  const auto x = between<double, 21, 9>(-2, 2), y = between<double, 21, 9>(-1, 1, 1);
  check_jit(with_conditions, 1e-14, x, y);
  CHECK(occurrences(" select", ct::jit(safe_log).kernels(x)) == 1);
  CHECK(occurrences(" select", ct::jit(ct::grad(sum_of_logs)).kernels(x)) == 1);
  check_jit(ct::grad(sum_of_logs), 1e-14, x);
  const ct::array<double, 4> edges{0.0, -0.0, std::numeric_limits<double>::infinity(), -1.0};
  check_jit(safe_log, 0, edges);
}

namespace {
constexpr auto shares = [](auto x) { return ct::exp(x) / ct::sum(ct::exp(x)); };
constexpr auto twice = [](auto x) {
  const auto e = ct::exp(x), y = e / ct::sum(e);
  return std::tuple(y / ct::sum(y * y), e * ct::sum(e));
};
constexpr auto turned = [](auto x) {
  const auto e = ct::exp(x);
  const auto s = ct::sum(e);
  return std::tuple(ct::flip<0>(e) / s, e + ct::flip<1>(e) * s, ct::astype<std::int32_t>(e * s));
};
constexpr auto kept = [](auto x) {
  const auto e = ct::exp(x);
  return std::tuple(e, e / ct::sum(e));
};
constexpr auto loss_of_shares = [](auto x) { return ct::sum(ct::square(shares(x))) + ct::logsumexp(x); };
}  // namespace

TEST_CASE("values that lie where outputs will") {
  const auto check = [&](const auto& x, double tolerance) {
    check_jit(shares, tolerance, x), check_jit(twice, tolerance, x), check_jit(turned, tolerance, x), check_jit(kept, tolerance, x);
    check_jit(ct::grad(loss_of_shares), tolerance, x);
    ct::array<typename std::remove_cvref_t<decltype(x)>::value_type, ct::dyn, 41> any({x.extent(0), 41});
    std::copy(x.data(), x.data() + x.size(), any.data());
    check_jit(twice, tolerance, any), check_jit(turned, tolerance, any);
  };
  check(between<double, 301, 41>(-1, 1), 1e-13);
  check(between<float, 1, 41>(-1, 1), 1e-5);
  static_assert(ct::jit(shares).cost(ct::array<double, 1000>()).peak_bytes < 8000 + 256);
}

namespace {
constexpr auto kept_and_turned = [](auto x) {
  const auto y = ct::sin(ct::exp(x));
  return std::tuple(y, ct::cumsum(ct::transpose(y), ct::axis<0>), ct::cummax(ct::flip<0>(y), ct::axis<1>));
};
constexpr auto kept_and_gathered = [](auto x, auto i) {
  const auto y = ct::sin(ct::exp(x));
  return std::tuple(y, ct::take<0>(y, i), ct::cos(ct::take<1>(y, i)) * x);
};
constexpr auto turned_in_batches = [](auto x) {
  const auto y = ct::exp(ct::sin(x));
  return std::tuple(ct::cumsum(ct::transpose<0, 2, 1>(y), ct::axis<1>), y);
};
}  // namespace

TEST_CASE("large arrays in memory beside copies of views of them, and gathers from them") {
  check_jit(kept_and_turned, 1e-12, between<double, 300, 300>(-1, 1));
  check_jit(kept_and_turned, 1e-5, between<float, 257, 257>(-1, 1));
  check_jit(turned_in_batches, 1e-12, between<double, 20, 64, 64>(-1, 1));
  ct::array<std::int32_t, 300> i;
  for (int k = 0; k < 300; ++k) i(k) = k * 77 % 300;
  check_jit(kept_and_gathered, 1e-12, between<double, 300, 300>(-1, 1), i);
  ct::array<double, ct::dyn, 300> x({300, 300});
  const auto values = between<double, 300, 300>(-1, 1);
  std::copy(values.begin(), values.end(), x.begin());
  check_jit(kept_and_gathered, 1e-12, x, i);
}

namespace {
constexpr auto by_part_and_whole = [](auto x) {
  return ct::grad([](auto x) { return ct::sum(x(ct::range<293, 300>)) + ct::sum(ct::flip<0>(x)); })(x);
};
constexpr auto by_part_of_computed = [](auto x) {
  return ct::grad([](auto x) { return ct::sum(2.0 * ct::sin(x)) + ct::sum(ct::sin(x)(ct::range<9, 64>)); })(x);
};
constexpr auto by_rows_and_blocks = [](auto x, auto i) {
  return ct::grad([&](auto x) {
    const auto blocks = ct::tanh(ct::transpose<0, 2, 1>(ct::reshape<300, 4, 75>(x)));
    return ct::sum(ct::square(blocks)) + ct::sum(ct::sin(2.0 * ct::take<0>(x, i)));
  })(x);
};
}  // namespace

TEST_CASE("constants padded with zeros beside others") {
  check_jit(by_part_and_whole, 1e-13, between<double, 300>(-1, 1));
  check_jit(by_part_of_computed, 1e-13, between<double, 300>(-1, 1));
  check_jit(by_part_and_whole, 1e-6, between<float, 301>(-1, 1));
}

TEST_CASE("rows of a square array whose columns are as many as the instances of packets") {
  check_jit(by_rows_and_blocks, 1e-12, between<double, 300, 300>(-1, 1), ct::array<std::int32_t, 1>{5});
}

namespace {
/// Powers, whose exponents are attributes, under rolls and views that move them.
constexpr auto rolled_powers = [](auto x) {
  const auto v = ct::cummax(ct::cumsum(ct::transpose<1, 0, 2>(x), ct::axis<0>), ct::axis<0>);
  const auto p = ct::pow(ct::transpose<0, 2, 1>(ct::sort<2>(ct::pow(ct::transpose<2, 0, 1>(x), 3))), 3);
  return std::tuple(v * 0.5 - v * 0.75, ct::sin(ct::roll<1>(p, 2)), ct::atan(ct::reshape<256, 12>(v - 0.25)));
};
}  // namespace

TEST_CASE("attributes of what is computed again elsewhere") { check_jit(rolled_powers, 1e-12, between<double, 16, 16, 12>(-1, 1)); }
