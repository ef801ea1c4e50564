#pragma once
/// Collectives: what the instances of a mapped function compute together, along an axis that ct::vmap names. A collective is a primitive
/// until the batch along its axis is made, which writes it in terms of others; other batches leave it as it is.

#include <cotangent/transforms/vmap.hpp>

namespace cotangent {

/// What collectives share. Attributes: the packed name of the axis after the number of its parts, then the primitive's own.
struct collective {
  static constexpr role kind = role::opaque;
  static constexpr bool by_parts = true;
  static constexpr double flops = 1;
  static constexpr int first(const call& c) { return 1 + int(c.attribute(0)); }
  static constexpr extent own(const call& c, int k) { return c.attribute(first(c) + k); }
  /// The attributes with others in place of the own ones, or with their axes moved.
  static constexpr sequence<extent> attributes(const call& c, const sequence<extent>& own) {
    sequence<extent> all;
    for (int k = 0; k < first(c); ++k) all.push_back(c.attribute(k));
    for (extent a : own) all.push_back(a);
    return all;
  }
  template <class P> static constexpr value emit_with(const call& c, value x, const sequence<extent>& own) {
    const sequence<extent> all = attributes(c, own);
    return emit<P>({x}, all.data(), int(all.size()), c.type);
  }
  static constexpr void fail(const call& c, const message& m) {
    shape parts;
    for (int k = 1; k < first(c); ++k) parts.push_back(c.attribute(k));
    c.b->fail(message{} << c.op->name << " along " << unpacked_name(parts).view() << ": " << m.view());
  }
  static constexpr void infer(call& c) { c.type = c[0].type(), c.dims = c[0].dims(); }
  static constexpr value jvp(const call& c, const value* t) { return t[0] ? emit_again(c, t) : value(); }
  static constexpr bool linear(const call&, int) { return true; }
  static constexpr value batch(const call& c, const bool*, extent) { return emit_again(c, c.operands); }
};

/// The sum over all instances. Its transpose is a sum: each instance's result depends on every instance's operand.
struct psum_p : collective {
  static constexpr std::string_view name = "psum";
  static constexpr bool varies = false;
  static constexpr value vjp(const call& c, int, value g) { return emit_again(c, &g); }
  static constexpr value along(const call& c, const bool* batched, extent size) {
    return batched[0] ? reduce_sum(c[0], {0}) : c[0] * extent_like(c[0], size);
  }
};

/// The largest or smallest value of all instances; ties share the derivative equally, as those of ct::max do.
template <class P> struct extremal_collective : collective {
  static constexpr bool by_parts = false;
  static constexpr bool varies = false;
  static constexpr bool linear(const call&, int) { return false; }
  static constexpr value jvp(const call& c, const value* t) {
    if (!t[0]) return {};
    const value chosen = eq(c[0], c.result);
    return total(c, select(chosen, t[0], zeros_like(t[0]))) / total(c, convert(chosen, c.type));
  }
  static constexpr value vjp(const call& c, int, value g) {
    const value chosen = eq(c[0], c.result);
    return select(chosen, total(c, g) / total(c, convert(chosen, c.type)), zeros_like(g));
  }
  static constexpr value along(const call& c, const bool* batched, extent) {
    return !batched[0] ? c[0] : c.type == dtype::boolean ? P::of_bool(c[0]) : P::of_numbers(c[0]);
  }

 private:
  static constexpr value total(const call& c, value x) { return emit_with<psum_p>(c, x, {}); }
};
struct pmax_p : extremal_collective<pmax_p> {
  static constexpr std::string_view name = "pmax";
  static constexpr value of_numbers(value x) { return reduce_max(x, {0}); }
  static constexpr value of_bool(value x) { return reduce_or(x, {0}); }
};
struct pmin_p : extremal_collective<pmin_p> {
  static constexpr std::string_view name = "pmin";
  static constexpr value of_numbers(value x) { return reduce_min(x, {0}); }
  static constexpr value of_bool(value x) { return reduce_and(x, {0}); }
};

/// The operands of other instances. Own attributes: pairs of source and target.
struct ppermute_p : collective {
  static constexpr std::string_view name = "ppermute";
  static constexpr bool varies = true;
  static constexpr value vjp(const call& c, int, value g) {
    sequence<extent> turned;
    for (int k = 0; first(c) + k < c.attribute_count; k += 2) turned.push_back(own(c, k + 1)), turned.push_back(own(c, k));
    return emit_with<ppermute_p>(c, g, turned);
  }
  /// Neighbouring targets of neighbouring sources are copied together.
  static constexpr value along(const call& c, const bool* batched, extent size) {
    if (is_symbol(size)) return fail(c, message{} << "the number of instances must be known when the program is compiled"), value();
    constexpr int nowhere = -1;
    sequence<int> sources(std::size_t(size), nowhere);
    flag_list sends(std::size_t(size), false);
    for (int k = 0; first(c) + k < c.attribute_count; k += 2) {
      const extent from = own(c, k), to = own(c, k + 1);
      if (from < 0 || from >= size || to < 0 || to >= size)
        return fail(c, message{} << "the pair (" << from << ", " << to << ") does not name instances of " << size), value();
      if (sends[std::size_t(from)]) return fail(c, message{} << "instance " << from << " is the source of two pairs"), value();
      if (sources[std::size_t(to)] != nowhere) return fail(c, message{} << "instance " << to << " is the target of two pairs"), value();
      sends[std::size_t(from)] = true, sources[std::size_t(to)] = int(from);
    }
    const value x = batched_operand(c[0], batched[0], size);
    const shape dims = x.dims();
    sequence<value> parts;
    for (extent i = 0, next = 0; i < size; i = next) {
      const int from = sources[std::size_t(i)];
      for (next = i + 1; next < size && sources[std::size_t(next)] == (from == nowhere ? nowhere : from + int(next - i));) ++next;
      shape part = dims;
      part[0] = next - i;
      if (from == nowhere) parts.push_back(constant(*c.b, x.type(), part, 0));
      else parts.push_back(slice(x, insert(filled(dims.rank - 1, 0), 0, from), part, filled(dims.rank, 1)));
    }
    return parts.empty() ? x : concatenate(parts, 0);
  }
};

struct psum_scatter_p;
/// The operands of all instances along a new axis. Own attributes: the axis and the number of instances.
struct all_gather_p : collective {
  static constexpr std::string_view name = "all_gather";
  static constexpr bool varies = false;
  static constexpr void infer(call& c) {
    c.type = c[0].type();
    if (own(c, 0) > c[0].rank()) return fail(c, message{} << "axis " << own(c, 0) << " is out of range for the result of " << c[0].type() << c[0].dims());
    c.dims = insert(c[0].dims(), int(own(c, 0)), own(c, 1));
  }
  static constexpr value vjp(const call& c, int, value g);
  static constexpr value batch(const call& c, const bool*, extent) { return emit_with<all_gather_p>(c, c[0], {own(c, 0) + 1, own(c, 1)}); }
  static constexpr value along(const call& c, const bool* batched, extent size) {
    if (!c.b->symbols.unify(c.op->name, size, own(c, 1))) fail(c, message{} << "there are " << size << " instances, not " << own(c, 1));
    return move_axis(batched_operand(c[0], batched[0], size), 0, int(own(c, 0)));
  }
};
/// The sum over all instances, of which each gets one entry along an axis, which goes. Own attribute: the axis.
struct psum_scatter_p : collective {
  static constexpr std::string_view name = "psum_scatter";
  static constexpr bool varies = true;
  static constexpr void infer(call& c) {
    c.type = c[0].type();
    if (own(c, 0) >= c[0].rank()) return fail(c, message{} << "axis " << own(c, 0) << " is out of range for " << c[0].type() << c[0].dims());
    c.dims = erase(c[0].dims(), int(own(c, 0)));
  }
  static constexpr value vjp(const call& c, int, value g) { return emit_with<all_gather_p>(c, g, {own(c, 0), c[0].dims()[int(own(c, 0))]}); }
  static constexpr value batch(const call& c, const bool*, extent) { return emit_with<psum_scatter_p>(c, c[0], {own(c, 0) + 1}); }
  static constexpr value along(const call& c, const bool* batched, extent size) {
    const int axis = int(own(c, 0));
    const value sum = psum_p::along(c, batched, size);
    if (const extent there = sum.dims()[axis]; !c.b->symbols.unify(c.op->name, there, size)) fail(c, message{} << "axis " << axis << " of " << sum.type() << sum.dims() << " has an entry for each of " << there << " instances, and there are " << size);
    return move_axis(sum, axis, 0);
  }
};
constexpr value all_gather_p::vjp(const call& c, int, value g) { return emit_with<psum_scatter_p>(c, g, {own(c, 0)}); }

/// Entry i along an axis goes to instance i, and what an instance gets lies along another. Own attributes: both axes.
struct all_to_all_p : collective {
  static constexpr std::string_view name = "all_to_all";
  static constexpr bool varies = true;
  static constexpr void infer(call& c) {
    c.type = c[0].type();
    for (int k = 0; k < 2; ++k)
      if (own(c, k) >= c[0].rank()) return fail(c, message{} << "axis " << own(c, k) << " is out of range for " << c[0].type() << c[0].dims());
    const int from = int(own(c, 0));
    c.dims = insert(erase(c[0].dims(), from), int(own(c, 1)), c[0].dims()[from]);
  }
  static constexpr value vjp(const call& c, int, value g) { return emit_with<all_to_all_p>(c, g, {own(c, 1), own(c, 0)}); }
  static constexpr value batch(const call& c, const bool*, extent) { return emit_with<all_to_all_p>(c, c[0], {own(c, 0) + 1, own(c, 1) + 1}); }
  static constexpr value along(const call& c, const bool* batched, extent size) {
    const int from = int(own(c, 0)), to = int(own(c, 1));
    const value x = batched_operand(c[0], batched[0], size);
    if (const extent there = x.dims()[from + 1]; !c.b->symbols.unify(c.op->name, there, size)) fail(c, message{} << "axis " << from << " of " << c[0].type() << c[0].dims() << " has an entry for each of " << there << " instances, and there are " << size);
    const shape rest = erase(erase(axes_from(0, x.rank()), from + 1), 0);
    return transpose(x, insert(insert(rest, to, 0), 0, from + 1));
  }
};

/// The number of an instance, and how many there are.
struct axis_source : collective {
  static constexpr role kind = role::source;
  static constexpr void infer(call& c) { c.dims = {}; }
};
struct axis_index_p : axis_source {
  static constexpr std::string_view name = "axis_index";
  static constexpr bool varies = true;
  static constexpr value along(const call& c, const bool*, extent size) { return iota(*c.b, c.type, {size}, 0); }
};
struct axis_size_p : axis_source {
  static constexpr std::string_view name = "axis_size";
  static constexpr bool varies = false;
  static constexpr value along(const call& c, const bool*, extent size) { return extent_value(*c.b, c.type, size); }
};

/// The operand of one instance. Own attribute: its number.
struct pbroadcast_p : collective {
  static constexpr std::string_view name = "pbroadcast";
  static constexpr bool varies = false;
  static constexpr value vjp(const call& c, int, value g) {
    const value sum = emit_with<psum_p>(c, g, {});
    const sequence<extent> name = attributes(c, {});
    call index;
    index.op = &primitive_of<axis_index_p>, index.type = dtype::int32, index.attributes = name.data(), index.attribute_count = int(name.size());
    const value here = sum.b->emit(index);
    return select(broadcast_to(eq(here, full_like(here, double(own(c, 0)))), sum.dims()), sum, zeros_like(sum));
  }
  static constexpr value along(const call& c, const bool* batched, extent size) {
    const extent source = own(c, 0);
    if (is_symbol(size)) c.b->symbols.require_at_least(c.op->name, size, source + 1);
    else if (source >= size) return fail(c, message{} << "there is no instance " << source << " of " << size), value();
    if (!batched[0]) return c[0];
    const shape row = erase(c[0].dims(), 0);
    return reshape(slice(c[0], insert(filled(row.rank, 0), 0, source), insert(row, 0, 1), filled(row.rank + 1, 1)), row);
  }
};

/// P of x along the axis of a packed name, in the innermost trace: x may be a value of an outer one. Of a source, x is what it stands beside.
template <class P> constexpr value emit_collective(value x, const shape& name, const sequence<extent>& own = {}) {
  builder& b = x.b->innermost && x.b->innermost->deepest ? *x.b->innermost->deepest : *x.b;
  if constexpr (P::kind != role::source) x = b.adopt(x);
  sequence<extent> attributes;
  attributes.push_back(name.rank);
  for (extent part : name) attributes.push_back(part);
  for (extent a : own) attributes.push_back(a);
  call c;
  c.op = &primitive_of<P>, c.type = x.type(), c.attributes = attributes.data(), c.attribute_count = int(attributes.size());
  if constexpr (P::kind == role::source) c.type = dtype::int32;
  else c.operands = &x, c.count = 1;
  return b.emit(c);
}
/// An axis of x, from the end if negative, as an attribute.
constexpr extent collective_axis(std::string_view who, value x, extent axis, int rank) {
  if (axis < -rank || axis >= rank) x.b->fail(message{} << who << ": axis " << axis << " is out of range for " << x.type() << x.dims());
  return axis < 0 ? axis + rank : axis;
}

template <shape Name> struct psum_function {
  constexpr value operator()(value x) const { return emit_collective<psum_p>(x.type() == dtype::boolean ? convert(x, dtype::int32) : x, Name); }
};
template <shape Name> struct pmean_function {
  constexpr value operator()(value x) const {
    const value sum = emit_collective<psum_p>(inexact(x), Name);
    return sum / broadcast_to(convert(emit_collective<axis_size_p>(x, Name), sum.type()), sum.dims());
  }
};
/// P with these attributes of its own, as a function.
template <class P, shape Name, extent... Own> struct collective_function {
  constexpr value operator()(value x) const { return emit_collective<P>(x, Name, {Own...}); }
};
/// x with axis `axis` in `count` rows: [..., count * k, ...] to [..., count, k, ...]. And back.
constexpr value in_rows(std::string_view who, value x, int axis, extent count) {
  const extent n = x.dims()[axis];
  if (is_symbol(n) || n % count != 0) x.b->fail(message{} << who << ": axis " << axis << " of " << x.type() << x.dims() << " does not divide into " << count << " equal parts");
  if (x.b->failed()) return x;
  shape dims = insert(x.dims(), axis, count);
  dims[axis + 1] = n / count;
  return reshape(x, dims);
}
constexpr value without_rows(value x, int axis) {
  shape dims = erase(x.dims(), axis);
  if (!x.b->failed()) dims[axis] = x.b->symbols.combine(symbol::product, x.dims()[axis], dims[axis]);
  return x.b->failed() ? x : reshape(x, dims);
}
template <shape Name> struct all_gather_function {
  extent axis = 0, size = dyn;
  bool tiled = false;
  constexpr value operator()(value x) const {
    const int at = int(collective_axis("all_gather", x, axis, x.rank() + !tiled));
    if (x.b->failed()) return x;
    const value rows = emit_collective<all_gather_p>(x, Name, {at, size});
    return tiled ? without_rows(rows, at) : rows;
  }
};
template <shape Name> struct psum_scatter_function {
  extent axis = 0, size = dyn;
  bool tiled = false;
  constexpr value operator()(value x) const {
    const int at = int(collective_axis("psum_scatter", x, axis, x.rank()));
    if (x.b->failed()) return x;
    if (x.type() == dtype::boolean) x = convert(x, dtype::int32);
    return emit_collective<psum_scatter_p>(tiled ? in_rows("psum_scatter", x, at, size) : x, Name, {at});
  }
};
template <shape Name> struct all_to_all_function {
  extent split = 0, concat = 0, size = dyn;
  bool tiled = false;
  constexpr value operator()(value x) const {
    const int from = int(collective_axis("all_to_all", x, split, x.rank())), to = int(collective_axis("all_to_all", x, concat, x.rank()));
    if (x.b->failed()) return x;
    if (!tiled) return emit_collective<all_to_all_p>(x, Name, {from, to});
    return without_rows(emit_collective<all_to_all_p>(in_rows("all_to_all", x, from, size), Name, {from, to}), to);
  }
};

struct tiled_tag {};
/// What instances exchange lies one after the other along an axis that there is, in place of along an axis of its own.
inline constexpr tiled_tag tiled{};

/// The options of collectives that exchange parts.
struct collective_options {
  extent axis = 0, size = dyn;
  bool has_axis = false, tiled = false;
  template <extent A> constexpr void set(axis_tag<A>) { axis = A, has_axis = true; }
  template <extent N> constexpr void set(axis_size_tag<N>) { size = N; }
  constexpr void set(tiled_tag) { tiled = true; }
  template <class Tag> constexpr void set(Tag) {
    static_assert(std::is_same_v<Tag, tiled_tag>, "collectives: the options are ct::axis<k>, of all_gather and psum_scatter, ct::axis_size<N> and ct::tiled");
  }
  template <class... Tags> static constexpr collective_options of(Tags... tags) {
    collective_options o;
    (o.set(tags), ...);
    return o;
  }
};

template <class X> inline constexpr bool is_tuple_of_operands = false;
template <class... X> inline constexpr bool is_tuple_of_operands<std::tuple<X...>> = true;
/// Fn of every array of a tree, and of_number(x) of every C++ number.
template <auto Fn, class X, class N> constexpr auto collective_of_leaves(const X& x, N of_number) {
  if constexpr (number<X>) return of_number(x);
  else if constexpr (tensor<X>) return apply<Fn>(x);
  else if constexpr (is_tuple_of_operands<X>) return std::apply([&](const auto&... part) { return std::tuple(collective_of_leaves<Fn>(part, of_number)...); }, x);
  else return tree_map([](const auto& leaf) { return apply<Fn>(leaf); }, x);
}
/// A number is the same for all instances.
inline constexpr auto number_itself = [](auto x) { return x; };
inline constexpr auto not_a_number = [](auto x) { static_assert(!number<decltype(x)>, "collectives: a C++ number has no axes to exchange parts along"); };

/// A deferred source, which becomes a value in the trace of what it meets.
template <class P, shape Name> constexpr auto axis_source_expression() {
  return expression<typed_function<collective_function<P, Name>{}>, std::int32_t>{std::tuple<std::int32_t>(0)};
}

/// The number of the instance along axis Name: 0, 1, ... (int32, rank 0). JAX: jax.lax.axis_index.
///
/// Without an argument it is deferred, as there is no trace to belong to: an operand of other operations, where the trace is that of what stands beside it.
/// `axis_index<"i">(x)` with any traced x is a traced value at once, for loops' bounds and states, and for a variable that a nested map over an axis
/// of the same name is to capture.
template <text Name> constexpr auto axis_index() { return axis_source_expression<axis_index_p, axis_named<Name>()>(); }
template <text Name, traced X> constexpr auto axis_index(const X& beside) { return apply<collective_function<axis_index_p, axis_named<Name>()>{}>(beside); }
template <axis_extent E> struct axis_size_call {
  constexpr auto operator()() const { return axis_source_expression<axis_size_p, packed_name(std::string_view(E.name))>(); }
  template <traced X> constexpr auto operator()(const X& beside) const { return apply<collective_function<axis_size_p, packed_name(std::string_view(E.name))>{}>(beside); }
};

/// The sum of x over all instances along axis Name, which is the same for all of them: it need not be mapped in the result. x is an array
/// or a tree of arrays of any dtypes; booleans count as int32. Of a C++ number, its product with the number of instances. Several names:
/// along all of these axes. The derivative is a sum over all instances, too: the gradient by one instance's value is that of the
/// sum of all instances' results. Outside of a vmap that names the axis, a compile error. JAX: jax.lax.psum.
template <text Name, text... More, class X> constexpr auto psum(const X& x) {
  constexpr shape axis = axis_named<Name>();
  static_assert((true && ... && (Name.view() != More.view())), "psum: an axis is named twice");
  if constexpr (sizeof...(More) > 0) return psum<Name>(psum<More...>(x));
  else return collective_of_leaves<psum_function<axis>{}>(x, [](auto n) { return n * axis_source_expression<axis_size_p, axis_named<Name>()>(); });
}
/// psum divided by the number of instances; of integers, float32. JAX: jax.lax.pmean.
template <text Name, text... More, class X> constexpr auto pmean(const X& x) {
  static_assert((true && ... && (Name.view() != More.view())), "pmean: an axis is named twice");
  if constexpr (sizeof...(More) > 0) return pmean<Name>(pmean<More...>(x));
  else return collective_of_leaves<pmean_function<axis_named<Name>()>{}>(x, number_itself);
}
/// The largest value of all instances, element by element; real dtypes. Differentiable, which JAX's is not: instances that have it share the
/// derivative equally. JAX: jax.lax.pmax.
template <text Name, text... More, class X> constexpr auto pmax(const X& x) {
  static_assert((true && ... && (Name.view() != More.view())), "pmax: an axis is named twice");
  if constexpr (sizeof...(More) > 0) return pmax<Name>(pmax<More...>(x));
  else return collective_of_leaves<collective_function<pmax_p, axis_named<Name>()>{}>(x, number_itself);
}
/// The smallest. JAX: jax.lax.pmin.
template <text Name, text... More, class X> constexpr auto pmin(const X& x) {
  static_assert((true && ... && (Name.view() != More.view())), "pmin: an axis is named twice");
  if constexpr (sizeof...(More) > 0) return pmin<Name>(pmin<More...>(x));
  else return collective_of_leaves<collective_function<pmin_p, axis_named<Name>()>{}>(x, number_itself);
}

/// The x of instance Source for all instances. Its derivative is that of instance Source alone. JAX: jax.lax.pbroadcast.
template <text Name, extent Source, class X> constexpr auto pbroadcast(const X& x) {
  static_assert(Source >= 0, "pbroadcast: the source is the number of an instance");
  return collective_of_leaves<collective_function<pbroadcast_p, axis_named<Name>(), Source>{}>(x, number_itself);
}

/// The x of another instance: for each pair (source, target), of the source at the target; zeros at instances that are no target. No
/// instance may be source or target twice. The number of instances must be static. x is an array or a tree of arrays inside of the
/// mapped function. JAX: jax.lax.ppermute.
template <text Name, class X, class Pairs> constexpr X ppermute(const X& x, const Pairs& pairs) {
  static_assert(has_traced_leaf<X>(), "ppermute: x must be a traced array, or a tree of them; a function that captures arrays or numbers and uses it must be called inside of ct::jit");
  sequence<extent> list;
  for (const auto& [source, target] : pairs) list.push_back(source), list.push_back(target);
  X moved = x;
  for_each_leaf([&](auto& leaf) { leaf = std::remove_reference_t<decltype(leaf)>(emit_collective<ppermute_p>(value(leaf), axis_named<Name>(), list)); }, moved);
  return moved;
}
template <text Name, class X> constexpr X ppermute(const X& x, std::initializer_list<std::pair<int, int>> pairs) {
  return ppermute<Name, X, std::initializer_list<std::pair<int, int>>>(x, pairs);
}

/// The x of all N instances along a new axis, given with `ct::axis_size<N>`: the result is the same for all of them. Options:
/// `ct::axis<k>`, where the new axis is (default 0); `ct::tiled`, along axis k of x in place of along a new one. JAX: jax.lax.all_gather.
template <text Name, class X, class... Tags> constexpr auto all_gather(const X& x, Tags...) {
  constexpr collective_options o = collective_options::of(Tags{}...);
  static_assert(o.size >= 0, "all_gather: give the number of instances, which the result's shape has: ct::axis_size<N>");
  return collective_of_leaves<all_gather_function<axis_named<Name>()>{o.axis, o.size, o.tiled}>(x, not_a_number);
}
/// The sum of x over all instances, of which instance i gets entry i along axis k (`ct::axis<k>`, default 0), whose extent is the number of
/// instances, and which goes; with `ct::tiled, ct::axis_size<N>` part i of N of that axis. JAX: jax.lax.psum_scatter.
template <text Name, class X, class... Tags> constexpr auto psum_scatter(const X& x, Tags...) {
  constexpr collective_options o = collective_options::of(Tags{}...);
  static_assert(o.tiled == (o.size > 0), "psum_scatter: ct::tiled needs the number of parts, ct::axis_size<N>, which stands with it alone");
  return collective_of_leaves<psum_scatter_function<axis_named<Name>()>{o.axis, o.size, o.tiled}>(x, not_a_number);
}
/// Entry i of x along axis Split, whose extent is the number of instances, goes to instance i, which gets those of all instances along
/// axis Concat of the result; with `ct::tiled, ct::axis_size<N>` the axis goes in N parts. JAX: jax.lax.all_to_all.
template <text Name, extent Split, extent Concat, class X, class... Tags> constexpr auto all_to_all(const X& x, Tags...) {
  constexpr collective_options o = collective_options::of(Tags{}...);
  static_assert(o.tiled == (o.size > 0), "all_to_all: ct::tiled needs the number of parts, ct::axis_size<N>, which stands with it alone");
  static_assert(!o.has_axis, "all_to_all: the axes are template arguments: ct::all_to_all<\"i\", 0, 1>(x)");
  return collective_of_leaves<all_to_all_function<axis_named<Name>()>{Split, Concat, o.size, o.tiled}>(x, not_a_number);
}

}  // namespace cotangent
