// The groups jvp, jacobian, hessian, linearize and vmap of known_answers_table.hpp.
#include "known_answers_table.hpp"

namespace ct = cotangent;
using known::argument;
using known::check;
using known::number;

constexpr auto predict = [](auto w, auto b, auto inputs) { return ct::logistic(ct::dot(inputs, w) + b); };

constexpr auto sin_along_path = [](auto t, auto c) { return ct::sin(c(0) + c(1) * t + 0.5f * c(2) * t * t); };

TEST_CASE("known answers: jvp and linearize") {
  {
    // The Taylor coefficients of sin along h0 + h1 t + h2 t^2 / 2, by jvp of jvp.
    const std::string id = "jvp.jet";
    const auto h = argument<float, 3>(id, "h");
    constexpr auto series = [](auto t, auto c) {
      const auto slope = [c](auto s) { return ct::jvp([c](auto r) { return sin_along_path(r, c); }, std::tuple(s), std::tuple(1.0f)); };
      const auto [value, second] = ct::jvp(slope, std::tuple(t), std::tuple(1.0f));
      return std::tuple(std::get<0>(value), std::get<1>(value), std::get<1>(second));
    };
    check(id, ct::jit(series)(0.0f, h));
  }
  {
    const std::string id = "linearize.aux";  // of the value; the library's linearize has no aux
    const auto [y, pushforward] = ct::linearize([](auto x) { return x * 2 - 3; }, number(id, "x"));
    check(id, y, pushforward(number(id, "t")));
  }
  {
    const std::string id = "linearize.cond_low";
    const auto [y, pushforward] = ct::linearize([](auto x) { return ct::where(x < 2, 3 * x, ct::sin(x)); }, number(id, "x"));
    check(id, y, pushforward(number(id, "t")));
  }
  CHECK(known::complete("jvp"));
  CHECK(known::complete("linearize"));
}

TEST_CASE("known answers: jacrev and hessian") {
  {
    const std::string id = "jacobian.logreg_b";
    check(id, ct::jacrev(predict, ct::wrt<1>)(argument<float, 3>(id, "W"), number(id, "b"), argument<float, 4, 3>(id, "inputs")));
  }
  {
    const std::string id = "hessian.logreg";
    check(id, ct::hessian(predict)(argument<float, 3>(id, "W"), number(id, "b"), argument<float, 4, 3>(id, "inputs")));
  }
  {
    // hessian(lambda x: {"c": jnp.power(x["a"], x["b"])})
    const std::string id = "hessian.pytree_bb";
    const auto h = ct::hessian([](auto x) { return ct::pow(std::get<0>(x), std::get<1>(x)); })(
        std::tuple(argument<float, 2>(id, "a"), argument<float, 2>(id, "b")));
    check(id, std::get<1>(std::get<1>(h)));
  }
  CHECK(known::complete("jacobian"));
  CHECK(known::complete("hessian"));
}

TEST_CASE("known answers: vmap and jit") {
  {
    const std::string id = "vmap.out_axes_None";
    constexpr auto f = [](auto x, auto y) { return std::tuple(x + y, y * 2.0f); };
    check(id, ct::vmap(f, ct::in_axes<0, ct::none>, ct::out_axes<0, ct::none>)(argument<float, 2>(id, "x"), number(id, "y")));
  }
  {
    ct::array<float, 4, 3, 2> x;
    for (int i = 0; i < 24; ++i) x.data()[i] = float(i);
    check("vmap.aot_matmul", ct::vmap([](auto row) { return ct::matmul(row, ct::ones<float, 2>()); })(x));
  }
  {
    const std::string id = "vmap.jit_static";  // n is 3
    constexpr auto g = [](auto x) {
      for (int i = 0; i < 3; ++i) x = ct::square(x);
      return x;
    };
    check(id, ct::jit(g)(argument<int, 4>(id, "x")));
  }
  CHECK(known::complete("vmap"));
}
