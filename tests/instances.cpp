/// Per-instance programs: functions of small arrays under vmap run as one kernel of scalars, and give what they give
/// instance by instance.

#include <cmath>
#include <limits>

#include <cotangent/cotangent.hpp>

#include "catch.hpp"
#include "guarded_buffer.hpp"
#include "instances.hpp"

namespace ct = cotangent;
using namespace instances;

namespace {

/// Quadratic form, products, a norm and a choice: [3] and [3, 3] to a scalar.
constexpr auto energy = [](auto x, auto w) {
  const auto y = ct::matmul(w, ct::tanh(x));
  const auto norm = ct::sqrt(ct::sum(x * x) + 1.0);
  return ct::sum(y * x) / norm + ct::max(x) * ct::where(ct::sum(x) > 0, norm, ct::exp(-norm));
};
constexpr auto three = [](auto x, auto w) {
  return std::tuple(energy(x, w), ct::grad(energy)(x, w), ct::hessian(energy)(x, w));
};

template <class T, ct::extent N> void check_batch() {
  constexpr double tolerance = std::is_same_v<T, float> ? 2e-5 : 1e-13;
  const auto w = random_array<ct::array<T, 3, 3>>(1);
  const auto x = random_array<ct::array<T, N, 3>>(2);
  const auto all = ct::jit(ct::vmap(three, ct::in_axes<0, ct::none>));
  constexpr ct::program_cost cost = all.cost(x, w);
  static_assert(cost.kernels == 1);
  const auto [value, gradient, hessian] = all(x, w);
  for (ct::extent i = 0; i < N; i += 7) {
    const auto [v, g, h] = ct::jit(three)(row(x, i), w);
    CHECK(std::abs(double(value(i)) - double(T(v))) <= tolerance * (1 + std::abs(double(T(v)))));
    CHECK(row_error(gradient, i, g) <= tolerance);
    CHECK(row_error(hessian, i, h) <= tolerance);
  }
}

/// Of points [n, 3] from rows i of a table, scaled and shifted by rows j of a small one.
constexpr auto distances = [](auto table, auto small, auto x, auto i, auto j) {
  const auto one = [](auto p, auto q, auto s) { return ct::sum(ct::square(p - q)) * s(ct::index<0>) + s(ct::index<1>); };
  return ct::vmap(one)(ct::take<0>(table, i), x, ct::take<0>(small, j));
};

/// Records of 3, 10 and 4 numbers from one.
constexpr auto records = [](auto x) {
  const auto one = [](auto x) {
    return std::tuple(ct::stack<0>(x, x + 1.0, x + 2.0), ct::stack<0>(x, -x, x * x, x - 1.0, x * 0.5, x + x, 3.0 - x, x * 4.0, ct::abs(x), x + 9.0),
                      ct::stack<0>(x, x * 2.0, x - 2.0, -x));
  };
  return ct::vmap(one)(x);
};

}  // namespace

TEMPLATE_TEST_CASE("a batched function of small arrays agrees with calls one by one", "", float, double) {
  using T = TestType;
  check_batch<T, std::is_same_v<T, float> ? 64 : 1003>();
}

TEMPLATE_TEST_CASE("records of more instances than caches hold", "", float, double) {
  using T = TestType;
  constexpr ct::extent n = 3000005;
  const auto holds = [](const auto& x) {
    const auto [a, b, c] = ct::jit(records)(x);
    ct::extent wrong = 0;
    for (ct::extent i = 0; i < n; ++i) {
      const T v = x(i), three[] = {v, v + 1, v + 2}, ten[] = {v, -v, v * v, v - 1, v / 2, v + v, 3 - v, v * 4, std::abs(v), v + 9}, four[] = {v, v * 2, v - 2, -v};
      wrong += !std::equal(three, three + 3, &a(i, 0)) + !std::equal(ten, ten + 10, &b(i, 0)) + !std::equal(four, four + 4, &c(i, 0));
    }
    return wrong == 0;
  };
  ct::array<T, n> x;
  for (ct::extent i = 0; i < n; ++i) x(i) = T(i % 1000 - 500);
  CHECK(holds(x));
  ct::array<T, ct::dyn> any({n});
  std::copy(x.begin(), x.end(), any.begin());
  CHECK(holds(any));
}

TEMPLATE_TEST_CASE("long programs of rows of a large table, some of them outside of it", "", float, double) {
  using T = TestType;
  constexpr ct::extent n = 1003, points = 100000;
  constexpr double tolerance = std::is_same_v<T, float> ? 2e-5 : 1e-13;
  const auto w = random_array<ct::array<T, 3, 3>>(1);
  const auto table = random_array<ct::array<T, points, 3>>(2);
  ct::array<std::int32_t, n> which;
  for (ct::extent i = 0; i < n; ++i) which(i) = std::int32_t(i * 7919 % points - (i % 5 == 0 ? points : 0));
  which(17) = which(n - 1) = points, which(40) = std::numeric_limits<std::int32_t>::max(), which(41) = std::numeric_limits<std::int32_t>::min();
  const auto all = ct::jit([](auto table, auto which, auto w) { return ct::vmap(three, ct::in_axes<0, ct::none>)(ct::take<0>(table, which), w); });
  const auto [value, gradient, hessian] = all(table, which, w);
  const auto rows = ct::jit([](auto table, auto which) { return ct::take<0>(table, which); })(table, which);
  const auto [v, g, h] = ct::jit(ct::vmap(three, ct::in_axes<0, ct::none>))(rows, w);
  int outside = 0;
  for (ct::extent i = 0; i < n; ++i) {
    if (std::isnan(v(i))) {
      CHECK(std::isnan(value(i)));
      ++outside;
      continue;
    }
    CHECK(std::abs(double(value(i)) - double(v(i))) <= tolerance * (1 + std::abs(double(v(i)))));
    CHECK(row_error(gradient, i, row(g, i)) <= tolerance);
    CHECK(row_error(hessian, i, row(h, i)) <= tolerance);
  }
  CHECK(outside == 4);
}

TEST_CASE("the number of instances may be known at run time only") {
  const auto w = random_array<ct::array<double, 3, 3>>(1);
  const auto all = ct::jit(ct::vmap(ct::grad(energy), ct::in_axes<0, ct::none>));
  for (const ct::extent n : {0, 1, 5, 64, 130}) {
    const auto some = random_array<ct::array<double, 130, 3>>(3);
    ct::array<double, ct::dyn, 3> x({n, 3});
    for (ct::extent k = 0; k < 3 * n; ++k) x.data()[k] = some.data()[k];
    static_assert(all.cost(x, w).kernels == 1);
    const auto gradient = all(x, w);
    REQUIRE(gradient.extent(0) == n);
    for (ct::extent i = 0; i < n; ++i) {
      const auto one = ct::jit(ct::grad(energy))(row(some, i), w);
      for (int k = 0; k < 3; ++k) CHECK(std::abs(gradient(i, k) - one(k)) <= 1e-12);
    }
  }
}

TEST_CASE("sums over the instances share the kernel with what they sum") {
  constexpr ct::extent n = 1000;
  const auto w = random_array<ct::array<double, 3, 3>>(1);
  const auto x = random_array<ct::array<double, n, 3>>(2);
  const auto loss = [](auto w, auto x) { return ct::mean(ct::vmap(energy, ct::in_axes<0, ct::none>)(x, w)); };
  const auto f = ct::jit(ct::value_and_grad(loss));
  const auto [value, gradient] = f(w, x);
  double sum = 0;
  ct::array<double, 3, 3> expected;
  for (ct::extent i = 0; i < n; ++i) {
    const auto [v, g] = ct::jit(ct::value_and_grad(energy, ct::wrt<1>))(row(x, i), w);
    sum += double(v) / n;
    for (int k = 0; k < 9; ++k) expected.data()[k] += g.data()[k] / n;
  }
  CHECK(std::abs(double(value) - sum) <= 1e-12);
  for (int k = 0; k < 9; ++k) CHECK(std::abs(gradient.data()[k] - expected.data()[k]) <= 1e-12);
  ct::set_num_threads(1);
  const auto [v1, g1] = f(w, x);
  ct::set_num_threads(2);
  const auto [v2, g2] = f(w, x);
  CHECK(double(v1) == double(v2));
  CHECK(g1 == g2);
}

TEST_CASE("shapes inside an instance") {
  constexpr ct::extent n = 70;
  // [2, 3], [4]: transposes, slices, pads, concatenations, reshapes, reverses, reductions of every kind.
  const auto f = [](auto a, auto b) {
    const auto joined = ct::concatenate<0>(ct::ravel(ct::transpose(a)), ct::flip<0>(b), ct::slice<ct::range<1, 3>>(b));  // [12]
    const auto square = ct::reshape<3, 4>(joined);
    const auto padded = ct::pad<ct::low<1, 0>, ct::high<0, 2>>(square, 0.5);  // [4, 6]
    const auto product = ct::matmul(padded, ct::transpose(padded));           // [4, 4]
    const auto outer = ct::outer(b, b);
    return std::tuple(ct::sum(product * outer, ct::axis<0>), ct::prod(b), ct::max(padded, ct::axis<1>), ct::min(a), ct::any(a > 0.5),
                      ct::all(b > -0.5), ct::stack<0>(b, b * 2.0));
  };
  const auto a = random_array<ct::array<double, n, 2, 3>>(1);
  const auto b = random_array<ct::array<double, n, 4>>(2);
  const auto all = ct::jit(ct::vmap(f));
  static_assert(all.cost(a, b).kernels == 1);
  const auto [sums, product, largest, least, any, every, stacked] = all(a, b);
  for (ct::extent i = 0; i < n; ++i) {
    const auto [s, p, l, m, y, e, t] = ct::jit(f)(row(a, i), row(b, i));
    CHECK(row_error(sums, i, s) <= 1e-14);
    CHECK(std::abs(product(i) - double(p)) <= 1e-15);
    CHECK(row_error(largest, i, l) == 0);
    CHECK(least(i) == double(m));
    CHECK(any(i) == bool(y));
    CHECK(every(i) == bool(e));
    CHECK(row_error(stacked, i, t) == 0);
  }
}

TEST_CASE("rows taken by index are read in the kernel, and their cotangents are added up") {
  constexpr ct::extent n = 500, m = 90;
  const auto table = random_array<ct::array<double, m, 3>>(1);
  const auto small = random_array<ct::array<double, 5, 2>>(2);
  const auto x = random_array<ct::array<double, n, 3>>(3);
  ct::array<std::int32_t, n> i, j;
  for (ct::extent k = 0; k < n; ++k) i(k) = std::int32_t((37 * k) % m), j(k) = std::int32_t(k % 5);
  const auto all = ct::jit(distances);
  static_assert(all.cost(table, small, x, i, j).kernels == 1);
  const auto y = all(table, small, x, i, j);
  const auto loss = [](auto... a) { return ct::sum(distances(a...)); };
  const auto [of_table, of_small] = ct::jit(ct::grad(loss, ct::wrt<0, 1>))(table, small, x, i, j);
  ct::array<double, m, 3> expected;
  ct::array<double, 5, 2> expected_small;
  for (ct::extent k = 0; k < n; ++k) {
    double squares = 0;
    for (int c = 0; c < 3; ++c) {
      const double d = table(i(k), c) - x(k, c);
      squares += d * d;
      expected(i(k), c) += 2 * d * small(j(k), 0);
    }
    expected_small(j(k), 0) += squares, expected_small(j(k), 1) += 1;
    CHECK(std::abs(y(k) - (squares * small(j(k), 0) + small(j(k), 1))) <= 1e-14);
  }
  for (ct::extent k = 0; k < 3 * m; ++k) CHECK(std::abs(of_table.data()[k] - expected.data()[k]) <= 1e-12);
  for (int k = 0; k < 10; ++k) CHECK(std::abs(of_small.data()[k] - expected_small.data()[k]) <= 1e-11);
}

/// All of a row, its ends and its middle alone, and the same of rows of a table.
template <class T, ct::extent Width> constexpr auto of_row = [](auto r) { return ct::sum(r * ct::iota<T, Width>()); };
template <ct::extent Width> constexpr auto of_some = [](auto r) { return r(ct::index<0>) - 2 * r(ct::index<Width - 1>) + 3 * r(ct::index<Width / 2>); };
template <class T, ct::extent Width> constexpr auto of_rows = [](auto x, auto table, auto i) {
  const auto taken = ct::take<0>(table, i);
  return std::tuple(ct::vmap(of_row<T, Width>)(x), ct::vmap(of_some<Width>)(x), ct::vmap(of_row<T, Width>)(taken), ct::vmap(of_some<Width>)(taken));
};
template <class T, ct::extent Width> void check_rows_of() {
  constexpr ct::extent rows = 10;
  for (const ct::extent n : {1, 3, 16, 37}) {
    ct::array<T, ct::dyn, Width> x({n, Width});
    ct::array<T, rows, Width> table;
    ct::array<std::int32_t, ct::dyn> i({n});
    for (ct::extent k = 0; k < n * Width; ++k) x.data()[k] = T(k % 101);
    for (ct::extent k = 0; k < rows * Width; ++k) table.data()[k] = T(k % 89);
    for (ct::extent k = 0; k < n; ++k) i(k) = std::int32_t(7 * k % rows);
    constexpr auto program = ct::jit(of_rows<T, Width>);
    static_assert(program.cost(x, table, i).kernels == 2);  // n may differ from the number of indices
    const auto [whole, parts, taken, taken_parts] = program(x, table, i);
    for (ct::extent k = 0; k < n; ++k) {  // integers, so exactly
      T sum = 0, sum_of_taken = 0;
      for (int c = 0; c < Width; ++c) sum += x(k, c) * T(c), sum_of_taken += table(i(k), c) * T(c);
      const ct::extent last = Width - 1, middle = Width / 2;
      CHECK(whole(k) == sum);
      CHECK(taken(k) == sum_of_taken);
      CHECK(parts(k) == x(k, 0) - 2 * x(k, last) + 3 * x(k, middle));
      CHECK(taken_parts(k) == table(i(k), 0) - 2 * table(i(k), last) + 3 * table(i(k), middle));
    }
  }
}

TEST_CASE("rows of any width are read whole or in part") {
  check_rows_of<std::int32_t, 2>();
  check_rows_of<float, 3>();
  check_rows_of<double, 4>();
  check_rows_of<float, 5>();
  check_rows_of<double, 11>();
  check_rows_of<float, 16>();
}

/// [n] -> [n, Width], whose last row lies before a page that cannot be touched.
template <class T, int Width> void check_written_rows(ct::extent n) {
  const auto row = []<int... K>(std::integer_sequence<int, K...>) {
    return [](auto x) { return ct::stack<0>((x * T(K + 1) - T(K))...); };
  }(std::make_integer_sequence<int, Width>());
  ct::array<T, ct::dyn> x({n});
  for (ct::extent i = 0; i < n; ++i) x(i) = T(i * 5 % 7 - 3);
  const guarded_buffer memory(std::size_t(n * Width) * sizeof(T));
  T* const to = memory.as<T>();
  ct::jit(ct::vmap(row)).into(ct::view<T, ct::dyn, Width>(to, {n, Width}))(x);
  ct::extent wrong = 0;
  for (ct::extent i = 0; i < n; ++i)
    for (int k = 0; k < Width; ++k) wrong += to[i * Width + k] != T(x(i) * T(k + 1) - T(k));
  INFO(n << " rows of " << Width);
  CHECK(wrong == 0);
}
template <class T, int... Width> void check_all_written_rows() {
  for (ct::extent n : {0, 1, 7, 15, 16, 17, 31, 64, 70}) (check_written_rows<T, Width>(n), ...);
}
TEST_CASE("rows of any width are written whole, to their end and no further") {
  check_all_written_rows<float, 5, 6, 7, 9, 17, 20, 21, 36>();
  check_all_written_rows<double, 5, 9, 10, 13>();
  check_all_written_rows<std::int32_t, 6, 23>();
  check_all_written_rows<std::int8_t, 6, 33>();
  check_written_rows<float, 6>(1400003);  // past the caches
  check_written_rows<float, 20>(420003);
  check_written_rows<double, 9>(470003);
}

/// The ends of rows times the sum of their squares.
template <ct::extent Width> constexpr auto of_ends = [](auto r) { return (r(ct::index<0>) + 2 * r(ct::index<Width - 1>)) * ct::sum(r * r); };
/// Rows of a table that begins or ends where the memory does, the first and the last one among them.
template <class T, ct::extent Width> void check_ends_of_taken() {
  constexpr ct::extent rows = 64, n = 53;
  const guarded_buffer memory(rows * Width * sizeof(T));
  for (T* const at : {memory.first<T>(), memory.as<T>()}) {
    for (ct::extent k = 0; k < rows * Width; ++k) at[k] = T(1 + k % 17);
    const ct::view<const T, rows, Width> table(at);
    for (const int first : {0, 1}) {
      ct::array<std::int32_t, ct::dyn> i({n});
      for (int k = 0; k < n; ++k) i(k) = first + 5 * k % int(rows - first);
      if (first == 0) i(40) = -1;
      const auto got = ct::jit([](auto table, auto i) { return ct::vmap(of_ends<Width>)(ct::take<0>(table, i)); })(table, i);
      for (int k = 0; k < n; ++k) {
        const T* const row = at + (i(k) + rows) % rows * Width;
        T squares = 0;
        for (int c = 0; c < Width; ++c) squares += row[c] * row[c];
        CHECK(got(k) == (row[0] + 2 * row[Width - 1]) * squares);  // integers, so exactly
      }
    }
  }
}
TEST_CASE("rows that are taken are read to the ends of their array and no further") {
  check_ends_of_taken<float, 2>();
  check_ends_of_taken<float, 3>();
  check_ends_of_taken<std::int32_t, 3>();
  check_ends_of_taken<float, 5>();
  check_ends_of_taken<double, 3>();

  const guarded_buffer memory(3 * sizeof(float));
  for (float* const at : {memory.first<float>(), memory.as<float>()}) {
    at[0] = 1, at[1] = 2, at[2] = 3;
    const ct::view<const float, 1, 3> only(at);
    for (const std::int32_t beyond : {1, -2}) {
      const ct::array<std::int32_t, ct::dyn> i(ct::full<std::int32_t, 53>(beyond));
      const auto taken = ct::jit([](auto table, auto i) { return ct::vmap(of_ends<3>)(ct::take<0>(table, i)); })(only, i);
      const auto clamped = ct::jit([](auto table, auto i) { return ct::vmap([](auto table, auto i) { return of_ends<3>(table(i)); }, ct::in_axes<ct::none, 0>)(table, i); })(only, i);
      for (int k = 0; k < 53; ++k) {
        CHECK(std::isnan(taken(k)));
        CHECK(clamped(k) == 98);
      }
    }
  }
}

TEST_CASE("an element may be chosen by an index of the instance") {
  constexpr ct::extent n = 80;
  const auto x = random_array<ct::array<float, n, 4>>(1);
  ct::array<std::int32_t, n> i;
  for (ct::extent k = 0; k < n; ++k) i(k) = std::int32_t(k % 4);
  const auto f = [](auto x, auto i) { return x(i) * ct::sum(x * x); };
  const auto all = ct::vmap(ct::value_and_grad(f))(x, i);
  for (ct::extent k = 0; k < n; ++k) {
    float squares = 0;
    for (int c = 0; c < 4; ++c) squares += x(k, c) * x(k, c);
    CHECK(std::abs(std::get<0>(all)(k) - x(k, i(k)) * squares) <= 1e-6f);
    for (int c = 0; c < 4; ++c) CHECK(std::abs(std::get<1>(all)(k, c) - (2 * x(k, c) * x(k, i(k)) + (c == i(k) ? squares : 0.0f))) <= 2e-6f);
  }
}

TEST_CASE("windows of an instance's own array are read, written and added to where its indices say") {
  constexpr ct::extent n = 75;
  const auto x = random_array<ct::array<double, n, 7>>(1);
  const auto m = random_array<ct::array<double, n, 3, 2>>(2);
  ct::array<std::int32_t, n> i, j;
  for (ct::extent k = 0; k < n; ++k) i(k) = std::int32_t(k * 5 % 13 - 4), j(k) = std::int32_t(k % 2);
  const auto window_loss = [](auto x, auto i) { return ct::sum(ct::square(ct::dynamic_slice<3>(x, i))); };
  const auto gradient = ct::jit(ct::vmap(ct::grad(window_loss)))(x, i);
  const auto added = ct::jit(ct::vmap([](auto m, auto i, auto j, auto x) {
    return std::tuple(m(ct::full_extent, j) * 2.0, ct::at(m, ct::stack<0>(i, j)).add(ct::reshape<2, 2>(x(ct::range<0, 4>))), ct::dynamic_update_slice(x, m(ct::full_extent, ct::index<0>), i));
  }))(m, i, j, x);
  for (ct::extent k = 0; k < n; ++k) {
    const int start = std::clamp(i(k) < 0 ? i(k) + 7 : i(k), 0, 4);
    for (int c = 0; c < 7; ++c) {
      CHECK(gradient(k, c) == (c >= start && c < start + 3 ? 2 * x(k, c) : 0));
      CHECK(std::get<2>(added)(k, c) == (c >= start && c < start + 3 ? m(k, c - start, 0) : x(k, c)));
    }
    double rows[3][2];
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 2; ++c) rows[r][c] = m(k, r, c);
    for (int r = 0; r < 2; ++r) {  // outside: nothing
      const int to = r == 0 ? (i(k) < 0 ? i(k) + 3 : i(k)) : j(k);
      for (int c = 0; c < 2; ++c)
        if (to >= 0 && to < 3) rows[to][c] += x(k, 2 * r + c);
    }
    for (int r = 0; r < 3; ++r) {
      CHECK(std::get<0>(added)(k, r) == 2 * m(k, r, j(k)));
      for (int c = 0; c < 2; ++c) CHECK(std::abs(std::get<1>(added)(k, r, c) - rows[r][c]) <= 1e-15);
    }
  }
}

TEST_CASE("an element may be chosen by several indices of the instance, from a table that all share") {
  constexpr ct::extent n = 90;
  const auto image = random_array<ct::array<double, 7, 9>>(1);
  const auto at = random_array<ct::array<double, n, 2>>(2, 0, 5.9);
  constexpr auto bilinear = [](auto image, auto at) {
    const auto y = at(ct::index<0>), x = at(ct::index<1>), low_y = ct::floor(y), low_x = ct::floor(x), up = y - low_y, right = x - low_x;
    const auto i = ct::astype<std::int32_t>(low_y), j = ct::astype<std::int32_t>(low_x);
    return (1.0 - up) * ((1.0 - right) * image(i, j) + right * image(i, j + 1)) + up * ((1.0 - right) * image(i + 1, j) + right * image(i + 1, j + 1));
  };
  const auto all = ct::jit(ct::vmap(bilinear, ct::in_axes<ct::none, 0>));
  static_assert(all.cost(image, at).kernels == 1);
  const auto values = all(image, at);
  const auto [by_image, by_place] = ct::jit(ct::grad([bilinear](auto image, auto at) { return ct::sum(ct::vmap(bilinear, ct::in_axes<ct::none, 0>)(image, at)); }, ct::wrt<0, 1>))(image, at);
  ct::array<double, 7, 9> weights = ct::zeros<double, 7, 9>();
  for (ct::extent k = 0; k < n; ++k) {
    const int i = int(at(k, 0)), j = int(at(k, 1));
    const double up = at(k, 0) - i, right = at(k, 1) - j;
    const double low = (1 - right) * image(i, j) + right * image(i, j + 1), high = (1 - right) * image(i + 1, j) + right * image(i + 1, j + 1);
    CHECK(std::abs(values(k) - ((1 - up) * low + up * high)) <= 1e-14);
    CHECK(std::abs(by_place(k, 0) - (high - low)) <= 1e-14);
    weights(i, j) += (1 - up) * (1 - right), weights(i, j + 1) += (1 - up) * right, weights(i + 1, j) += up * (1 - right), weights(i + 1, j + 1) += up * right;
  }
  for (ct::extent k = 0; k < weights.size(); ++k) CHECK(std::abs(by_image.data()[k] - weights.data()[k]) <= 1e-13);
  // Numbers and ranges between them.
  const auto cube = random_array<ct::array<double, 3, 4, 5>>(3);
  const auto [a, b, c] = ct::jit([](auto x, auto i, auto j) { return std::tuple(x(i, 2, j), x(i, ct::range<1, 3>, j), x(ct::index<1>, i, j)); })(cube, 2, -1);
  CHECK(double(a) == cube(2, 2, 4));
  CHECK((b(0) == cube(2, 1, 4) && b(1) == cube(2, 2, 4)));
  CHECK(double(c) == cube(1, 2, 4));
}

TEST_CASE("views that show the elements of instances in another order make a per-instance program") {
  constexpr ct::extent n = 70;
  const auto f = random_array<ct::array<double, n, 3, 3>>(1);
  const auto all = ct::jit([](auto f) {
    const auto turned = ct::swapaxes<1, 2>(f), back = ct::flip<2>(f);
    return std::tuple(0.5 * (turned * f + turned), f - back, ct::fori_loop<0, 4>([](auto, auto f) { return f + 0.1 * ct::swapaxes<1, 2>(f) * f; }, f));
  })(f);
  for (ct::extent k = 0; k < n; ++k) {
    double g[3][3], next[3][3];
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        g[i][j] = f(k, i, j);
        CHECK(std::abs(std::get<0>(all)(k, i, j) - 0.5 * (f(k, j, i) * f(k, i, j) + f(k, j, i))) <= 1e-15);
        CHECK(std::get<1>(all)(k, i, j) == f(k, i, j) - f(k, i, 2 - j));
      }
    for (int turn = 0; turn < 4; ++turn) {
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) next[i][j] = g[i][j] + 0.1 * g[j][i] * g[i][j];
      std::copy_n(&next[0][0], 9, &g[0][0]);
    }
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) CHECK(std::abs(std::get<2>(all)(k, i, j) - g[i][j]) <= 1e-14);
  }
  static_assert(ct::jit([](auto f) { return f + ct::swapaxes<1, 2>(f); }).cost(f).kernels == 1);
}

TEST_CASE("structural zeros of unit vectors vanish from a Jacobian") {
  // Each output depends on one input: three derivatives, and none of the six zeros costs an operation.
  const auto f = [](auto x) { return ct::sin(x) * ct::slice<ct::range<0, 3>>(ct::concatenate<0>(x, x)); };
  const ct::array<double, 100, 3> x = random_array<ct::array<double, 100, 3>>(1);
  const auto jacobian = ct::jit(ct::vmap(ct::jacfwd(f)));
  static_assert(jacobian.cost(x).kernels == 1);
  static_assert(jacobian.cost(x).flops <= 100 * 3 * 60);
  const auto j = jacobian(x);
  for (ct::extent i = 0; i < 100; ++i)
    for (int a = 0; a < 3; ++a)
      for (int b = 0; b < 3; ++b) CHECK(std::abs(j(i, a, b) - (a == b ? std::sin(x(i, a)) + x(i, a) * std::cos(x(i, a)) : 0)) <= 1e-14);
  // A zero that is a value is one: it meets an infinity, and is NaN.
  const auto masked = [](auto x, auto m) { return ct::sum(x * m); };
  ct::array<double, 100, 3> mask;
  auto y = x;
  y(5, 1) = std::numeric_limits<double>::infinity();
  CHECK(std::isnan(ct::vmap(masked)(y, mask)(5)));
}

TEST_CASE("a row that is long, or not of instances, stays an array") {
  const auto softmax = ct::jit(ct::vmap([](auto x) { return ct::nn::softmax(x); }));
  const auto wide = random_array<ct::array<float, 64, 100>>(1);
  const auto p = softmax(wide);
  for (ct::extent i = 0; i < 64; i += 9) {
    double sum = 0;
    for (int k = 0; k < 100; ++k) sum += double(p(i, k));
    CHECK(std::abs(sum - 1) <= 1e-5);
  }
}

TEST_CASE("products with one matrix for all instances stay matrix products where they are large") {
  const auto layer = [](auto x, auto w) { return ct::tanh(ct::matmul(w, x)); };
  const auto w = random_array<ct::array<double, 12, 12>>(1);
  const auto x = random_array<ct::array<double, 70, 12>>(2);
  const auto all = ct::jit(ct::vmap(layer, ct::in_axes<0, ct::none>));
  CHECK(all.kernels(x, w).find("gemm") != std::string::npos);
  const auto y = all(x, w);
  for (ct::extent i = 0; i < 70; i += 9) CHECK(row_error(y, i, ct::jit(layer)(row(x, i), w)) <= 1e-14);
}
