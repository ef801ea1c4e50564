/// Random numbers with parameters (random/gamma.hpp) beside JAX 0.10.2: the same numbers, and derivatives of a fixed probability.

#include "flat_results.hpp"

namespace ct = cotangent;
namespace rnd = ct::random;
using namespace checks;

namespace {

/// Relative to each number, however small.
void check_each(const ct::array<double, ct::dyn>& have, std::initializer_list<double> want, double tolerance) {
  REQUIRE(have.size() == ct::extent(want.size()));
  const double* w = want.begin();
  for (ct::extent i = 0; i < have.size(); ++i, ++w) {
    INFO("element " << i << ": " << have(i) << " for " << *w);
    CHECK(std::abs(have(i) - *w) <= tolerance * std::abs(*w));
  }
}
const ct::array<double, 6> a{0.05, 0.7, 1.3, 5, 40, 3000};

}  // namespace

TEST_CASE("the numbers of JAX") {
  const auto all = [](auto key, auto a) {
    const ct::array<double, 2> mean{1, 2};
    const ct::array<double, 2, 2> covariance{{2, 0.5}, {0.5, 1}};
    return std::tuple(rnd::gamma<double>(key, a), rnd::beta<double, 4>(key, 0.5, 2.0), rnd::poisson(key, ct::array<float, 6>{3.5f, 0, 9, 350, 40, 12}),
                      rnd::multivariate_normal<double, 2>(key, mean, covariance));
  };
  check_each(flat(ct::jit(all)(rnd::key(7), a)), {
      3.4059370241041e-37, 0.0685116742997469, 0.434015356358157, 4.57029441915051, 41.9281888463705, 3035.71653198428,
      0.147696335128601, 0.456987360012539, 0.174727563433726, 0.298385190849477,
      4, 0, 9, 346, 34, 12,
      2.43045062283491, 0.775770020493442, -0.0683906732232811, 0.312040322408855}, 1e-11);
}

TEST_CASE("derivatives by the parameter, at a fixed probability") {
  const auto slopes = [](auto key, auto a) {
    const auto of = [key](auto f, auto a) { return ct::grad([key, f](auto a) { return ct::sum(f(key, a)); })(a); };
    const auto last = ct::slice<ct::range<2, 6>>(a);
    return std::tuple(of([](auto k, auto a) { return rnd::gamma<double>(k, a); }, a), of([](auto k, auto a) { return rnd::dirichlet<double>(k, a) * ct::iota<double, 6>(); }, a), of([](auto k, auto a) { return rnd::t<double>(k, a); }, last));
  };
  check_each(flat(ct::jit(slopes)(rnd::key(7), a)), {
      5.68602680744936e-34, 0.296896437455697, 0.616972887802044, 0.988120954046118, 1.02800011398784, 1.00598515800067,
      -9.19092682528635e-37, -0.000383595158379473, -0.000596999994771473, -0.00063559743052505, -0.000327777199070243, 5.57288610140312e-06,
      -0.0378805779831281, 0.00789520174500693, -2.31757268083355e-05, 6.45220369239653e-07}, 1e-7);
  // Small and large parameters; float; a vmap over keys; run-time numbers of them.
  const auto of_keys = [](auto keys, auto a) {
    return ct::vmap([](auto key, auto a) { return ct::grad([key](auto a) { return ct::sum(rnd::loggamma<typename decltype(a)::value_type>(key, a)); })(a); }, ct::in_axes<0, ct::none>)(keys, a);
  };
  ct::array<std::uint32_t, 3, 2> keys;
  for (int k = 0; k < 3; ++k) keys(k, 1) = std::uint32_t(k);
  const std::initializer_list<double> want{11139.3330093542, 0.432092307242968, 0.00194882191766298, 5.03458449868683e-05, 3368.77488773269, 0.402251951015141, 0.00201623715990712, 5.01407897132321e-05,
                                           14900.9657592246, 0.483192854549538, 0.0020881190118733, 4.9796456221558e-05};
  check_each(flat(std::tuple(ct::jit(of_keys)(keys, ct::array<double, ct::dyn>(ct::array<double, 4>{0.01, 3, 500, 20000})))), want, 1e-7);
  const ct::array<float, 3, 4> in_float = ct::jit(of_keys)(keys, ct::array<float, 4>{0.01f, 3, 500, 20000});
  const double want_in_float[] = {0.365626931190491, 0.00202260352671146, 0.40433394908905, 0.0019494544249028, 0.406903743743896, 0.00202593323774636};
  for (int k = 0; k < 6; ++k) CHECK(in_float(k / 2, 1 + k % 2) == Approx(want_in_float[k]).epsilon(1e-4));
}

TEST_CASE("moments") {
  constexpr ct::extent n = 20000;
  const auto moments = ct::jit([](auto key) {
    const auto of = [](auto x) { return std::tuple(ct::mean(x), ct::variance(x)); };
    return std::tuple(of(rnd::gamma<float, n>(key, 0.3f)), of(rnd::chisquare<float, n>(key, 5.0f)));
  })(rnd::key(11));
  const double mean[] = {0.3, 5}, variance[] = {0.3, 10}, excess[] = {20, 2.4};  // of the kurtosis
  const auto m = flat(std::apply([](const auto&... p) { return std::tuple_cat(p...); }, moments));
  for (int k = 0; k < 2; ++k) {
    CHECK(std::abs(m(2 * k) - mean[k]) < 5 * std::sqrt(variance[k] / n));  // 5 standard errors
    CHECK(std::abs(m(2 * k + 1) / variance[k] - 1) < 5 * std::sqrt((2 + excess[k]) / n));
  }
}
