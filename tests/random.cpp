/// Random numbers, beside those of JAX 0.10.2 (jax.random, float32 unless said).

#include "check_derivatives.hpp"

namespace ct = cotangent;
namespace rnd = ct::random;
using namespace checks;

namespace {

constexpr auto key = rnd::key(42);

template <class T, ct::extent... E> void check_near(const ct::array<T, E...>& have, const ct::array<T, E...>& want, double tolerance = 2e-6) {
  for (ct::extent i = 0; i < want.size(); ++i) CHECK(have.data()[i] == Approx(want.data()[i]).epsilon(tolerance).margin(tolerance));
}

}  // namespace

TEST_CASE("threefry gives the vectors of Random123, and keys are those of JAX") {
  const ct::threefry_words<std::uint32_t> zeros(0, 0, 0, 0), ones(~0u, ~0u, ~0u, ~0u), digits(320440878, 57701188, 608135816, 2242054355);
  CHECK((zeros.first == 0x6b200159 && zeros.second == 0x99ba4efe));
  CHECK((ones.first == 481924860 && ones.second == 3137350631));
  CHECK((digits.first == 3297917596 && digits.second == 1212020640));
  using words = ct::array<std::uint32_t, 2>;
  static_assert(rnd::key(2) == words{0u, 2u} && rnd::key(-1) == words{0u, ~0u} && rnd::key(std::int64_t(-3)) == words{~0u, 4294967293u});
  static_assert(rnd::fold_in(rnd::key(0), 4) == words{2285895361u, 433833334u});
  const ct::array<std::uint32_t, 3, 2> three{{1832780943, 270669613}, {64467757, 2916123636}, {2465931498, 255383827}};
  CHECK(rnd::split<3>(key) == three);
  CHECK(ct::jit([](auto k) { return rnd::split<3>(k); })(key) == three);
  CHECK(ct::jit([](auto k, auto i) { return rnd::fold_in(k, i); })(key, ct::array<int>(7)) == words{2547012911u, 1371500959u});
  CHECK(ct::jit([](auto seed) { return rnd::key(seed); })(ct::array<std::int64_t>(-3)) == rnd::key(std::int64_t(-3)));
  CHECK(ct::jit([](auto seed) { return rnd::key(seed); })(ct::array<int>(-1)) == rnd::key(-1));
}

TEST_CASE("bits") {
  CHECK(ct::array<std::uint32_t, 8>(rnd::bits<std::uint32_t, 8>(rnd::key(0))) ==
        ct::array<std::uint32_t, 8>{4070199207u, 4202968722u, 1427181096u, 2012915765u, 2447653815u, 710830403u, 1332275837u, 2961296638u});
  CHECK(ct::array<std::uint64_t, 4>(rnd::bits<std::uint64_t, 4>(rnd::key(1))) ==
        ct::array<std::uint64_t, 4>{2179487362436112514u, 8370371427069427784u, 10487943526538222699u, 15325442148188575646u});
  CHECK(ct::array<std::uint8_t, 4>(rnd::bits<std::uint8_t, 4>(key)) == ct::array<std::uint8_t, 4>{162, 217, 249, 215});
  CHECK(ct::array<std::uint16_t, 4>(rnd::bits<std::uint16_t, 4>(key)) == ct::array<std::uint16_t, 4>{5026, 12505, 63993, 49623});
  CHECK(ct::array<std::uint32_t, 0>(rnd::bits<std::uint32_t, 0>(key)).size() == 0);
  // A number depends on its place alone.
  const ct::array<std::uint32_t, 3> few = rnd::bits<std::uint32_t, 3>(key);
  const ct::array<std::uint32_t, 100, 1000> many = ct::jit([](auto k) { return rnd::bits<std::uint32_t, 100, 1000>(k); })(key);
  CHECK((many(0, 0) == few(0) && many(0, 2) == few(2)));
  CHECK(many(99, 999) == (rnd::fold_in(key, 99999)(0) ^ rnd::fold_in(key, 99999)(1)));
}

TEST_CASE("distributions") {
  const auto draw = ct::jit([](auto k) {
    return std::tuple(rnd::uniform<float, 2, 2>(k), rnd::uniform<float, 3>(k, -2, 3), rnd::uniform<double, 3>(k), rnd::normal<float, 4>(k), rnd::normal<double, 3>(k),
                      rnd::truncated_normal<float, 4>(k, -1, 2), rnd::exponential<float, 3>(k), rnd::laplace<float, 3>(k), rnd::logistic<float, 3>(k), rnd::gumbel<float, 3>(k),
                      rnd::cauchy<float, 3>(k));
  });
  const auto [uniform, between, wide, normal, wide_normal, truncated, exponential, laplace, logistic, gumbel, cauchy] = draw(key);
  check_near(uniform, {{0.48870957f, 0.6797972f}, {0.6162715f, 0.5610161f}}, 0);
  check_near(between, {0.44354784f, 1.3989859f, 1.0813575f});
  check_near(wide, {0.426727567, 0.01501007, 0.574144418}, 1e-8);
  check_near(normal, {-0.028304616f, 0.46713185f, 0.29570296f, 0.15354592f});
  check_near(wide_normal, {-0.184711745, -2.16982456, 0.186935552}, 1e-8);
  check_near(truncated, {0.14770006f, 0.5684449f, 0.4210255f, 0.29997f});
  check_near(exponential, {0.6708175f, 1.1388006f, 0.95782f});
  check_near(laplace, {0.022839652f, -0.44565356f, -0.2646729f});
  check_near(logistic, {-0.045169413f, 0.7528398f, 0.47375232f});
  check_near(gumbel, {0.3340934f, 0.95201945f, 0.72553056f});
  check_near(cauchy, {-0.03548463f, 0.6337261f, 0.38244057f});
  check_near(ct::array<float, 3, 3>(rnd::normal<float, 3, 3>(rnd::key(0))), {{1.622642f, 2.0252647f, -0.43359435f}, {-0.07861735f, 0.17609091f, -0.9720893f}, {-0.4952987f, 0.49437857f, 0.66434926f}});
}

TEST_CASE("integers, choices and orders") {
  const auto draw = ct::jit([](auto k) {
    return std::tuple(rnd::randint<int, 5>(k, -5, 1000), rnd::randint<std::int8_t, 5>(k, -100, 100), rnd::randint<std::uint8_t, 6>(k, 0, 256), rnd::randint<std::int16_t, 4>(k, -3, 9), rnd::randint<std::int64_t, 3>(k, std::int64_t(-1000000000000), std::int64_t(1000000000000)),
                      rnd::randint<std::uint32_t, 3>(k, 0, 4000000000u), rnd::randint<int, 3>(k, 5, 5), rnd::bernoulli<8>(k, 0.3), rnd::rademacher<int, 6>(k), rnd::permutation<12>(k));
  });
  const auto [some, signed_bytes, bytes, shorts, longs, words, none, events, signs, order] = draw(key);
  CHECK(some == ct::array<int, 5>{184, 514, 736, 539, 804});
  CHECK(signed_bytes == ct::array<std::int8_t, 5>{-56, 14, -29, 69, 9});
  CHECK(bytes == ct::array<std::uint8_t, 6>{196, 18, 183, 193, 141, 107});
  CHECK(shorts == ct::array<std::int16_t, 4>{-3, 3, 0, -2});
  CHECK(longs == ct::array<std::int64_t, 3>{464050701877, -395020523842, 848944880791});
  CHECK(words == ct::array<std::uint32_t, 3>{3125294276u, 3383865362u, 780371127u});
  CHECK(none == ct::array<int, 3>{5, 5, 5});
  CHECK(events == ct::array<bool, 8>{false, false, false, false, false, false, true, false});
  // The same of a key outside of a trace.
  CHECK(ct::array<bool, 8>(rnd::bernoulli<8>(key, 0.3)) == events);
  CHECK(ct::array<int, 5>(rnd::randint<int, 5>(key, -5, 1000)) == some);
  CHECK(ct::array<int, 6>(rnd::rademacher<int, 6>(key)) == signs);
  CHECK(ct::array<float, 3>(rnd::uniform<float, 3>(key, -2, 3)) == ct::jit([](auto k) { return rnd::uniform<float, 3>(k, -2, 3); })(key));
  CHECK(signs == ct::array<int, 6>{1, -1, -1, -1, 1, -1});
  CHECK(order == ct::array<int, 12>{7, 4, 2, 5, 3, 6, 10, 11, 8, 9, 0, 1});
  const ct::array<int, 3000> longer = rnd::permutation<3000>(key);
  std::int64_t sum = 0;
  for (int i = 0; i < 3000; ++i) sum += std::int64_t(i) * longer(i);
  CHECK(sum == 6712181439);
  const auto logits = ct::array<float, 2, 3>{{std::log(0.1f), std::log(0.2f), std::log(0.7f)}, {std::log(0.6f), std::log(0.3f), std::log(0.1f)}};
  CHECK(ct::array<int, 2>(rnd::categorical(key, logits)) == ct::array<int, 2>{2, 0});
  CHECK(ct::array<int, 4, 2>(rnd::categorical<4, 2>(key, logits)) == ct::array<int, 4, 2>{{2, 0}, {2, 0}, {1, 0}, {1, 0}});
  CHECK(ct::array<int, 3>(rnd::categorical(key, logits, ct::axis<0>)) == ct::array<int, 3>{1, 0, 0});
  const auto x = ct::array<int, 10>{10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
  CHECK(ct::array<int, 5>(rnd::choice<5>(key, x)) == ct::array<int, 5>{14, 14, 11, 19, 19});
  CHECK(ct::array<int, 5>(rnd::choice<5>(key, x, rnd::without_replacement)) == ct::array<int, 5>{17, 14, 12, 15, 13});
  const auto rows = ct::array<double, 4, 2>{{0, 1}, {2, 3}, {4, 5}, {6, 7}};
  CHECK(ct::array<double, 3, 2>(rnd::choice<3>(key, rows)) == ct::array<double, 3, 2>{{0, 1}, {4, 5}, {6, 7}});
  CHECK(ct::array<double, 4, 2>(rnd::permutation(key, rows)) == ct::array<double, 4, 2>{{4, 5}, {6, 7}, {0, 1}, {2, 3}});
  const ct::array<double, ct::dyn, 2> more = ct::jit([](auto k, auto x) { return rnd::permutation(k, x); })(key, ct::array<double, ct::dyn, 2>(rows));
  std::vector<double> firsts{more(0, 0), more(1, 0), more(2, 0), more(3, 0)};
  std::sort(firsts.begin(), firsts.end());
  CHECK(firsts == std::vector<double>{0, 2, 4, 6});
}

TEST_CASE("parameters broadcast, and gradients flow to them") {
  const auto low = ct::array<float, 3>{0, 1, 2};
  const auto high = ct::array<float, 2, 1>{{1}, {10}};
  check_near(ct::array<float, 2, 3>(rnd::uniform(key, low, high)), {{0.48870957f, 1.0f, 2.0f}, {5.610161f, 5.0558014f, 6.686927f}});
  CHECK(ct::array<bool, 3>(rnd::bernoulli(key, ct::array<float, 3>{0.1f, 0.5f, 0.9f})) == ct::array<bool, 3>{false, false, true});
  const auto mean = [](auto scale, auto k) { return ct::mean(rnd::normal<double, 1000>(k) * scale + rnd::uniform<double, 1000>(k, 0, scale)); };
  const auto slope = ct::jit(ct::grad(mean))(ct::array<double>(2), key);
  CHECK(slope() == Approx((ct::jit(mean)(ct::array<double>(2.5), key)() - ct::jit(mean)(ct::array<double>(1.5), key)())));
}

TEST_CASE("keys batch like arrays") {
  const auto f = [](auto k) {
    const auto [a, b] = rnd::split(k);
    return std::tuple(rnd::normal<float, 5>(a), rnd::randint<int, 2>(b, 0, 100), rnd::permutation<9>(b), rnd::uniform<double>(a));
  };
  const ct::array<std::uint32_t, 37, 2> keys = rnd::split<37>(key);
  const auto all = ct::jit(ct::vmap(f))(keys);
  for (int i = 0; i < 37; ++i) {
    const auto [normal, integers, order, uniform] = ct::jit(f)(rnd::fold_in(key, i));
    for (int j = 0; j < 5; ++j) CHECK(std::get<0>(all)(i, j) == normal(j));
    for (int j = 0; j < 2; ++j) CHECK(std::get<1>(all)(i, j) == integers(j));
    for (int j = 0; j < 9; ++j) CHECK(std::get<2>(all)(i, j) == order(j));
    CHECK(std::get<3>(all)(i) == uniform());
  }
  check_devices(ct::vmap(f), 2e-6, keys);
}

TEST_CASE("random numbers of run-time shapes, in loops, and inside of kernels") {
  const auto noisy = [](auto k, auto x) { return x + rnd::normal_like(k, x) * rnd::uniform_like(rnd::fold_in(k, 1), x) + ct::where(rnd::bernoulli_like(k, x, 0.25), 1, 0); };
  const auto fixed = ct::jit(noisy)(key, ct::array<float, 37, 5>());
  for (int n : {0, 1, 37}) {
    const auto r = ct::jit(noisy)(key, ct::array<float, ct::dyn, 5>({n, 5}));
    for (int i = 0; i < 5 * n; ++i) CHECK(r.data()[i] == fixed.data()[i]);
  }
  // Of the two words of the folded key, and of all that is drawn.
  CHECK(ct::jit(noisy).kernels(key, ct::array<float, 1000, 100>()).find("\n2 steps, arena of 128 bytes") != std::string::npos);
  // A walk, whose steps are drawn in the loop.
  const auto walk = [](auto k) { return ct::fori_loop<0, 10>([k](auto i, auto x) { return x + rnd::normal<double>(rnd::fold_in(k, i)); }, ct::array<double>(0)); };
  double want = 0;
  for (int i = 0; i < 10; ++i) want += double(rnd::normal<double>(rnd::fold_in(key, i)));
  CHECK(ct::jit(walk)(key)() == Approx(want));
  check_devices(noisy, 2e-6, key, fixed);
  check_devices([](auto k) { return std::tuple(rnd::bits<std::uint32_t, 1000>(k), rnd::bits<std::uint64_t, 1000>(k), rnd::permutation<1000>(k), ct::sum(rnd::uniform<double, 300, 7>(k), ct::axis<0>)); }, 1e-12, key);
}

TEST_CASE("first weights of networks are those of jax.nn.initializers") {
  namespace init = ct::nn::initializers;
  const auto weights = ct::jit([](auto k) {
    return std::tuple(init::lecun_normal<float, 3, 2>(k), init::lecun_uniform<float, 3, 2>(k), init::glorot_normal<float, 3, 2>(k), init::glorot_uniform<float, 3, 2>(k), init::he_normal<float, 3, 2>(k),
                      init::he_uniform<float, 3, 2>(k), init::normal<float, 3>(k), init::uniform<float, 3>(k), init::truncated_normal<float, 3>(k));
  });
  const auto [lecun, lecun_u, glorot, glorot_u, he, he_u, normal, uniform, truncated] = weights(key);
  check_near(lecun, {{-0.017732522f, 0.291673362f}, {0.185012564f, 0.09616188f}, {-0.077688165f, 0.135805592f}});
  check_near(lecun_u, {{-0.022580862f, 0.359594345f}, {0.232542992f, 0.122032166f}, {-0.098710775f, 0.17173171f}});
  check_near(glorot, {{-0.019425005f, 0.319512159f}, {0.202671111f, 0.105340064f}, {-0.085103117f, 0.148767576f}});
  check_near(glorot_u, {{-0.024736095f, 0.393915892f}, {0.254738092f, 0.133679539f}, {-0.108132243f, 0.188122675f}});
  check_near(he, {{-0.025077576f, 0.412488461f}, {0.261647284f, 0.135993451f}, {-0.109867662f, 0.192058116f}});
  check_near(he_u, {{-0.031934161f, 0.508543193f}, {0.328865439f, 0.172579542f}, {-0.139598116f, 0.242865309f}});
  check_near(normal, {-0.000283046f, 0.004671318f, 0.00295703f});
  check_near(uniform, {0.004887096f, 0.006797972f, 0.006162715f});
  check_near(truncated, {-0.000270165f, 0.004443808f, 0.002818771f});
  const ct::array<float, 3, 3, 2, 2> kernel = init::he_normal<float, 3, 3, 2, 2>(key);
  CHECK(kernel(0, 0, 0, 1) == Approx(0.168397695f).epsilon(2e-6));
}

TEST_CASE("moments of many numbers") {
  const auto moments = [](auto x) { return std::tuple(ct::mean(x), ct::mean(ct::square(x)), ct::mean(ct::square(ct::square(x))), ct::max(ct::abs(x))); };
  const auto [mean, second, fourth, largest] = ct::jit([&](auto k) { return moments(rnd::normal<double, 1000, 1000>(k)); })(key);
  CHECK(std::abs(mean()) < 4e-3);
  CHECK(second() == Approx(1).margin(6e-3));
  CHECK(fourth() == Approx(3).margin(4e-2));
  CHECK((largest() > 4.3 && largest() < 6.5));
  const auto [half, third, fifth, top] = ct::jit([&](auto k) { return moments(rnd::uniform<float, 1000, 1000>(k)); })(key);
  CHECK((half() == Approx(0.5).margin(2e-3) && third() == Approx(1.0 / 3).margin(2e-3) && fifth() == Approx(0.2).margin(2e-3) && top() < 1));
}

TEST_CASE("arrays and vars of a known first extent are taken apart by structured bindings") {
  auto [x, y, z] = ct::array<float, 3>{1, 2, 3};
  CHECK((x == 1 && y == 2 && z == 3));
  auto [first, second] = ct::array<int, 2, 2>{{1, 2}, {3, 4}};
  CHECK((first == ct::array<int, 2>{1, 2} && second == ct::array<int, 2>{3, 4}));
  const auto lorenz = [](auto s) {
    auto [x, y, z] = s;
    return ct::stack<0>(10.0f * (y - x), x * (28.0f - z) - y, x * y - 2.5f * z);
  };
  CHECK(ct::jacfwd(lorenz)(ct::array<float, 3>{1, 2, 3}) == ct::array<float, 3, 3>{{-10, 10, 0}, {25, -1, -1}, {2, 1, -2.5f}});
  // Two elements are no pair: not to scan, nor as a result.
  const auto last = ct::jit([](auto x) { return ct::scan([](auto c, auto e) { return std::tuple(c + e, ct::stack<0>(c, e)); }, ct::array<float>(0), x); })(ct::array<float, 2>{1, 2});
  CHECK(std::get<1>(last) == ct::array<float, 2, 2>{{0, 1}, {1, 2}});
}
