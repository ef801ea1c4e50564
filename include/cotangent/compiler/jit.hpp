#pragma once
/// jit: a function compiled for its argument types; and calling transforms directly on arrays.

#include <cotangent/compiler/program.hpp>
#include <cotangent/transforms/captures.hpp>

namespace cotangent {

/// Whether leaf argument A (a reference type) gives its memory away: an array passed as an rvalue.
template <class A> inline constexpr bool is_donated = std::is_rvalue_reference_v<A&&> && !std::is_const_v<std::remove_reference_t<A>>;

template <class X> inline constexpr bool is_owning_leaf = false;
template <class T, extent... E> inline constexpr bool is_owning_leaf<array<T, E...>> = true;

template <class... A> constexpr unsigned long donated_mask() {
  unsigned long mask = 0;
  int leaf = 0;
  const auto add = [&]<class... Leaf>(types<Leaf...>, [[maybe_unused]] bool donated) {
    ((mask |= donated && is_owning_leaf<Leaf> && leaf < 64 ? 1ul << leaf : 0ul, ++leaf), ...);
  };
  (add(leaf_types<A>{}, is_donated<A>), ...);
  return mask;
}

/// What jit returns. Its text forms and costs are in compiler/report.hpp.
template <class F> class jitted;

/// One compiled call.
template <class F, class... A> struct compiled_call {
  using the_program = program<F, donated_mask<A...>(), traced_tree<A>...>;
  using result_vars = traced_result<F, traced_tree<A>...>;
  using result = rebind_tree<result_vars, array>;
  using state = typename the_program::state;
  static constexpr int inputs = the_program::leaves, outputs = leaf_count<result>;

  template <class... X> static COTANGENT_INLINE void bind(state& s, const void** pointers, const X&... arguments) {
    int leaf = 0;
    const auto point = [&](const auto& x) {
      using leaf_type = std::remove_cvref_t<decltype(x)>;
      if constexpr (leaf_traits<leaf_type>::is_scalar) pointers[leaf++] = &x;
      else {
        if (x.data() == nullptr && x.size() > 0) throw_empty(leaf);
        pointers[leaf++] = x.data();
      }
    };
    (for_each_leaf(point, arguments), ...);
    if constexpr (the_program::has_symbols) {
      shape shapes[inputs > 0 ? inputs : 1];
      leaf = 0;
      const auto measure = [&](const auto& x) {
        if constexpr (!leaf_traits<std::remove_cvref_t<decltype(x)>>::is_scalar) shapes[leaf] = x.shape();
        ++leaf;
      };
      (for_each_leaf(measure, arguments), ...);
      the_program::bind_symbols(s, shapes);
    }
  }
  [[noreturn, gnu::cold]] static void throw_empty(int leaf) {
    throw shape_error("argument leaf " + std::to_string(leaf) + " is a moved-from array: it has no elements");
  }

  /// The donated argument leaf whose memory output `O` takes, or -1.
  template <int O> static constexpr int donor() { return the_program::plan.buffers[std::size_t(the_program::plan.output_buffers[O])].reuses; }

  template <int O, class Leaf, class... X> static COTANGENT_INLINE Leaf make_output([[maybe_unused]] const state& s, [[maybe_unused]] X&... arguments) {
    if constexpr (donor<O>() >= 0) {
      auto leaves = std::tie(arguments...);
      auto& given = get_leaf<donor<O>()>(leaves);
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(given)>, Leaf>) return std::move(given);
    }
    if constexpr (std::is_trivially_copyable_v<Leaf>) return Leaf();  // inline: the compiler drops the zeros
    else if constexpr (Leaf::is_static()) return Leaf(uninitialized);
    else return Leaf(uninitialized, s.value(the_program::plan.buffers[std::size_t(the_program::plan.output_buffers[O])].dims));
  }

  template <class... X> static COTANGENT_INLINE result call(X&... arguments) {
    if constexpr (!the_program::valid) return result{};  // the error is reported; no other may follow
    else {
      state s;
      const void* in[inputs > 0 ? inputs : 1];
      bind(s, in, arguments...);
      result r = make_tree<result>([&]<class Leaf, int O>(std::type_identity<Leaf>, std::integral_constant<int, O>) {
        return make_output<O, Leaf>(s, arguments...);
      });
      run_into(s, in, r);
      return r;
    }
  }

  template <class R> static COTANGENT_INLINE void run_into(state& s, const void* const* in, R& r) {
    void* out[outputs > 0 ? outputs : 1];
    int o = 0;
    for_each_leaf([&](auto& leaf) { out[o++] = leaf.data(); }, r);
    the_program::execute(s, in, out);
  }

  /// Into existing arrays or views: their shapes are checked first; they may not overlap the arguments.
  template <class R, class... X> static void call_into(R& r, const X&... arguments) {
    state s;
    const void* in[inputs > 0 ? inputs : 1];
    bind(s, in, arguments...);
    int o = 0;
    for_each_leaf(
        [&](auto& leaf) {
          using leaf_type = std::remove_cvref_t<decltype(leaf)>;
          static_assert(!leaf_traits<leaf_type>::is_scalar, "into: an output must be an array or a view");
          const buffer& b = the_program::plan.buffers[std::size_t(the_program::plan.output_buffers[std::size_t(o)])];
          const shape want = s.value(b.dims);
          if (dtype_of<typename leaf_traits<leaf_type>::value_type> != b.type || !(leaf.shape() == want) || (leaf.data() == nullptr && leaf.size() > 0))
            throw shape_error("into: output " + std::to_string(o) + " has shape " + text_of(leaf.shape()) + " where " + text_of(want) + " is needed");
          ++o;
        },
        r);
    check_overlap(r, in, arguments...);
    run_into(s, in, r);
  }
  template <class R, class... X> static void check_overlap(const R& r, const void* const*, const X&... arguments) {
    for_each_leaf(
        [&](const auto& out) {
          const auto check = [&](const auto& in) {
            if constexpr (!leaf_traits<std::remove_cvref_t<decltype(in)>>::is_scalar) {
              const auto* a = reinterpret_cast<const std::byte*>(out.data());
              const auto* b = reinterpret_cast<const std::byte*>(in.data());
              if (a < b + in.size() * extent(sizeof(*in.data())) && b < a + out.size() * extent(sizeof(*out.data())))
                throw error("into: an output overlaps an argument; pass the argument as an rvalue to reuse its memory");
            }
          };
          (for_each_leaf(check, arguments), ...);
        },
        r);
  }
};

/// jit(f).into(out): calls write into `out`.
template <class F, class R> struct jitted_into {
  [[no_unique_address]] F f;
  R& out;
  template <class... A> void operator()(const A&... arguments) const {
    static_assert(leaf_count<R> == compiled_call<F, const A&...>::outputs, "into: the output does not have the structure of the function's result");
    compiled_call<F, const A&...>::call_into(out, arguments...);
  }
};

template <class F> class jitted {
  [[no_unique_address]] F f_;

 public:
  constexpr jitted() = default;
  constexpr explicit jitted(const F& f) : f_(f) {}

  /// Calls the compiled function. Inside a trace it is inlined. An array passed as an rvalue is donated: its memory
  /// may become a result's. Throws shape_error if run-time extents disagree, before anything is written.
  template <class... A> COTANGENT_INLINE constexpr auto operator()(A&&... arguments) const {
    if constexpr ((is_expression<A> || ...)) return (*this)(evaluated(std::forward<A>(arguments))...);
    else if constexpr ((has_traced_leaf<std::remove_cvref_t<A>>() || ...)) return f_(arguments...);
    else {
      return run_compiled(f_, std::forward<A>(arguments)...);
    }
  }

  /// step.into(out)(arguments...): writes the results into existing arrays or views and allocates nothing.
  template <class R> constexpr auto into(R& out) const { return jitted_into<F, R>{f_, out}; }

  /// The optimized graph as text, for arguments of these types.
  template <class... A> std::string graph(const A&...) const;
  /// The optimized graph in Graphviz's language.
  template <class... A> std::string dot(const A&...) const;
  /// The steps of the program: what was fused into each kernel, and where values live. Arrays passed as rvalues are
  /// donated, as in a call; nothing happens to them.
  template <class... A> std::string kernels(A&&...) const;
  /// What the cost model (compiler/estimate.hpp) expects each step to take on one core, by arithmetic or by memory, and what the
  /// whole would take otherwise: by arrays where elements were chosen, step by step over all rows, or storing every value.
  template <class... A> std::string explain(const A&...) const;
  /// flops, bytes_accessed, kernels, peak_bytes: constants of the types.
  template <class... A> static constexpr auto cost(A&&...);
};

/// Compiles f, on first use of each list of argument types, while the program that uses it is compiled. JAX: jax.jit.
template <class F> constexpr auto jit(const F& f) { return jitted<F>(f); }

template <class F, class... A> COTANGENT_INLINE auto run_compiled(const F& f, A&&... arguments) {
  if constexpr (!stateless<F>) return run_with_captured(f, std::forward<A>(arguments)...);
  else {
    if constexpr (compiled_call<F, A&&...>::the_program::valid) static_assert(compiled_call<F, A&&...>::the_program::named);
    return compiled_call<F, A&&...>::call(arguments...);
  }
}

}  // namespace cotangent
