#pragma once
/// jit: a function compiled for its argument types; and calling transforms directly on arrays.

#include <algorithm>

#include <cotangent/backends/accelerators.hpp>
#include <cotangent/backends/cpu/backend.hpp>
#include <cotangent/compiler/program.hpp>
#include <cotangent/core/device_array.hpp>
#include <cotangent/transforms/captures.hpp>

namespace cotangent {

/// Whether leaf argument A (a reference type) gives its memory away: an array passed as an rvalue.
template <class A> inline constexpr bool is_donated = std::is_rvalue_reference_v<A&&> && !std::is_const_v<std::remove_reference_t<A>>;

template <class X> inline constexpr bool is_owning_leaf = false;
template <class T, extent... E> inline constexpr bool is_owning_leaf<device_array<T, E...>> = true;
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

/// Whether a leaf of these arguments is a device_array.
template <class... Leaf> constexpr bool has_device_leaf(types<Leaf...>) { return (false || ... || is_on_device_v<Leaf>); }
template <class... A> inline constexpr bool on_device = has_device_leaf((types<>{} + ... + leaf_types<A>{}));
template <class T, bool OnDevice> struct result_tree { using type = rebind_tree<T, array>; };
template <class T> struct result_tree<T, true> { using type = rebind_tree<T, device_array>; };

/// The sizes of the argument leaves that are C++ numbers, in bytes; 0 for arrays.
template <class... Leaf> constexpr auto number_sizes(types<Leaf...>) {
  return std::array<std::size_t, sizeof...(Leaf) + 1>{(leaf_traits<Leaf>::is_scalar ? sizeof(typename leaf_traits<Leaf>::value_type) : 0)..., 0};
}
/// The device that every array is on. Throws if they differ.
template <class... A> device common_device(const A&... arguments) {
  const device* found = nullptr;
  int leaf = 0, first = 0;
  const auto look = [&](const auto& x) {
    if constexpr (is_on_device_v<std::remove_cvref_t<decltype(x)>>) {
      if (!found) found = &x.device(), first = leaf;
      if (!(x.device() == *found))
        throw device_error("jit: argument leaf " + std::to_string(first) + " is on " + found->name() + " and argument leaf " + std::to_string(leaf) + " on " +
                           x.device().name() + "; move one of them with ct::device_put");
    }
    ++leaf;
  };
  (for_each_leaf(look, arguments), ...);
  return *found;
}

/// A text with F's name, for profilers.
template <class F> constexpr const char* name_of_function() { return __PRETTY_FUNCTION__; }

/// In place of a device: the arguments are arrays of the host.
struct on_the_host {};

/// One compiled call.
template <class Backend, class F, class... A> struct compiled_call {
  using the_program = program<Backend, F, donated_mask<A...>(), traced_tree<A>...>;
  using result_vars = traced_result<F, traced_tree<A>...>;
  using result = typename result_tree<result_vars, on_device<A...>>::type;
  using state = typename the_program::state;
  using queue = typename Backend::queue;
  static constexpr int inputs = the_program::leaves, outputs = leaf_count<result>;
  static constexpr auto sizes_of_numbers = number_sizes((types<>{} + ... + leaf_types<A>{}));
  static constexpr int count_of_numbers = [] {
    int n = 0;
    for (std::size_t s : sizes_of_numbers) n += s > 0;
    return n;
  }();
  static constexpr auto size_of_number = [](int i) { return sizes_of_numbers[std::size_t(i)]; };

  template <class... X> static COTANGENT_HOST_INLINE void bind(state& s, const void** pointers, const X&... arguments) {
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
        using leaf_type = std::remove_cvref_t<decltype(x)>;
        if constexpr (!leaf_traits<leaf_type>::is_scalar) shapes[leaf] = x.shape();
        shapes[leaf] = stored_shape<leaf_type>(shapes[leaf]);
        ++leaf;
      };
      (for_each_leaf(measure, arguments), ...);
      the_program::bind_symbols(s, shapes);
    }
  }
  [[noreturn, gnu::cold]] static void throw_empty(int leaf) {
    throw shape_error("argument leaf " + std::to_string(leaf) + " is a moved-from array: it has no elements");
  }

  /// The plan's buffer of output `O`.
  template <int O> static constexpr const auto& output_buffer() { return the_program::plan.buffers[std::size_t(the_program::plan.output_buffers[O])]; }
  /// The donated argument leaf whose memory output `O` takes, or -1.
  template <int O> static constexpr int donor() { return output_buffer<O>().reuses; }

  template <int O, class Leaf, class On, class... X>
  static COTANGENT_HOST_INLINE Leaf make_output([[maybe_unused]] const On& on, [[maybe_unused]] const state& s, [[maybe_unused]] X&... arguments) {
    if constexpr (donor<O>() >= 0) {
      auto leaves = std::tie(arguments...);
      auto& given = get_leaf<donor<O>()>(leaves);
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(given)>, Leaf>) return std::move(given);
    }
    const auto dims = [&] { return shape_of_stored<Leaf>(s.value(output_buffer<O>().dims)); };
    if constexpr (is_device_array_v<Leaf>) return Leaf(uninitialized, on, dims());
    else if constexpr (std::is_trivially_copyable_v<Leaf>) return Leaf();  // inline: the compiler drops the zeros
    else if constexpr (Leaf::is_static()) return Leaf(uninitialized);
    else return Leaf(uninitialized, dims());
  }

  template <class On, class... X> static COTANGENT_HOST_INLINE result call(const On& on, X&... arguments) {
    if constexpr (!the_program::valid) return result{};  // the error is reported; no other may follow
    else {
      [[maybe_unused]] const typename Backend::scope scope(on, name_of_function<F>());
      state s;
      s.queue = queue(on);
      const void* in[inputs > 0 ? inputs : 1];
      bind(s, in, arguments...);
      result r = make_tree<result>([&]<class Leaf, int O>(std::type_identity<Leaf>, std::integral_constant<int, O>) {
        return make_output<O, Leaf>(on, s, arguments...);
      });
      run_into(s, in, r);
      return r;
    }
  }

  template <class R> static COTANGENT_HOST_INLINE void run_into(state& s, const void** in, R& r) {
    void* out[outputs > 0 ? outputs : 1];
    int o = 0;
    for_each_leaf([&](auto& leaf) { out[o++] = leaf.data(); }, r);
    Backend::template run_program<the_program, count_of_numbers>(s, in, out, size_of_number);
  }

  /// Into existing arrays or views: their shapes are checked first; they may not overlap the arguments.
  template <class On, class R, class... X> static void call_into(const On& on, R& r, const X&... arguments) {
    [[maybe_unused]] const typename Backend::scope scope(on, name_of_function<F>());
    state s;
    s.queue = queue(on);
    const void* in[inputs > 0 ? inputs : 1];
    bind(s, in, arguments...);
    [&]<int... O>(std::integer_sequence<int, O...>) COTANGENT_EXPANDED { (check_output<O>(s, get_leaf<O>(r)), ...); }(std::make_integer_sequence<int, std::min(outputs, leaf_count<R>)>());
    check_overlap(r, arguments...);
    run_into(s, in, r);
  }
  /// Whether the array that output O goes to has the right shape and memory. (What the types say costs nothing in a call.)
  template <int O, class Leaf> static COTANGENT_HOST_INLINE void check_output(const state& s, const Leaf& leaf) {
    static_assert(!leaf_traits<Leaf>::is_scalar, "into: an output must be an array or a view");
    const auto wanted = [&] { return shape_of_stored<Leaf>(s.value(output_buffer<O>().dims)); };
    const auto fits = [&] {
      if constexpr (Leaf::is_static() && !has_symbol(output_buffer<O>().dims))
        return std::bool_constant<Leaf::type_shape() == shape_of_stored<Leaf>(output_buffer<O>().dims)>();
      else return leaf.shape() == wanted();
    };
    if (!fits() || (leaf.data() == nullptr && leaf.size() > 0)) throw_unfit(O, leaf.shape(), wanted());
  }
  [[noreturn, gnu::cold]] static void throw_unfit(int output, const shape& dims, const shape& want) {
    throw shape_error("into: output " + std::to_string(output) + " has shape " + text_of(dims) + " where " + text_of(want) + " is needed");
  }
  template <class R, class... X> static void check_overlap(const R& r, const X&... arguments) {
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

/// The compiled call on whatever device the arguments are on. `Accelerators` are the backends that this file is compiled with.
template <class Accelerators, class F, class... A> struct call_anywhere;
template <class... Backend, class F, class... A> struct call_anywhere<types<Backend...>, F, A...> {
  using on_host = compiled_call<host::backend, F, A...>;
  using result = typename on_host::result;

  template <class... X> static result call(X&... arguments) {
    if constexpr (!on_host::the_program::valid) return result{};
    else {
      const device on = common_device(arguments...);
      return find<result>(on, [&](auto chosen) { return compiled_call<typename decltype(chosen)::type, F, A...>::call(on, arguments...); });
    }
  }
  template <class R, class... X> static void call_into(R& r, const X&... arguments) {
    const device on = common_device(arguments..., r);
    find<void>(on, [&](auto chosen) { compiled_call<typename decltype(chosen)::type, F, A...>::call_into(on, r, arguments...); });
  }

 private:
  template <class R, class Run> static R find(const device& on, const Run& run) {
    if (on == device()) return run(std::type_identity<host::backend>{});
    return find_among<R>(types<Backend...>{}, on, run);
  }
  template <class R, class First, class... Rest, class Run> static R find_among(types<First, Rest...>, const device& on, const Run& run) {
    if (on.platform() == std::string_view(First::platform::name)) return run(std::type_identity<First>{});
    return find_among<R>(types<Rest...>{}, on, run);
  }
  template <class R, class Run> static R find_among(types<>, const device& on, const Run&) {
    throw device_error("jit: the arguments are on " + on.name() + ", and this call was compiled without that platform" +
                       (on.platform() == std::string_view(cuda::name) ? "; compile this file with nvcc" : ""));
  }
};

/// Whether the leaves of two lists, as many in both, have the same element types.
template <class... A, class... B> constexpr bool same_dtypes(types<A...>, types<B...>) {
  return (true && ... && std::is_same_v<std::remove_cv_t<typename leaf_traits<A>::value_type>, std::remove_cv_t<typename leaf_traits<B>::value_type>>);
}

/// Whether arguments are arrays of the host as well as of devices.
template <class... Leaf> constexpr bool mixes_devices(types<Leaf...>) {
  return has_device_leaf(types<Leaf...>{}) && (false || ... || (!is_on_device_v<Leaf> && !leaf_traits<Leaf>::is_scalar));
}

/// Whether arrays of a tree of this type end with it: those that it holds itself, and does not refer to.
template <class R> inline constexpr bool owns_arrays = []<class... Leaf>(types<Leaf...>) { return (false || ... || is_owning_leaf<Leaf>); }(leaf_types<R>{});
template <class R> inline constexpr bool owns_arrays<R&> = false;
template <class... R> inline constexpr bool owns_arrays<std::tuple<R...>> = (false || ... || owns_arrays<R>);
template <class A, class B> inline constexpr bool owns_arrays<std::pair<A, B>> = owns_arrays<A> || owns_arrays<B>;

/// jit(f).into(out): calls write into `out`, of type Out, which is a reference unless `out` is a temporary of views or references.
template <class F, class Out> class jitted_into {
  static_assert(!owns_arrays<Out>, "into: the output is a temporary, which would be lost; pass an array that stays, a view, or std::tie of these");
  using R = std::remove_reference_t<Out>;
  [[no_unique_address]] F f_;
  Out out_;

 public:
  constexpr jitted_into(const F& f, Out&& out) : f_(f), out_(std::forward<Out>(out)) {}

  template <class... A> void operator()(const A&... arguments) const {
    if constexpr ((is_expression<A> || ...)) (*this)(evaluated(arguments)...);
    else run(arguments...);
  }

 private:
  template <class... A> void run(const A&... arguments) const {
    using on_host = compiled_call<host::backend, F, const A&...>;
    static_assert(leaf_count<R> == on_host::outputs, "into: the output does not have the structure of the function's result");
    if constexpr (leaf_count<R> == on_host::outputs)
      static_assert(same_dtypes(leaf_types<R>{}, leaf_types<typename on_host::result>{}), "into: an output has another element type than the function's result");
    static_assert(!mixes_devices((leaf_types<R>{} + ... + leaf_types<A>{})), "into: arrays of the host and of a device in one call; move them with ct::device_put");
    if constexpr (on_device<A...>) call_anywhere<accelerators, F, const A&...>::call_into(out_, arguments...);
    else on_host::call_into(on_the_host(), out_, arguments...);
  }
};

template <class F> class jitted {
  [[no_unique_address]] F f_;

 public:
  constexpr jitted() = default;
  constexpr explicit jitted(const F& f) : f_(f) {}

  /// Calls the compiled function. Inside a trace it is inlined. An array passed as an rvalue is donated: its memory
  /// may become a result's. Throws shape_error if run-time extents disagree, before anything is written.
  template <class... A> COTANGENT_HOST_INLINE constexpr auto operator()(A&&... arguments) const {
    if constexpr ((is_expression<A> || ...)) return (*this)(evaluated(std::forward<A>(arguments))...);
    else if constexpr ((has_traced_leaf<std::remove_cvref_t<A>>() || ...)) return f_(arguments...);
    else {
      return run_compiled(f_, std::forward<A>(arguments)...);
    }
  }

  /// step.into(out)(arguments...): writes the results into existing arrays or views and allocates nothing. Of several results, `out` may be
  /// std::tie of where each goes.
  template <class R> constexpr auto into(R&& out) const { return jitted_into<F, R>(f_, std::forward<R>(out)); }

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

template <class F, class... A> auto run_compiled(const F& f, A&&... arguments) {
  if constexpr (!stateless<F>) return run_with_captured(f, std::forward<A>(arguments)...);
  else {
    using on_host = compiled_call<host::backend, F, A&&...>;
    static_assert(!mixes_devices((types<>{} + ... + leaf_types<A>{})), "jit: arrays of the host and of a device in one call; move them with ct::device_put");
    if constexpr (on_host::the_program::valid) static_assert(on_host::the_program::named);
    if constexpr (on_device<A...>) return call_anywhere<accelerators, F, A&&...>::call(arguments...);
    else return on_host::call(on_the_host(), arguments...);
  }
}

}  // namespace cotangent
