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

#include <cotangent/cotangent.hpp>

#include "catch.hpp"
#include "reference.hpp"
#include "rules.hpp"

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
      using T = std::remove_const_t<typename leaf_type::value_type>;
      r.emplace_back(ct::real_dtype(ct::dtype_of<T>), ct::stored_shape<leaf_type>(leaf.shape()));
      if constexpr (ct::is_complex_number<T>) {
        const auto* parts = reinterpret_cast<const typename T::value_type*>(leaf.data());
        std::copy(parts, parts + 2 * leaf.size(), r.back().x.begin());
      } else std::copy(leaf.data(), leaf.data() + leaf.size(), r.back().x.begin());
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
      using T = typename Leaf::value_type;
      Leaf leaf(ct::uninitialized, ct::shape_of_stored<Leaf>(t.dims));
      for (std::size_t i = 0; i < std::size_t(leaf.size()); ++i) {
        if constexpr (ct::is_complex_number<T>) leaf.data()[i] = {typename T::value_type(t.x[2 * i]), typename T::value_type(t.x[2 * i + 1])};
        else leaf.data()[i] = T(t.x[i]);
      }
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
int occurrences(const std::string& word, const std::string& text);

/// What differs between two lists of arrays, or "": by more than `tolerance` of the largest number of an array, or of `least`.
std::string difference(const tensors& have, const tensors& want, double tolerance, double least = 1);
/// Checks that nothing differs.
void check_close(const tensors& have, const tensors& want, double tolerance);

tensors random_like(const tensors& t, numbers& random);
/// x with a batch axis of three: each instance a little different.
tensor batch_of_three(const tensor& x, int axis, numbers& random);

/// vmap of g against a loop: all inputs mapped (axis 0), each one alone (its last axis), the size known or not.
void check_batching(const graph& g, const tensors& inputs, numbers& random);

enum class orders { none, first, second };  // how often the function can be differentiated

/// Checks the derivative, batching and simplification rules of all primitives in g.
void check_rules(const graph& g, const tensors& x, orders order = orders::second, double tolerance = 1e-6);

/// Two graphs of one function: their values, jvp, vjp and jvp of vjp are the same.
void check_same(const graph& have, const graph& want, const tensors& x, double tolerance = 1e-12);

/// The graph of f for arguments of these types.
template <class F, class... A> graph graph_of(const F& f, const A&...) {
  if constexpr (ct::stateless<F>) return ct::thaw(ct::traced_function<F, ct::traced_tree<A>...>);
  else return ct::trace_function<ct::traced_tree<A>...>(f).body;
}

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
    check_close(tensors_of(run_on(d, f, arguments...)), want, tolerance);
  }
}

template <class... L> constexpr bool has_float(ct::types<L...>) { return (false || ... || std::is_same_v<typename ct::leaf_traits<L>::value_type, float>); }
/// Whether check_jit runs on the tested devices as well. Programs of float are those of double but for the type of their numbers: where these
/// devices are the host's, they run on the CPU alone, as each takes as long to compile once more.
template <class... A>
inline constexpr bool runs_on_devices =
    std::is_same_v<tested_backend::platform, ct::cuda> || (!std::is_same_v<tested_backend::platform, ct::cpu> && !(false || ... || has_float(ct::leaf_types<A>{})));

/// jit(f)(arguments) against the interpreter.
template <class F, class... A> void check_jit(const F& f, double tolerance, const A&... arguments) {
  const tensors want = reference::evaluate(graph_of(f, arguments...), tensors_of(arguments...));
  check_close(tensors_of(ct::jit(f)(arguments...)), want, tolerance);
  if constexpr (runs_on_devices<A...> && ct::stateless<F>)
    for (const ct::device& d : tested_devices()) {
      INFO("on " << d.name());
      check_close(tensors_of(run_on(d, f, arguments...)), want, tolerance);
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
  const graph g = ct::thaw(ct::traced_function<F, ct::traced_tree<X>..., ct::traced_tree<K>...>);
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
