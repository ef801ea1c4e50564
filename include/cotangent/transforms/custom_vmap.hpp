#pragma once
/// custom_vmap: a function that brings its own batching rule.

#include <cotangent/transforms/custom.hpp>

namespace cotangent {

/// One output of a function with rules for batches of it. Which arguments are batched is a mask, and each mask has a rule; or one rule is
/// for all of them. Attributes: the number of bodies, the function, the rules of masks 1, 2, ...; the number of the output; the number of outputs;
/// per operand its `place`; per output, the argument that must be batched for it, or -1; per rule and output whether it is batched.
///
/// A derivative is such a call, too: of the derivatives of the bodies. In it a tangent belongs to the argument of its primal. A
/// cotangent is batched where the output is, and gives cotangents of batched arguments: that of an argument which is not batched would be a sum over
/// the batch.
struct custom_vmap_p {
  static constexpr std::string_view name = "custom_vmap";
  static constexpr role kind = role::call;

  /// A call, taken apart.
  struct parts {
    sequence<graph> bodies;
    int output = 0;
    sequence<int> places;    // per operand: the number of its argument; -1 - k for the cotangent of output k
    sequence<int> needs;     // per output
    sequence<char> batched;  // per rule and output: no, yes, not_this

    constexpr int outputs() const { return int(needs.size()); }
    constexpr bool one_rule() const { return bodies.size() == 2; }
    constexpr int rule(unsigned mask) const { return one_rule() ? 1 : int(mask); }
    constexpr bool is_in(unsigned mask, int argument) const { return one_rule() || (mask >> argument & 1) != 0; }
    constexpr char is_batched(unsigned mask, int o) const {
      return needs[std::size_t(o)] >= 0 ? char(yes) : batched[std::size_t((rule(mask) - 1) * outputs() + o)];
    }
  };
  enum : char { no, yes, not_this };

  static constexpr parts read(const call& c) {
    parts p;
    const int bodies = int(c.attribute(0));
    for (int k = 0; k < bodies; ++k) p.bodies.push_back(body_of(c, k));
    const extent* a = c.attributes + 1 + bodies;
    p.output = int(*a++);
    const extent outputs = *a++;
    for (int k = 0; k < c.count; ++k) p.places.push_back(int(*a++));
    for (extent o = 0; o < outputs; ++o) p.needs.push_back(int(*a++));
    for (extent k = 0; k < (bodies - 1) * outputs; ++k) p.batched.push_back(char(*a++));
    return p;
  }
  /// Outputs [first, last).
  static constexpr sequence<value> write(builder& b, parts p, const sequence<value>& operands, int first, int last) {
    sequence<extent> a;
    a.push_back(extent(p.bodies.size()));
    for (graph& g : p.bodies) {
      if (!g.error.empty()) b.fail(g.error);
      a.push_back(b.add_subgraph(std::move(g)));
    }
    const std::size_t output = a.size();
    a.push_back(first), a.push_back(p.outputs());
    for (int place : p.places) a.push_back(place);
    for (int n : p.needs) a.push_back(n);
    for (char x : p.batched) a.push_back(x);
    sequence<value> r;
    for (int o = first; o < last; ++o) {
      a[output] = o;
      call c;
      c.op = &primitive_of<custom_vmap_p>, c.operands = operands.data(), c.count = int(operands.size());
      c.attributes = a.data(), c.attribute_count = int(a.size());
      r.push_back(b.emit(c));
    }
    return r;
  }

  static constexpr void infer(call& c) {
    const graph f = body_of(c, 0);
    const int o = f.outputs[std::size_t(c.attribute(1 + int(c.attribute(0))))];
    c.type = f[o].type, c.dims = output_extents(c, f, o);
  }
  static constexpr value simplify(const call& c) { return inline_graph(*c.b, body_of(c, 0), operands_of(c))[std::size_t(read(c).output)]; }

  static constexpr value jvp(const call& c, const value* t) {
    parts p = read(c);
    const int outputs = p.outputs();
    flag_list active;
    sequence<value> operands = operands_of(c);
    for (int k = 0; k < c.count; ++k) {
      active.push_back(has_tangent(c[k].type()));
      if (active.back()) operands.push_back(t[k] ? t[k] : zeros_like(c[k])), p.places.push_back(p.places[std::size_t(k)]);
    }
    for (graph& g : p.bodies) g = jvp_graph(g, active);
    sequence<char> batched;
    for (int rule = 0; rule + 1 < int(p.bodies.size()); ++rule)
      for (int o = 0; o < 2 * outputs; ++o) batched.push_back(p.batched[std::size_t(rule * outputs + o % outputs)]);
    p.batched = batched;
    for (int o = 0; o < outputs; ++o) p.needs.push_back(p.needs[std::size_t(o)]);
    const int output = outputs + p.output;
    return write(*c.b, p, operands, output, output + 1)[0];
  }
  static constexpr void vjp_all(const call& c, value g, sequence<value>& cotangents) {
    parts p = read(c);
    const int outputs = p.outputs(), output = p.output;
    flag_list active;
    sequence<int> differentiated;
    sequence<value> operands = operands_of(c);
    for (int i = 0; i < c.count; ++i) {
      active.push_back(has_tangent(c[i].type()));
      if (active.back()) differentiated.push_back(i);
    }
    for (int o = 0; o < outputs; ++o) {
      const int node = p.bodies[0].outputs[std::size_t(o)];
      operands.push_back(o == output ? g : constant(*c.b, p.bodies[0][node].type, output_extents(c, p.bodies[0], node), 0));
      p.places.push_back(-1 - o);
    }
    sequence<char> batched;
    for (int rule = 0; rule + 1 < int(p.bodies.size()); ++rule) {
      const auto of = [&](int o) { return p.batched[std::size_t(rule * outputs + o)]; };
      for (int o = 0; o < outputs; ++o) batched.push_back(of(o));
      for (int i : differentiated) {
        const int place = p.places[std::size_t(i)];
        batched.push_back(place >= 0 ? char(yes) : of(-1 - place) == yes ? char(yes) : char(not_this));
      }
    }
    p.batched = batched;
    for (int i : differentiated) p.needs.push_back(p.places[std::size_t(i)] >= 0 ? p.places[std::size_t(i)] : -1);
    for (graph& body : p.bodies) body = vjp_graph(body, active, false);
    cotangents.assign(std::size_t(c.count), value{});
    const sequence<value> made = write(*c.b, p, operands, outputs, outputs + int(differentiated.size()));
    for (std::size_t i = 0; i < made.size(); ++i) cotangents[std::size_t(differentiated[i])] = made[i];
  }

  /// By the rule of the mask. Where there is none, because no argument is batched or what is batched is not in its results, the function
  /// itself is mapped.
  static constexpr value batch(const call& c, const bool* batched, extent size) {
    const parts p = read(c);
    unsigned mask = 0;
    for (int k = 0; k < c.count; ++k)
      if (batched[k] && p.places[std::size_t(k)] >= 0) mask |= 1u << p.places[std::size_t(k)];
    bool fits = mask != 0;
    if (const int needed = p.needs[std::size_t(p.output)]; needed >= 0) mask |= 1u << needed;
    fits = fits && p.is_batched(mask, p.output) != not_this;
    for (int k = 0; k < c.count && fits; ++k)
      if (const int place = p.places[std::size_t(k)]; place < 0) fits = !batched[k] || p.is_batched(mask, -1 - place) == yes;
    sequence<value> operands;
    if (!fits) {
      sequence<int> in, out;
      for (int k = 0; k < c.count; ++k) in.push_back(batched[k] ? 0 : not_mapped), operands.push_back(c[k]);
      out.assign(p.bodies[0].outputs.size(), 0);
      return inline_graph(*c.b, batch_graph(p.bodies[0], in, out, is_symbol(size) ? dyn : size, c.b->axis), operands)[std::size_t(p.output)];
    }
    for (int k = 0; k < c.count; ++k) {
      const int place = p.places[std::size_t(k)];
      const bool mapped = place >= 0 ? p.is_in(mask, place) : p.is_batched(mask, -1 - place) == yes;
      operands.push_back(mapped ? batched_operand(c[k], batched[k], size) : c[k]);
    }
    const value r = inline_graph(*c.b, p.bodies[std::size_t(p.rule(mask))], operands)[std::size_t(p.output)];
    const bool has_axis = p.is_batched(mask, p.output) == yes;
    const shape want = has_axis ? insert(c.dims, 0, size) : c.dims;
    bool fits_result = c.b->failed() || r.rank() == want.rank;
    for (int i = 0; i < want.rank && fits_result && !c.b->failed(); ++i) fits_result = c.b->symbols.unify("custom_vmap", r.dims()[i], want[i]);
    if (!fits_result) c.b->fail(message{} << "custom_vmap: the rule returns " << r.type() << r.dims() << " where " << want << " is needed");
    return c.b->failed() ? c.b->dead() : batched_operand(r, has_axis, size);
  }
};

/// A rule for the arguments that Flags... call batched, as a function of them alone: rule(axis_size, in_batched, arguments...).
template <class Rule, class... Flags> struct rule_for_batch {
  template <class... V> static constexpr auto all_of(const V&... arguments) {
    value first;
    const auto look = [&](const auto& leaf) {
      if (!first.b) first = value(leaf);
    };
    const auto look_at = [&](const auto& argument, auto flag) {
      if constexpr (decltype(flag)::value) for_each_leaf(look, argument);
    };
    (look_at(arguments, Flags{}), ...);
    const var<std::int32_t> size(extent_value(*first.b, dtype::int32, first.dims()[0]));
    return Rule{}(size, std::tuple<Flags...>{}, arguments...);
  }
  template <class... V> constexpr auto operator()(const V&... arguments) const { return std::get<0>(all_of(arguments...)); }
};

/// What a rule says of its results: a std::bool_constant for all of them, or a tuple of them.
template <class Flags> inline constexpr bool are_flags = requires { std::bool_constant<Flags::value>(); };
template <class... Flag> inline constexpr bool are_flags<std::tuple<Flag...>> = (true && ... && are_flags<Flag>);

template <class F, class Rule> struct custom_batch : transform_base<custom_batch<F, Rule>> {
  static_assert(stateless<F> && stateless<Rule>, "custom_vmap: the function and its rule may not capture variables; pass them as arguments");
  template <class... V> using result = traced_result<F, V...>;

  static constexpr int most_masked = 4;  // arguments: beyond that one rule is for all, which are batched then
  template <class... V> static constexpr int rules = sizeof...(V) > most_masked ? 1 : (1 << sizeof...(V)) - 1;
  /// Whether an argument is batched in rule 0, 1, ...
  template <int R, int Argument, int Arguments> using flag = std::bool_constant<(Arguments > most_masked || ((R + 1) >> Argument & 1) != 0)>;

  /// One rule: its function, and what it says of its results.
  template <int R, class... V> struct rule_type {
    template <class X, class Flag> using argument = typename std::conditional_t<Flag::value, batched<X, leading_axes, dyn>, std::type_identity<X>>::type;
    template <std::size_t... I> static auto make(std::index_sequence<I...>) {
      constexpr int n = int(sizeof...(V));
      using function = rule_for_batch<Rule, flag<R, int(I), n>...>;
      using returned = decltype(function::all_of(std::declval<const argument<V, flag<R, int(I), n>>&>()...));
      return std::tuple<function, std::type_identity<returned>, types<argument<V, flag<R, int(I), n>>...>>{};
    }
    using made = decltype(make(std::index_sequence_for<V...>{}));
    using function = std::tuple_element_t<0, made>;
    using returned = typename std::tuple_element_t<1, made>::type;
    static constexpr bool returns_two = [] {
      if constexpr (requires { std::tuple_size<returned>::value; }) return std::tuple_size_v<returned> == 2;
      else return false;
    }();
    static constexpr bool says_what_is_batched = [] {
      if constexpr (returns_two) return are_flags<std::tuple_element_t<1, returned>>;
      else return false;
    }();
    /// Which leaves of the result are batched.
    static constexpr flag_list out_batched() {
      flag_list flags;
      const auto add = [&]<class Flags>(Flags) {
        if constexpr (requires { bool(Flags::value); }) flags.assign(std::size_t(leaf_count<traced_result<F, V...>>), Flags::value);
        else {
          []<class... Flag>(std::type_identity<std::tuple<Flag...>>, flag_list& list) { (list.push_back(Flag::value), ...); }(std::type_identity<Flags>{}, flags);
        }
      };
      add(std::tuple_element_t<1, returned>{});
      return flags;
    }
    static constexpr graph trace() {
      return []<class... A>(types<A...>) { return thaw(traced_function<function, A...>); }(std::tuple_element_t<2, made>{});
    }
  };

  template <class... V> constexpr closure transformed(int) const {
    const graph f = thaw(traced_function<F, V...>);
    custom_vmap_p::parts p;
    p.bodies.push_back(f);
    p.needs.assign(f.outputs.size(), -1);
    const int leaves[] = {leaf_count<V>...};
    for (int k = 0; k < int(sizeof...(V)); ++k)
      for (int i = 0; i < leaves[k]; ++i) p.places.push_back(k);
    message why = f.error;
    const auto add_rule = [&]<int R>(std::integral_constant<int, R>) {
      using rule = rule_type<R, V...>;
      if constexpr (!rule::returns_two) {
        if (why.empty()) why << "custom_vmap: the rule must return (out, out_batched)";
      } else if constexpr (!rule::says_what_is_batched) {
        if (why.empty()) why << "custom_vmap: out_batched of the rule must be a std::true_type or std::false_type, or a std::tuple of one per array";
      } else {
        const graph g = rule::trace();
        const flag_list out = rule::out_batched();
        if (why.empty()) why = g.error;
        if (why.empty()) why = difference(f, g, out);
        for (char o : out) p.batched.push_back(o);
        p.bodies.push_back(g);
      }
    };
    [&]<int... R>(std::integer_sequence<int, R...>) { (add_rule(std::integral_constant<int, R>{}), ...); }(std::make_integer_sequence<int, rules<V...>>{});
    if (!why.empty()) return {failed_graph<traced_result<F, V...>, V...>(why), {}};
    builder b;
    replay r(f, b);
    copy_inputs(r);
    sequence<value> operands;
    for (int i : f.inputs) operands.push_back(r.map[std::size_t(i)]);
    for (const value& v : custom_vmap_p::write(b, p, operands, 0, int(f.outputs.size()))) b.g.outputs.push_back(v.id);
    return {b.finish(), {}};
  }

 private:
  /// How a rule's results differ from batches of the function's, or nothing.
  static constexpr message difference(const graph& f, const graph& rule, const flag_list& batched) {
    message m;
    if (rule.outputs.size() != f.outputs.size() || batched.size() != f.outputs.size())
      return m << "custom_vmap: the rule returns " << int(rule.outputs.size()) << " arrays and says of " << int(batched.size()) << " whether they are batched, and the function returns " << int(f.outputs.size());
    for (std::size_t o = 0; o < f.outputs.size(); ++o) {
      const node &mine = rule[rule.outputs[o]], &want = f[f.outputs[o]];
      const bool mapped = batched[o];
      bool equal = mine.type == want.type && mine.dims.rank == want.dims.rank + mapped;
      for (int k = 0; k < want.dims.rank && equal; ++k) {
        const extent have = mine.dims[k + mapped], e = want.dims[k];
        equal = is_symbol(have) || is_symbol(e) || have == e;
      }
      if (!equal)
        return m << "custom_vmap: the rule returns " << mine.type << mine.dims << " for a " << (mapped ? "batched " : "result that is not batched, ") << want.type << want.dims
                 << (mapped ? ", which has the batch axis in front" : "");
    }
    return m;
  }
};

/// f with its own batching rule: under ct::vmap, rule(axis_size, in_batched, arguments...) -> (out, out_batched) stands for it. axis_size is the
/// number of instances (int32, rank 0); in_batched has a std::true_type or std::false_type per argument; batched ones have the batch axis
/// in front, of a run-time extent. out_batched is one of these types for all of the result, or a std::tuple of one per array. With more
/// than four arguments all are batched. Derivatives of f under vmap are those of the rule. JAX: jax.custom_batching.custom_vmap.
template <class F, class Rule> constexpr auto custom_vmap(const F&, const Rule&) { return custom_batch<F, Rule>{}; }

}  // namespace cotangent
