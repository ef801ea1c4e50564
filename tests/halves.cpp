/// 16-bit floats: programs beside the same of floats, which are rounded at the end, on the CPU and on devices.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

template <class T, ct::extent... E> using list = ct::array<T, E...>;
template <class H> constexpr double step = std::is_same_v<H, ct::half> ? 0x1p-10 : 0x1p-7;

/// Numbers of both signs that T has, of at most `scale`.
template <class T, ct::extent... E> ct::array<T, E...> filled_with(int seed, double scale = 1) {
  ct::array<T, E...> x;
  std::uint64_t s = std::uint64_t(seed) * 2654435761u + 1;
  for (T& e : x) {
    s = s * 6364136223846793005u + 1442695040888963407u;
    e = T(float(scale * (double(s >> 40) / (1 << 23) - 1)));
  }
  return x;
}
template <class T, ct::extent... E> ct::array<float, E...> floats(const ct::array<T, E...>& x) {
  ct::array<float, E...> r(ct::uninitialized, x.shape());
  std::transform(x.begin(), x.end(), r.begin(), [](T e) { return float(e); });
  return r;
}

/// Whether an array is another one rounded, or, where `steps` are given, so near to that.
template <class T, ct::extent... E, class U> void compare(const ct::array<T, E...>& got, const ct::array<U, E...>& want, double steps) {
  REQUIRE(got.shape() == want.shape());
  double most = 0;
  for (U e : want) most = std::max(most, std::fabs(double(e)));
  for (ct::extent i = 0; i < got.size(); ++i) {
    INFO("element " << i << ": " << double(got.data()[i]) << ", of floats " << double(want.data()[i]));
    if constexpr (ct::is_half_float<T>) {
      const T expected(want.data()[i]);
      if (steps == 0) CHECK(got.data()[i].bits == expected.bits);
      else CHECK(std::fabs(double(got.data()[i]) - double(expected)) <= steps * step<T> * std::max(std::fabs(double(expected)), 1e-2 * most));
    } else CHECK(got.data()[i] == want.data()[i]);
  }
}
template <class... T, class... U> void compare(const std::tuple<T...>& got, const std::tuple<U...>& want, double steps) {
  [&]<std::size_t... K>(std::index_sequence<K...>) { (compare(std::get<K>(got), std::get<K>(want), steps), ...); }(std::index_sequence_for<T...>());
}
/// f of numbers beside f of the same as floats.
template <class F, class... A> void check_rounded(const F& f, double steps, const A&... x) { compare(ct::jit(f)(x...), ct::jit(f)(floats(x)...), steps); }

constexpr auto pointwise = [](auto x, auto y) {
  return std::tuple(x + y, x * y - 2 * x, x / (1 + y * y), ct::exp(x) * ct::sin(y), ct::where(x < y, x, -y), ct::maximum(x, y), ct::sqrt(ct::abs(x)), ct::tanh(3.0 * x + 0.25),
                    x < y, ct::clip(x, -0.5, 0.5), ct::round(8 * x), ct::is_finite(x / y), ct::logical_not(x), ct::pow(ct::abs(x), 1.5), ct::abs(-x));
};
constexpr auto moves = [](auto x, auto y) {
  return std::tuple(ct::transpose(x), ct::flip<0>(x), ct::concatenate<1>(x, y), x(ct::index<2>), x(ct::full_extent, ct::range<1, 4>), ct::reshape<35>(x), ct::roll<1>(x, 2),
                    ct::take<0>(x, ct::arange<int, 3>() * 3), ct::at(x, ct::arange<int, 2>()).set(y(ct::range<0, 2>)), ct::broadcast_to<2, 7, 5>(x), ct::pad<ct::low<1, 0>, ct::high<0, 2>>(x),
                    ct::tile<2, 1>(x), ct::where(ct::ones<bool, 7, 5>(), x, y));
};
constexpr auto reductions = [](auto x) {
  return std::tuple(ct::sum(x), ct::mean(x, ct::axis<0>), ct::max(x, ct::axis<1>), ct::min(x), ct::argmax(x, ct::axis<1>), ct::cumsum(x, ct::axis<0>), ct::sort<1>(x), ct::variance(x), ct::nn::softmax(x), ct::logsumexp(x, ct::axis<0>));
};
constexpr auto products = [](auto x, auto y) {
  return std::tuple(ct::matmul(x, ct::transpose(y)), ct::matmul(x, y(ct::index<0>)), ct::dot(x(ct::index<1>), y(ct::index<2>)), ct::einsum<"ij,ij->j">(x, y), ct::at(x, ct::arange<int, 2>()).add(2 * y(ct::range<0, 2>)));
};
constexpr auto rotated = [](auto q, auto p) { return ct::grad([](auto q, auto p) { return ct::sum(ct::cross(q, p) * ct::cross(p, p + q)) / (1 + ct::dot(q, q)); })(q, p); };
constexpr auto network = [](auto w, auto v, auto x) { return ct::mean(ct::square(ct::matmul(ct::nn::gelu(ct::matmul(x, w)), v))); };

}  // namespace

TEMPLATE_TEST_CASE("floats of all 16-bit numbers, and those nearest to floats", "", ct::half, ct::bfloat16) {
  using H = TestType;
  constexpr int all = 65536;
  ct::array<H, all> x;
  for (int i = 0; i < all; ++i) x(i).bits = std::uint16_t(i);
  const auto wide = ct::jit([](auto x) { return ct::astype<float>(x); })(x);
  int wrong = 0, wrong_rounded = 0;
  for (int i = 0; i < all; ++i) wrong += std::isnan(float(x(i))) ? !std::isnan(wide(i)) : std::bit_cast<std::uint32_t>(wide(i)) != std::bit_cast<std::uint32_t>(float(x(i)));
  CHECK(wrong == 0);
  // Each number, what lies halfway to the next, and a little beside that.
  constexpr auto narrow = [](auto x) { return ct::astype<H>(x); };
  ct::array<float, 4 * all> near;
  for (int i = 0; i < all; ++i) {
    H above = x(i);
    ++above.bits;
    const float here = float(x(i)), halfway = std::isfinite(float(above)) ? 0.5f * here + 0.5f * float(above) : 1.01f * here;
    near(4 * i) = here, near(4 * i + 1) = halfway, near(4 * i + 2) = std::nextafter(halfway, 0.0f), near(4 * i + 3) = std::nextafter(halfway, HUGE_VALF);
  }
  const auto rounded = ct::jit(narrow)(near);
  for (int i = 0; i < 4 * all; ++i) {
    const float here = near(i), got = float(rounded(i));
    wrong_rounded += std::isnan(here) ? !std::isnan(got) : rounded(i).bits != H(here).bits;
    // By definition: no other number is nearer.
    H below = rounded(i), above = rounded(i);
    ++above.bits, --below.bits;
    if (std::isfinite(got) && std::isfinite(float(above))) wrong_rounded += std::fabs(double(float(above)) - here) < std::fabs(double(got) - here);
    if (std::isfinite(got) && std::isfinite(float(below))) wrong_rounded += std::fabs(double(float(below)) - here) < std::fabs(double(got) - here);
  }
  CHECK(wrong_rounded == 0);
  check_devices([](auto x) { return std::tuple(ct::astype<float>(x), ct::astype<H>(ct::astype<float>(x) * 1.001f)); }, 0, filled_with<H, 203>(1, 9));
}

TEMPLATE_TEST_CASE("16-bit floats, point by point", "", ct::half, ct::bfloat16) {
  using H = TestType;
  static_assert(std::is_same_v<decltype(ct::jit([](auto x, auto y) { return 2.5 * x + y * 2; })(list<H, 3>(), list<H, 3>())), list<H, 3>>);
  static_assert(std::is_same_v<decltype(ct::jit([](auto x, auto y) { return x + y; })(list<H, 3>(), list<float, 3>())), list<float, 3>>);
  static_assert(std::is_same_v<decltype(ct::jit([](auto x, auto y) { return x + y; })(list<H, 3>(), list<std::int32_t, 3>())), list<H, 3>>);
  static_assert(std::is_same_v<decltype(ct::jit([](auto x, auto y) { return x + y; })(list<ct::half, 3>(), list<ct::bfloat16, 3>())), list<float, 3>>);
  check_rounded(pointwise, 0, filled_with<H, 1003>(1), filled_with<H, 1003>(2));
  if constexpr (std::is_same_v<H, ct::half>) {  // the other's conversions alone differ
    check_rounded(pointwise, 0, filled_with<H, 1>(1), filled_with<H, 1>(2));
    check_devices(pointwise, 2 * step<H>, filled_with<H, 203>(1), filled_with<H, 203>(2));
  }
  // Numbers beside arrays are rounded as arrays' elements are, explicit conversions round, and what is between operations does not.
  const auto [tenth, there, kept] = ct::jit([](auto x) { return std::tuple(ct::astype<float>(x * 0.1), ct::astype<float>(ct::astype<H>(ct::astype<float>(x) / 3)), (x + 1e4) - 1e4); })(list<H, 1>{1});
  CHECK((tenth(0) == float(H(0.1f)) && there(0) == float(H(1.0f / 3)) && kept(0) == 1.0f));
  // Arrays outside of functions.
  const list<H, 5> x = filled_with<H, 5>(3), y = x + x * H(2.0f);
  compare(y, ct::array<float, 5>(3.0f * floats(x)), 1);
  CHECK(ct::full<H, 4>(H(0.5f)) == list<H, 4>{0.5, 0.5, 0.5, 0.5});
}

TEST_CASE("16-bit floats moved, reduced and multiplied") {
  using H = ct::half;
  check_rounded(moves, 0, filled_with<H, 7, 5>(1), filled_with<H, 7, 5>(2));
  check_rounded(reductions, 1, filled_with<H, 40, 300>(1));
  check_rounded(products, 1, filled_with<H, 70, 90>(1), filled_with<H, 70, 90>(2));
  check_devices(moves, 0, filled_with<H, 7, 5>(1), filled_with<H, 7, 5>(2));
  check_devices(products, 2 * step<H>, filled_with<H, 7, 5>(1), filled_with<H, 7, 5>(2));
  // A sum of more than H can count to, one by one.
  CHECK(ct::jit([](auto x) { return ct::mean(x); })(ct::full<H, 100000>(0.5f)) == 0.5f);
  // Run-time extents.
  const auto rows = [](auto x) { return std::tuple(ct::sum(x, ct::axis<-1>), ct::vmap([](auto row) { return ct::dot(row, row) * row; })(x)); };
  for (int n : {0, 1, 37}) {
    ct::array<H, ct::dyn, 9> x({n, 9});
    std::copy_n(filled_with<H, 9 * 37>(3).data(), 9 * n, x.data());
    check_rounded(rows, 1, x);
  }
}

TEST_CASE("derivatives and batches of 16-bit floats") {
  using H = ct::bfloat16;
  const auto w = filled_with<H, 6, 8>(1);
  const auto v = filled_with<H, 8, 3>(2);
  const auto x = filled_with<H, 20, 6>(3);
  check_rounded([](auto w, auto v, auto x) { return ct::grad(network, ct::wrt<0, 1>)(w, v, x); }, 2, w, v, x);
  check_rounded([](auto w, auto v, auto x) { return std::get<1>(ct::jvp(network, std::tuple(w, v, x), std::tuple(w + 1, 2 * v, x))); }, 2, w, v, x);
  check_rounded([](auto x) { return std::tuple(ct::hessian([](auto x) { return ct::sum(ct::exp(x) * ct::sin(x)); })(x), ct::jacfwd([](auto x) { return x * ct::sum(x); })(x)); }, 1, filled_with<H, 4>(5));
  // Instances of a few elements, in registers.
  check_rounded([](auto q, auto p) { return ct::vmap(rotated)(q, p); }, 4, filled_with<H, 300, 3>(1), filled_with<H, 300, 3>(2));
}

TEST_CASE("16-bit floats in loops and branches are rounded at each turn") {
  using H = ct::bfloat16;
  const auto x = filled_with<H, 37>(1);
  static constexpr auto turn = [](auto c, auto x) { return c * 0.75 + x * x; };
  const auto [last, all] = ct::jit([](auto x) {
    return ct::scan([=](auto c, auto) { const auto next = turn(c, x); return std::pair(next, ct::sum(next)); }, ct::zeros_like(x), ct::arange<int, 10>());
  })(x);
  list<H, 37> c{};
  for (int t = 0; t < 10; ++t)
    for (int i = 0; i < 37; ++i) c(i) = H(std::fma(float(c(i)), float(H(0.75f)), float(x(i)) * float(x(i))));
  compare(last, floats(c), 1);
  const auto counted = ct::jit([](auto x) { return ct::while_loop([](auto s) { return ct::sum(s) < 100.0; }, [](auto s) { return s + s * s + 0.5; }, x); })(list<H, 3>{0.5, 0.25, 1});
  list<H, 3> s{0.5, 0.25, 1};
  while (float(s(0)) + float(s(1)) + float(s(2)) < 100)
    for (int i = 0; i < 3; ++i) s(i) = H(float(s(i)) + float(s(i)) * float(s(i)) + 0.5f);
  compare(counted, floats(s), 1);
  static constexpr auto branches = [](auto x) { return ct::cond(ct::sum(x) > 0.0, [](auto x) { return 2 * x; }, [](auto x) { return -x; }, x); };
  check_rounded(branches, 0, x);
  check_rounded(ct::grad([](auto x) { return ct::sum(ct::checkpoint([](auto x) { return ct::sin(ct::exp(x)); })(x)) + ct::sum(branches(x)); }), 1, x);
  // A gradient through a loop, and one loop per instance.
  static constexpr auto through = [](auto x) { return ct::sum(ct::fori_loop<0, 5>([](auto, auto c) { return turn(c, c); }, x)); };
  check_rounded(ct::grad(through), 12, x);
  check_rounded([](auto x) { return ct::vmap([](auto x) { return ct::fori_loop<0, 5>([](auto, auto c) { return turn(c, c); }, x); })(x); }, 6, filled_with<H, 100, 3>(4));
}

TEST_CASE("random 16-bit floats are those of JAX") {
  // jax.random.uniform(jax.random.key(7), (4,), dtype) of JAX 0.10.2, and the mean and variance of many normal ones.
  const auto key = ct::random::key(7);
  const auto [h, b] = ct::jit([](auto k) { return std::tuple(ct::random::uniform<ct::half, 4>(k), ct::random::uniform<ct::bfloat16, 4>(k)); })(key);
  CHECK(h == list<ct::half, 4>{0.16015625, 0.4921875, 0.162109375, 0.26953125});
  CHECK(b == list<ct::bfloat16, 4>{0.0390625, 0.0, 0.6640625, 0.1875});
  const auto [mean, variance] = ct::jit([](auto k) {
    const auto x = ct::astype<float>(ct::random::normal<ct::half, 100000>(k));
    return std::tuple(ct::mean(x), ct::variance(x));
  })(key);
  CHECK((mean() == Approx(0).margin(0.02) && variance() == Approx(1).margin(0.02)));
}

TEST_CASE("what a program of 16-bit floats reads and computes is told") {
  const std::string kernels = ct::jit([](auto x) { return x * x + 1; }).kernels(list<ct::bfloat16, 100>());
  CHECK(kernels.find("computes from_half_bits fma to_half_bits") != std::string::npos);
  CHECK(ct::jit([](auto x) { return x * x; }).graph(list<ct::bfloat16, 100>()).find("bfloat16[100] = mul") != std::string::npos);
}
