// The group grad_edge of known_answers_table.hpp: derivatives at ties, at zeros, at infinity, out of range.
#include "known_answers_table.hpp"

namespace ct = cotangent;
using known::argument;
using known::check;
using known::number;

/// grad(f) at the scalar argument "x" of the case.
template <class F> void check_at_x(const std::string& id, F f) { check(id, ct::grad(f)(number(id, "x"))); }
/// grad(f) at both elements of "x", as two scalars.
template <class F> void check_at_two(const std::string& id, F f) {
  const auto x = argument<float, 2>(id, "x");
  check(id, ct::grad(f)(x(0)), ct::grad(f)(x(1)));
}
/// grad(f) at the vector "x".
template <ct::extent N, class F> void check_at_vector(const std::string& id, F f) { check(id, ct::grad(f)(argument<float, N>(id, "x"))); }

TEST_CASE("known answers: derivatives at zero") {
  check_at_x("grad_edge.abs0", [](auto x) { return ct::abs(x); });
  check_at_x("grad_edge.sqrt0", [](auto x) { return ct::sqrt(x); });
  check_at_x("grad_edge.relu0", [](auto x) { return ct::nn::relu(x); });
  check_at_x("grad_edge.maximum_relu_tie", [](auto x) { return ct::maximum(x, 0.0f); });
  check_at_x("grad_edge.erf_inv", [](auto x) { return ct::erf_inv(x); });
  check_at_x("grad_edge.expm1", [](auto x) { return ct::expm1(x); });
  check_at_vector<2>("grad_edge.norm0", [](auto x) { return ct::sqrt(ct::sum(x * x)); });
}

TEST_CASE("known answers: derivatives at bounds") {
  check_at_two("grad_edge.relu6", [](auto x) { return ct::where(x > 0 && x < 6, x, ct::where(x > 0, 6.0f, 0.0f)); });
  check_at_two("grad_edge.lax_clamp_bounds", [](auto x) { return ct::clamp(0.0f, x, 1.0f); });
  check_at_two("grad_edge.jnp_clip_bounds", [](auto x) { return ct::clip(x, 0.0f, 1.0f); });
  check_at_x("grad_edge.log1p", [](auto x) { return ct::log1p(x); });
  check_at_x("grad_edge.acos_asin_1", [](auto x) { return ct::asin(x); });
}

TEST_CASE("known answers: derivatives at ties") {
  {
    const std::string id = "grad_edge.max_tie";
    check(id, ct::grad([](auto x, auto y) { return ct::maximum(x, y); }, ct::wrt<0, 1>)(number(id, "x"), number(id, "y")));
  }
  check_at_vector<4>("grad_edge.reduce_max_all_ties", [](auto x) { return ct::max(x); });
  check_at_vector<3>("grad_edge.argmax_zero", [](auto x) { return x(ct::argmax(x)); });
}

TEST_CASE("known answers: derivatives of products and sums") {
  check_at_vector<3>("grad_edge.reduce_prod_zero", [](auto x) { return ct::prod(x); });
  check_at_vector<3>("grad_edge.reduce_prod_two_zeros", [](auto x) { return ct::prod(x); });
  const std::string id = "grad_edge.cumsum";
  check(id, ct::grad([](auto x, auto w) { return ct::sum(ct::cumsum(x) * w); })(ct::array<float, 3>(), argument<float, 3>(id, "w")));
}

TEST_CASE("known answers: derivatives of indexing") {
  check("grad_edge.gather_dup", ct::grad([](auto x) { return ct::sum(ct::take<0>(x, ct::array<int, 3>{0, 0, 2})); })(ct::array<float, 3>()));
  check("grad_edge.gather_oob_fill", ct::grad([](auto x) { return ct::sum(ct::take<0>(x, ct::array<int, 2>{1, 5})); })(ct::array<float, 3>()));
  check("grad_edge.dynamic_slice_clamp", ct::grad([](auto x) { return ct::sum(ct::dynamic_slice<3>(x, 4)); })(ct::array<float, 5>()));
  check("grad_edge.scatter_set", ct::grad([](auto x, auto u) { return ct::sum(ct::at(x, 1).set(u)); }, ct::wrt<0, 1>)(ct::array<float, 3>(), 7.0f));
}

TEST_CASE("known answers: derivatives of functions of two arguments") {
  constexpr auto angle = [](auto y, auto x) { return ct::atan2(y, x); };
  for (const char* id : {"grad_edge.atan2", "grad_edge.atan2_origin"})
    check(id, ct::grad(angle, ct::wrt<0, 1>)(number(id, "y"), number(id, "x")));
  {
    const std::string id = "grad_edge.rem";
    check(id, ct::grad([](auto x, auto y) { return ct::fmod(x, y); }, ct::wrt<0, 1>)(number(id, "x"), number(id, "y")));
  }
  {
    // JAX gives the integer the cotangent float0, which holds nothing; here it is an integer zero.
    const std::string id = "grad_edge.int_input_float0";
    const auto [out, pull] = ct::vjp([](auto x, auto i) { return x * i; }, number(id, "x"), argument<int>(id, "i"));
    const auto [of_x, of_i] = pull(1.0f);
    check(id, of_x);
    CHECK(of_i == 0);
  }
}

TEST_CASE("known answers: softplus and softmax at infinity") {
  check_at_x("grad_edge.softplus_inf", [](auto x) { return ct::nn::softplus(x); });
  constexpr auto softmax = [](auto x) { return ct::nn::softmax(x); };
  for (const char* id : {"grad_edge.softmax_neginf", "grad_edge.softmax_posinf"}) check(id, ct::jit(softmax)(argument<float, 2>(id, "x")));
  const std::string id = "grad_edge.softmax_where_grad";
  check(id, ct::grad([](auto x, auto chosen) {
          const auto masked = ct::where(chosen, x, -std::numeric_limits<float>::infinity());
          return ct::nn::softmax(masked)(0);
        })(argument<float, 2>(id, "x"), argument<bool, 2>(id, "where")));
}

TEST_CASE("known answers: every derivative at an edge is checked") { CHECK(known::complete("grad_edge")); }
