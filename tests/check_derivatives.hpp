#pragma once
/// Checks of a function's derivatives and batching, of the rules and of the compiled program.
///
/// check_rules: the graph, by the interpreter of reference.hpp in double. jvp against central differences, vjp against
/// jvp, jvp of vjp against central differences of vjp, vmap of all three against a loop, simplify against the original.
///   Steps and tolerances: float32 graphs are interpreted without rounding, so both dtypes have the error of double.
///   With step h = 6e-6, the cube root of the rounding unit, truncation and cancellation are about 1e-10 of the third
///   derivative and of the value; the constants in float32 rules (ln 2, 1/3, ...) are rounded to 6e-8.
///   1e-6 relative to the largest number in sight covers both, and no wrong rule passes it.
///
/// check_compiled: the value, jvp, vjp (and jvp of vjp, where asked) in one compiled program, or the same under vmap,
/// against the interpreter with float32 rounded at every node. What remains is the order of sums, fma, and the ULPs of
/// the vector maths: 2e-5 in float and 1e-12 in double, relative to the largest number in the array.
///
/// check_derivatives: the rules in float and double, the compiled program in double, and its vmap in float. Functions
/// return tuples over many primitives, because each compiled program costs seconds of compile time.

#include <algorithm>
#include <sstream>

#include <cotangent/cotangent.hpp>

#include "catch.hpp"
#include "reference.hpp"

namespace checks {

namespace ct = cotangent;
using ct::dtype;
using ct::extent;
using ct::flag_list;
using ct::graph;
using ct::shape;
using reference::tensor;
using tensors = std::vector<tensor>;

/// The leaves of trees of arrays and numbers.
template <class... A> tensors tensors_of(const A&... trees) {
  tensors r;
  const auto add = [&](const auto& leaf) {
    using leaf_type = std::remove_cvref_t<decltype(leaf)>;
    if constexpr (std::is_arithmetic_v<leaf_type>) r.emplace_back(ct::dtype_of<leaf_type>, shape{}, double(leaf));
    else {
      r.emplace_back(ct::dtype_of<std::remove_const_t<typename leaf_type::value_type>>, leaf.shape());
      std::copy(leaf.data(), leaf.data() + leaf.size(), r.back().x.begin());
    }
  };
  (ct::for_each_leaf(add, trees), ...);
  return r;
}

/// A tree of arrays with these leaves.
template <class Tree> Tree tree_of(const tensors& leaves) {
  return ct::make_tree<Tree>([&]<class Leaf, int I>(std::type_identity<Leaf>, std::integral_constant<int, I>) {
    const tensor& t = leaves[std::size_t(I)];
    if constexpr (std::is_arithmetic_v<Leaf>) return Leaf(t.x[0]);
    else {
      Leaf leaf(ct::uninitialized, t.dims);
      for (std::size_t i = 0; i < t.x.size(); ++i) leaf.data()[i] = typename Leaf::value_type(t.x[i]);
      return leaf;
    }
  });
}

/// Numbers in [-1, 1] that only depend on how often it was called.
class numbers {
  std::uint64_t state_ = 1;

 public:
  double operator()() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return double(float(double(state_ >> 33) / double(1u << 30) - 1));  // the same in float and double
  }
  tensor like(const tensor& t) {
    tensor r(t.type, t.dims);
    if (ct::is_floating(t.type))
      for (double& v : r.x) v = (*this)();
    return r;
  }
};

/// How often a word is in a text.
inline int occurrences(const std::string& word, const std::string& text) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size()) ++count;
  return count;
}

/// What differs between two lists of arrays, or "".
inline std::string difference(const tensors& have, const tensors& want, double tolerance) {
  std::ostringstream s;
  if (have.size() != want.size()) return "another number of arrays";
  for (std::size_t k = 0; k < have.size(); ++k) {
    if (have[k].type != want[k].type || !(have[k].dims == want[k].dims)) return "array " + std::to_string(k) + ": another dtype or shape";
    double scale = 1;
    for (double v : want[k].x)
      if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
    for (std::size_t i = 0; i < have[k].x.size(); ++i) {
      const double a = have[k].x[i], b = want[k].x[i];
      if ((std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) <= tolerance * scale) continue;
      s << "array " << k << ", element " << i << " of " << have[k].x.size() << ": " << a << " where " << b << " is right";
      return s.str();
    }
  }
  return "";
}

inline tensors moved(const tensors& x, const tensors& by, double step) {
  tensors r = x;
  for (std::size_t k = 0; k < x.size(); ++k)
    for (std::size_t i = 0; i < x[k].x.size(); ++i) r[k].x[i] += step * by[k].x[i];
  return r;
}
inline tensors join(tensors a, const tensors& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
inline tensors floating(const tensors& t) {
  tensors r;
  for (const tensor& x : t)
    if (ct::is_floating(x.type)) r.push_back(x);
  return r;
}
inline tensors random_like(const tensors& t, numbers& random) {
  tensors r;
  for (const tensor& x : t) r.push_back(random.like(x));
  return r;
}
inline tensors part(const tensors& t, std::size_t first, std::size_t count) {
  return {t.begin() + std::ptrdiff_t(first), t.begin() + std::ptrdiff_t(first + count)};
}
inline double inner(const tensors& a, const tensors& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k)
    for (std::size_t i = 0; ct::is_floating(a[k].type) && i < a[k].x.size(); ++i) sum += a[k].x[i] * b[k].x[i];
  return sum;
}
inline flag_list floating_flags(const tensors& t) {
  flag_list f;
  for (const tensor& x : t) f.push_back(ct::is_floating(x.type));
  return f;
}

/// Central difference of the outputs of g along `by` (zero for integer inputs).
inline tensors finite_difference(const graph& g, const tensors& x, const tensors& by) {
  const double h = 6e-6;
  tensors high = reference::evaluate(g, moved(x, by, h), false);
  const tensors low = reference::evaluate(g, moved(x, by, -h), false);
  for (std::size_t k = 0; k < high.size(); ++k)
    for (std::size_t i = 0; i < high[k].x.size(); ++i) high[k].x[i] = ct::is_floating(high[k].type) ? (high[k].x[i] - low[k].x[i]) / (2 * h) : 0;
  return high;
}

/// x with a batch axis of three: each instance a little different.
inline tensor batch_of_three(const tensor& x, int axis, numbers& random) {
  tensor r(x.type, ct::insert(x.dims, axis, 3));
  reference::for_each_index(r.dims, [&](const shape& i) {
    const double v = x.x[reference::offset(x.dims, ct::erase(i, axis))];
    r.x[reference::offset(r.dims, i)] = ct::is_floating(x.type) ? v + 0.01 * random() : x.type == dtype::boolean ? double((v != 0) != (i[axis] == 1)) : v + double(i[axis]);
  });
  return r;
}
inline tensor instance(const tensor& x, int axis, extent k) {
  tensor r(x.type, ct::erase(x.dims, axis));
  reference::for_each_index(r.dims, [&](const shape& i) { r.x[reference::offset(r.dims, i)] = x.x[reference::offset(x.dims, ct::insert(i, axis, k))]; });
  return r;
}

/// vmap of g against a loop: all inputs mapped (axis 0), each one alone (its last axis), the size known or not.
inline void check_batching(const graph& g, const tensors& inputs, numbers& random) {
  for (std::size_t alone = 0; alone <= inputs.size(); ++alone) {
    if (alone == 1 && inputs.size() == 1) break;
    ct::sequence<int> in, out;
    tensors batched;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const bool mapped = alone == inputs.size() || alone == k;
      in.push_back(!mapped ? ct::not_mapped : alone == k ? inputs[k].dims.rank : 0);
      batched.push_back(mapped ? batch_of_three(inputs[k], in.back(), random) : inputs[k]);
    }
    const auto output_count = g.outputs.size();
    out.assign(output_count, 0);
    for (const extent size : {extent(3), ct::dyn}) {
      const graph b = ct::batch_graph(g, in, out, size);
      INFO("vmap, input " << alone << " of " << inputs.size() << " mapped; size " << size << "; " << b.error.view());
      REQUIRE(b.error.empty());
      const tensors have = reference::evaluate(b, batched, false);
      for (extent k = 0; k < 3; ++k) {
        tensors one, got;
        for (std::size_t i = 0; i < inputs.size(); ++i) one.push_back(in[i] == ct::not_mapped ? inputs[i] : instance(batched[i], in[i], k));
        for (const tensor& t : have) got.push_back(instance(t, 0, k));
        CHECK(difference(got, reference::evaluate(g, one, false), 1e-12) == "");
      }
    }
  }
}

inline void check_simplified(const graph& g, const tensors& inputs) {
  const graph s = ct::simplify(g);
  INFO("simplify " << s.error.view());
  REQUIRE(s.error.empty());
  const tensors want = reference::evaluate(g, inputs, false);
  CHECK(difference(reference::evaluate(s, inputs, false), want, 1e-12) == "");
  if (!ct::any_has_several_results(s)) return;
  INFO("prune_results");
  CHECK(difference(reference::evaluate(ct::prune_results(s), inputs, false), want, 1e-12) == "");
  for (std::size_t o = 0; o < want.size() && want.size() > 1; ++o) {
    flag_list wanted;
    wanted.assign(want.size(), false);
    wanted[o] = true;
    const graph alone = ct::prune_results(s, wanted);
    INFO("result " << o << " alone: " << alone.error.view());
    REQUIRE(alone.error.empty());
    CHECK(difference(reference::evaluate(alone, inputs, false), {want[o]}, 1e-12) == "");
  }
}

enum class orders { none, first, second };  // how often the function can be differentiated

/// Checks the derivative, batching and simplification rules of all primitives in g.
inline void check_rules(const graph& g, const tensors& x, orders order = orders::second, double tolerance = 1e-6) {
  INFO(g.error.view());
  REQUIRE(g.error.empty());
  numbers random;
  const tensors y = reference::evaluate(g, x, false);
  check_simplified(g, x);
  check_batching(g, x, random);
  if (order == orders::none) return;

  const flag_list active = floating_flags(x);
  const tensors t = random_like(x, random), c = random_like(y, random);
  const graph forward = ct::jvp_graph(g, active);
  INFO("jvp " << forward.error.view());
  REQUIRE(forward.error.empty());
  const tensors forward_inputs = join(x, floating(t));
  const tensors forward_outputs = reference::evaluate(forward, forward_inputs, false);
  CHECK(difference(part(forward_outputs, 0, y.size()), y, 1e-12) == "");
  const tensors tangents = part(forward_outputs, y.size(), y.size());
  CHECK(difference(tangents, finite_difference(g, x, t), tolerance) == "");
  check_simplified(forward, forward_inputs);
  check_batching(forward, forward_inputs, random);

  const graph backward = ct::vjp_graph(g, active, false);
  INFO("vjp " << backward.error.view());
  REQUIRE(backward.error.empty());
  const tensors backward_inputs = join(x, c);
  const tensors backward_outputs = reference::evaluate(backward, backward_inputs, false);
  const tensors cotangents = part(backward_outputs, y.size(), backward_outputs.size() - y.size());
  CHECK(inner(c, tangents) == Approx(inner(cotangents, floating(t))).epsilon(tolerance).margin(tolerance));
  check_simplified(backward, backward_inputs);
  check_batching(backward, backward_inputs, random);
  if (order == orders::first) return;

  const tensors t2 = random_like(backward_inputs, random);
  const graph second = ct::jvp_graph(backward, floating_flags(backward_inputs));
  INFO("jvp of vjp " << second.error.view());
  REQUIRE(second.error.empty());
  const tensors second_inputs = join(backward_inputs, floating(t2));
  const tensors second_outputs = reference::evaluate(second, second_inputs, false);
  CHECK(difference(part(second_outputs, backward_outputs.size(), backward_outputs.size()), finite_difference(backward, backward_inputs, t2), tolerance) == "");
  check_simplified(second, second_inputs);
  check_batching(second, second_inputs, random);
}

/// Two graphs of one function: their values, jvp, vjp and jvp of vjp are the same.
inline void check_same(const graph& have, const graph& want, const tensors& x, double tolerance = 1e-12) {
  numbers random;
  const flag_list active = floating_flags(x);
  const auto equal = [&](const char* what, const graph& a, const graph& b, const tensors& in) {
    INFO(what << ": " << a.error.view() << b.error.view());
    REQUIRE((a.error.empty() && b.error.empty()));
    CHECK(difference(reference::evaluate(a, in, false), reference::evaluate(b, in, false), tolerance) == "");
  };
  equal("value", have, want, x);
  equal("jvp", ct::jvp_graph(have, active), ct::jvp_graph(want, active), join(x, random_like(floating(x), random)));
  const tensors in = join(x, random_like(reference::evaluate(want, x, false), random));
  const graph a = ct::vjp_graph(have, active, false), b = ct::vjp_graph(want, active, false);
  equal("vjp", a, b, in);
  equal("jvp of vjp", ct::jvp_graph(a, floating_flags(in)), ct::jvp_graph(b, floating_flags(in)), join(in, random_like(floating(in), random)));
}

/// The graph of f for arguments of these types.
template <class F, class... A> graph graph_of(const F& f, const A&...) { return ct::trace_function<ct::traced_tree<A>...>(f).body; }

/// f(arguments) by the interpreter: what jit(f)(arguments) must return, at no compile time.
template <class F, class... A> auto interpret(const F& f, const A&... arguments) {
  using result = ct::rebind_tree<ct::traced_result<F, ct::traced_tree<A>...>, ct::array>;
  return tree_of<result>(reference::evaluate(graph_of(f, arguments...), tensors_of(arguments...)));
}

/// The devices that compiled programs are tested on: the CPU, or those of another backend where a test is compiled for one.
#if defined(__CUDACC__)
using tested_backend = ct::gpu::backend;
#elif defined(COTANGENT_THRUST)
using tested_backend = ct::thrust_systems::backend;
#else
using tested_backend = ct::host::backend;
#endif
/// The devices of the tested backend.
inline std::vector<ct::device> tested_devices() { return ct::devices<tested_backend::platform>(); }
/// What the compiled program of f returns on a device. The arguments go there and the results come back.
template <class F, class... A> auto run_on(const ct::device& d, const F&, const A&... arguments) {
  const auto put = [&](const auto& a) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(a)>>) return a;
    else return ct::device_put(a, d);
  };
  const auto call = [&](const auto&... a) { return ct::device_get(ct::compiled_call<tested_backend, F, decltype(a)...>::call(d, a...)); };
  return call(put(arguments)...);
}

/// jit(f)(arguments) on every device against the CPU.
template <class F, class... A> void check_devices(const F& f, double tolerance, const A&... arguments) {
  const tensors want = tensors_of(ct::jit(f)(arguments...));
  for (const ct::device& d : tested_devices()) {
    INFO("on " << d.name());
    CHECK(difference(tensors_of(run_on(d, f, arguments...)), want, tolerance) == "");
  }
}

/// jit(f)(arguments) against the interpreter.
template <class F, class... A> void check_jit(const F& f, double tolerance, const A&... arguments) {
  const tensors want = reference::evaluate(graph_of(f, arguments...), tensors_of(arguments...));
  CHECK(difference(tensors_of(ct::jit(f)(arguments...)), want, tolerance) == "");
  if constexpr (!std::is_same_v<tested_backend, ct::host::backend> && ct::stateless<F>)
    for (const ct::device& d : tested_devices()) {
      INFO("on " << d.name());
      CHECK(difference(tensors_of(run_on(d, f, arguments...)), want, tolerance) == "");
    }
}

/// f, its jvp, its vjp and the jvp of its vjp: of tuples of floating arguments x, their tangents t, the cotangent c of
/// the result, and the other arguments.
template <class F, orders Order> struct all_derivatives {
  [[no_unique_address]] F f;
  template <class X, class T, class C, class... K> constexpr auto operator()(const X& x, const T& t, const C& c, const K&... k) const {
    const std::tuple constants{k...};
    const auto g = [*this, constants](const auto&... v) { return std::apply([&](const auto&... k_) { return f(v..., k_...); }, constants); };
    const auto y = std::apply(g, x);
    if constexpr (Order == orders::none) return y;
    else {
      const auto pull = [g, c](const auto&... v) { return std::get<1>(ct::vjp(g, v...))(c); };
      const auto first = std::tuple(y, std::get<1>(ct::jvp(g, x, t)), std::apply(pull, x));
      if constexpr (Order == orders::first) return first;
      else return std::tuple_cat(first, std::tuple(std::get<1>(ct::jvp(pull, x, t))));
    }
  }
};

/// Array types with a batch axis of three.
template <class L> struct batched_array;
template <class T, extent... E> struct batched_array<ct::array<T, E...>> {
  using type = ct::array<T, 3, E...>;
};
template <class T> struct batched_tree {
  using type = typename batched_array<T>::type;
};
template <class... T> struct batched_tree<std::tuple<T...>> {
  using type = std::tuple<typename batched_tree<T>::type...>;
};
template <class T, std::size_t N> struct batched_tree<std::array<T, N>> {
  using type = std::array<typename batched_tree<T>::type, N>;
};

template <class Tree> auto batch_of(const Tree& tree, numbers& random) {
  tensors leaves;
  for (const tensor& t : tensors_of(tree)) leaves.push_back(batch_of_three(t, 0, random));
  return tree_of<typename batched_tree<Tree>::type>(leaves);
}

template <class T> inline constexpr double compiled_tolerance = std::is_same_v<T, float> ? 2e-5 : 1e-12;

enum class batching { no, yes };

/// The compiled program of f's derivatives, of their vmap if Batch. T: the element type, which sets the tolerance.
template <class T, orders Order, batching Batch, class F, class... X, class... K>
void check_compiled(const F&, const std::tuple<X...>& x, const std::tuple<K...>& constants) {
  using result = ct::rebind_tree<ct::traced_result<F, ct::traced_tree<X>..., ct::traced_tree<K>...>, ct::array>;
  numbers random;
  const graph g = ct::trace_function<ct::traced_tree<X>..., ct::traced_tree<K>...>(F{}).body;
  REQUIRE(g.error.empty());
  const tensors y = reference::evaluate(g, tensors_of(x, constants));
  const auto t = tree_of<std::tuple<X...>>(random_like(tensors_of(x), random));
  const auto c = tree_of<result>(random_like(y, random));
  const all_derivatives<F, Order> f{};
  std::apply(
      [&](const auto&... k) {
        if constexpr (Batch == batching::yes) {
          INFO("compiled, vmap");
          check_jit(ct::vmap(f), compiled_tolerance<T>, batch_of(x, random), batch_of(t, random), batch_of(c, random), batch_of(k, random)...);
        } else {
          INFO("compiled");
          check_jit(f, compiled_tolerance<T>, x, t, c, k...);
        }
      },
      constants);
}

template <class T, class A> struct with_element;
template <class T, class U, extent... E> struct with_element<T, ct::array<U, E...>> {
  using type = ct::array<T, E...>;
};
template <class T, class A> auto as(const A& a) { return tree_of<typename with_element<T, A>::type>([&] {
  tensors t = tensors_of(a);
  for (tensor& l : t) l.type = ct::dtype_of<T>;
  return t;
}()); }

/// The rules of f alone, in float and double: costs next to no compile time. f: a function of the arrays x (given in
/// double) and of other arguments.
template <orders Order = orders::second, class F, class... X, class... K>
void check_rules_of(const F& f, const std::tuple<X...>& x, const std::tuple<K...>& constants = {}) {
  const auto in = [&]<class T>(T) {
    INFO((std::is_same_v<T, float> ? "float" : "double"));
    std::apply([&](const auto&... a) { check_rules(graph_of(f, a...), tensors_of(a...), Order); },
               std::tuple_cat(std::apply([](const auto&... a) { return std::tuple(as<T>(a)...); }, x), constants));
  };
  in(float());
  in(double());
}

/// The rules, and the compiled programs with derivatives up to Compiled.
template <orders Order = orders::second, orders Compiled = orders::first, class F, class... X, class... K>
void check_derivatives(const F& f, const std::tuple<X...>& x, const std::tuple<K...>& constants = {}) {
  check_rules_of<Order>(f, x, constants);
  check_compiled<double, Compiled, batching::no>(f, x, constants);
  check_compiled<float, Compiled, batching::yes>(f, std::apply([](const auto&... a) { return std::tuple(as<float>(a)...); }, x), constants);
}

/// An array of numbers in [low, high].
template <class T, extent... E> ct::array<T, E...> between(double low, double high, std::uint64_t seed = 0) {
  ct::array<T, E...> a;
  numbers random;
  for (std::uint64_t i = 0; i < seed + 3; ++i) random();
  for (T& v : a) v = T(float(low + (high - low) * (random() + 1) / 2));
  return a;
}

}  // namespace checks
