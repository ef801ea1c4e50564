#include "catch.hpp"

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include <cotangent/core/array.hpp>

namespace ct = cotangent;

using three = ct::array<float, 3>;
using big = ct::array<float, 100, 100>;
using points = ct::array<double, ct::dyn, 3>;

static_assert(std::regular<three> && std::regular<big> && std::regular<points> && std::regular<ct::array<float>>);
static_assert(std::is_trivially_copyable_v<three> && std::is_trivially_copyable_v<ct::array<std::complex<double>, 8, 8>>);
static_assert(!std::is_trivially_copyable_v<big>, "above 1 KiB an array is on the heap");
static_assert(sizeof(ct::array<float>) == 4 && alignof(three) == 64 && sizeof(ct::array<double, 128>) == 1024);
static_assert(sizeof(ct::view<float, 3, 4>) == sizeof(float*), "static extents take no room");
static_assert(three::rank() == 1 && three().rank() == 1);
static_assert(ct::array<float, 2, 2>{{1, 2}, {3, 4}}(1, 0) == 3, "inline arrays work in constant expressions");
static_assert(ct::eye<float, 2, 3>() == ct::array<float, 2, 3>{{1, 0, 0}, {0, 1, 0}});
static_assert(ct::ones<double, 40, 40>()(39, 39) == 1, "larger ones do too");
static_assert(std::is_convertible_v<ct::array<float, 3>, ct::array<float, ct::dyn>>);
static_assert(!std::is_convertible_v<ct::array<float, ct::dyn>, ct::array<float, 3>>, "a checked conversion is explicit");
static_assert(!std::is_constructible_v<ct::array<float, 4>, ct::array<float, 3>>);
static_assert(!std::is_constructible_v<ct::array<int, 2>, double, double>, "a floating number is not an integer element");
static_assert(!std::is_constructible_v<ct::view<float, 3>, const three&> && std::is_constructible_v<ct::view<const float, 3>, const three&>);
static_assert(!std::is_constructible_v<ct::view<float, ct::dyn>, std::vector<float>>, "a temporary is viewed only as const");
static_assert(!std::is_constructible_v<ct::view<float, ct::dyn>, std::vector<double>&>);

TEST_CASE("a new array is zero, aligned and row-major") {
  ct::array<float, 3, 4> a;
  CHECK(std::uintptr_t(a.data()) % 64 == 0);
  CHECK(a.size() == 12);
  CHECK(a.shape() == ct::shape{3, 4});
  for (float x : a) CHECK(x == 0);
  a(1, 2) = 5;
  CHECK(a.data()[6] == 5);
  big b;
  CHECK(std::uintptr_t(b.data()) % 64 == 0);
  for (float x : b) REQUIRE(x == 0);
  const ct::array<float, 1024, 1024> huge;
  CHECK(std::uintptr_t(huge.data()) % (2 << 20) == 0);
  CHECK(huge(1023, 1023) == 0);
}

TEST_CASE("run-time extents are given as the full shape") {
  const int n = 5;
  points p({n, 3});
  CHECK(p.shape() == ct::shape{5, 3});
  CHECK(p.extent(0) == 5);
  CHECK(p.extent(-1) == 3);
  CHECK(p(4, 2) == 0);
  CHECK(points().size() == 0);
  CHECK(points().shape() == ct::shape{0, 3});
  CHECK(ct::array<double, ct::dyn>({n}).size() == 5);
  CHECK(ct::array<double, ct::dyn>({std::vector<int>(4).size()}).size() == 4);
  CHECK(ct::array<float, 3>({3}).size() == 3);
  CHECK(ct::array<float, ct::dyn, ct::dyn>({0, 7}).empty());
}

TEST_CASE("a shape that does not fit the type is named in the error") {
  CHECK_THROWS_WITH(points({4, 4}), "array<float64,[?,3]>: extent 1 is 3 in the type but 4 was given");
  CHECK_THROWS_WITH(points({-2, 3}), "array<float64,[?,3]>: extent 0 is -2 and an extent cannot be negative");
  CHECK_THROWS_WITH(points({2, 3, 4}), "array<float64,[?,3]>: the type has rank 2 but a shape of rank 3 was given");
  CHECK_THROWS_WITH((ct::array<float, ct::dyn, ct::dyn>({ct::extent(1) << 40, ct::extent(1) << 40})),
                    "array<float32,[?,?]>: [1099511627776,1099511627776] has more elements than can be addressed");
  CHECK_THROWS_WITH((ct::array<double, ct::dyn, ct::dyn>({1, 1, 1, 1, 1, 1, 1, 1, 1})), "shape: more than 8 extents");
  CHECK_THROWS_AS(points({4, 4}), ct::shape_error);
  CHECK_THROWS_AS(points({4, 4}), ct::error);
  CHECK_THROWS_AS(points({4, 4}), std::runtime_error);
}

TEST_CASE("nested lists fill an array and deduce its run-time extents") {
  const ct::array<float, 2, 2> m{{1, 2}, {3, 4}};
  CHECK(m(0, 1) == 2);
  CHECK(m(1, 0) == 3);
  const int i = 7;
  CHECK(three{1, i, 2.5}(1) == 7);
  const ct::array<int, ct::dyn, ct::dyn> d{{1, 2, 3}, {4, 5, 6}};
  CHECK(d.shape() == ct::shape{2, 3});
  CHECK(d(1, 2) == 6);
  CHECK(ct::array<double, ct::dyn>{1, 2, 3, 4}.size() == 4);
  CHECK(ct::array<int, 2, 1, 2>{{{1, 2}}, {{3, 4}}}(1, 0, 0) == 3);
  CHECK(ct::array<int, 1, 2, 1, 2>{{{{1, 2}}, {{3, 4}}}}(0, 1, 0, 1) == 4);
  CHECK(ct::array<bool, 2>{true, false}(0));
  CHECK(ct::array<ct::half, 2>{1, 2.5}(1) == 2.5f);
  CHECK(ct::array<std::complex<float>, 2>{1, std::complex<float>(0, 1)}(1).imag() == 1);
  using square = ct::array<float, 2, 2>;
  CHECK_THROWS_WITH((square{{1, 2}, {3}}), "array<float32,[2,2]>: a ragged list: the first list along axis 1 has 2 entries and another has 1");
  CHECK_THROWS_WITH((square{{1, 2}}), "array<float32,[2,2]>: extent 0 is 2 in the type but 1 was given");
  CHECK_THROWS_WITH((three{1, 2}), "array<float32,[3]>: extent 0 is 3 in the type but 2 was given");
}

TEST_CASE("rank 0 converts to and from its element") {
  ct::array<float> s = 2.0f;
  const float x = s;
  CHECK(x == 2);
  CHECK(s == 2);
  CHECK(s == 2.0);
  s = 3;
  CHECK(s + 1 == 4);
  CHECK(s() == 3);
  CHECK(s.size() == 1);
  CHECK(s.shape() == ct::shape{});
}

TEST_CASE("copies are deep, moved-from arrays are empty and can be assigned") {
  big a = ct::full<float, 100, 100>(3), b = a;
  b(0, 0) = 4;
  CHECK(a(0, 0) == 3);
  CHECK(!(a == b));
  const float* block = a.data();
  big c = std::move(a);
  CHECK(c.data() == block);
  CHECK(a.data() == nullptr);
  CHECK(a.begin() == a.end());
  big still_empty = a;
  CHECK(still_empty == a);
  a = c;
  CHECK(a == c);
  points p({4, 3}), q = std::move(p);
  CHECK(p.size() == 0);
  CHECK(p.shape() == ct::shape{0, 3});
  CHECK(q.extent(0) == 4);
  p = points({2, 3});
  CHECK(p.size() == 6);
  p = q;
  CHECK(p.size() == 12);
  points& self = p;
  p = self;
  p = std::move(self);
  CHECK(p.size() == 12);
}

TEST_CASE("arrays of the same rank convert between static and run-time extents") {
  const ct::array<double, 2, 3> s{{1, 2, 3}, {4, 5, 6}};
  const points p = s;
  CHECK(p.shape() == s.shape());
  CHECK(p(1, 2) == 6);
  CHECK(ct::array<double, 2, 3>(p) == s);
  CHECK_THROWS_WITH((ct::array<double, 4, 3>(p)), "array<float64,[4,3]>: extent 0 is 4 in the type but 2 was given");
}

TEST_CASE("at checks its indices") {
  ct::array<int, 2, 3> a;
  a.at(1, 2) = 5;
  CHECK(a(1, 2) == 5);
  CHECK_THROWS_WITH(a.at(1, 3), "at: index [1,3] is out of range for [2,3]");
  CHECK_THROWS_WITH(a.at(-1, 0), "at: index [-1,0] is out of range for [2,3]");
  CHECK_THROWS_WITH(a.extent(2), "extent: axis 2 is out of range for rank 2 ([2,3])");
  CHECK_THROWS_AS(std::as_const(a).at(2, 0), ct::shape_error);
  CHECK_THROWS_AS((ct::view(a).at(2, 0)), ct::shape_error);
}

TEST_CASE("an array is a contiguous range") {
  ct::array<int, 2, 2> a{{1, 2}, {3, 4}};
  const std::span s(a);
  CHECK(s.size() == 4);
  CHECK(s[3] == 4);
}

TEST_CASE("zeros, ones, full, eye, arange, linspace") {
  CHECK(ct::zeros<float, 2>() == ct::array<float, 2>{0, 0});
  CHECK(ct::ones<int, ct::dyn, 2>({3, 2}) == ct::array<int, 3, 2>{{1, 1}, {1, 1}, {1, 1}});
  CHECK(ct::full<float, ct::dyn>({2}, 5) == ct::array<float, 2>{5, 5});
  CHECK(ct::zeros<double, ct::dyn, 3>({4, 3}).size() == 12);
  CHECK(ct::arange<int, 4>() == ct::array<int, 4>{0, 1, 2, 3});
  CHECK(ct::linspace<double, 5>(0, 1) == ct::array<double, 5>{0, 0.25, 0.5, 0.75, 1});
  CHECK(ct::linspace<float, 7>(0, 0.3)(6) == 0.3f);
  CHECK(ct::linspace<float, 1>(2, 3) == ct::array<float, 1>{2.f});
  CHECK(ct::eye<double, 20>()(19, 19) == 1);
}

TEST_CASE("a view reads and writes what others own") {
  ct::array<float, 2, 3> a;
  ct::view<float, 2, 3> v = a;
  v(1, 0) = 4;
  CHECK(a(1, 0) == 4);
  const ct::view<const float, ct::dyn, 3> c = v;
  CHECK(c.shape() == ct::shape{2, 3});
  CHECK(ct::array<float, 2, 3>(c) == a);
  float raw[6] = {0, 1, 2, 3, 4, 5};
  int n = 2;
  CHECK(ct::view<const float, ct::dyn, 3>(raw, {n, 3})(1, 1) == 4);
  CHECK(ct::view<float, 3, 2>(raw)(1, 1) == 3);
  CHECK_THROWS_WITH((ct::view<float, ct::dyn, 3>(raw, {2, 2})), "view<float32,[?,3]>: extent 1 is 3 in the type but 2 was given");
  CHECK_THROWS_WITH((ct::view<const float, 3, 3>(c)), "view<float32,[3,3]>: extent 0 is 3 in the type but 2 was given");
}

TEST_CASE("a view of std::vector, std::span and std::array") {
  std::vector<float> x{0, 1, 2, 3, 4, 5};
  CHECK(ct::view<float, ct::dyn>(x).size() == 6);
  CHECK(ct::view<const float, 2, 3>(std::as_const(x))(1, 2) == 5);
  CHECK(ct::view<float, ct::dyn, 3>(x, {2, 3})(1, 0) == 3);
  CHECK(ct::view<const float, 6>(std::span<const float>(x))(5) == 5);
  std::array<double, 3> y{};
  CHECK(ct::view<double, 3>(y).data() == y.data());
  CHECK_THROWS_WITH((ct::view<float, 2, 2>(x)), "view<float32,[2,2]>: 4 elements are needed but 6 were given");
  CHECK_THROWS_WITH((ct::view<float, ct::dyn, 3>(x, {3, 3})), "view<float32,[3,3]>: 9 elements are needed but 6 were given");
}

TEST_CASE("a view of Eigen: column-major appears transposed") {
  Eigen::Matrix<float, 3, Eigen::Dynamic> columns(3, 2);
  columns << 1, 2, 3, 4, 5, 6;
  const ct::view<const float, ct::dyn, 3> v(columns);
  CHECK(v.shape() == ct::shape{2, 3});
  CHECK(v(1, 0) == 2);
  Eigen::Matrix<double, 2, 3, Eigen::RowMajor> rows;
  rows << 1, 2, 3, 4, 5, 6;
  ct::view<double, 2, 3> w(rows);
  w(0, 1) = 9;
  CHECK(rows(0, 1) == 9);
  Eigen::VectorXf x = Eigen::VectorXf::LinSpaced(4, 0, 3);
  CHECK(ct::view<float, ct::dyn>(x)(3) == 3);
  const Eigen::Map<Eigen::VectorXf> map(x.data(), 4);
  CHECK(ct::view<const float, 4>(map)(2) == 2);
  CHECK_THROWS_WITH((ct::view<const float, 5>(x)), "view<float32,[5]>: extent 0 is 5 in the type but 4 was given");
  Eigen::MatrixXf square = Eigen::MatrixXf::Zero(4, 4);
  const Eigen::Map<Eigen::MatrixXf, 0, Eigen::OuterStride<>> part(square.data(), 2, 2, Eigen::OuterStride<>(4));
  CHECK_THROWS_WITH((ct::view<const float, 2, 2>(part)), "view<float32,[2,2]>: the elements given are not contiguous; copy them first");
}

struct fake_mdspan {
  double* p;
  std::size_t n, leading;
  static constexpr int rank() { return 2; }
  double* data_handle() const { return p; }
  std::size_t extent(std::size_t k) const { return k ? 3 : n; }
  std::size_t stride(std::size_t k) const { return k ? 1 : leading; }
};

TEST_CASE("a view of an mdspan") {
  double raw[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  CHECK(ct::view<double, ct::dyn, 3>(fake_mdspan{raw, 2, 3})(1, 1) == 4);
  CHECK_THROWS_WITH((ct::view<double, ct::dyn, 3>(fake_mdspan{raw, 2, 4})),
                    "view<float64,[?,3]>: the elements given are not contiguous; copy them first");
}

TEST_CASE("a freed block is reused for the next array of its size") {
  const void* first;
  {
    const points p({1000, 3});
    first = p.data();
  }
  {
    const points p({1000, 3});
    CHECK(p.data() == first);
    CHECK(p(999, 2) == 0);
  }
  for (int i = 1; i < 200; ++i) points({i, 3});
  CHECK(ct::this_thread_blocks.count <= ct::block_cache::max_blocks);
  ct::clear_block_cache();
  CHECK(ct::this_thread_blocks.bytes == 0);
  { const ct::array<float, ct::dyn> larger_than_the_cache(ct::uninitialized, {70 << 20}); }
  CHECK(ct::this_thread_blocks.bytes == 0);
}

TEST_CASE("large arrays made one after the other begin at different places of their pages") {
  for (ct::extent n : {1 << 14, (1 << 14) + 1, 1 << 18, (1 << 19) - 1, 1 << 19, 1 << 20}) {
    ct::clear_block_cache();
    const ct::array<float, ct::dyn> some[] = {ct::array<float, ct::dyn>({n}), ct::array<float, ct::dyn>({n}), ct::array<float, ct::dyn>({n})};
    std::uintptr_t places[3];
    for (int i = 0; i < 3; ++i) {
      places[i] = std::uintptr_t(some[i].data()) % 4096;
      CHECK(places[i] % 64 == 0);
      CHECK((some[i](0) == 0 && some[i](n - 1) == 0));
    }
    CHECK((places[0] != places[1] && places[0] != places[2] && places[1] != places[2]));
  }
}

TEST_CASE("an array may be freed on another thread") {
  for (int i = 0; i < 8; ++i) {
    points p({1000, 3});
    std::thread([q = std::move(p)]() mutable { q = points({500, 3}); }).join();
  }
}

namespace {
points outlives_the_cache({100, 3});
}
TEST_CASE("a static array outlives the thread's blocks") { outlives_the_cache = points({200, 3}); }
