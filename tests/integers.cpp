/// Integers of all widths: kernels beside plain loops, on the CPU and on devices.

#include "check_derivatives.hpp"

namespace ct = cotangent;
using namespace checks;

namespace {

template <class T> constexpr int width = 8 * int(sizeof(T));

/// Numbers over the whole range of T, zeros and both ends among them.
template <class T, ct::extent N> ct::array<T, N> integers(std::uint64_t seed) {
  ct::array<T, N> x;
  for (T& e : x) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const T ends[] = {T(0), std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max(), T(-1)};
    e = (seed >> 60) == 0 ? ends[seed >> 58 & 3] : T(seed >> 33);
  }
  return x;
}
/// Distances of shifts, some of them as long as the number or longer.
template <class T, ct::extent N> ct::array<T, N> distances() {
  ct::array<T, N> x;
  for (ct::extent i = 0; i < N; ++i) x(i) = T((7 * i) % (width<T> + 3));
  return x;
}

constexpr auto pointwise = [](auto a, auto b, auto s) {
  using T = typename decltype(a)::value_type;
  return std::tuple(a + b, a - b * a, ct::floor_divide(a, b | 1), ct::fmod(a, b), (a & b) | (~a ^ b), a << s, a >> s, a << 3, a >> 2, ct::maximum(a, b), ct::minimum(a, b), ct::abs(a), ct::sign(a), -a,
                    ct::where(a < b, a, b + T(1)), a >= b);
};
/// The same of two numbers.
template <class T> auto pointwise_by_hand(T a, T b, T s) {
  using U = std::make_unsigned_t<T>;
  const auto wrap = [](auto x) { return T(U(x)); };
  const bool overflows = std::is_signed_v<T> && a == std::numeric_limits<T>::lowest();
  const T odd = T(b | 1);
  const T quotient = overflows && odd == T(-1) ? a : T(a / odd - (a % odd != 0 && (a < 0) != (odd < 0))), rest = b == 0 ? a : overflows && b == T(-1) ? T(0) : T(a % b);
  const bool out = s < 0 || s >= T(width<T>);
  return std::tuple(wrap(std::uint64_t(a) + std::uint64_t(b)), wrap(std::uint64_t(a) - std::uint64_t(b) * std::uint64_t(a)), quotient, rest, T((a & b) | (~a ^ b)),
                    out ? T(0) : wrap(std::uint64_t(a) << s), out ? (a < 0 ? T(-1) : T(0)) : T(a >> s), wrap(std::uint64_t(a) << 3), T(a >> 2), std::max(a, b), std::min(a, b),
                    a < 0 ? wrap(-std::uint64_t(a)) : a, a < 0 ? T(-1) : T(a > 0), wrap(-std::uint64_t(a)), a < b ? a : wrap(std::uint64_t(b) + 1), a >= b);
}

template <class T, ct::extent N> void check_pointwise() {
  const auto a = integers<T, N>(1), b = integers<T, N>(2), s = distances<T, N>();
  const auto r = ct::jit(pointwise)(a, b, s);
  for (ct::extent i = 0; i < N; ++i) {
    const auto want = pointwise_by_hand(a(i), b(i), s(i));
    std::string wrong;
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      const int done[] = {(std::get<K>(r)(i) != std::get<K>(want) ? wrong += " " + std::to_string(K) + ": " + std::to_string(std::get<K>(r)(i)) : wrong, 0)...};
      (void)done;
    }(std::make_index_sequence<std::tuple_size_v<decltype(want)>>());
    INFO("a " << +a(i) << ", b " << +b(i) << ", s " << +s(i));
    CHECK(wrong == "");
  }
}

}  // namespace

TEMPLATE_TEST_CASE("integers of all widths, point by point", "", std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t) {
  check_pointwise<TestType, 1>();
  check_pointwise<TestType, 1003>();
  if constexpr (sizeof(TestType) == 1 || sizeof(TestType) == 8 || std::is_same_v<TestType, std::uint32_t>)  // the others differ in their width alone
    check_devices(pointwise, 0, integers<TestType, 203>(1), integers<TestType, 203>(2), distances<TestType, 203>());
}

TEMPLATE_TEST_CASE("integers of all widths, rearranged and reduced", "", std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  using T = TestType;
  using wide = std::conditional_t<sizeof(T) >= 4, T, std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>>;
  constexpr ct::extent N = 77;
  const auto x = integers<T, N>(5);
  constexpr auto f = [](auto x) {
    return std::tuple(ct::sum(x), ct::prod(x | 1), ct::max(x), ct::min(x), ct::argmax(x), ct::cumsum(x), ct::sort<0>(x), ct::argsort<0>(x), ct::concatenate<0>(x, ct::flip<0>(x)),
                      ct::take<0>(x, ct::arange<int, 5>() * 20), ct::at(x, ct::arange<int, 5>()).add(x(ct::range<3, 8>)), ct::cummax(x));
  };
  const auto [sum, product, largest, least, place, sums, sorted, order, joined, taken, added, running] = ct::jit(f)(x);
  static_assert(std::is_same_v<decltype(sum), const ct::array<wide>> && std::is_same_v<decltype(product), const ct::array<wide>>);
  std::vector<T> in_order(x.begin(), x.end());
  std::sort(in_order.begin(), in_order.end());
  std::uint64_t total = 0, factors = 1;
  T partial = 0, most = std::numeric_limits<T>::lowest();
  for (ct::extent i = 0; i < N; ++i) {
    total += std::uint64_t(x(i)), factors *= std::uint64_t(T(x(i) | 1)), partial = T(std::uint64_t(partial) + std::uint64_t(x(i))), most = std::max(most, x(i));
    CHECK(sums(i) == partial);
    CHECK(running(i) == most);
    CHECK(sorted(i) == in_order[std::size_t(i)]);
    CHECK(x(order(i)) == in_order[std::size_t(i)]);
    CHECK((joined(i) == x(i) && joined(N + i) == x(N - 1 - i)));
    CHECK(added(i) == T(std::uint64_t(x(i)) + (i < 5 ? std::uint64_t(x(i + 3)) : 0)));
  }
  CHECK((sum == wide(total) && product == wide(factors)));
  CHECK((largest == in_order.back() && least == in_order.front() && x(place()) == in_order.back()));
  const T beyond = std::is_signed_v<T> ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  CHECK(taken == ct::array<T, 5>{x(0), x(20), x(40), x(60), beyond});
  if constexpr (std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::int16_t> || std::is_same_v<T, std::uint64_t>) check_devices(f, 0, x);
  // Batches, over run-time extents as well.
  const auto rows = [](auto x) { return ct::sum(x, ct::axis<-1>) + ct::vmap([](auto row) { return ct::dot(row, row) + row(0); })(x); };
  for (int n : {0, 1, 37}) {
    ct::array<T, ct::dyn, 9> y({n, 9});
    std::copy_n(integers<T, 9 * 37>(3).data(), 9 * n, y.data());
    const auto r = ct::jit(rows)(y);
    for (int i = 0; i < n; ++i) {
      std::uint64_t sum = 0, squares = 0;
      for (int j = 0; j < 9; ++j) sum += std::uint64_t(y(i, j)), squares += std::uint64_t(y(i, j)) * std::uint64_t(y(i, j));
      CHECK(r(i) == wide(sum + std::uint64_t(T(squares + std::uint64_t(y(i, 0))))));
    }
  }
}

TEST_CASE("conversions between all types of numbers") {
  constexpr auto f = [](auto x) {
    return std::tuple(ct::astype<std::int8_t>(x), ct::astype<std::uint8_t>(x), ct::astype<std::int16_t>(x), ct::astype<std::uint16_t>(x), ct::astype<std::int32_t>(x), ct::astype<std::uint32_t>(x),
                      ct::astype<std::int64_t>(x), ct::astype<std::uint64_t>(x), ct::astype<float>(x), ct::astype<double>(x), ct::astype<bool>(x));
  };
  const auto check = [&]<class T>(const ct::array<T, 131>& x) {
    const auto r = ct::jit(f)(x);
    std::apply([&](const auto&... converted) {
      const auto one = [&]<class U>(const ct::array<U, 131>& y) {
        for (int i = 0; i < 131; ++i) CHECK(y(i) == static_cast<U>(x(i)));
      };
      (one(converted), ...);
    }, r);
  };
  check(integers<std::int8_t, 131>(1)), check(integers<std::uint8_t, 131>(2)), check(integers<std::int16_t, 131>(3)), check(integers<std::uint16_t, 131>(4));
  check(integers<std::uint32_t, 131>(5)), check(integers<std::uint64_t, 131>(6)), check(integers<std::int32_t, 131>(7)), check(integers<std::int64_t, 131>(8));
  ct::array<float, 131> x;
  for (int i = 0; i < 131; ++i) x(i) = float(i) * 0.97f;
  check(x);
}

TEST_CASE("an image of bytes becomes numbers, and a gradient flows from them") {
  const auto image = integers<std::uint8_t, 28 * 28>(9);
  const auto loss = [](auto w, auto image) { return ct::sum(ct::square(w * (image / 255.0f - 0.5f))); };
  const auto [value, gradient] = ct::jit(ct::value_and_grad(loss))(ct::full<float, 28 * 28>(0.3f), image);
  double want = 0;
  for (int i = 0; i < 28 * 28; ++i) {
    const double x = image(i) / 255.0 - 0.5;
    want += 0.09 * x * x;
    CHECK(gradient(i) == Approx(0.6 * x * x).margin(1e-7));
  }
  CHECK(value() == Approx(want));
}

TEST_CASE("literals wrap around in the array's type, and promotion follows the lattice") {
  const ct::array<std::uint8_t, 3> bytes{1, 2, 200};
  const ct::array<std::int8_t, 3> signed_bytes{1, -2, 100};
  const ct::array<std::uint32_t, 3> words{1, 2, 4000000000u};
  const auto [above, below, mixed, wide, scaled, big] = ct::jit([](auto a, auto b, auto c) { return std::tuple(a + 100, a - 3, a + b, b + c, a * 0.5f, c * 3000000000u); })(bytes, signed_bytes, words);
  CHECK(above == ct::array<std::uint8_t, 3>{101, 102, 44});
  CHECK(below == ct::array<std::uint8_t, 3>{254, 255, 197});
  CHECK(mixed == ct::array<std::int16_t, 3>{2, 0, 300});
  CHECK(wide == ct::array<std::int64_t, 3>{2, 0, 4000000100});
  CHECK(scaled == ct::array<float, 3>{0.5f, 1, 100});
  CHECK(big == ct::array<std::uint32_t, 3>{3000000000u, 1705032704u, 3635412992u});
  CHECK(ct::jit([](auto x, auto k) { return x(k); })(words, ct::array<std::uint32_t>(2u)) == 4000000000u);
  // Indices that were unsigned are not negative, unless they wrapped around.
  CHECK(ct::jit([](auto x, auto k) { return ct::take<0>(x, k); })(words, bytes) == ct::array<std::uint32_t, 3>{2u, 4000000000u, 4294967295u});
  CHECK(ct::jit([](auto x, auto k) { return x(ct::astype<std::int32_t>(k)); })(words, ct::array<std::uint32_t>(4294967295u)) == 4000000000u);
}

TEST_CASE("bits as elements of another type") {
  const ct::array<float, 4> x{1, -2, 0.5f, -0.0f};
  const auto words = ct::jit([](auto x) { return ct::bit_cast<std::uint32_t>(x); })(x);
  CHECK(words == ct::array<std::uint32_t, 4>{0x3f800000u, 0xc0000000u, 0x3f000000u, 0x80000000u});
  CHECK(ct::array<float, 4>(ct::bit_cast<float>(words)) == x);
  const auto halved = ct::jit([](auto x) { return ct::bit_cast<double>(ct::bit_cast<std::int64_t>(x) - (std::int64_t(1) << 52)); })(ct::array<double, 3>{8, -3, 0.1});
  CHECK(halved == ct::array<double, 3>{4, -1.5, 0.05});
}
