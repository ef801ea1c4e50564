/// What a call costs: functions of two scalars and of two 3-vectors, and their gradients, against plain C++, and products and
/// factorizations of small matrices against Eigen's of fixed sizes. And what threads cost: a region of two tasks against oneTBB's own, and small work on two
/// threads against the same on one.

#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <Eigen/Dense>
#include <tbb/parallel_for.h>

#include <cotangent/cotangent.hpp>

#include "harness.hpp"

namespace {

namespace ct = cotangent;

constexpr auto scalars = [](auto x, auto y) { return x * y + ct::sin(x); };
constexpr auto vectors = [](auto x, auto y) { return ct::sum(ct::sin(x) * y); };

using vector = ct::array<float, 3>;
using plain_vector = std::array<float, 3>;

float scalars_by_hand(float x, float y) { return x * y + std::sin(x); }
float scalars_gradient_by_hand(float x, float y) { return y + std::cos(x); }
float vectors_by_hand(const plain_vector& x, const plain_vector& y) {
  float sum = 0;
  for (std::size_t i = 0; i < 3; ++i) sum += std::sin(x[i]) * y[i];
  return sum;
}
plain_vector vectors_gradient_by_hand(const plain_vector& x, const plain_vector& y) {
  plain_vector d;
  for (std::size_t i = 0; i < 3; ++i) d[i] = std::cos(x[i]) * y[i];
  return d;
}

/// f(x, y), where the compiler knows neither the operands nor who uses the result.
template <class F, class X> auto opaque_call(const F& f, X x, X y) {
  return [=]() mutable {
    benchmark::DoNotOptimize(x);
    benchmark::DoNotOptimize(y);
    return f(x, y);
  };
}

template <class R> float first(const R& r) {
  if constexpr (std::is_arithmetic_v<R>) return r;
  else if constexpr (requires { r.data(); }) return *r.data();
  else return r[0];
}

[[noreturn]] void stop(const std::string& name) {
  std::fprintf(stderr, "call: %s: the two sides differ\n", name.c_str());
  std::exit(1);
}

/// JAX's rows are taken with two threads; a call this small uses one.
template <class Ours, class Theirs, class X, class Y> void add(const std::string& name, Ours ours, Theirs theirs, const X (&x)[2], const Y (&y)[2]) {
  if (std::abs(first(ours(x[0], x[1])) - first(theirs(y[0], y[1]))) > 1e-5f) stop(name);
  bench::compare("call", name, 2, "plain C++", [=, a = x[0], b = x[1], c = y[0], d = y[1]] {
    return bench::sides{opaque_call(ours, a, b), opaque_call(theirs, c, d)};
  });
}

/// What `ours` and `theirs` write, of Eigen's fixed sizes, to arrays of the same layout. The compiler knows neither the operands nor who uses
/// the result.
template <class Ours, class Theirs, class R, class M, class... A> void add_small(const std::string& name, Ours ours, Theirs theirs, R& result, M& their_result, A&... operands) {
  const auto side = [&](auto f, auto& to) {
    return [=, &to, &operands...] {
      (benchmark::DoNotOptimize(operands), ...);
      f();
      benchmark::DoNotOptimize(to);
    };
  };
  bench::compare("call", name, 1, "Eigen, fixed sizes", [name, &result, &their_result, sides = bench::sides{side(ours, result), side(theirs, their_result)}, ours, theirs] {
    ours(), theirs();
    for (ct::extent i = 0; i < result.size(); ++i)
      if (!(std::abs(double(result.data()[i]) - double(their_result.data()[i])) <= 1e-5 * (1 + std::abs(double(their_result.data()[i]))))) stop(name);
    return sides;
  });
}

template <class T> const std::string of_type = sizeof(T) == 8 ? ", float64" : ", float32";
template <class T, int M, int N> using eigen_matrix = Eigen::Matrix<T, M, N, N == 1 ? Eigen::ColMajor : Eigen::RowMajor>;
template <class T, int M, int N> Eigen::Map<const eigen_matrix<T, M, N>> eigen_map(const T* x) { return Eigen::Map<const eigen_matrix<T, M, N>>(x); }

constexpr auto product = [](auto x, auto y) { return ct::matmul(x, y); };
/// An M x K matrix times a K x N one.
template <class T, int M, int K, int N> void add_product() {
  static ct::array<T, M, K> a;
  static std::conditional_t<N == 1, ct::array<T, K>, ct::array<T, K, N>> b;
  static std::conditional_t<N == 1, ct::array<T, M>, ct::array<T, M, N>> ours;
  static eigen_matrix<T, M, N> theirs;
  for (ct::extent i = 0; i < a.size(); ++i) a.data()[i] = T(0.1) * T(i % 7);
  for (ct::extent i = 0; i < b.size(); ++i) b.data()[i] = T(0.2) * T(i % 5);
  add_small("[" + std::to_string(M) + ", " + std::to_string(K) + "] times [" + std::to_string(K) + (N == 1 ? "]" : ", " + std::to_string(N) + "]") + of_type<T>,
            [] { ct::jit(product).into(ours)(a, b); }, [] { theirs.noalias() = eigen_map<T, M, K>(a.data()) * eigen_map<T, K, N>(b.data()); }, ours, theirs, a, b);
}

constexpr auto solution = [](auto a, auto b) { return ct::linalg::solve(a, b); };
constexpr auto factor = [](auto a) { return ct::linalg::cholesky(a); };
constexpr auto inverse = [](auto a) { return ct::linalg::inv(a); };
/// A positive definite matrix of order N: a system solved, a Cholesky factor, an inverse.
template <class T, int N> void add_factorizations() {
  static ct::array<T, N, N> a, result;
  static ct::array<T, N> b, x;
  static eigen_matrix<T, N, N> their_result;
  static eigen_matrix<T, N, 1> their_x;
  for (int i = 0; i < N; ++i) b(i) = T(0.2) * T(i % 5);
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j) a(i, j) = T(i == j ? N : 0.5 / (1 + std::abs(i - j)));
  const std::string of = ", [" + std::to_string(N) + ", " + std::to_string(N) + "]" + of_type<T>;
  add_small("solve" + of, [] { ct::jit(solution).into(x)(a, b); }, [] { their_x = eigen_map<T, N, N>(a.data()).partialPivLu().solve(eigen_map<T, N, 1>(b.data())); }, x, their_x, a, b);
  add_small("cholesky" + of, [] { ct::jit(factor).into(result)(a); }, [] { their_result = eigen_map<T, N, N>(a.data()).llt().matrixL(); }, result, their_result, a);
  add_small("inv" + of, [] { ct::jit(inverse).into(result)(a); }, [] { their_result = eigen_map<T, N, N>(a.data()).inverse(); }, result, their_result, a);
}

constexpr auto eigenvectors = [](auto a) { return ct::linalg::eigh(a); };
constexpr auto singular = [](auto a) { return ct::linalg::svd(a); };
/// The same matrix: eigenvalues and eigenvectors; singular values and both lists of vectors.
template <class T, int N> void add_decompositions() {
  static ct::array<T, N, N> a, u, v;
  static ct::array<T, N> values;
  using matrix = eigen_matrix<T, N, N>;
  static matrix their_u, their_v;
  static eigen_matrix<T, N, 1> their_values;
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j) a(i, j) = T(i == j ? N + 2 * i : 0.5 / (1 + std::abs(i - j)));
  const auto eigenvectors_by_eigen = [] {
    const Eigen::SelfAdjointEigenSolver<matrix> all(eigen_map<T, N, N>(a.data()));
    their_values = all.eigenvalues(), their_v = all.eigenvectors();
    benchmark::DoNotOptimize(their_v);
  };
  const auto singular_by_eigen = [] {
    const Eigen::JacobiSVD<matrix> all(eigen_map<T, N, N>(a.data()), Eigen::ComputeFullU | Eigen::ComputeFullV);
    their_u = all.matrixU(), their_values = all.singularValues(), their_v = all.matrixV();
    benchmark::DoNotOptimize(their_u), benchmark::DoNotOptimize(their_v);
  };
  const std::string of = ", [" + std::to_string(N) + ", " + std::to_string(N) + "]" + of_type<T>;
  add_small("eigh" + of, [] { auto to = std::tie(values, v); ct::jit(eigenvectors).into(to)(a); }, eigenvectors_by_eigen, values, their_values, a);
  add_small("svd" + of, [] { auto to = std::tie(u, values, v); ct::jit(singular).into(to)(a); }, singular_by_eigen, values, their_values, a);
}

constexpr auto sines = [](auto x) { return ct::sin(x) * x; };

void add_region() {
  static std::atomic<int> done;
  const auto task = [](ct::extent) { done.fetch_add(1, std::memory_order_relaxed); };
  bench::compare("call", "a region of two tasks", 2, "oneTBB", [=] {
    return bench::sides{[=] { ct::host::parallel_for(ct::extent(2), task); }, [=] { tbb::parallel_for(ct::extent(0), ct::extent(2), task); }};
  });
}
template <int N> void add_small_work() {
  bench::compare("call", "sin(x) x of " + std::to_string(N) + " numbers, two threads", 2, "one thread", [] {
    static ct::array<float, N> x, y;
    const auto on = [](int threads) {
      return [=] {
        ct::set_num_threads(threads);
        ct::jit(sines).into(y)(x);
      };
    };
    return bench::sides{on(2), on(1)};
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::init(argc, argv);
  ct::set_num_threads(2);
  const float scalar[] = {1.25f, 0.5f};
  const vector u[] = {{0.1f, 0.2f, 0.3f}, {1, 2, 3}};
  const plain_vector v[] = {{0.1f, 0.2f, 0.3f}, {1, 2, 3}};
  add("two scalars", [](float x, float y) { return ct::jit(scalars)(x, y); }, scalars_by_hand, scalar, scalar);
  add("two scalars, grad", [](float x, float y) { return ct::jit(ct::grad(scalars))(x, y); }, scalars_gradient_by_hand, scalar, scalar);
  add("two 3-vectors", [](const vector& x, const vector& y) { return ct::jit(vectors)(x, y); }, vectors_by_hand, u, v);
  add("two 3-vectors, grad", [](const vector& x, const vector& y) { return ct::jit(ct::grad(vectors))(x, y); }, vectors_gradient_by_hand, u, v);
  add_product<double, 4, 4, 4>();
  add_product<double, 8, 8, 8>();
  add_product<float, 16, 16, 16>();
  add_product<double, 16, 16, 16>();
  add_product<double, 32, 32, 32>();
  add_product<double, 6, 6, 1>();
  add_product<double, 12, 12, 1>();
  add_product<float, 32, 32, 1>();
  add_factorizations<double, 3>();
  add_factorizations<double, 4>();
  add_factorizations<double, 6>();
  add_factorizations<double, 12>();
  add_decompositions<double, 3>();
  add_decompositions<double, 6>();
  add_region();
  add_small_work<4096>();
  add_small_work<16384>();
  add_small_work<65536>();
  return bench::run(argc, argv);
}
