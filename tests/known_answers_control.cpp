// The groups scan, control and remat of known_answers_table.hpp, and cond of the group linearize.
#include "known_answers_table.hpp"

namespace ct = cotangent;
using known::check;
using known::number;

namespace {
constexpr auto running_sum = [](auto c, auto x) { return std::tuple(c + x, c + x); };
constexpr auto running_sum_before = [](auto c, auto x) { return std::tuple(c + x, c); };
constexpr auto geometric = [](auto a) { return std::get<0>(ct::scan([a](auto c, auto) { return std::tuple(a * c, ct::none); }, 1.0f, ct::none, ct::length<3>)); };
constexpr auto counting = [](auto n) { return ct::fori_loop(0, n, [n](auto i, auto t) { return n + t + i; }, 0); };

/// How often a primitive is in a graph and the bodies in it.
int count(const ct::graph& g, std::string_view primitive) {
  int n = 0;
  for (const ct::node& x : g.nodes) n += !x.is_input() && x.op->name == primitive;
  for (const ct::graph& body : g.subgraphs) n += count(body, primitive);
  return n;
}
template <class F> struct with_gradient {
  template <class X> constexpr auto operator()(const X& x) const { return ct::value_and_grad(F{})(x); }
};
/// How often the way back has it: the value and the gradient together, without the value.
template <class F, class X> int count_back(const F&, const X&, std::string_view primitive) {
  const auto in = [&]<class G>(const G&) { return count(ct::thaw(ct::simplified_function<G, ct::traced_tree<X>>), primitive); };
  return in(with_gradient<F>{}) - in(F{});
}

/// n exponentials, whose derivative is t * p(x), in halves: checkpoint(f2) inside f1(checkpoint(f2)(x)).
template <int N> struct halved {
  template <class X> constexpr auto operator()(const X& x) const {
    if constexpr (N == 2) return ct::exp(ct::exp(x));
    else return halved<N / 2>{}(ct::checkpoint(halved<N / 2>{})(x));
  }
};
constexpr auto three_steps = [](auto x) {
  for (int i = 0; i < 3; ++i) x = ct::sin(ct::dot(x, x));
  return x;
};
constexpr auto three_einsums = [](auto x) {
  for (int i = 0; i < 3; ++i) x = ct::sin(ct::einsum<"ij,jk->ik">(x, x));
  return x;
};
}  // namespace

TEST_CASE("known answers: scan") {
  const ct::array<int, 5> five{0, 1, 2, 3, 4};
  check("scan.cumsum", ct::scan(running_sum, 0, five));
  check("scan.reverse", ct::scan(running_sum, 0, five, ct::reverse));
  check("scan.length0", ct::scan(running_sum, 7, ct::array<int, 0>()));
  check("scan.grad_geometric", ct::grad(geometric)(number("scan.grad_geometric", "a")));
  check("scan.vmap", ct::vmap([](auto c) { return ct::scan(running_sum_before, c, ct::astype<float>(ct::iota<int, 3>(c))); })(ct::array<float, 2>{0, 10}));
  const auto last = ct::jit([](auto a, auto b) {
    return std::get<0>(ct::scan([](auto c, auto x) { return std::tuple(c + std::get<0>(x) * std::get<1>(x) + 5.0f, c); }, 0.0f, std::tuple(a, b)));
  });
  check("scan.doc_func11", last(ct::array<float, 16>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, ct::ones<float, 16>()));
  CHECK(known::complete("scan"));
}

TEST_CASE("known answers: loops and branches") {
  const auto f = ct::jit(counting);
  check("control.fori_closure", f(2), f(3), f(4));
  const auto sum = ct::jit([](auto x) { return ct::fori_loop<0, 10>([x](auto i, auto c) { return c + x(i); }, 0); });
  check("control.fori_array", sum(ct::array<int, 10>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  check("control.assoc_scan_rev", ct::associative_scan([](auto a, auto b) { return a + b; }, ct::array<int, 4>{0, 1, 2, 3}, ct::reverse));
  const auto chosen = ct::jit([](auto i) {
    return ct::switch_(i, std::tuple([](auto i) { return i * 0; }, [](auto i) { return i * 0 + 1; }, [](auto i) { return i * 0 + 2; }), i);
  });
  check("control.switch_clamp", chosen(-1), chosen(3));
  CHECK(known::complete("control"));

  const std::string id = "linearize.cond_low";
  const auto [y, pushforward] = ct::linearize([](auto x) { return ct::cond(x < 2, [](auto x) { return 3 * x; }, [](auto x) { return ct::sin(x); }, x); }, number(id, "x"));
  check(id, y, pushforward(number(id, "t")));
}

TEST_CASE("known answers: what checkpoint computes again") {
  namespace policies = ct::checkpoint_policies;
  check("remat.recompute_count_8", count_back([](auto x) { return ct::square(halved<8>{}(x)); }, 0.5f, "exp"));
  // Inside of a larger function: a cotangent that is known beforehand would let both ways share their values.
  const ct::array<float, 2, 2> x;
  constexpr auto dots = [](auto x) { return ct::sum(ct::square(ct::checkpoint(three_steps, policies::dots_saveable)(x))); };
  check("remat.dots_counts", count_back(dots, x, "sin"), count_back(dots, x, "dot_general"));
  constexpr auto einsums = [](auto x) { return ct::sum(ct::square(ct::checkpoint(three_einsums, policies::dots_with_no_batch_dims_saveable)(x))); };
  check("remat.dots_no_batch_counts", count_back(einsums, x, "sin"), count_back(einsums, x, "dot_general"));
  constexpr auto in_scan = [](auto x) {
    return ct::sum(ct::square(std::get<0>(ct::scan([](auto c, auto) { return std::tuple(ct::checkpoint(three_steps, ct::checkpoint_policies::dots_saveable)(c), ct::none); }, x, ct::none, ct::length<2>))));
  };
  check("remat.dots_in_scan_counts", count_back(in_scan, x, "sin"), count_back(in_scan, x, "cos"), count_back(in_scan, x, "dot_general"));
  CHECK(known::complete("remat"));
}
