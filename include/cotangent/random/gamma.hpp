#pragma once
/// Random numbers with gamma, beta, Dirichlet's, Student's, chi-square, Poisson's and multivariate normal distributions, as in jax.random.

#include <cotangent/control/while_loop.hpp>
#include <cotangent/linalg/linalg.hpp>
#include <cotangent/nn/nn.hpp>
#include <cotangent/random/random.hpp>
#include <cotangent/transforms/custom.hpp>

namespace cotangent::random {

namespace functions {

/// The key of each element of an array: [n, 2].
struct keys_of_elements {
  constexpr value operator()(value key, value x) const {
    if (!is_key("gamma", key)) return key;
    const value flat = ravel_function{}(x);
    return fold_in(key, places(*key.b, flat.dims()));
  }
};
struct reshape_like_function {
  constexpr value operator()(value x, value like) const { return x.b->failed() ? like : reshape(x, like.dims()); }
};

/// A number with density x^(a - 1) exp(-x) / Γ(a), or its logarithm, by rejection (G. Marsaglia and W. W. Tsang, "A simple method for generating
/// gamma variables", 2000). For a < 1 it is one of a + 1 times u^(1 / a).
template <bool Log> inline constexpr auto gamma_of_key = [](auto key, auto a) {
  using T = typename decltype(a)::value_type;
  const auto is_large = a >= 1;
  const auto d = where(is_large, a, a + 1) - T(1.0 / 3);
  const auto c = T(1.0 / 3) / sqrt(d);
  const auto rejected = [d](const auto& state) {
    const auto& [k, square_of_x, v, u] = state;
    return u >= 1 - T(0.0331) * square_of_x * square_of_x && log(u) >= square_of_x * T(0.5) + d * (1 - v + log(v));
  };
  const auto next = [c](const auto& state) {
    const auto keys = random::split<3>(std::get<0>(state));
    const auto positive = while_loop([](const auto& s) { return std::get<2>(s) <= 0; }, [c](const auto& s) {
      const auto both = random::split<2>(std::get<0>(s));
      const auto x = random::normal<T>(both(index<1>));
      return std::tuple(both(index<0>), x, 1 + x * c);
    }, std::tuple(keys(index<1>), 0 * c, 0 * c - 1));
    const auto x = std::get<1>(positive), v = std::get<2>(positive);
    return std::tuple(keys(index<0>), x * x, v * v * v, random::uniform<T>(keys(index<2>)));
  };
  const auto keys = random::split<2>(key);
  const auto v = std::get<2>(while_loop(rejected, next, std::tuple(keys(index<0>), 0 * d, 0 * d + 1, 0 * d + 2)));
  if constexpr (Log) {
    const auto log_u = -random::exponential<T>(keys(index<1>));
    return log(d) + log(v) + where(is_large || log_u == 0, 0, log_u * (1 / a));
  } else {
    return d * v * where(is_large, 1, pow(1 - random::uniform<T>(keys(index<1>)), 1 / a));
  }
};

inline constexpr int most_terms = 100000;
template <class T> inline constexpr T exact_enough = std::numeric_limits<T>::epsilon() / 4;
/// The derivative by a of the logarithm of a number x with a gamma distribution, drawn by a fixed probability: -(∂P / ∂a) / (x ∂P / ∂x) for the distribution
/// function P(a, x) (M. Figurnov, S. Mohamed and A. Mnih, "Implicit reparameterization gradients", 2018). P by its series where x <= a + 1, 1 - P
/// by its continued fraction elsewhere (NIST, Digital library of mathematical functions, 8.11.4 and 8.9.2), each with its derivative.
inline constexpr auto log_gamma_slope = [](auto a, auto log_x) {
  using T = typename decltype(a)::value_type;
  const auto x = exp(log_x), zero = 0 * a;
  const auto by_series = x <= a + 1;
  // Σ x^n / ((a + 1) ... (a + n)): n, a term and its derivative, the sums of both.
  const auto series = while_loop(
      [by_series](const auto& s) {
        const auto& [n, t, dt, sum, dsum] = s;
        return by_series && (t > exact_enough<T> * sum || abs(dt) > exact_enough<T> * abs(dsum)) && n < most_terms;
      },
      [a, x](const auto& s) {
        const auto& [n, t, dt, sum, dsum] = s;
        const auto at = a + (n + 1), r = x / at, next = t * r, slope = (dt - t / at) * r;
        return std::tuple(n + 1, next, slope, sum + next, dsum + slope);
      },
      std::tuple(zero, zero + 1, zero, zero + 1, zero));
  // The fraction by Lentz's method (W. J. Lentz, 1976): n, 1 / the denominators before and behind, the value, derivatives behind each, and how much the last step changed.
  const auto b = where(by_series, 1, x + 1 - a), first = 1 / b;
  const auto fraction = while_loop(
      [by_series](const auto& s) { return !by_series && std::get<7>(s) > exact_enough<T> && std::get<0>(s) < most_terms; },
      [a, b](const auto& s) {
        const auto& [n, d, dd, e, de, h, dh, change] = s;
        const auto i = n + 1, numerator = i * (a - i), denominator = b + 2 * i;
        const auto next_d = 1 / (numerator * d + denominator), next_dd = -next_d * next_d * (i * d + numerator * dd - 1);
        const auto c = denominator + numerator * e, dc = i * e + numerator * de - 1;
        const auto step = next_d * c, next_h = h * step, next_dh = dh * step + h * (next_dd * c + next_d * dc);
        return std::tuple(i, next_d, next_dd, 1 / c, -dc / (c * c), next_h, next_dh, abs(step - 1) + abs(next_dh - dh) / (abs(next_dh) + abs(next_h)));
      },
      std::tuple(zero, first, first * first, zero, zero, first, first * first, zero + 1));
  const auto& [n, t, dt, sum, dsum] = series;
  const auto h = std::get<5>(fraction), dh = std::get<6>(fraction);
  return where(by_series, -(sum * (log_x - digamma(a + 1)) + dsum) / a, h * (log_x - digamma(a)) + dh);
};
/// A number or its logarithm as a function of a as well.
template <bool Log> inline constexpr auto at_fixed_probability = custom_jvp([](auto x, auto) { return x; }, [](auto primals, auto tangents) {
  const auto [x, a] = primals;
  if constexpr (Log) return std::tuple(x, log_gamma_slope(a, x) * std::get<1>(tangents));
  else return std::tuple(x, where(x > 0, x * log_gamma_slope(a, log(where(x > 0, x, 1))), 0) * std::get<1>(tangents));
});
template <bool Log> inline constexpr auto differentiable_gamma = [](auto key, auto a) { return at_fixed_probability<Log>(gamma_of_key<Log>(key, stop_gradient(a)), a); };

/// A parameter in the shape E..., or its own.
template <class T, extent... E, class X> constexpr auto parameter_of_shape(const X& x) {
  const auto a = astype<T>(x);
  if constexpr (sizeof...(E) > 0) return broadcast_to<E...>(a);
  else return a;
}
template <bool Log, class K, class A> constexpr auto gamma_of_elements(const K& key, const A& a) {
  const auto flat = vmap(differentiable_gamma<Log>)(apply<keys_of_elements{}>(key, a), ravel(a));
  return apply<reshape_like_function{}>(flat, a);
}
/// F of a key and parameters in their trace.
template <class T, class F, class K, class... X> constexpr auto draw_by(F, const K& key, const X&... x) {
  return defer_call<false>([](const auto& k, const auto&... v) { return F{}(k, parameter(k, v)...); }, key, number_as<T>(x)...);
}

}  // namespace functions

/// With density x^(a - 1) exp(-x) / Γ(a) for x > 0 and a > 0: of shape E... or, without, of a's, which may be a run-time one; T is float or double.
/// Differentiable by a, as a function of a fixed probability. JAX: jax.random.gamma.
template <class T = float, extent... E, tensor K, operand A> constexpr auto gamma(const K& key, const A& a) {
  return functions::draw_by<T>([](auto k, auto v) { return functions::gamma_of_elements<false>(k, functions::parameter_of_shape<T, E...>(v)); }, key, a);
}
/// The logarithm of such a number, also where the number itself would be 0. JAX: jax.random.loggamma.
template <class T = float, extent... E, tensor K, operand A> constexpr auto loggamma(const K& key, const A& a) {
  return functions::draw_by<T>([](auto k, auto v) { return functions::gamma_of_elements<true>(k, functions::parameter_of_shape<T, E...>(v)); }, key, a);
}
/// With density proportional to x^(a - 1) (1 - x)^(b - 1) in [0, 1]. JAX: jax.random.beta.
template <class T = float, extent... E, tensor K, operand A, operand B> constexpr auto beta(const K& key, const A& a, const B& b) {
  return functions::draw_by<T>([](auto k, auto v, auto w) {
    const auto p = functions::parameter_of_shape<T, E...>(v + 0 * w), q = functions::parameter_of_shape<T, E...>(w + 0 * v);
    const auto keys = random::split<2>(k);
    const auto x = functions::gamma_of_elements<true>(keys(index<0>), p), y = functions::gamma_of_elements<true>(keys(index<1>), q);
    return cotangent::logistic(x - y);
  }, key, a, b);
}
/// Vectors of positive numbers with sum 1 along the last axis, with density proportional to Π x^(alpha - 1); alpha [..., n] gives the shape.
/// JAX: jax.random.dirichlet.
template <class T = float, tensor K, tensor A> constexpr auto dirichlet(const K& key, const A& alpha) {
  return functions::draw_by<T>([](auto k, auto v) { return nn::softmax(functions::gamma_of_elements<true>(k, astype<T>(v))); }, key, alpha);
}
/// Student's distribution of df degrees of freedom. JAX: jax.random.t.
template <class T = float, extent... E, tensor K, operand D> constexpr auto t(const K& key, const D& df) {
  return functions::draw_by<T>([](auto k, auto v) {
    const auto half = functions::parameter_of_shape<T, E...>(v) / T(2);
    const auto keys = random::split<2>(k);
    return normal_like(keys(index<0>), half) * sqrt(half / functions::gamma_of_elements<false>(keys(index<1>), half));
  }, key, df);
}
/// The sum of the squares of df numbers with normal distribution. JAX: jax.random.chisquare.
template <class T = float, extent... E, tensor K, operand D> constexpr auto chisquare(const K& key, const D& df) {
  return functions::draw_by<T>([](auto k, auto v) { return T(2) * exp(functions::gamma_of_elements<true>(k, functions::parameter_of_shape<T, E...>(v) / T(2))); }, key, df);
}

namespace functions {
/// Numbers of events, by products of uniform numbers (D. E. Knuth, "The art of computer programming", volume 2, 3.4.1); 0 <= rate < 10.
inline constexpr auto poisson_by_products = [](auto key, auto rate) {
  const auto none = astype<std::int32_t>(0 * rate);
  const auto counted = while_loop([rate](const auto& s) { return any(std::get<2>(s) > -rate); },
                                  [rate](const auto& s) {
                                    const auto& [k, n, logarithm] = s;
                                    const auto keys = random::split<2>(k);
                                    return std::tuple(keys(index<0>), where(logarithm > -rate, n + 1, n), logarithm + log(uniform_like(keys(index<1>), rate)));
                                  },
                                  std::tuple(key, none, 0 * rate));
  return std::get<1>(counted) - 1;
};
/// The same by transformed rejection (W. Hörmann, "The transformed rejection method for generating Poisson random variables", 1993); rate >= 10.
inline constexpr auto poisson_by_rejection = [](auto key, auto rate) {
  const auto b = 0.931f + 2.53f * sqrt(rate), a = -0.059f + 0.02483f * b;
  const auto log_rate = log(rate), inverse_alpha = 1.1239f + 1.1328f / (b - 3.4f), v_r = 0.9277f - 3.6224f / (b - 2);
  const auto found = while_loop([](const auto& s) { return !all(std::get<2>(s)); },
                                [=](const auto& s) {
                                  const auto& [carried, n, accepted] = s;
                                  const auto keys = random::split<3>(carried);
                                  const auto u = uniform_like(keys(index<1>), rate) - 0.5f, v = uniform_like(keys(index<2>), rate), shifted = 0.5f - abs(u);
                                  const auto k = floor((2 * a / shifted + b) * u + rate + 0.43f);
                                  const auto left = log(v * inverse_alpha / (a / (shifted * shifted) + b)), right = -rate + k * log_rate - lgamma(k + 1);
                                  const auto rejects = k < 0 || (shifted < 0.013f && v > shifted);
                                  const auto accepts = (shifted >= 0.07f && v <= v_r) || (!rejects && left <= right);
                                  return std::tuple(keys(index<0>), where(accepts, k, n), accepted || accepts);
                                },
                                std::tuple(key, 0 * rate - 1, 0 * rate > 0));
  return astype<std::int32_t>(std::get<1>(found));
};
}  // namespace functions

/// Numbers of events (int32) where `rate` are expected, a number or an array: P(n) = rate^n exp(-rate) / n!, rate >= 0; of shape E... or of rate's.
/// JAX: jax.random.poisson.
template <extent... E, tensor K, operand R> constexpr auto poisson(const K& key, const R& rate) {
  return functions::draw_by<float>([](auto k, auto v) {
    const auto r = functions::parameter_of_shape<float, E...>(v);
    const auto is_small = isnan(r) || r < 10;
    const auto few = functions::poisson_by_products(k, where(is_small, r, 0)), many = functions::poisson_by_rejection(k, where(is_small, 1e5f, r));
    return where(r == 0, 0, where(is_small, few, many));
  }, key, rate);
}

/// mean + L z with the Cholesky factor L of the covariance and normal z: mean [n], covariance [n, n], result [E..., n]. JAX: jax.random.multivariate_normal.
template <class T = float, extent... E, tensor K, tensor M, tensor C> constexpr auto multivariate_normal(const K& key, const M& mean, const C& covariance) {
  constexpr shape m = M::type_shape(), c = C::type_shape();
  static_assert(m.rank == 1 && c.rank == 2 && c[0] == m[0] && c[1] == m[0] && m[0] != dyn, "random::multivariate_normal: a mean [n] and a covariance [n, n] are needed, n known when the program is compiled");
  return functions::draw_by<T>([](auto k, auto mu, auto sigma) {
    const auto z = random::normal<T, E..., decltype(mu)::extent(0)>(k);
    return astype<T>(mu) + matmul(z, transpose(linalg::cholesky(astype<T>(sigma))));
  }, key, mean, covariance);
}

}  // namespace cotangent::random
