/// Packets: what is done to each of many instances, on arrays too large for a per-instance program, gives what it gives instance by
/// instance, wherever the axis of the instances is and however many there are.

#include <cmath>

#include <cotangent/cotangent.hpp>

#include "catch.hpp"
#include "check_derivatives.hpp"
#include "instances.hpp"

namespace ct = cotangent;
using namespace instances;

namespace {

/// Whether the program of f has packets.
template <class F, class... A> constexpr bool uses_packets() {
  return ct::has_primitive<ct::packets_p>(ct::thaw(ct::canonical_function<ct::host::backend, F, ct::traced_tree<A>...>));
}

/// [12, 12] and [12] to [12]: products, sums along rows, parts put together.
constexpr auto chain = [](auto a, auto x, auto w) {
  const auto b = ct::tanh(ct::matmul(a, w)), c = ct::matmul(ct::transpose(b), a) + 0.5 * b;
  const auto y = ct::matmul(c, x) / (1.0 + ct::sum(ct::square(x)));
  return ct::concatenate<0>(ct::slice<ct::range<3, 12>>(y), ct::slice<ct::range<0, 3>>(ct::exp(-y)));
};
constexpr auto loss = [](auto a, auto x, auto w) { return ct::sum(ct::square(chain(a, x, w))); };
/// The value, the gradient by the instance's own arrays, and a Jacobian.
constexpr auto all = [](auto a, auto x, auto w) {
  const auto [value, slopes] = ct::value_and_grad(loss, ct::wrt<0, 1>)(a, x, w);
  return std::tuple(value, std::get<0>(slopes), std::get<1>(slopes), ct::jacfwd(chain, ct::wrt<1>)(a, x, w));
};
constexpr auto all_of_each = ct::vmap(all, ct::in_axes<0, 0, ct::none>);
constexpr auto jacobian_alone = [](auto a, auto x, auto w) { return ct::jacfwd(chain, ct::wrt<1>)(a, x, w); };
/// The mean loss of instances whose matrices are rows of a table.
constexpr auto mean_loss = [](auto table, auto w, auto i, auto x) {
  const auto a = ct::reshape<2000, 12, 12>(ct::take<0>(table, i));
  return ct::mean(ct::vmap(loss, ct::in_axes<0, 0, ct::none>)(a, x, w));
};
/// Some steps of descent.
constexpr auto descend = [](auto a, auto x, auto w) {
  return ct::fori_loop<0, 3>([=](auto, auto b) { return b - 1e-4f * ct::vmap(ct::grad(loss), ct::in_axes<0, 0, ct::none>)(b, x, w); }, a);
};
/// Transposed matrices between those of three vertices, which are sums of bones.
constexpr auto of_bones = [](auto weights, auto bones) { return ct::einsum<"b,bik->ik">(weights, bones); };
constexpr auto between = [](auto corners, auto parts) {
  return ct::transpose(parts(ct::index<0>) * corners(ct::index<0>) + parts(ct::index<1>) * corners(ct::index<1>) + parts(ct::index<2>) * corners(ct::index<2>));
};
constexpr auto moved = [](auto t, auto weights, auto bones, auto corners, auto parts) {
  const auto all = ct::vmap(of_bones, ct::in_axes<0, ct::none>)(weights, bones * t);
  return ct::vmap(between)(ct::take<0>(all, corners), parts);
};
constexpr auto moved_and_slope = [](auto t, auto weights, auto bones, auto corners, auto parts) {
  return ct::jvp([=](auto s) { return moved(s, weights, bones, corners, parts); }, std::tuple(t), std::tuple(t));
};

/// Products of the two rows, [8, 12] of a table [8, rows, 12], that each instance's indices choose.
constexpr auto product_of_rows = [](auto pair) { return ct::matmul(ct::transpose(pair(ct::full_extent, ct::index<0>)), ct::tanh(pair(ct::full_extent, ct::index<1>))); };
constexpr auto products_of_rows = [](auto table, auto index) { return ct::vmap(product_of_rows, ct::in_axes<1>)(ct::take<1>(table, index)); };

/// The matrix that is made of each instance, applied to those of two others.
constexpr auto neighbours = [](auto x, auto index) {
  const auto made = ct::vmap([](auto a) { return ct::tanh(ct::matmul(a, ct::transpose(a))); })(x);
  return ct::vmap([](auto a, auto others) { return ct::matmul(a, others(ct::index<0>) - 2.0 * others(ct::index<1>)); })(made, ct::take<0>(made, index));
};

/// Sums over points with the weights that all instances share, of what is made of each instance's numbers at the points.
constexpr auto integrals = [](auto weights, auto x) {  // [8] [n, 8, 12]
  return ct::vmap([=](auto own) {
    const auto y = ct::sin(own);
    return std::tuple(ct::matmul(weights, y), ct::einsum<"pi,p->i">(y * y, weights), ct::matmul(ct::transpose(y), own));
  })(x);
};

template <class T> constexpr double tolerance = std::is_same_v<T, float> ? 3e-5 : 1e-12;

/// Rows of what a call with many instances returned, against calls of one.
template <class T, class Results, class A, class X, class W> void check_rows(const Results& results, const A& a, const X& x, const W& w, ct::extent n, ct::extent step) {
  const auto [values, by_a, by_x, jacobians] = results;
  for (ct::extent i = 0; i < n; i += step) {
    const auto [value, one_by_a, one_by_x, jacobian] = ct::jit(all)(row(a, i), row(x, i), w);
    CHECK(std::abs(double(values(i)) - double(T(value))) <= tolerance<T> * (1 + std::abs(double(T(value)))));
    CHECK(row_error(by_a, i, one_by_a) <= tolerance<T>);
    CHECK(row_error(by_x, i, one_by_x) <= tolerance<T>);
    CHECK(row_error(jacobians, i, jacobian) <= tolerance<T>);
  }
}

/// Rows [2, 16] of a table [9, 2, 16] by indices [n, 3]: parts of what is computed of them, in other orders of axes, and as a whole.
constexpr auto parts_of_rows = [](auto table, auto weights, auto index) {  // weights [n, 2]
  const auto all = ct::full_extent;
  const auto weight = [=](auto k) { return ct::expand_dims<1>(ct::expand_dims<1>(weights(ct::full_extent, k))); };
  const auto rows = ct::tanh(ct::take<0>(table, index));  // [n, 3, 2, 16]
  const auto mixed = weight(ct::index<0>) * rows(all, ct::index<0>) + weight(ct::index<1>) * rows(all, ct::index<1>) - rows(all, ct::index<2>);
  const auto one = ct::take<1>(ct::transpose<1, 0, 2>(table * 0.5), index(all, ct::index<1>));  // [2, n, 16]
  const auto kept = ct::take<0>(table, ct::slice<ct::full_extent, ct::range<0, 2>>(index));
  return std::tuple(mixed, ct::transpose<1, 2, 0>(ct::exp(one)), ct::slice<ct::full_extent, ct::range<0, 3, 2>, ct::full_extent, ct::range<1, 16, 2>>(rows * rows), kept,
                    kept(all, ct::index<1>) + kept(all, ct::index<0>), ct::transpose<2, 0, 3, 1>(ct::sin(kept)));
};
/// The 4 bones [4, 3, 3] that the 4 angles of a finger turn, one after the other.
constexpr auto finger = [](auto angles) {
  const auto about = [](auto angle) {
    const auto c = ct::cos(angle), s = ct::sin(angle);
    const auto zero = 0.0 * angle;
    return ct::reshape<3, 3>(ct::stack<0>(c, -s, zero, s * c, c * c, -s, s * s, s * c, c));
  };
  const auto first = about(angles(ct::index<0>));
  const auto second = ct::matmul(first, about(angles(ct::index<1>)));
  const auto third = ct::matmul(second, about(angles(ct::index<2>)));
  return ct::stack<0>(first, second, third, ct::matmul(third, about(angles(ct::index<3>))));
};
/// Points [n, 3] moved by bones, some of each of 5 fingers and two that stay.
constexpr auto hand = [](auto theta, auto weights, auto points) {  // [23] [n, 22] [n, 3]
  const auto fingers = ct::vmap(finger)(ct::reshape<5, 4>(ct::slice<ct::range<2, 22>>(theta)));
  const auto still = ct::expand_dims<0>(ct::eye<double, 3>());
  const auto bones = ct::concatenate<0>(still, ct::reshape<20, 3, 3>(fingers), still);
  const auto moved = ct::vmap([](auto b, auto w, auto p) { return ct::matmul(ct::einsum<"b,bik->ik">(w, b), p); }, ct::in_axes<ct::none, 0, 0>)(bones, weights, points);
  return moved * theta(ct::index<22>) + ct::sum(ct::slice<ct::range<0, 2>>(theta));
};
constexpr auto by_theta = ct::jacfwd(hand);
/// What one-hot directions go through.
constexpr auto pieces = [](auto theta) {  // [12]
  const auto table = ct::reshape<3, 4>(theta);
  const auto middle = ct::slice<ct::full_extent, ct::range<1, 4, 2>>(table);
  const auto rows = ct::vmap([](auto x) { return ct::stack<0>(x * 2.0, ct::flip<0>(x), ct::sin(x)); })(table);  // [3, 3, 4]
  const auto joined = ct::concatenate<1>(ct::zeros_like(table), ct::tanh(table), 0.0 * table);
  return std::tuple(middle, ct::transpose(table), rows, joined, ct::reshape<2, 2, 3>(theta), ct::reshape<12, 1>(theta), ct::reshape<6, 6>(rows), ct::sum(rows, ct::axis<2>),
                    ct::matmul(table, ct::transpose(table)), ct::einsum<"ij,kij->ki">(table, rows), ct::broadcast_to<2, 3, 4>(table), table - ct::reshape<3, 4>(ct::flip<0>(theta)),
                    ct::where(theta > 0.0, theta, 3.0 * theta), ct::pad<ct::low<1>, ct::high<2>>(theta, 0.0), theta / ct::sum(theta), ct::reshape<3, 2, 2>(joined(ct::full_extent, ct::range<3, 7>)));
};
/// A weighted sum of parts alone.
constexpr auto mixed_rows = [](auto table, auto weights, auto index) { return std::get<0>(parts_of_rows(table, weights, index)); };
}  // namespace

TEMPLATE_TEST_CASE("packets give what single instances give", "", float, double) {
  using T = TestType;
  constexpr ct::extent n = 1003;  // the last packet is not full
  const auto a = random_array<ct::array<T, n, 12, 12>>(1);
  const auto x = random_array<ct::array<T, n, 12>>(2);
  const auto w = random_array<ct::array<T, 12, 12>>(3);
  static_assert(uses_packets<decltype(all_of_each), decltype(a), decltype(x), decltype(w)>());
  check_rows<T>(ct::jit(all_of_each)(a, x, w), a, x, w, n, 67);
}

TEST_CASE("the axis of the instances may be any, in arguments and results") {
  constexpr ct::extent n = 1003;
  const auto a = random_array<ct::array<double, n, 12, 12>>(1);
  const auto x = random_array<ct::array<double, n, 12>>(2);
  const auto w = random_array<ct::array<double, 12, 12>>(3);
  ct::array<double, 12, n, 12> middle;
  ct::array<double, 12, n> last;
  for (ct::extent i = 0; i < n; ++i)
    for (int j = 0; j < 12; ++j) {
      last(j, i) = x(i, j);
      for (int k = 0; k < 12; ++k) middle(j, i, k) = a(i, j, k);
    }
  constexpr auto turned = ct::vmap(jacobian_alone, ct::in_axes<1, 1, ct::none>, ct::out_axes<1>);
  static_assert(uses_packets<decltype(turned), decltype(middle), decltype(last), decltype(w)>());
  const auto expected = std::get<3>(ct::jit(all_of_each)(a, x, w));
  const auto result = ct::jit(turned)(middle, last, w);
  double error = 0;
  for (ct::extent i = 0; i < n; ++i)
    for (int j = 0; j < 12; ++j)
      for (int k = 0; k < 12; ++k) error = std::max(error, std::abs(result(j, i, k) - expected(i, j, k)));
  CHECK(error <= 1e-12);
}

TEST_CASE("rows of tables come in, and cotangents of the shared and of the tables go out") {
  constexpr ct::extent n = 2000;
  constexpr auto slopes = ct::value_and_grad(mean_loss, ct::wrt<0, 1>);
  const auto table = random_array<ct::array<double, 50, 144>>(1);
  const auto x = random_array<ct::array<double, n, 12>>(2);
  const auto w = random_array<ct::array<double, 12, 12>>(3);
  ct::array<std::int32_t, n> index;
  for (ct::extent i = 0; i < n; ++i) index(i) = std::int32_t(i * 37 % 50) - (i % 2 == 0 ? 50 : 0);  // negative: from the end
  static_assert(uses_packets<decltype(slopes), decltype(table), decltype(w), decltype(index), decltype(x)>());
  const auto [value, gradients] = ct::jit(slopes)(table, w, index, x);
  ct::array<double, 50, 144> by_table;
  ct::array<double, 12, 12> by_w;
  double sum = 0;
  const auto one = ct::jit(ct::value_and_grad(loss, ct::wrt<0, 2>));
  for (ct::extent i = 0; i < n; ++i) {
    const ct::extent r = (index(i) + 50) % 50;
    ct::array<double, 12, 12> a;
    std::copy_n(&table(r, 0), 144, a.data());
    const auto [v, g] = one(a, row(x, i), w);
    sum += double(v) / n;
    for (int k = 0; k < 144; ++k) by_table(r, k) += std::get<0>(g).data()[k] / n, by_w.data()[k] += std::get<1>(g).data()[k] / n;
  }
  CHECK(double(value) == Approx(sum).epsilon(1e-12));
  double error = 0;
  for (int k = 0; k < 50 * 144; ++k) error = std::max(error, std::abs(by_table.data()[k] - std::get<0>(gradients).data()[k]));
  for (int k = 0; k < 144; ++k) error = std::max(error, std::abs(by_w.data()[k] - std::get<1>(gradients).data()[k]));
  CHECK(error <= 1e-12);
}

TEST_CASE("two kinds of instances: vertices, and points between some of them") {
  constexpr ct::extent vertices = 3000, points = 1500;
  const auto weights = random_array<ct::array<float, vertices, 20>>(1);
  const auto bones = random_array<ct::array<float, 20, 3, 4>>(2);
  const auto parts = random_array<ct::array<float, points, 3>>(3);
  ct::array<std::int32_t, points, 3> corners;
  for (ct::extent i = 0; i < corners.size(); ++i) corners.data()[i] = std::int32_t(i * 7919 % vertices);
  const ct::array<float> t(1.5f);
  static_assert(uses_packets<decltype(moved_and_slope), decltype(t), decltype(weights), decltype(bones), decltype(corners), decltype(parts)>());
  const auto [value, tangent] = ct::jit(moved_and_slope)(t, weights, bones, corners, parts);
  double error = 0;
  for (ct::extent i = 0; i < points; ++i)
    for (int e = 0; e < 12; ++e) {
      double sum = 0;
      for (int c = 0; c < 3; ++c)
        for (int b = 0; b < 20; ++b) sum += 1.5 * double(parts(i, c)) * double(weights(corners(i, c), b)) * double(bones(b, e / 4, e % 4));
      error = std::max({error, std::abs(sum - double(value(i, e % 4, e / 4))), std::abs(sum - double(tangent(i, e % 4, e / 4)))});
    }
  CHECK(error <= 1e-5);
}

TEST_CASE("products of each instance with a short vector that all share") {
  constexpr ct::extent n = 3001;
  const auto x = random_array<ct::array<double, n, 8, 12>>(1);
  const auto weights = random_array<ct::array<double, 8>>(2);
  static_assert(uses_packets<decltype(integrals), decltype(weights), decltype(x)>());
  const auto [sums, squares, products] = ct::jit(integrals)(weights, x);
  double error = 0;
  for (ct::extent i = 0; i < n; ++i)
    for (int j = 0; j < 12; ++j) {
      double sum = 0, square = 0, product = 0;
      for (int p = 0; p < 8; ++p) {
        const double y = std::sin(x(i, p, j));
        sum += weights(p) * y, square += weights(p) * y * y, product += y * x(i, p, 3);
      }
      error = std::max({error, std::abs(sums(i, j) - sum), std::abs(squares(i, j) - square), std::abs(products(i, j, 3) - product)});
    }
  CHECK(error <= tolerance<double>);
}

TEST_CASE("rows of other instances, by indices that are brought into range") {
  constexpr ct::extent n = 1501;
  const auto x = random_array<ct::array<double, n, 12, 12>>(1);
  ct::array<std::int32_t, n, 2> index;
  for (ct::extent i = 0; i < n; ++i) index(i, 0) = std::int32_t(i * 37 % n), index(i, 1) = -1 - std::int32_t(i * 11 % n);
  const auto f = ct::jit(neighbours);
  CHECK(f.kernels(x, index).find("lane_rows") != std::string::npos);
  const auto result = f(x, index);
  double error = 0;
  for (ct::extent i = 0; i < n; i += 50) {
    const auto made = [&](ct::extent k, int p, int q) {
      double sum = 0;
      for (int j = 0; j < 12; ++j) sum += x(k, p, j) * x(k, q, j);
      return std::tanh(sum);
    };
    for (int p = 0; p < 12; ++p)
      for (int q = 0; q < 12; ++q) {
        double sum = 0;
        for (int k = 0; k < 12; ++k) sum += made(i, p, k) * (made(index(i, 0), k, q) - 2.0 * made(index(i, 1) + n, k, q));
        error = std::max(error, std::abs(result(i, p, q) - sum));
      }
  }
  CHECK(error <= tolerance<double>);
}

TEST_CASE("rows along a middle axis of a table, by two indices each") {
  constexpr ct::extent n = 3001, rows = 40;
  const auto table = random_array<ct::array<double, 8, rows, 12>>(1);
  ct::array<std::int64_t, n, 2> index;
  for (ct::extent i = 0; i < n; ++i) index(i, 0) = i * 37 % rows - (i % 3 == 0 ? rows : 0), index(i, 1) = i * 11 % rows;
  index(7, 1) = rows, index(8, 0) = -rows - 1;  // outside: NaN
  const auto f = ct::jit(products_of_rows);
  CHECK(f.kernels(table, index).find("lane_rows") != std::string::npos);
  const auto result = f(table, index);
  double error = 0;
  bool filled = true;
  for (ct::extent i = 0; i < n; ++i)
    for (int p = 0; p < 12; ++p)
      for (int q = 0; q < 12; ++q) {
        double sum = 0;
        for (int k = 0; k < 8; ++k) sum += table(k, (index(i, 0) + 2 * rows) % rows, p) * std::tanh(table(k, index(i, 1) % rows, q));
        if (i == 7 || i == 8) filled = filled && std::isnan(result(i, p, q));
        else error = std::max(error, std::abs(result(i, p, q) - sum));
      }
  CHECK(error <= tolerance<double>);
  CHECK(filled);
}

TEST_CASE("packets give the same bits for every number of threads, and inside of loops") {
  constexpr ct::extent n = 5000;
  const auto a = random_array<ct::array<float, n, 12, 12>>(1);
  const auto x = random_array<ct::array<float, n, 12>>(2);
  const auto w = random_array<ct::array<float, 12, 12>>(3);
  const int before = ct::num_threads();
  ct::set_num_threads(1);
  const auto one = ct::jit(all_of_each)(a, x, w);
  const auto descended = ct::jit(descend)(a, x, w);
  for (const int threads : {2, 3, 7}) {
    ct::set_num_threads(threads);
    const auto more = ct::jit(all_of_each)(a, x, w);
    CHECK(std::equal(std::get<1>(one).begin(), std::get<1>(one).end(), std::get<1>(more).begin()));
    CHECK(std::equal(std::get<3>(one).begin(), std::get<3>(one).end(), std::get<3>(more).begin()));
    const auto again = ct::jit(descend)(a, x, w);
    CHECK(std::equal(descended.begin(), descended.end(), again.begin()));
  }
  ct::set_num_threads(before);
  auto b = row(a, 11);
  for (int i = 0; i < 3; ++i) {
    const auto g = ct::jit(ct::grad(loss))(b, row(x, 11), w);
    for (int k = 0; k < 144; ++k) b.data()[k] -= 1e-4f * g.data()[k];
  }
  CHECK(row_error(descended, 11, b) <= 1e-5);
}

TEST_CASE("explain says that packets were chosen, and over what") {
  const ct::array<float, 2000, 12, 12> a;
  const ct::array<float, 2000, 12> x;
  const ct::array<float, 12, 12> w;
  const std::string text = ct::jit(all_of_each).explain(a, x, w);
  CHECK(text.starts_with("chosen: packets of instances; "));
  CHECK(text.find("instead, arrays of all instances: ") != std::string::npos);
  CHECK(ct::jit(all_of_each).kernels(a, x, w).find("packet, 32 times") != std::string::npos);
}

TEST_CASE("a reshape of a view is a view where strides allow") {
  const auto strides = [](const ct::shape& from, const ct::shape& dims, const ct::shape& to) { return ct::reshaped({0, from}, dims, to).strides; };
  CHECK(strides({1, 64, 8}, {8, 2, 6}, {8, 2, 2, 3}) == ct::shape{1, 64, 24, 8});   // an axis split
  CHECK(strides({100, 10, 1}, {3, 5, 10}, {15, 10}).rank == 0);                       // axes that do not follow each other
  CHECK(strides({50, 10, 1}, {3, 5, 10}, {150}) == ct::shape{1});
  CHECK(strides({0, 0, 1}, {3, 5, 4}, {15, 4}) == ct::shape{0, 1});                   // repeated
  CHECK(strides({7, 2}, {1, 4}, {4, 1}) == ct::shape{2, 0});
  CHECK(strides({3}, {0}, {0, 2}).rank == 0);
}

TEST_CASE("views of what is gathered are gathered: derivatives, batches, indices outside, extents of 0, 1 and run time") {
  constexpr auto slopes = ct::grad([](auto t, auto w, auto i) { return ct::sum(ct::square(mixed_rows(t, w, i))); }, ct::wrt<0, 1>);
  const auto table = checks::between<double, 9, 2, 16>(-1, 1);
  const auto weights = checks::between<double, 5, 2>(-1, 1, 3);
  const ct::array<std::int32_t, 5, 3> index{{0, 8, 3}, {-1, -9, 4}, {2, 2, 2}, {9, 0, 1}, {7, 6, -10}};  // 9 and -10: outside
  checks::check_jit(parts_of_rows, 1e-14, table, weights, index);
  checks::check_jit(ct::vmap(parts_of_rows, ct::in_axes<0, ct::none, 1>), 1e-6, checks::between<float, 3, 9, 2, 16>(-1, 1), checks::between<float, 5, 2>(-1, 1), ct::array<std::int32_t, 5, 3, 3>());
  for (int n : {0, 1, 40}) {
    ct::array<double, ct::dyn, 2> w({n, 2});
    ct::array<std::int64_t, ct::dyn, 3> i({n, 3});
    for (int k = 0; k < 3 * n; ++k) i.data()[k] = k * 7 % 19 - 9;
    for (int k = 0; k < 2 * n; ++k) w.data()[k] = std::sin(k + 1.0);
    checks::check_jit(parts_of_rows, 1e-14, table, w, i);
    checks::check_jit(slopes, 1e-12, table, w, i);
  }
}

TEST_CASE("parts of long rows of a table come straight from it") {
  const ct::array<float, 500, 2, 24> table;
  const ct::array<float, 3000, 2> weights;
  const ct::array<std::int32_t, 3000, 3> index;
  const auto f = ct::jit(mixed_rows);
  CHECK(f.kernels(table, weights, index).find("over [3000,2,24]") != std::string::npos);
  CHECK(f.kernels(table, weights, index).find("over [3000,3,2,24]") == std::string::npos);  // no array of all rows
  CHECK(f.cost(table, weights, index).bytes_accessed < 2 * 3000 * 2 * 24 * ct::extent(sizeof(float)));
}

TEST_CASE("a table that is computed for gathers alone lies as its rows are used, be they fewer than it has") {
  const auto x = checks::between<double, 5>(-1, 1);
  const auto heights = checks::between<double, 40>(-1, 1);
  const ct::array<int, 6> index{3, 39, 0, 3, -1, 17};
  constexpr auto rows = [](auto x, auto heights, auto index) {
    const auto points = ct::vmap([](auto x, auto h) { return ct::sin(h * ct::stack<0>(ct::sum(x), ct::sum(x * x), x(ct::index<0>))); }, ct::in_axes<ct::none, 0>)(x, heights);
    return ct::take<0>(points, index);
  };
  const ct::graph g = checks::graph_of(ct::jacfwd(rows), x, heights, index), turned = ct::with_gathered_views(g);
  checks::check_same(turned, g, checks::tensors_of(x, heights, index));
  int tables = 0;
  for (int n = 0; n < turned.size(); ++n)
    if (!turned[n].is_input() && turned[n].op->kind == ct::role::gather) tables += turned[turned.operand(n, 0)].dims == ct::shape{40, 3, 5};
  INFO(ct::graph_text(turned));
  CHECK(tables == 1);
}

namespace {
/// How many arrays of so many rows a graph computes.
int computed_of_rows(const ct::graph& g, ct::extent rows) {
  int count = 0;
  for (int n = 0; n < g.size(); ++n) count += !g[n].is_input() && g[n].dims.contains(rows);
  for (const ct::graph& body : g.subgraphs) count += computed_of_rows(body, rows);
  return count;
}
constexpr auto weighted = [](auto bones, auto weights, auto base) { return ct::tanh(ct::matmul(weights, bones)) * base + ct::sum(bones, ct::axis<0>); };
constexpr auto taken = [](auto bones, auto weights, auto base, auto index) { return ct::take<0>(weighted(bones, weights, base), index); };
}  // namespace

TEST_CASE("rows that nothing takes are not computed") {
  constexpr int n = 41;
  const auto weights = checks::between<double, n, 4>(-1, 1);
  const auto base = checks::between<double, n, 3>(-1, 1, 1);
  const auto bones = checks::between<double, 4, 3>(-1, 1, 2);
  const ct::array<int, 5, 2> index{{0, 40}, {3, -1}, {17, -41}, {41, 3}, {12, -50}};  // two are outside
  const auto both = [&](const auto& f, int rest, const auto&... x) {
    const ct::graph g = checks::graph_of(f, x...), fewer = ct::taken_rows::of(g);
    checks::check_same(fewer, g, checks::tensors_of(x...));
    INFO(ct::graph_text(g) << ct::graph_text(fewer));
    CHECK(ct::taken_rows::concerns(g));
    if (rest < 0) CHECK(computed_of_rows(fewer, n) == computed_of_rows(g, n));
    else CHECK(computed_of_rows(fewer, n) == rest);
  };
  both(taken, 0, bones, weights, base, index);
  both(ct::jacfwd(taken), 0, bones, weights, base, index);
  both([](auto... x) { return std::tuple(taken(x...), ct::jacfwd(taken)(x...)); }, 0, bones, weights, base, index);
  checks::check_jit(ct::jacfwd(taken), 1e-13, bones, weights, base, index);
  checks::check_jit(ct::jacfwd(taken), 1e-5, checks::between<float, 4, 3>(-1, 1, 2), checks::between<float, n, 4>(-1, 1), checks::between<float, n, 3>(-1, 1, 1), index);
  // One row; none; along another axis, behind operations that turn, cut, join and sum the others.
  both([](auto x, auto i) { return ct::take<0>(ct::exp(x), i); }, 0, base, ct::array<int>(-3));
  both([](auto x, auto i) { return ct::take<0>(ct::exp(x), i) + ct::take<0>(ct::exp(x) * x, i); }, 0, base, ct::array<int, 20>());
  both([](auto x, auto y, auto i) {
    const auto turned = ct::transpose(ct::concatenate<1>(ct::sin(x), y));
    return ct::take<2>(ct::stack<0>(ct::slice<ct::range<1, 5>>(turned), ct::flip<0>(ct::slice<ct::range<2, 6>>(turned)) / ct::sum(turned, ct::axis<0>)), i);
  }, 0, base, weights, ct::array<int, 3>{4, 40, 4});
  both([](auto x, auto i, auto s) {
    return ct::scan([x](auto c, auto i) { return std::pair(c * 1.5, ct::sum(ct::take<0>(ct::sin(x * c), i))); }, s, i);
  }, 0, base, index, ct::array<double>(0.5));
  // What something else uses, too, is computed whole, and so is what is taken by different indices.
  both([](auto x, auto i) { const auto y = ct::exp(x); return std::tuple(ct::take<0>(y, i), ct::sum(y)); }, -1, base, index);
  both([](auto x, auto i) { const auto y = ct::exp(x); return ct::take<0>(y, i) + ct::take<0>(y, i + 1); }, -1, base, index);
  both([](auto x, auto i) { const auto y = ct::cumsum(x, ct::axis<0>); return ct::take<0>(y, i); }, -1, base, index);
  // Extents that are equal by accident.
  const auto square = checks::between<double, n, n>(-1, 1);
  both([](auto x, auto i) { return ct::take<0>(ct::exp(x), i); }, -1, square, index);
  both([](auto x, auto i) { return ct::take<0>(ct::sum(ct::exp(x), ct::axis<1>), i); }, -1, square, index);
  // Half of the rows and more.
  CHECK(!ct::taken_rows::concerns(checks::graph_of([](auto x, auto i) { return ct::take<0>(ct::exp(x), i); }, base, ct::array<int, 21>())));
}

TEST_CASE("what is skipped of derivatives by one-hot directions is zero") {
  const auto x = checks::between<double, 12>(-1, 1);
  ct::graph g = checks::graph_of(ct::jacfwd(pieces), x);
  const ct::sparsity_finder patterns(g);
  g.outputs.clear();
  for (int n = 0; n < g.size(); ++n)
    if (patterns[n].is_known) g.outputs.push_back(n);
  const auto values = reference::evaluate(g, checks::tensors_of(x));
  int narrow = 0;
  bool all_zero = true;
  for (std::size_t o = 0; o < values.size(); ++o) {
    const ct::shape dims = g[g.outputs[o]].dims;
    ct::extent outside = 0, i = 0;
    ct::each_element(dims, {}, [&](const ct::shape& at) {
      const bool inside = patterns[g.outputs[o]].contains(at);
      outside += !inside;
      all_zero = all_zero && (inside || values[o].x[std::size_t(i)] == 0);
      ++i;
    });
    narrow += 2 * outside >= dims.size();
  }
  CHECK(all_zero);
  CHECK(narrow >= 20);
}

/// Of points [6, 4]: products, a neighbour's row, one behind that is zero for the first, a row chosen by its number, sums over both axes.
constexpr auto energy = [](auto u, auto w, auto scale) {
  const auto a = ct::tanh(ct::matmul(u, w));
  const auto number = ct::iota<double, 6>(u);
  const auto behind = ct::slice<ct::range<0, 6>>(ct::pad<ct::low<2, 0>, ct::high<1, 0>>(ct::sin(a) * u, 0.0));
  const auto b = (ct::roll<0>(a, 1) + behind) * a + ct::where(ct::expand_dims<1>(number > 2.5), ct::sin(u), ct::flip<0>(u) * a);
  return scale * ct::sum(ct::square(ct::matmul(b, ct::transpose(a)))) + ct::sum(ct::square(ct::sum(b, ct::axis<0>)));
};
constexpr auto hessians = [](auto u, auto w, auto scale) { return ct::vmap(ct::hessian(energy), ct::in_axes<0, ct::none, 0>)(u, w, scale); };

TEST_CASE("what is made of each instance along many directions is made direction by direction") {
  const auto u = random_array<ct::array<double, 500, 6, 4>>(1);
  const auto w = random_array<ct::array<double, 4, 4>>(2);
  const auto scale = random_array<ct::array<double, 500>>(3);
  CHECK(ct::jit(hessians).kernels(u, w, scale).find("run together, a row at a time") != std::string::npos);
  checks::check_jit(hessians, 1e-12, u, w, scale);
}

TEST_CASE("a Jacobian by one-hot directions is that of single directions, and skips most of its products") {
  constexpr ct::extent n = 3001;
  const auto theta = random_array<ct::array<double, 23>>(1);
  const auto weights = random_array<ct::array<double, n, 22>>(2);
  const auto points = random_array<ct::array<double, n, 3>>(3);
  static_assert(uses_packets<decltype(by_theta), decltype(theta), decltype(weights), decltype(points)>());
  const auto all = ct::jit(by_theta)(theta, weights, points);
  double error = 0;
  for (int k = 0; k < 23; ++k) {
    ct::array<double, 23> direction;
    direction(k) = 1;
    const auto one = std::get<1>(ct::jit([](auto t, auto d, auto w, auto p) { return ct::jvp([=](auto v) { return hand(v, w, p); }, std::tuple(t), std::tuple(d)); })(theta, direction, weights, points));
    for (ct::extent i = 0; i < n; ++i)
      for (int j = 0; j < 3; ++j) error = std::max(error, std::abs(one(i, j) - all(i, j, k)));
  }
  CHECK(error <= 1e-12);
  CHECK(ct::jit(by_theta).kernels(theta, weights, points).find("select") != std::string::npos);
}

namespace {

constexpr auto messages = [](auto h, auto from, auto to) {
  const auto d = ct::take<0>(h, from) - ct::take<0>(h, to);
  return ct::sum(ct::square(ct::segment_sum<64>(d * d, to)));
};

}  // namespace

TEST_CASE("messages along the edges of a graph: indices of rows are kept once a row") {
  constexpr ct::extent edges = 3000, nodes = 64, width = 16;
  const auto h = random_array<ct::array<double, nodes, width>>(1);
  ct::array<std::int32_t, edges> from, to;
  for (ct::extent k = 0; k < edges; ++k) from(k) = std::int32_t(k * 37 % nodes), to(k) = std::int32_t(k * k % nodes);
  const auto program = ct::jit(ct::value_and_grad(messages));
  CHECK(program.kernels(h, from, to).find("writes   arena+0 [3000,16]") == std::string::npos);
  const auto [value, gradient] = program(h, from, to);
  double sums[nodes][width] = {}, slopes[nodes][width] = {}, total = 0;
  for (ct::extent e = 0; e < edges; ++e)
    for (int k = 0; k < width; ++k) sums[to(e)][k] += (h(from(e), k) - h(to(e), k)) * (h(from(e), k) - h(to(e), k));
  for (auto& row : sums)
    for (double s : row) total += s * s;
  for (ct::extent e = 0; e < edges; ++e)
    for (int k = 0; k < width; ++k) {
      const double slope = 4 * sums[to(e)][k] * (h(from(e), k) - h(to(e), k));
      slopes[from(e)][k] += slope, slopes[to(e)][k] -= slope;
    }
  CHECK(std::abs(double(value) - total) <= 1e-12 * total);
  for (ct::extent i = 0; i < nodes; ++i)
    for (int k = 0; k < width; ++k) CHECK(std::abs(gradient(i, k) - slopes[i][k]) <= 1e-11 * std::abs(total) / nodes);
}
