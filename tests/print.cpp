#include "catch.hpp"

#include <limits>
#include <sstream>

#include <cotangent/core/print.hpp>

namespace ct = cotangent;

template <class A> std::string printed(const A& a) {
  std::ostringstream out;
  out << a;
  return out.str();
}

// The expected texts are str() of the same arrays in NumPy 2.4.

TEST_CASE("floats print with as many digits as they need, aligned") {
  CHECK(printed(ct::array<float, 2, 2>{{1, 2}, {3, 4}}) == "[[1. 2.]\n [3. 4.]]");
  CHECK(printed(ct::array<float, 3>{0.1, -2.25, 100}) == "[  0.1   -2.25 100.  ]");
  CHECK(printed(ct::array<double, 2>{1.0 / 3, 2}) == "[0.33333333 2.        ]");
  CHECK(printed(ct::array<float, 2>{16777216, 1}) == "[1.6777216e+07 1.0000000e+00]");
  CHECK(printed(ct::array<double, 2>{1e-5, 1}) == "[1.e-05 1.e+00]");
  CHECK(printed(ct::array<ct::half, 2>{0.1, 1}) == "[0.1 1. ]");
  CHECK(printed(ct::array<float, 2>{-0.0, 0.0}) == "[-0.  0.]");
}

TEST_CASE("infinities and NaNs print aligned") {
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(printed(ct::array<float, 4>{1, inf, -inf, std::numeric_limits<float>::quiet_NaN()}) == "[  1.  inf -inf  nan]");
}

TEST_CASE("bools, integers and complex numbers") {
  CHECK(printed(ct::array<bool, 2>{true, false}) == "[ True False]");
  CHECK(printed(ct::array<std::int8_t, 3>{1, -20, 3}) == "[  1 -20   3]");
  using c = std::complex<float>;
  CHECK(printed(ct::array<c, 2>{c(1, 2), c(-1.5, -0.25)}) == "[ 1. +2.j   -1.5-0.25j]");
}

TEST_CASE("rank 0 prints as a number") {
  CHECK(printed(ct::array<float>(2)) == "2.0");
  CHECK(printed(ct::array<double>(1e-7)) == "1e-07");
  CHECK(printed(ct::array<int>(-3)) == "-3");
  CHECK(printed(ct::array<bool>(true)) == "True");
  CHECK(printed(ct::array<std::complex<double>>(std::complex<double>(1, -2))) == "(1-2j)");
}

TEST_CASE("long rows wrap, large arrays are summarized, empty ones are brackets") {
  CHECK(printed(ct::arange<int, 30>()) ==
        "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n 24 25 26 27 28 29]");
  CHECK(printed(ct::arange<int, 1001>()) == "[   0    1    2 ...  998  999 1000]");
  CHECK(printed(ct::zeros<float, 40, 40>()) ==
        "[[0. 0. 0. ... 0. 0. 0.]\n [0. 0. 0. ... 0. 0. 0.]\n [0. 0. 0. ... 0. 0. 0.]\n ...\n"
        " [0. 0. 0. ... 0. 0. 0.]\n [0. 0. 0. ... 0. 0. 0.]\n [0. 0. 0. ... 0. 0. 0.]]");
  CHECK(printed(ct::zeros<float, 2, 1, 2>()) == "[[[0. 0.]]\n\n [[0. 0.]]]");
  CHECK(printed(ct::array<float, 0>()) == "[]");
  const ct::array<float, 2> a{1.f, 2.f};
  CHECK(printed(ct::view(a)) == "[1. 2.]");
}
