// The groups grad, autodidax and autodidax2 of known_answers_table.hpp.
#include "known_answers_table.hpp"

namespace ct = cotangent;
using known::argument;
using known::check;
using known::number;

// Functors, so that they have names in compile errors and one type in every test.
constexpr auto tanh_of = [](auto x) { return ct::tanh(x); };
constexpr auto reciprocal = [](auto x) { return 1 / x; };
constexpr auto power = [](auto x, auto y) { return ct::pow(x, y); };
constexpr auto predict = [](auto w, auto b, auto inputs) { return ct::logistic(ct::dot(inputs, w) + b); };
constexpr auto loss = [](auto w, auto b, auto inputs, auto targets) {
  const auto p = predict(w, b, inputs);
  return -ct::sum(ct::log(p * targets + (1 - p) * (1 - targets)));
};

TEST_CASE("known answers: grad") {
  check("grad.tanh_02", ct::grad(tanh_of)(number("grad.tanh_02", "x")));
  check("grad.tanh_2nd", ct::grad(ct::grad(tanh_of))(number("grad.tanh_2nd", "x")));
  check("grad.tanh_3rd", ct::grad(ct::grad(ct::grad(tanh_of)))(number("grad.tanh_3rd", "x")));
  {
    const std::string id = "grad.reciprocal_6th";
    check(id, ct::grad(ct::grad(ct::grad(ct::grad(ct::grad(ct::grad(reciprocal))))))(number(id, "x")));
  }
  {
    const std::string id = "grad.logreg_loss";
    check(id, ct::jit(loss)(argument<float, 3>(id, "W"), number(id, "b"), argument<float, 4, 3>(id, "inputs"), argument<float, 4>(id, "targets")));
  }
  {
    // The exponent is an array: its derivative at 0 to the power 0 is 0 * inf, as in JAX.
    const std::string id = "grad.pow_0_0_float";
    check(id, ct::grad(power)(number(id, "x"), number(id, "y")));
  }
  {
    const std::string id = "grad.pow_second";
    const auto both = ct::wrt<0, 1>;
    check(id, ct::jacfwd(ct::jacrev(power, both), both)(number(id, "x"), number(id, "y")));
  }
  {
    const std::string id = "grad.stop_gradient";
    check(id, ct::grad([](auto x) { return ct::square(x); })(number(id, "x")),
          ct::grad([](auto x) { return ct::square(ct::stop_gradient(x)); })(number(id, "x")));
  }
  CHECK(known::complete("grad"));
}

TEST_CASE("known answers: perturbations of nested derivatives are told apart") {
  // grad(lambda x: x * grad(lambda y: x + y)(1.))(1.)
  check("autodidax.perturbation_confusion_classic", ct::grad([](auto x) {
          return x * ct::grad([x](auto y) { return x + y; })(1.0f);
        })(1.0f));
  // derivative(lambda x: x * derivative(lambda y: x, 0.), 0.), forward mode
  check("autodidax2.perturbation_confusion", std::get<1>(ct::jvp(
                                                 [](auto x) {
                                                   const auto constant = [x](auto) { return x; };
                                                   return x * std::get<1>(ct::jvp(constant, std::tuple(0.0f), std::tuple(1.0f)));
                                                 },
                                                 std::tuple(0.0f), std::tuple(1.0f))));
  CHECK(known::complete("autodidax"));
  CHECK(known::complete("autodidax2"));
}
