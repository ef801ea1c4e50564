/// Kernel types run on the CPU against a reference that walks the points one by one.

#include <cstring>
#include <random>
#include <tuple>
#include <vector>

#include <cotangent/backends/cpu/loops.hpp>

#include "catch.hpp"
#include "written_kernels.hpp"

namespace kernel_tests {

namespace ct = cotangent;
using ct::access;
using ct::extent;
using ct::indexed;
using ct::slot;
using ct::space;
using written::kernel;

namespace {

struct add { template <class V> static V lane(V a, V b) { return a + b; } };
struct mul { template <class V> static V lane(V a, V b) { return a * b; } };
struct less { template <class V> static auto lane(V a, V b) { return a < b; } };
struct exclusive { template <class V> static V lane(V a, V b) { return a ^ b; } };
struct choose {
  template <class M, class T, int N> static ct::pack<T, N> lane(M m, ct::pack<T, N> a, ct::pack<T, N> b) {
    return ct::select(ct::mask_cast<int(sizeof(T))>(m), a, b);
  }
};
template <class U> struct cast { template <class V> static auto lane(V a) { return ct::convert<U>(a); } };

struct sum {
  template <class T> static constexpr T identity() { return T(0); }
  template <class V> static V combine(V a, V b) { return a + b; }
};
struct greatest {
  template <class T> static constexpr T identity() { return std::numeric_limits<T>::lowest(); }
  template <class V> static V combine(V a, V b) { return ct::maximum(a, b); }
};
struct any_of {
  template <class T> static constexpr T identity() { return false; }
  template <class V> static V combine(V a, V b) { return a | b; }
};

// The reference.

struct value {
  double number = 0;  // exact for every type but int64, whose tests use small numbers
};

template <class T> using scalar_register = std::conditional_t<std::is_same_v<T, bool>, ct::mask<4, 1>, ct::pack<T, 1>>;

template <class K> struct reference;
template <extent... E, class... S> struct reference<kernel<space<E...>, S...>> {
  using list = std::tuple<S...>;
  void* const* buffers;
  const extent* slots;
  extent index[ct::max_rank + 1] = {};
  value registers[sizeof...(S) + 1] = {};

  extent at(extent e) const { return ct::is_slot(e) ? slots[e - ct::slot_base] : e; }
  template <extent Offset, extent... Strides> extent offset(access<Offset, Strides...>) const {
    extent o = at(Offset);
    int d = 0;
    ((o += index[d++] * at(Strides)), ...);
    return o;
  }
  template <int R, extent Stride> extent offset(indexed<R, Stride>) const { return extent(registers[R].number) * at(Stride); }
  template <int R> auto operand() const {
    using T = written::result_at<list, R>;
    return scalar_register<T>(T(registers[R].number));
  }

  template <int K, class T, int B, class A, class... X> void step(written::load<T, B, A, X...>) {
    registers[K].number = double(static_cast<const T*>(buffers[B])[(offset(A{}) + ... + offset(X{}))]);
  }
  template <int K, class T, unsigned long Bits> void step(written::constant<T, Bits>) {
    T v;
    const unsigned long bits = Bits;
    std::memcpy(&v, &bits, sizeof v);
    registers[K].number = double(v);
  }
  template <int K, class T, class A> void step(written::index<T, A>) { registers[K].number = double(T(offset(A{}))); }
  template <int K, class Op, class T, int... R> void step(written::apply<Op, T, R...>) { registers[K].number = double(Op::lane(operand<R>()...)[0]); }
  template <int K, class T, int B, int R, class A, class... X> void step(written::store<T, B, R, A, X...>) {
    static_cast<T*>(buffers[B])[(offset(A{}) + ... + offset(X{}))] = T(registers[R].number);
  }
  template <int K, class Op, class T, int B, int R, class A> void step(written::reduce<Op, T, B, R, A>) {
    T& to = static_cast<T*>(buffers[B])[offset(A{})];
    to = Op::combine(scalar_register<T>(to), operand<R>())[0];
  }
  template <class T> void start(T) {}
  template <class Op, class T, int B, int R, class A> void start(written::reduce<Op, T, B, R, A>) {
    const extent sizes[] = {at(E)..., 1};
    each(A{}, sizes, [&] { static_cast<T*>(buffers[B])[offset(A{})] = Op::template identity<T>(); });
  }
  /// f at every point, or at those that differ in the access.
  template <extent O, extent... Strides, class F> void each(access<O, Strides...>, const extent* sizes, F f) {
    const extent strides[] = {at(Strides)..., 0};
    loop(0, int(sizeof...(E)), sizes, strides, f);
  }
  template <class F> void loop(int d, int rank, const extent* sizes, const extent* strides, F& f) {
    if (d == rank) return f();
    const extent n = strides && strides[d] == 0 ? 1 : sizes[d];
    for (index[d] = 0; index[d] < n; ++index[d]) loop(d + 1, rank, sizes, strides, f);
    index[d] = 0;
  }
  template <std::size_t... K> void all(std::index_sequence<K...>) { (step<int(K)>(S{}), ...); }

  void run() {
    const extent sizes[] = {at(E)..., 1};
    (start(S{}), ...);
    auto f = [&] { all(std::make_index_sequence<sizeof...(S)>{}); };
    loop(0, int(sizeof...(E)), sizes, nullptr, f);
  }
};

/// Buffers of one test: small whole numbers, so that sums are exact in every type and order.
struct memory {
  std::vector<std::vector<unsigned char>> bytes;
  std::vector<void*> pointers;
  std::mt19937 random{7};

  template <class T> memory& add(extent n, int lowest = -4, int greatest = 4) {
    const std::size_t k = std::size_t(n > 0 ? n : 0) * sizeof(T);
    bytes.emplace_back(k);
    pointers.clear();
    T* p = reinterpret_cast<T*>(bytes.back().data());
    std::uniform_int_distribution<int> d(lowest, greatest);
    for (extent i = 0; i < n; ++i) p[i] = T(std::is_same_v<T, bool> ? d(random) > 0 : d(random));
    return *this;
  }
  /// Numbers with rounding errors.
  template <class T> memory& add_real(extent n) {
    bytes.emplace_back(std::size_t(n) * sizeof(T));
    T* p = reinterpret_cast<T*>(bytes.back().data());
    std::uniform_real_distribution<double> d(-1, 1);
    for (extent i = 0; i < n; ++i) p[i] = T(d(random));
    return *this;
  }
  void* const* data() {
    pointers.clear();
    for (auto& b : bytes) pointers.push_back(b.data());
    return pointers.data();
  }
};

/// Whether a kernel leaves in memory what the reference leaves, for several numbers of threads.
template <class K> bool agrees(const memory& m, const std::vector<extent>& slots = {}) {
  memory expected = m;
  reference<K>{expected.data(), slots.data()}.run();
  bool same = true;
  for (int threads : {1, 3}) {
    memory got = m;
    ct::set_num_threads(threads);
    ct::host::run<typename K::type>(got.data(), slots.data());
    for (std::size_t i = 0; i < got.bytes.size(); ++i)
      if (got.bytes[i] != expected.bytes[i]) {
        UNSCOPED_INFO("buffer " << i << ", " << threads << " threads");
        same = false;
      }
  }
  return same;
}

/// Whether a kernel leaves the same bits for every number of threads.
template <class K> bool reproducible(const memory& m, const std::vector<extent>& slots = {}) {
  memory first = m;
  ct::set_num_threads(1);
  ct::host::run<typename K::type>(first.data(), slots.data());
  for (int threads : {2, 3, 4}) {
    memory got = m;
    ct::set_num_threads(threads);
    ct::host::run<typename K::type>(got.data(), slots.data());
    if (got.bytes != first.bytes) return false;
  }
  return true;
}

template <class T, extent N>
using line = kernel<space<N>, written::load<T, 0, access<0, 1>>, written::load<T, 1, access<0, 1>>, written::apply<mul, T, 0, 1>, written::apply<add, T, 2, 0>,
                    written::store<T, 2, 3, access<0, 1>>>;

template <class T, extent N> void check_line() {
  INFO("extent " << N << ", element size " << sizeof(T));
  CHECK(agrees<line<T, N>>(memory().add<T>(N).template add<T>(N).template add<T>(N)));
}
template <class T> void check_lines() {
  check_line<T, 0>(), check_line<T, 1>(), check_line<T, 2>(), check_line<T, 3>(), check_line<T, 5>(), check_line<T, 8>(), check_line<T, 13>();
  check_line<T, 16>(), check_line<T, 17>(), check_line<T, 65>(), check_line<T, 1000>(), check_line<T, 300007>();
  for (extent n : {0, 1, 7, 8, 33, 4099, 300007}) {
    INFO("dynamic extent " << n);
    CHECK(agrees<line<T, slot(0)>>(memory().add<T>(n).template add<T>(n).template add<T>(n), {n}));
  }
}

/// Reductions over every subset of three dimensions, a store, and the sum of everything, at once.
constexpr extent kept(int mask, int d, extent stride) { return mask >> d & 1 ? 0 : stride; }
template <class T, class Op, int M, extent A, extent B, extent C> constexpr auto reduce_dims() {
  constexpr extent sc = 1, sb = M & 4 ? 1 : C, sa = sb * (M & 2 ? 1 : B);
  return written::reduce<Op, T, M + 1, 1, access<0, kept(M, 0, sa), kept(M, 1, sb), kept(M, 2, sc)>>{};
}
template <class T, class Op, extent A, extent B, extent C>
using every_reduction =
    kernel<space<A, B, C>, written::load<T, 0, access<0, B * C, C, 1>>, written::apply<add, T, 0, 0>, written::store<T, 1, 1, access<0, B * C, C, 1>>,
           decltype(reduce_dims<T, Op, 1, A, B, C>()), decltype(reduce_dims<T, Op, 2, A, B, C>()), decltype(reduce_dims<T, Op, 3, A, B, C>()),
           decltype(reduce_dims<T, Op, 4, A, B, C>()), decltype(reduce_dims<T, Op, 5, A, B, C>()), decltype(reduce_dims<T, Op, 6, A, B, C>()),
           decltype(reduce_dims<T, Op, 7, A, B, C>())>;
template <class T, class Op, int M, extent A, extent B, extent C>
using one_reduction = kernel<space<A, B, C>, written::load<T, 0, access<0, B * C, C, 1>>, written::apply<add, T, 0, 0>, decltype(reduce_dims<T, Op, M, A, B, C>())>;

template <class T> memory reduction_memory(extent a, extent b, extent c, int lowest = -4, int greatest = 4) {
  memory m;
  m.add<T>(a * b * c, lowest, greatest).template add<T>(a * b * c);
  for (int k = 1; k < 8; ++k) m.template add<T>((k & 1 ? 1 : a) * (k & 2 ? 1 : b) * (k & 4 ? 1 : c));
  return m;
}
template <class T, class Op, extent A, extent B, extent C> void check_every_reduction() {
  INFO("[" << A << "," << B << "," << C << "], element size " << sizeof(T));
  CHECK(agrees<every_reduction<T, Op, A, B, C>>(reduction_memory<T>(A, B, C)));
}
template <class T, extent A, extent B, extent C, int... M> void check_each_reduction(std::integer_sequence<int, M...>) {
  INFO("[" << A << "," << B << "," << C << "], element size " << sizeof(T));
  CHECK((agrees<one_reduction<T, sum, M + 1, A, B, C>>(reduction_memory<T>(A, B, C)) && ...));
}

}  // namespace

TEST_CASE("a kernel over a line matches a loop for every extent and type") {
  check_lines<float>();
  check_lines<double>();
  check_lines<std::int32_t>();
  check_lines<std::int64_t>();
}

TEST_CASE("bool arrays are masks in registers") {
  using flags = kernel<space<slot(0)>, written::load<bool, 0, access<0, 1>>, written::load<bool, 1, access<0, 1>>, written::apply<exclusive, bool, 0, 1>,
                       written::store<bool, 2, 2, access<0, 1>>, written::reduce<any_of, bool, 3, 2, access<0, 0>>>;
  for (extent n : {0, 1, 5, 16, 100, 300000}) CHECK(agrees<flags>(memory().add<bool>(n).add<bool>(n).add<bool>(n).add<bool>(1), {n}));
}

TEST_CASE("types mix in one kernel") {
  using mixed = kernel<space<slot(0)>, written::load<float, 0, access<0, 1>>, written::load<double, 1, access<0, 1>>, written::load<std::int32_t, 2, access<0, 1>>,
                       written::apply<cast<double>, double, 0>, written::apply<less, bool, 1, 3>, written::apply<cast<float>, float, 2>,
                       written::apply<choose, float, 4, 0, 5>, written::store<float, 3, 6, access<0, 1>>, written::store<bool, 4, 4, access<0, 1>>,
                       written::reduce<any_of, bool, 5, 4, access<0, 0>>, written::reduce<sum, float, 6, 6, access<0, 0>>,
                       written::reduce<greatest, double, 7, 3, access<0, 0>>, written::reduce<sum, std::int32_t, 8, 2, access<0, 0>>>;
  for (extent n : {0, 1, 7, 8, 100, 200001})
    CHECK(agrees<mixed>(memory().add<float>(n).add<double>(n).add<std::int32_t>(n).add<float>(n).add<bool>(n).add<bool>(1).add<float>(1).add<double>(1).add<std::int32_t>(1), {n}));
}

TEST_CASE("constants and indices") {
  using indices = kernel<space<3, 1, 50>, written::index<std::int32_t, access<0, 1, 0, 0>>, written::index<std::int32_t, access<0, 0, 0, 1>>, written::index<std::int32_t, access<0, 0, 1, 0>>,
                         written::constant<std::int32_t, 7>, written::apply<mul, std::int32_t, 0, 3>, written::apply<add, std::int32_t, 4, 1>,
                         written::apply<add, std::int32_t, 5, 2>, written::store<std::int32_t, 0, 6, access<0, 50, 50, 1>>>;
  CHECK(agrees<indices>(memory().add<std::int32_t>(150)));
  // The number of a point, of which dimensions are merged, and other sums of indices.
  using numbers = kernel<space<7, 33>, written::index<std::int32_t, access<0, 33, 1>>, written::store<std::int32_t, 0, 0, access<0, 33, 1>>>;
  static_assert(ct::kernels::layout_of<numbers::type>::dims.rank == 1);
  CHECK(agrees<numbers>(memory().add<std::int32_t>(231)));
  using sums = kernel<space<slot(0), 33>, written::index<float, access<100, slot(1), -2>>, written::index<double, access<5, 1, 0>>, written::apply<cast<float>, float, 1>,
                      written::apply<add, float, 0, 2>, written::store<float, 0, 3, access<0, 33, 1>>>;
  for (extent n : {0, 1, 9}) CHECK(agrees<sums>(memory().add<float>(33 * n), {n, 3}));
  using half = kernel<space<20>, written::load<float, 0, access<0, 1>>, written::constant<float, 0x3f000000>, written::apply<mul, float, 0, 1>,
                      written::store<float, 1, 2, access<0, 1>>>;
  CHECK(agrees<half>(memory().add<float>(20).add<float>(20)));
  using fill = kernel<space<20>, written::constant<bool, 1>, written::store<bool, 0, 0, access<0, 1>>>;
  CHECK(agrees<fill>(memory().add<bool>(20)));
}

TEST_CASE("a kernel over one point") {
  using point = kernel<space<>, written::load<float, 0, access<2>>, written::load<float, 1, access<0>>, written::apply<mul, float, 0, 1>,
                       written::store<float, 2, 2, access<0>>, written::reduce<sum, float, 3, 2, access<0>>>;
  CHECK(agrees<point>(memory().add<float>(3).add<float>(1).add<float>(1).add<float>(1)));
}

TEST_CASE("loads may be transposed, broadcast, reversed or strided") {
  using views = kernel<space<9, 21>, written::load<float, 0, access<0, 1, 9>>, written::load<float, 1, access<0, 0, 1>>, written::load<float, 2, access<0, 1, 0>>,
                       written::load<float, 3, access<20, 21, -1>>, written::load<float, 4, access<3, 63, 3>>, written::load<float, 5, access<4, 0, 0>>,
                       written::apply<add, float, 0, 1>, written::apply<mul, float, 6, 2>, written::apply<add, float, 7, 3>, written::apply<add, float, 8, 4>,
                       written::apply<add, float, 9, 5>, written::store<float, 6, 10, access<0, 21, 1>>, written::store<float, 7, 9, access<0, 1, 9>>>;
  CHECK(agrees<views>(memory().add<float>(189).add<float>(21).add<float>(9).add<float>(189).add<float>(600).add<float>(5).add<float>(189).add<float>(189)));
  using dynamic = kernel<space<slot(0), slot(1)>, written::load<double, 0, access<0, 1, slot(0)>>, written::load<double, 1, access<0, slot(1), 1>>,
                         written::apply<add, double, 0, 1>, written::store<double, 2, 2, access<0, slot(1), 1>>>;
  for (auto [a, b] : {std::pair<extent, extent>{1, 1}, {5, 33}, {300, 700}, {0, 4}, {4, 0}})
    CHECK(agrees<dynamic>(memory().add<double>(a * b).add<double>(a * b).add<double>(a * b), {a, b}));
}

TEST_CASE("gather and scatter follow index registers") {
  using gather = kernel<space<31, 10>, written::load<std::int32_t, 0, access<0, 1, 0>>, written::load<float, 1, access<0, 0, 1>, indexed<0, 10>>,
                        written::load<std::int64_t, 2, access<0, 10, 1>>, written::load<float, 1, access<1, 0, 0>, indexed<2, 10>, indexed<0, 1>>,
                        written::apply<add, float, 1, 3>, written::store<float, 3, 4, access<0, 10, 1>>>;
  CHECK(agrees<gather>(memory().add<std::int32_t>(31, 0, 7).add<float>(100).add<std::int64_t>(310, 0, 8).add<float>(310)));
  using scatter = kernel<space<200000>, written::load<std::int32_t, 0, access<0, 1>>, written::load<float, 1, access<0, 1>>,
                         written::store<float, 2, 1, access<0, 0>, indexed<0, 1>>>;
  CHECK(agrees<scatter>(memory().add<std::int32_t>(200000, 0, 99).add<float>(200000).add<float>(100)));
}

TEST_CASE("an output may be the memory of an input") {
  std::vector<float> x(100003), expected(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(i % 11), expected[i] = x[i] * x[i] + x[i];
  void* buffers[] = {x.data(), x.data(), x.data()};
  const extent n[] = {extent(x.size())};
  ct::host::run<line<float, slot(0)>::type>(buffers, n);
  CHECK(x == expected);
}

TEST_CASE("every reduction of three dimensions at once") {
  check_every_reduction<float, sum, 2, 3, 5>();
  check_every_reduction<float, sum, 5, 7, 19>();
  check_every_reduction<float, greatest, 4, 1, 33>();
  check_every_reduction<double, sum, 3, 17, 8>();
  check_every_reduction<std::int32_t, sum, 1, 6, 16>();
  check_every_reduction<std::int64_t, greatest, 6, 5, 1>();
  check_every_reduction<float, sum, 0, 3, 4>();
  check_every_reduction<float, sum, 3, 0, 4>();
  check_every_reduction<float, sum, 3, 4, 0>();
  check_every_reduction<float, sum, 70, 130, 100>();
  check_every_reduction<double, sum, 2, 3, 70000>();
  check_every_reduction<float, greatest, 50000, 3, 5>();
}

TEST_CASE("each reduction of three dimensions alone") {
  constexpr auto masks = std::make_integer_sequence<int, 7>();
  check_each_reduction<float, 5, 7, 19>(masks);
  check_each_reduction<double, 70, 130, 100>(masks);
  check_each_reduction<float, 2, 3, 70000>(masks);
  check_each_reduction<float, 50000, 3, 5>(masks);
  check_each_reduction<std::int32_t, 1, 300000, 1>(masks);
}

TEST_CASE("reductions of run-time extents") {
  // slots: the extents, then the strides b c, c
  using dynamic = kernel<space<slot(0), slot(1), slot(2)>, written::load<float, 0, access<0, slot(3), slot(2), 1>>,
                         written::reduce<sum, float, 1, 0, access<0, 0, slot(2), 1>>, written::reduce<sum, float, 2, 0, access<0, slot(1), 1, 0>>,
                         written::reduce<sum, float, 3, 0, access<0, 0, 0, 0>>, written::reduce<greatest, float, 4, 0, access<0, 1, 0, slot(0)>>>;
  for (auto [a, b, c] : {std::tuple<extent, extent, extent>{1, 1, 1}, {3, 4, 5}, {0, 2, 3}, {2, 0, 3}, {2, 3, 0}, {40, 50, 200}, {300, 2, 1000}})
    CHECK(agrees<dynamic>(memory().add<float>(a * b * c).add<float>(b * c).add<float>(a * b).add<float>(1).add<float>(a * c), {a, b, c, b * c}));
}

TEST_CASE("results are bitwise the same for every number of threads") {
  memory m;
  m.add_real<float>(70 * 130 * 100).add_real<float>(70 * 130 * 100);
  for (int k = 1; k < 8; ++k) m.add_real<float>((k & 1 ? 1 : 70) * (k & 2 ? 1 : 130) * (k & 4 ? 1 : 100));
  CHECK(reproducible<every_reduction<float, sum, 70, 130, 100>>(m));
  using total = kernel<space<slot(0)>, written::load<float, 0, access<0, 1>>, written::reduce<sum, float, 1, 0, access<0, 0>>>;
  CHECK(reproducible<total>(memory().add_real<float>(3000001).add_real<float>(1), {3000001}));
  using columns = kernel<space<slot(0), 37>, written::load<float, 0, access<0, 37, 1>>, written::reduce<sum, float, 1, 0, access<0, 0, 1>>>;
  CHECK(reproducible<columns>(memory().add_real<float>(37 * 40000).add_real<float>(37), {40000}));
}

TEST_CASE("a sum of many floats keeps its accuracy") {
  using total = kernel<space<slot(0)>, written::load<float, 0, access<0, 1>>, written::reduce<sum, float, 1, 0, access<0, 0>>>;
  const extent n = extent(1) << 22;
  std::vector<float> x(std::size_t(n), 0.1f), y(1);
  void* buffers[] = {x.data(), y.data()};
  ct::host::run<total::type>(buffers, &n);
  const double exact = double(0.1f) * double(n);
  CHECK(std::abs(y[0] / exact - 1) < 1e-6);
}

TEST_CASE("run_rows runs a range of the outermost dimension") {
  using rows = kernel<space<slot(0), 24>, written::load<float, 0, access<0, 24, 1>>, written::load<float, 1, access<0, 0, 1>>, written::apply<add, float, 0, 1>,
                      written::store<float, 2, 2, access<0, 24, 1>>, written::reduce<sum, float, 3, 2, access<0, 1, 0>>>;
  using flat = kernel<space<slot(0), 24>, written::load<float, 0, access<0, 24, 1>>, written::store<float, 2, 0, access<0, 24, 1>>>;
  const extent n[] = {50};
  const memory m = memory().add<float>(50 * 24).add<float>(24).add<float>(50 * 24).add<float>(50);
  memory whole = m, parts = m, untouched = m;
  ct::host::run<rows::type>(whole.data(), n);
  for (auto [a, b] : {std::pair<extent, extent>{0, 7}, {7, 7}, {7, 49}, {49, 50}}) ct::host::run_rows<rows::type>(parts.data(), n, a, b);
  CHECK(whole.bytes == parts.bytes);
  whole = m;
  ct::host::run_rows<flat::type>(whole.data(), n, 3, 20);
  const float* to = static_cast<const float*>(whole.data()[2]);
  const float* from = static_cast<const float*>(whole.data()[0]);
  const float* before = static_cast<const float*>(untouched.data()[2]);
  bool right = true;
  for (extent i = 0; i < 50 * 24; ++i) right = right && to[i] == (i >= 3 * 24 && i < 20 * 24 ? from[i] : before[i]);
  CHECK(right);
}

}  // namespace kernel_tests
