#pragma once
/// vmap: a function of one instance as a function of a batch.

#include <cotangent/transforms/grad.hpp>

namespace cotangent {

/// The extent of an axis, or its name.
struct axis_extent {
  extent size = dyn;
  char name[longest_axis_name + 1] = {};
  constexpr axis_extent(extent n) : size(n) {}
  template <std::size_t N> constexpr axis_extent(const char (&s)[N]) {
    static_assert(N <= sizeof name, "axis_size: the name of an axis has at most 56 characters");
    for (std::size_t i = 0; i + 1 < N; ++i) name[i] = s[i];
  }
  constexpr bool is_name() const { return name[0] != 0; }
};

struct none_tag {};
/// An argument that is not mapped, a result that is not batched.
inline constexpr none_tag none{};

/// Axes of the leaves of one argument.
template <auto... Axes> struct leaf_axes {};
/// Per argument: an axis (negative from the end), `none`, or for a tree `leaf_axes<...>` with one entry per leaf.
template <auto... Axes> struct in_axes_tag {};
template <auto... Axes> inline constexpr in_axes_tag<Axes...> in_axes{};
template <auto... Axes> struct out_axes_tag {};
template <auto... Axes> inline constexpr out_axes_tag<Axes...> out_axes{};
/// The parts of an axis's packed name. (nvcc deduces no arguments of class types, and does not write default ones in a way that g++ reads.)
template <extent... Parts> struct name_parts {
  static constexpr shape value{Parts...};
};
template <shape Name> struct with_parts {
  template <std::size_t... I> static name_parts<Name.dims[I]...> make(std::index_sequence<I...>);
  using type = decltype(make(std::make_index_sequence<std::size_t(Name.rank)>()));
};
/// The packed name of an axis.
template <text Name> consteval shape axis_named() {
  static_assert(Name.view().size() > 0 && Name.view().size() <= longest_axis_name, "axis_name: the name of an axis has 1 to 56 characters");
  return packed_name(Name.view().substr(0, longest_axis_name));
}
template <class Parts> struct axis_name_tag {};
/// The name of the mapped axis, for collectives in the function: ct::psum<"i">(x).
template <text Name> inline constexpr axis_name_tag<typename with_parts<axis_named<Name>()>::type> axis_name{};
template <extent N> struct axis_size_tag {};
template <axis_extent E> struct axis_size_call;
/// `axis_size<8>`: the extent of the mapped axis, for ct::vmap. `axis_size<"i">()`: the number of instances along axis "i" (int32), inside
/// of the function that is mapped. JAX: jax.lax.axis_size.
template <axis_extent E> inline constexpr std::conditional_t<E.is_name(), axis_size_call<E>, axis_size_tag<E.size>> axis_size{};

template <class A> constexpr int axis_number(A a) {
  if constexpr (std::is_same_v<A, none_tag>) return not_mapped;
  else return int(a);
}
/// Appends the axes of one argument's leaves.
template <class A> constexpr void append_axes(A a, int leaves, sequence<int>& to) {
  for (int i = 0; i < leaves; ++i) to.push_back(axis_number(a));
}
template <auto... Axes> constexpr void append_axes(leaf_axes<Axes...>, int leaves, sequence<int>& to) {
  const int list[] = {axis_number(Axes)...};
  for (int i = 0; i < leaves; ++i) to.push_back(i < int(sizeof...(Axes)) ? list[i] : not_mapped);
}

/// Leaf L with its axis removed, or itself. Families for structs: see without_axis.
template <class L, int Axis> struct unbatched_leaf {
  static constexpr int at = Axis < 0 ? Axis + L::rank() : Axis;
  static_assert(at >= 0 && at < L::rank(), "vmap: in_axes names an axis that the argument does not have");
  static constexpr shape dims = erase(L::type_shape(), at);
  using type = typename with_shape<var, typename L::value_type, dims>::type;
};
template <class L> struct unbatched_leaf<L, not_mapped> {
  using type = L;
};
template <class L, int Axis, extent Size> struct batched_leaf {
  static constexpr int at = Axis < 0 ? Axis + L::rank() + 1 : Axis;
  static_assert(at >= 0 && at <= L::rank(), "vmap: out_axes names an axis that the result does not have");
  static constexpr shape dims = insert(L::type_shape(), at, Size);
  using type = typename with_shape<var, typename L::value_type, dims>::type;
};
template <class L, extent Size> struct batched_leaf<L, not_mapped, Size> {
  using type = L;
};

/// A struct over a batched family: what vmap returns for a function that returns a struct over `var`.
template <int Axis, extent Size> struct batched_family {
  template <class T, extent... E> using type = typename batched_leaf<var<T, E...>, Axis, Size>::type;
};

/// Every leaf has its axis at the front.
struct leading_axes {
  static constexpr int at(int) { return 0; }
  static constexpr int out(int) { return 0; }
};

/// The tree of arguments f sees, given per-leaf axes (I: the axis of leaf Leaf of the whole argument list).
template <class V, class Axes, int Leaf = 0> struct unbatched {
  using type = typename unbatched_leaf<V, Axes::at(Leaf)>::type;
};
template <class... C, class Axes, int Leaf> struct unbatched<std::tuple<C...>, Axes, Leaf> {
  template <std::size_t... I> static auto make(std::index_sequence<I...>) {
    [[maybe_unused]] constexpr auto starts = leaf_starts<Leaf, C...>();
    return std::type_identity<std::tuple<typename unbatched<C, Axes, starts[I]>::type...>>{};
  }
  using type = typename decltype(make(std::index_sequence_for<C...>{}))::type;
};
template <class A, class B, class Axes, int Leaf> struct unbatched<std::pair<A, B>, Axes, Leaf> {
  using type = std::pair<typename unbatched<A, Axes, Leaf>::type, typename unbatched<B, Axes, Leaf + leaf_count<A>>::type>;
};
template <class C, std::size_t N, class Axes, int Leaf> struct unbatched<std::array<C, N>, Axes, Leaf> {
  using type = std::array<typename unbatched<C, Axes, Leaf>::type, N>;
};
/// A struct over the types of its fields is the tuple of them under its name.
template <class S, class Tuple> struct struct_of_tuple;
template <class S, class... T> struct struct_of_tuple<S, std::tuple<T...>> {
  using type = typename struct_of_fields<S>::template to<T...>;
};
template <class S> struct tuple_of_struct;
template <template <class...> class S, class... T> struct tuple_of_struct<S<T...>> {
  using type = std::tuple<T...>;
};
template <class S, class Axes, int Leaf>
  requires(struct_of_fields<S>::possible)
struct unbatched<S, Axes, Leaf> : struct_of_tuple<S, typename unbatched<typename tuple_of_struct<S>::type, Axes, Leaf>::type> {};
template <class S, class Axes, int Leaf>
  requires(is_struct_node<S> && !struct_of_fields<S>::possible)
struct unbatched<S, Axes, Leaf> {
  static constexpr bool mapped = [] {
    for (int i = 0; i < leaf_count<S>; ++i)
      if (Axes::at(Leaf + i) != not_mapped) return true;
    return false;
  }();
  static_assert(!mapped, "vmap: a struct's extents are fixed in its type, so its leaves cannot lose the mapped axis; map a tuple of arrays, or use in_axes none for the struct");
  using type = S;
};

/// The tree f returns, batched.
template <class V, class Axes, extent Size, int Leaf = 0> struct batched {
  using type = typename batched_leaf<V, Axes::out(Leaf), Size>::type;
};
template <class... C, class Axes, extent Size, int Leaf> struct batched<std::tuple<C...>, Axes, Size, Leaf> {
  template <std::size_t... I> static auto make(std::index_sequence<I...>) {
    [[maybe_unused]] constexpr auto starts = leaf_starts<Leaf, C...>();
    return std::type_identity<std::tuple<typename batched<C, Axes, Size, starts[I]>::type...>>{};
  }
  using type = typename decltype(make(std::index_sequence_for<C...>{}))::type;
};
template <class A, class B, class Axes, extent Size, int Leaf> struct batched<std::pair<A, B>, Axes, Size, Leaf> {
  using type = std::pair<typename batched<A, Axes, Size, Leaf>::type, typename batched<B, Axes, Size, Leaf + leaf_count<A>>::type>;
};
template <class C, std::size_t N, class Axes, extent Size, int Leaf> struct batched<std::array<C, N>, Axes, Size, Leaf> {
  using type = std::array<typename batched<C, Axes, Size, Leaf>::type, N>;
};
template <class S, class Axes, extent Size, int Leaf>
  requires(is_struct_node<S> && leaf_count<S> == 0)
struct batched<S, Axes, Size, Leaf> {
  using type = S;
};
template <class S, class Axes, extent Size, int Leaf>
  requires(struct_of_fields<S>::possible && leaf_count<S> > 0)
struct batched<S, Axes, Size, Leaf> : struct_of_tuple<S, typename batched<typename tuple_of_struct<S>::type, Axes, Size, Leaf>::type> {};
template <class S, class Axes, extent Size, int Leaf>
  requires(is_struct_node<S> && !struct_of_fields<S>::possible && leaf_count<S> > 0)
struct batched<S, Axes, Size, Leaf> {
  using type = typename struct_rebind<S>::template to<batched_family<Axes::out(Leaf), Size>::template type>;
};

/// The options of vmap as one type.
template <class In = in_axes_tag<0>, class Out = out_axes_tag<0>, extent Size = dyn, class Name = name_parts<>> struct vmap_options {};
template <auto... I, class In, class Out, extent N, class Name> constexpr vmap_options<in_axes_tag<I...>, Out, N, Name> with_tag(vmap_options<In, Out, N, Name>, in_axes_tag<I...>) { return {}; }
template <auto... O, class In, class Out, extent N, class Name> constexpr vmap_options<In, out_axes_tag<O...>, N, Name> with_tag(vmap_options<In, Out, N, Name>, out_axes_tag<O...>) { return {}; }
template <extent M, class In, class Out, extent N, class Name> constexpr vmap_options<In, Out, M, Name> with_tag(vmap_options<In, Out, N, Name>, axis_size_tag<M>) { return {}; }
template <class Parts, class In, class Out, extent N, class Name> constexpr vmap_options<In, Out, N, Parts> with_tag(vmap_options<In, Out, N, Name>, axis_name_tag<Parts>) { return {}; }
template <class Options, class Tag> constexpr Options with_tag(Options, Tag) {
  static_assert(std::is_same_v<Tag, void>, "vmap: the options are ct::in_axes<...>, ct::out_axes<...>, ct::axis_size<N> and ct::axis_name<\"i\">");
  return {};
}
template <class Options> constexpr Options with_tags(Options) { return {}; }
template <class Options, class Tag, class... Tags> constexpr auto with_tags(Options o, Tag tag, Tags... tags) { return with_tags(with_tag(o, tag), tags...); }

template <class F, class Options> struct mapped;

template <class F, auto... In, auto... Out, extent Size, class Name>
struct mapped<F, vmap_options<in_axes_tag<In...>, out_axes_tag<Out...>, Size, Name>>
    : transform_base<mapped<F, vmap_options<in_axes_tag<In...>, out_axes_tag<Out...>, Size, Name>>> {
  [[no_unique_address]] F f;
  constexpr mapped() = default;
  constexpr explicit mapped(const F& function) : f(function) {}
  template <class G> using with = mapped<G, vmap_options<in_axes_tag<In...>, out_axes_tag<Out...>, Size, Name>>;

  /// Axes per leaf of the arguments V, as the user wrote them.
  template <class... V> static constexpr sequence<int> written_axes() {
    sequence<int> axes;
    if constexpr (sizeof...(In) == sizeof...(V)) (append_axes(In, leaf_count<V>, axes), ...);
    else if constexpr (sizeof...(In) == 1) append_axes(In..., (0 + ... + leaf_count<V>), axes);
    return axes;
  }
  /// The same, counted from the front.
  template <class... V> static constexpr sequence<int> input_axes() {
    sequence<int> axes = written_axes<V...>();
    sequence<int> ranks;
    (ranks_of<V>(ranks), ...);
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (axes[i] != not_mapped && axes[i] < 0) axes[i] += ranks[i];
    return axes;
  }
  template <class V> static constexpr void ranks_of(sequence<int>& to) {
    []<class... L>(types<L...>, sequence<int>& list) { (list.push_back(L::rank()), ...); }(leaf_types<V>{}, to);
  }
  template <class V> static constexpr void shapes_of(sequence<shape>& to) {
    []<class... L>(types<L...>, sequence<shape>& list) { (list.push_back(L::type_shape()), ...); }(leaf_types<V>{}, to);
  }
  /// The extent of the mapped axis; dyn if only the run knows it. Says what is wrong, if something is.
  template <class... V> static constexpr extent mapped_extent(message* why = nullptr) {
    const sequence<int> axes = input_axes<V...>(), written = written_axes<V...>();
    if (sizeof...(In) != 1 && sizeof...(In) != sizeof...(V)) {
      if (why) *why = message{} << "vmap: in_axes has " << int(sizeof...(In)) << " entries for " << int(sizeof...(V)) << " arguments; give one entry, or one per argument";
      return dyn;
    }
    sequence<shape> shapes;
    (shapes_of<V>(shapes), ...);
    extent n = Size;
    bool any = Size != dyn;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] == not_mapped) continue;
      if (axes[i] < 0 || axes[i] >= shapes[i].rank) {
        if (why) *why = message{} << "vmap: in_axes names axis " << written[i] << " of an argument of rank " << shapes[i].rank << " (" << shapes[i] << ")";
        return dyn;
      }
      any = true;
      const extent e = shapes[i][axes[i]];
      if (n == dyn) n = e;
      else if (e != dyn && e != n && why) *why = message{} << "vmap: inconsistent sizes of the mapped axes: " << n << " and " << e << " (argument of shape " << shapes[i] << ")";
    }
    if (!any && why) *why = message{} << "vmap: in_axes must map at least one argument, or axis_size must be given";
    return n;
  }
  template <class... V> struct why_wrong {
    constexpr message operator()() const {
      message m;
      mapped_extent<V...>(&m);
      return m;
    }
  };

  template <class... V> struct axes_of {
    static constexpr int at(int leaf) {
      const sequence<int> axes = input_axes<V...>();
      return axes[std::size_t(leaf)];
    }
    static constexpr int out(int leaf) {
      sequence<int> axes;
      (append_axes(Out, 1, axes), ...);
      return sizeof...(Out) == 1 ? axes[0] : std::size_t(leaf) < axes.size() ? axes[std::size_t(leaf)] : not_mapped;
    }
  };
  template <class... V> using inner_arguments = typename unbatched<std::tuple<V...>, axes_of<V...>>::type;
  template <class... V> static constexpr bool fits = why_wrong<V...>{}().empty();
  template <class... V> struct types_for {
    using arguments = inner_arguments<V...>;
    using out = typename pushforward<F>::template of<arguments>::out;
    using type = typename batched<out, axes_of<V...>, mapped_extent<V...>()>::type;
  };
  struct no_types {
    using type = var<float>;
  };
  template <class... V> using result = typename std::conditional_t<fits<V...>, types_for<V...>, no_types>::type;

  template <class... V> constexpr closure transformed(nesting level) const {
    if constexpr (!fits<V...>) return {failed_graph<var<float>, V...>(why_wrong<V...>{}()), {}};
    else return mapped_graph<V...>(level);
  }

 private:
  template <class... V> constexpr closure mapped_graph(nesting level) const {
    using types_here = types_for<V...>;
    using out = typename types_here::out;
    if (sizeof...(Out) != 1 && int(sizeof...(Out)) != leaf_count<out>)
      return {failed_graph<typename types_here::type, V...>(message{} << "vmap: out_axes has " << int(sizeof...(Out)) << " entries for " << leaf_count<out>
                                                                      << " results; give one entry, or one per array that the function returns"), {}};
    closure c = pushforward<F>::template of<typename types_here::arguments>::trace(f, level);
    if (!c.body.error.empty()) return c;
    sequence<int> in = input_axes<V...>(), outs, ranks;
    while (in.size() < c.body.inputs.size()) in.push_back(not_mapped);
    ranks_of<out>(ranks);
    for (int i = 0; i < int(ranks.size()); ++i) {
      int axis = axes_of<V...>::out(i);
      if (axis != not_mapped && axis < 0) axis += ranks[std::size_t(i)] + 1;
      outs.push_back(axis);
    }
    c.body = batch_graph(c.body, in, outs, mapped_extent<V...>(), Name::value);
    return c;
  }
};

/// f mapped over an axis of its arguments. Options, in any order: `in_axes<0, none, -1>`, per argument the axis or none (default: 0 of
/// all); `out_axes<1>`, where the axis goes in the results (default 0); `axis_size<N>`, the extent, if nothing is mapped;
/// `axis_name<"i">`, by which collectives in f (transforms/collectives.hpp) refer to the axis. JAX: jax.vmap.
template <class F, class... Options> constexpr auto vmap(const F& f, Options... options) {
  return mapped<F, decltype(with_tags(vmap_options<>(), options...))>(f);
}

}  // namespace cotangent
