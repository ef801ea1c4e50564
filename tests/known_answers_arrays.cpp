// The groups indexing, numpy and nn of known_answers_table.hpp. What the library has no name for is written out.
#include "known_answers_table.hpp"

namespace ct = cotangent;
using known::argument;
using known::check;
using known::number;

TEST_CASE("known answers: indexing") {
  const auto five = ct::arange<float, 5>();
  check("indexing.dynamic_slice_clamp", ct::jit([](auto x) { return ct::dynamic_slice<3>(x, 4); })(ct::arange<int, 5>()));
  check("indexing.oob_fill", ct::jit([](auto x, auto i) { return ct::take<0>(x, i); })(ct::arange<float, 10>(), 11));
  check("indexing.at_add_oob_drop", ct::jit([](auto x, auto i) { return ct::at(x, i).add(10); })(five, 10));
  check("indexing.at_neg", ct::jit([](auto x) { return ct::at(x, -1).set(99); })(five));
  check("indexing.take_fill_default",
        ct::jit([](auto x, auto i) { return ct::take<0>(x, i); })(ct::array<float, 2, 3>{{1, 2, 3}, {4, 5, 6}}, ct::array<int, 2>{2, 0}));
  check("indexing.scatter_add", ct::jit([](auto x, auto i, auto u) { return ct::at(x, i).add(u); })(
                                    ct::ones<float, 5>(), ct::array<int, 3>{1, 2, 4}, ct::array<float, 3>{2, 3, 4}));
  check("indexing.segment_sum", ct::jit([](auto x, auto i) { return ct::at(ct::zeros_like(x(ct::range<0, 3>)), i).add(x); })(
                                    ct::arange<int, 5>(), ct::array<int, 5>{0, 0, 1, 1, 2}));
  check("indexing.segment_prod", ct::jit([](auto x, auto i) { return ct::at(ct::ones_like(x(ct::range<0, 3>)), i).multiply(x); })(
                                    ct::arange<int, 6>(), ct::array<int, 6>{0, 0, 1, 1, 2, 2}));
  check("indexing.pad_negative", ct::jit([](auto x) { return ct::pad<ct::low<-1>, ct::high<-2>>(x, 0); })(ct::array<int, 5>{1, 2, 3, 4, 5}));
  check("indexing.round_even", ct::jit([](auto x) { return ct::round(x); })(ct::array<float, 4>{10.5, 21.5, 12.5, 31.5}));
  CHECK(known::complete("indexing"));
}

TEST_CASE("known answers: numpy") {
  check("numpy.convolve", ct::jit([](auto x, auto k) {
          const auto wide = ct::pad<ct::low<2>, ct::high<2>>(x, 0);
          return wide(ct::range<2, 9>) * k(0) + wide(ct::range<1, 8>) * k(1) + wide(ct::range<0, 7>) * k(2);
        })(ct::array<float, 5>{1, 2, 3, 2, 1}, ct::array<float, 3>{4, 1, 2}));
  check("numpy.remainder",
        ct::jit([](auto a, auto b) { return ct::remainder(a, b); })(ct::array<int, 2, 3>{{3, -1, 4}, {8, 5, -2}}, ct::array<int, 3>{2, 3, -5}));
  check("numpy.floor_divide", ct::jit([](auto x) { return ct::floor_divide(x - 5, 3); })(ct::arange<int, 11>()));
  check("numpy.power", ct::jit([](auto x, auto y) { return ct::pow(x, y); })(ct::array<float, 3>{-2, 3, 1},
                                                                          ct::array<float, 2, 3>{{4, 1, 6}, {1.3, 3, 5}}));
  check("numpy.rint", ct::jit([](auto x) { return ct::round(x); })(ct::array<float, 8>{-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 4.5}));
  check("numpy.var_axis1", ct::jit([](auto x) { return ct::variance(x, ct::axis<1>); })(
                               ct::array<float, 3, 4>{{1, 3, 4, 2}, {5, 2, 6, 3}, {8, 4, 2, 9}}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  check("numpy.nancumsum", ct::jit([](auto x) { return ct::cumsum(ct::where(ct::is_nan(x), 0, x)); })(
                               ct::array<float, 2, 3>{{1, 2, nan}, {4, nan, 6}}));
  check("numpy.einsum_chain", ct::jit([](auto w, auto x, auto y, auto z) {
          const auto wx = ct::einsum<"ij,jk->ik">(w, x);
          const auto yz = ct::einsum<"kl,lm->km">(y, z);
          return ct::einsum<"ik,km->im">(wx, yz);
        })(ct::array<int, 2, 2>{{5, 6}, {7, 8}}, ct::array<int, 2, 3>{{0, 1, 2}, {3, 4, 5}}, ct::array<int, 3, 2>{{-2, -1}, {0, 1}, {2, 3}},
           ct::array<int, 2, 3>{{2, 4, 6}, {3, 5, 7}}));
  check("numpy.diff_prepend", ct::jit([](auto x) {
          const auto longer = ct::pad<ct::low<0, 1>, ct::high<0, 0>>(x, 2);
          return longer(ct::full_extent, ct::range<1, 5>) - longer(ct::full_extent, ct::range<0, 4>);
        })(ct::array<int, 2, 4>{{1, 5, 2, 9}, {3, 8, 7, 4}}));
  CHECK(known::complete("numpy"));
}

// numpy.promote: a number takes the dtype of the array beside it.
static_assert(ct::adopted_dtype<int>(ct::dtype::uint8) == ct::dtype::uint8);
static_assert(ct::adopted_dtype<double>(ct::dtype::float16) == ct::dtype::float16);

TEST_CASE("known answers: nn") {
  check("nn.relu", ct::jit([](auto x) { return ct::nn::relu(x); })(ct::array<float, 7>{-2, -1, -0.5, 0, 0.5, 1, 2}));
  check("nn.glu", ct::jit([](auto x) {
          const auto halves = ct::split<2, 0>(x);
          return halves[0] * ct::nn::sigmoid(halves[1]);
        })(ct::array<float, 2>{1, 0}));
  check("nn.softplus_0", ct::jit([](auto x) { return ct::nn::softplus(x); })(0.0f));
  check("nn.sparse_sigmoid", ct::jit([](auto x) { return 0.5f * ct::clip(x + 1, 0, 2); })(ct::array<float, 3>{-2, 2, 0}));
  constexpr auto squareplus = [](auto x, auto b) { return 0.5f * (x + ct::sqrt(x * x + b)); };
  check("nn.squareplus", ct::jit(squareplus)(0.0f, 4.0f), ct::jit(squareplus)(1e3f, 4.0f));
  check("nn.elu", ct::jit([](auto x) { return ct::nn::elu(x); })(1e4f));
  check("nn.gelu_default", ct::jit([](auto x) { return std::tuple(ct::nn::gelu(x), ct::nn::gelu_exact(x)); })(number("nn.gelu_default", "x")));
  check("nn.relu6_val", ct::jit([](auto x) { return ct::clip(x, 0, 6); })(ct::array<float, 3>{-1, 3, 7}));
  check("nn.log_softmax", ct::jit([](auto x) { return ct::nn::log_softmax(x); })(argument<float, 4>("nn.log_softmax", "x")));
  check("nn.scaled_matmul", ct::jit([](auto a, auto b, auto s) { return ct::einsum<"bmk,bnk->bmn">(a * s, b * s); })(
                                ct::array<float, 1, 1, 3>{{{1, 2, 3}}}, ct::array<float, 1, 1, 3>{{{4, 5, 6}}}, 0.5f));
  constexpr auto selu = [](auto x) { return 1.0507009873554804934f * ct::nn::elu(x, 1.6732632423543772848); };
  check("nn.selu_consts", ct::jit(selu)(-1.0f), ct::jit(selu)(1.0f));
  CHECK(known::complete("nn"));
}
