/// Loops in a vmap in a vmap, whose two axes of instances become one (compiler/merged_axes.hpp), beside the same with one axis: by the
/// interpreter where that is as exact.

#include <cmath>

#include <cotangent/cotangent.hpp>

#include "catch.hpp"
#include "check_derivatives.hpp"
#include "instances.hpp"

namespace ct = cotangent;
using namespace instances;

namespace {

constexpr auto both = [](auto f) { return ct::vmap(ct::vmap(f)); };
/// f(x, y) of all pairs.
constexpr auto of_pairs = [](auto f) { return ct::vmap(ct::vmap(f, ct::in_axes<ct::none, 0>), ct::in_axes<0, ct::none>); };

template <class A, class B> double difference(const A& a, const B& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (ct::extent k = 0; k < a.size(); ++k) most = std::max(most, std::abs(double(a.data()[k]) - double(b.data()[k])));
  return most;
}
/// The same elements in another array.
template <class To, class From> To as(const From& x) {
  To r;
  REQUIRE(r.size() == x.size());
  for (ct::extent k = 0; k < x.size(); ++k) r.data()[k] = x.data()[k];
  return r;
}

/// Whether the loop of a program runs over an axis of `instances`.
template <class... V> bool loops_over(const std::string& kernels, ct::extent instances) {
  const std::size_t body = kernels.find("body");
  return body != std::string::npos && kernels.find("kernel over [" + std::to_string(instances) + "]", body) != std::string::npos;
}

constexpr auto pendulum = [](auto state, auto length) {
  return ct::fori_loop<0, 30>([length](auto, auto s) {
    const auto angle = s(ct::index<0>), speed = s(ct::index<1>);
    return s + 0.02 * ct::stack<0>(speed, -length * ct::sin(angle) - 0.1 * speed);
  }, state);
};
constexpr auto pendulum_loss = [](auto state, auto length) { return ct::sum(ct::square(pendulum(state, length))); };

template <class T, ct::extent A, ct::extent B> void check_pendulum() {
  const auto s = random_array<ct::array<T, A, B, 2>>(1);
  const auto l = random_array<ct::array<T, A, B>>(2);
  const auto s1 = as<ct::array<T, A * B, 2>>(s);
  const auto l1 = as<ct::array<T, A * B>>(l);
  const double close = std::is_same_v<T, float> ? 2e-6 : 1e-14;
  CHECK(loops_over(ct::jit(both(pendulum)).kernels(s, l), A * B));
  CHECK(difference(ct::jit(both(pendulum))(s, l), checks::interpret(ct::vmap(pendulum), s1, l1)) <= close);
  const auto [ds, dl] = ct::jit(both(ct::grad(pendulum_loss, ct::wrt<0, 1>)))(s, l);
  const auto [ds1, dl1] = checks::interpret(ct::vmap(ct::grad(pendulum_loss, ct::wrt<0, 1>)), s1, l1);
  CHECK(difference(ds, ds1) <= 10 * close);
  CHECK(difference(dl, dl1) <= 10 * close);
}

}  // namespace

TEST_CASE("two axes of instances around a loop are one") {
  check_pendulum<double, 16, 16>();
  check_pendulum<float, 7, 41>();
  check_pendulum<double, 300, 9>();
  check_pendulum<float, 2, 1100>();
}

namespace {

/// Carries of both axes, of one of them, and of none, which are results as well; ys of each, and one whose axes come the other way around.
constexpr auto several = [](auto states, auto lengths) {
  const auto one = [](auto state, auto length) {
    return ct::scan([](auto s, auto) {
      const auto [x, l, v, n] = s;
      return std::tuple(std::tuple(x + 0.01 * l * v * ct::cos(x), l * 0.99, v * 1.01, n + 1), std::tuple(x, l, 2.0 * v, n));
    }, std::tuple(state, length, state(ct::index<1>), 0), ct::zeros<double, 7>());
  };
  return of_pairs(one)(states, lengths);
};
constexpr auto transposed_ys = [](auto x) {
  return ct::scan([](auto x, auto) { return std::tuple(x * 0.5, ct::transpose(x)); }, x, ct::zeros<double, 3>());
};

constexpr auto all_losses = [](auto states, auto lengths) { return ct::sum(ct::square(of_pairs(pendulum)(states, lengths))); };

}  // namespace

TEST_CASE("what only one of the axes has is repeated along the other, and its cotangents are summed after the loop") {
  constexpr ct::extent a = 19, b = 23;
  const auto s = random_array<ct::array<double, a, 2>>(1);
  const auto l = random_array<ct::array<double, b>>(2);
  const auto ends = ct::jit(of_pairs(pendulum))(s, l);
  const auto [ds, dl] = ct::jit(ct::grad(all_losses, ct::wrt<0, 1>))(s, l);
  CHECK(loops_over(ct::jit(ct::grad(all_losses, ct::wrt<0, 1>)).kernels(s, l), a * b));
  ct::array<double, a, 2> of_states = ct::zeros<double, a, 2>();
  ct::array<double, b> of_lengths = ct::zeros<double, b>();
  for (ct::extent i = 0; i < a; ++i)
    for (ct::extent j = 0; j < b; ++j) {
      const auto state = row(s, i);
      const ct::array<double> length(l(j));
      const auto end = checks::interpret(pendulum, state, length);
      const auto [d_state, d_length] = checks::interpret(ct::grad(pendulum_loss, ct::wrt<0, 1>), state, length);
      for (int k = 0; k < 2; ++k) {
        CHECK(std::abs(ends(i, j, k) - end(k)) <= 1e-14);
        of_states(i, k) += d_state(k);
      }
      of_lengths(j) += double(d_length);
    }
  CHECK(difference(ds, of_states) <= 1e-12);
  CHECK(difference(dl, of_lengths) <= 1e-12);

  const auto [carries, ys] = ct::jit(several)(s, l);
  const auto [x, length, v, turns] = carries;
  const auto [xs, ls, vs, ns] = ys;
  CHECK(loops_over(ct::jit(several).kernels(s, l), a * b));
  for (ct::extent i = 0; i < a; ++i)
    for (ct::extent j = 0; j < b; ++j) {
      double own[2] = {s(i, 0), s(i, 1)}, own_length = l(j), own_v = s(i, 1);
      for (int t = 0; t < 7; ++t) {
        CHECK(std::abs(xs(i, j, t, 0) - own[0]) <= 1e-14);
        CHECK(std::abs(ls(i, j, t) - own_length) <= 1e-14);
        CHECK(std::abs(vs(i, j, t) - 2 * own_v) <= 1e-14);
        CHECK(ns(i, j, t) == t);
        for (double& x : own) x += 0.01 * own_length * own_v * std::cos(x);
        own_length *= 0.99, own_v *= 1.01;
      }
      CHECK(std::abs(x(i, j, 1) - own[1]) <= 1e-14);
      CHECK(std::abs(length(i, j) - own_length) <= 1e-14);
      CHECK(std::abs(v(i, j) - own_v) <= 1e-14);
      CHECK(turns(i, j) == 7);
    }
  const auto m = random_array<ct::array<double, 20, 30>>(5);
  const auto turned = std::get<1>(ct::jit(transposed_ys)(m));
  for (int t = 0; t < 3; ++t)
    for (int i = 0; i < 20; ++i)
      for (int j = 0; j < 30; ++j) CHECK(turned(t, j, i) == m(i, j) / (1 << t));
}

namespace {

/// Elements of xs and ys, the index, a matrix and a table that all share, in reverse.
constexpr auto filtered = [](auto state, auto xs, auto w, auto table) {
  const auto step = [w, table](auto carry, auto x) {
    const auto [h, n, i] = carry;
    const auto g = ct::take<0>(table, ct::remainder(i, 5));
    const auto next = ct::tanh(ct::matmul(w, h) + x) * n + g;
    const auto turned = ct::concatenate<0>(next(ct::range<1, 3>), -next(ct::range<0, 1>));
    return std::tuple(std::tuple(turned, n * 0.9 + ct::sum(h) * 0.1, i + 1), std::tuple(next * x, ct::sum(next)));
  };
  return ct::scan(step, std::tuple(state, ct::sum(state), ct::astype<std::int32_t>(ct::floor(4.0 * state(ct::index<0>)))), xs, ct::reverse);
};
constexpr auto filtered_loss = [](auto state, auto xs, auto w, auto table) {
  const auto [last, ys] = filtered(state, xs, w, table);
  return ct::sum(ct::square(std::get<0>(last))) + std::get<1>(last) + ct::sum(std::get<0>(ys)) + ct::sum(ct::square(std::get<1>(ys)));
};
constexpr auto shared = ct::in_axes<0, 0, ct::none, ct::none>;
constexpr auto filtered_pairs = [](auto... x) { return ct::vmap(ct::vmap(filtered, shared), shared)(x...); };
constexpr auto filtered_gradients = [](auto... x) { return ct::grad([](auto... x) { return ct::sum(ct::vmap(ct::vmap(filtered_loss, shared), shared)(x...)); }, ct::wrt<0, 1, 2, 3>)(x...); };
constexpr auto filtered_row = [](auto... x) { return ct::vmap(filtered, shared)(x...); };
constexpr auto filtered_row_gradients = [](auto... x) { return ct::grad([](auto... x) { return ct::sum(ct::vmap(filtered_loss, shared)(x...)); }, ct::wrt<0, 1, 2, 3>)(x...); };

}  // namespace

TEST_CASE("loops of two axes with elements of xs and ys, products, tables and indices") {
  constexpr ct::extent a = 24, b = 24, length = 6;
  const auto w = random_array<ct::array<double, 3, 3>>(1);
  const auto state = random_array<ct::array<double, a, b, 3>>(2);
  const auto xs = random_array<ct::array<double, a, b, length, 3>>(3);
  const auto table = random_array<ct::array<double, 5, 3>>(4);
  const auto state1 = as<ct::array<double, a * b, 3>>(state);
  const auto xs1 = as<ct::array<double, a * b, length, 3>>(xs);
  CHECK(loops_over(ct::jit(filtered_pairs).kernels(state, xs, w, table), a * b));
  const auto [last, ys] = ct::jit(filtered_pairs)(state, xs, w, table);
  const auto [last1, ys1] = checks::interpret(filtered_row, state1, xs1, w, table);
  CHECK(difference(std::get<0>(last), std::get<0>(last1)) <= 1e-14);
  CHECK(difference(std::get<1>(last), std::get<1>(last1)) <= 1e-14);
  CHECK(difference(std::get<2>(last), std::get<2>(last1)) == 0);
  CHECK(difference(std::get<0>(ys), std::get<0>(ys1)) <= 1e-14);
  CHECK(difference(std::get<1>(ys), std::get<1>(ys1)) <= 1e-14);
  const auto [d0, d1, d2, d3] = ct::jit(filtered_gradients)(state, xs, w, table);
  const auto [e0, e1, e2, e3] = ct::jit(filtered_row_gradients)(state1, xs1, w, table);
  CHECK(difference(d0, e0) <= 1e-13);
  CHECK(difference(d1, e1) <= 1e-13);
  CHECK(difference(d2, e2) <= 1e-11);
  CHECK(difference(d3, e3) <= 1e-11);
}

namespace {

/// Steps until a sphere is near, a number of them of its own for each ray.
constexpr auto march = [](auto ray) {
  const auto [distance, step, turns] = ct::while_loop([](auto s) { return (std::get<1>(s) > 1e-3) && (std::get<2>(s) < 40); }, [ray](auto s) {
    const auto [distance, step, turns] = s;
    const auto near = ct::sqrt(ct::sum(ct::square(distance * ray - ct::array<double, 3>{0.2, 0.1, 2.0}))) - 1.0;
    return std::tuple(distance + near, near, turns + 1);
  }, std::tuple(0.0 * ray(ct::index<0>), 0.0 * ray(ct::index<0>) + 1.0, ct::array<std::int32_t>(0)));
  return std::tuple(distance, turns);
};
constexpr auto march_of_pixel = [](auto x, auto y) { return march(ct::stack<0>(x, y, 0.0 * x + 1.0)); };
constexpr auto slopes = [](auto ray) { return ct::jvp([](auto r) { return std::get<0>(march(r)); }, std::tuple(ray), std::tuple(ct::ones_like(ray))); };

}  // namespace

TEST_CASE("while loops of two axes run until all instances are done, each for its own turns") {
  constexpr ct::extent a = 17, b = 31;
  const auto rays = random_array<ct::array<double, a, b, 3>>(1);
  const auto [distance, turns] = ct::jit(both(march))(rays);
  const auto [distance1, turns1] = ct::jit(ct::vmap(march))(as<ct::array<double, a * b, 3>>(rays));
  CHECK(loops_over(ct::jit(both(march)).kernels(rays), a * b));
  CHECK(difference(distance, distance1) <= 1e-14);
  CHECK(difference(turns, turns1) == 0);
  CHECK(turns(0, 0) > 0);
  for (ct::extent i = 0; i < a; i += 4)
    for (ct::extent j = 0; j < b; j += 3) {
      const auto [d, t] = ct::jit(march)(ct::array<double, 3>{rays(i, j, 0), rays(i, j, 1), rays(i, j, 2)});
      CHECK(std::abs(distance(i, j) - double(d)) <= 1e-14);
      CHECK(turns(i, j) == std::int32_t(t));
    }
  const auto [value, slope] = ct::jit(both(slopes))(rays);
  const auto [value1, slope1] = ct::jit(ct::vmap(slopes))(as<ct::array<double, a * b, 3>>(rays));
  CHECK(difference(value, value1) <= 1e-14);
  CHECK(difference(slope, slope1) <= 1e-11);

  const auto x = random_array<ct::array<double, a>>(2);
  const auto y = random_array<ct::array<double, b>>(3);
  const auto [image, image_turns] = ct::jit(of_pairs(march_of_pixel))(x, y);
  for (ct::extent i = 0; i < a; i += 4)
    for (ct::extent j = 0; j < b; j += 3) {
      const auto [d, t] = ct::jit(march_of_pixel)(ct::array<double>(x(i)), ct::array<double>(y(j)));
      CHECK(std::abs(image(i, j) - double(d)) <= 1e-14);
      CHECK(image_turns(i, j) == std::int32_t(t));
    }
}

namespace {

/// Both axes are used besides: these loops stay as they are.
constexpr auto mixed = [](auto x) { return ct::fori_loop<0, 5>([](auto, auto x) { return x + 0.1 * ct::transpose(x); }, x); };
constexpr auto summed = [](auto x) {
  return ct::fori_loop<0, 5>([](auto, auto x) { return x * 0.9 + 0.1 * ct::mean(x, ct::axis<0>); }, x);
};
constexpr auto rolled = [](auto x) { return ct::fori_loop<0, 5>([](auto, auto x) { return 0.5 * x + 0.5 * ct::roll<0>(x, 1); }, x); };
constexpr auto reversed = [](auto x) { return ct::fori_loop<0, 5>([](auto, auto x) { return 0.5 * x + 0.25 * ct::flip<1>(x); }, x); };
constexpr auto shortened = [](auto x) {
  return ct::fori_loop<0, 5>([](auto, auto x) { return ct::concatenate<1>(x(ct::full_extent, ct::range<1, 20>), x(ct::full_extent, ct::range<0, 1>) * 0.5); }, x);
};
constexpr auto counted = [](auto x) { return ct::fori_loop<0, 5>([](auto, auto x) { return 0.5 * x + ct::iota<double, 20>(x); }, x); };
constexpr auto multiplied = [](auto x) { return ct::fori_loop<0, 5>([](auto, auto x) { return 0.1 * ct::matmul(x, x) + x; }, x); };
constexpr auto of_columns = [](auto x) { return ct::fori_loop<0, 5>([](auto, auto x) { return 0.1 * ct::einsum<"ab,cb->ca">(x, x) + x; }, x); };
/// The unit matrix is made by its place along both axes.
constexpr auto with_units = [](auto x) {
  return ct::fori_loop<0, 5>([](auto, auto x) {
    const auto slopes = ct::jacfwd([](auto v) { return ct::sin(v); })(x(ct::index<0>));
    return 0.5 * x + slopes;
  }, x);
};
constexpr auto with_eye = [](auto x) { return ct::fori_loop<0, 5>([](auto, auto x) { return 0.5 * x + ct::eye<double, 20>(); }, x); };
/// The mean of all is no obstacle.
constexpr auto mean_field = [](auto x) { return ct::fori_loop<0, 5>([](auto, auto x) { return x + 0.1 * (ct::mean(x) - ct::sin(x)); }, x); };

/// Ten turns of one step in C++.
template <class F, class X> X by_steps(const F& step, X x) {
  for (int i = 0; i < 5; ++i) x = step(x);
  return x;
}
constexpr ct::extent side = 20;
using square_of = ct::array<double, side, side>;

}  // namespace

TEST_CASE("loops that use an axis besides stay as they are") {
  const auto x = random_array<square_of>(1);
  const auto each = [](auto f) {
    return [f](const square_of& x) {
      square_of r;
      for (ct::extent i = 0; i < side; ++i)
        for (ct::extent j = 0; j < side; ++j) r(i, j) = f(x, i, j);
      return r;
    };
  };
  const auto check = [&](auto program, auto f) { CHECK(difference(ct::jit(program)(x), by_steps(each(f), x)) <= 1e-9); };
  check(mixed, [](const auto& x, auto i, auto j) { return x(i, j) + 0.1 * x(j, i); });
  check(summed, [](const auto& x, auto i, auto j) {
    double sum = 0;
    for (ct::extent k = 0; k < side; ++k) sum += x(k, j);
    return x(i, j) * 0.9 + 0.1 * sum / side;
  });
  check(rolled, [](const auto& x, auto i, auto j) { return 0.5 * x(i, j) + 0.5 * x((i + side - 1) % side, j); });
  check(reversed, [](const auto& x, auto i, auto j) { return 0.5 * x(i, j) + 0.25 * x(i, side - 1 - j); });
  check(shortened, [](const auto& x, auto i, auto j) { return j + 1 < side ? x(i, j + 1) : 0.5 * x(i, 0); });
  check(counted, [](const auto& x, auto i, auto j) { return 0.5 * x(i, j) + double(j); });
  check(multiplied, [](const auto& x, auto i, auto j) {
    double sum = 0;
    for (ct::extent k = 0; k < side; ++k) sum += x(i, k) * x(k, j);
    return 0.1 * sum + x(i, j);
  });
  check(of_columns, [](const auto& x, auto i, auto j) {
    double sum = 0;
    for (ct::extent k = 0; k < side; ++k) sum += x(j, k) * x(i, k);
    return 0.1 * sum + x(i, j);
  });
  check(with_units, [](const auto& x, auto i, auto j) { return 0.5 * x(i, j) + (i == j ? std::cos(x(0, j)) : 0.0); });
  check(with_eye, [](const auto& x, auto i, auto j) { return 0.5 * x(i, j) + (i == j ? 1.0 : 0.0); });
  check(mean_field, [](const auto& x, auto i, auto j) {
    double sum = 0;
    for (ct::extent k = 0; k < side * side; ++k) sum += x.data()[k];
    return x(i, j) + 0.1 * (sum / (side * side) - std::sin(x(i, j)));
  });
  CHECK(loops_over(ct::jit(mean_field).kernels(x), side * side));
  CHECK(!loops_over(ct::jit(mixed).kernels(x), side * side));
}

namespace {

constexpr auto moved = ct::vmap(ct::vmap(pendulum, ct::out_axes<1>), ct::in_axes<1, 0>, ct::out_axes<2>);
/// Three axes, and a second loop that goes on with what the first returned.
constexpr auto three = [](auto s, auto l) { return ct::vmap(ct::vmap(ct::vmap(pendulum)))(s, l); };
constexpr auto twice = [](auto s, auto l) {
  const auto middle = ct::vmap(ct::vmap(pendulum))(s, l);
  return ct::sum(ct::square(ct::vmap(ct::vmap(pendulum))(ct::sin(middle), 0.5 * l)));
};
constexpr auto twice_row = [](auto s, auto l) {
  const auto middle = ct::vmap(pendulum)(s, l);
  return ct::sum(ct::square(ct::vmap(pendulum)(ct::sin(middle), 0.5 * l)));
};

}  // namespace

TEST_CASE("axes elsewhere, three of them, loops one after the other, and instances that only the run counts") {
  constexpr ct::extent a = 12, b = 25;
  const auto s = random_array<ct::array<double, a, b, 2>>(1);
  const auto l = random_array<ct::array<double, a, b>>(2);
  const auto ends = ct::jit(both(pendulum))(s, l);

  ct::array<double, b, a, 2> turned;
  for (ct::extent i = 0; i < a; ++i)
    for (ct::extent j = 0; j < b; ++j)
      for (int k = 0; k < 2; ++k) turned(j, i, k) = s(i, j, k);
  const auto elsewhere = ct::jit(moved)(turned, l);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(elsewhere)>, ct::array<double, 2, b, a>>);
  for (ct::extent i = 0; i < a; ++i)
    for (ct::extent j = 0; j < b; ++j)
      for (int k = 0; k < 2; ++k) CHECK(std::abs(elsewhere(k, j, i) - ends(i, j, k)) <= 1e-14);

  const auto s3 = as<ct::array<double, 3, 4, b, 2>>(s);
  const auto l3 = as<ct::array<double, 3, 4, b>>(l);
  CHECK(difference(ct::jit(three)(s3, l3), ends) <= 1e-14);

  const auto s1 = as<ct::array<double, a * b, 2>>(s);
  const auto l1 = as<ct::array<double, a * b>>(l);
  const auto [ds, dl] = ct::jit(ct::grad(twice, ct::wrt<0, 1>))(s, l);
  const auto [ds1, dl1] = checks::interpret(ct::grad(twice_row, ct::wrt<0, 1>), s1, l1);
  CHECK(difference(ds, ds1) <= 1e-12);
  CHECK(difference(dl, dl1) <= 1e-12);

  ct::array<double, ct::dyn, b, 2> some({a, b, 2});
  ct::array<double, ct::dyn, b> some_lengths({a, b});
  for (ct::extent k = 0; k < s.size(); ++k) some.data()[k] = s.data()[k];
  for (ct::extent k = 0; k < l.size(); ++k) some_lengths.data()[k] = l.data()[k];
  CHECK(difference(ct::jit(both(pendulum))(some, some_lengths), ends) <= 1e-14);
}

TEST_CASE("what is computed along one axis alone is not repeated along the other") {
  constexpr auto cost = [](auto forces, auto angle) {
    const auto turn = [](auto s, auto force) {
      const auto next = s + 0.1 * (force - ct::sin(s) * ct::cos(s));
      return std::tuple(next, ct::none);
    };
    return ct::square(std::get<0>(ct::scan(turn, angle, forces)));
  };
  constexpr ct::extent states = 30, turns = 12;
  const auto forces = random_array<ct::array<double, states, turns>>(3);
  const auto angles = random_array<ct::array<double, states>>(4);
  const auto h = ct::jit(ct::vmap(ct::hessian(cost)));
  CHECK(h.kernels(forces, angles).find("[360") == std::string::npos);
  const auto all = h(forces, angles);
  for (ct::extent i = 0; i < states; ++i) {
    ct::array<double, turns> f;
    for (ct::extent t = 0; t < turns; ++t) f(t) = forces(i, t);
    const auto one = checks::interpret(ct::hessian(cost), f, ct::array<double>(angles(i)));
    for (ct::extent j = 0; j < turns; ++j)
      for (ct::extent k = 0; k < turns; ++k) CHECK(std::abs(all(i, j, k) - one(j, k)) <= 1e-12);
  }
}
