#pragma once
/// Lowering: statements of a plan as kernel types.

#include <algorithm>
#include <bit>

#include <cotangent/compiler/kernel.hpp>
#include <cotangent/compiler/memory.hpp>

namespace cotangent {

/// The struct whose `lane` computes primitive P for results of type T and these attributes.
template <class P, class T, extent... Attributes> struct lane_program {
  using type = P;
};
template <class P, class T, extent... Attributes>
  requires requires { typename P::template lane_for<T, Attributes...>; }
struct lane_program<P, T, Attributes...> {
  using type = typename P::template lane_for<T, Attributes...>;
};

/// The bits of a constant of dtype `d` as its element type stores them.
constexpr unsigned long element_bits(dtype d, std::uint64_t bits) {
  if (d == dtype::float32) return std::bit_cast<std::uint32_t>(float(std::bit_cast<double>(bits)));
  return is_integer(d) && size_of(d) < 8 ? bits & ((1ul << (8 * size_of(d))) - 1) : bits;
}

/// Appends what the form of statement k depends on.
template <class Graph> constexpr void append_signature(sequence<extent>& to, const statement* statements, int k, const window* windows, const Graph& g) {
  const statement& s = statements[k];
  to.push_back(extent(s.what) + 8 * (s.finds_place || s.ahead) + 16 * extent(s.type));
  if (s.what == statement::constant) return to.push_back(extent(s.bits));
  to.push_back(s.buffer), to.push_back(extent(s.op_id));
  if (s.what == statement::apply) {
    for (int i = 0; i < s.register_count; ++i) to.push_back(extent(statements[s.registers[i]].type));
    const bare_node& n = g.nodes[std::size_t(s.node)];
    for (int i = 0; i < n.attribute_count; ++i) to.push_back(g.attributes[std::size_t(n.attributes + i)]);
  } else {
    to.push_back(s.where.offset);
    for (int i = 0; i < s.where.strides.rank; ++i) to.push_back(s.where.strides.dims[i]);
    for (int i = 0; i < s.indexed_strides.rank; ++i) to.push_back(s.indexed[i]), to.push_back(s.indexed_strides.dims[i]);
    for (int i = s.windows; i < s.windows + std::popcount(s.windowed); ++i)
      to.push_back(windows[i].dimension), to.push_back(windows[i].offset), to.push_back(windows[i].extent_inside), to.push_back(windows[i].wraps);
  }
}

constexpr void add_to_hash(std::uint64_t& hash, std::uint64_t x) { hash = (hash ^ hash >> 29 ^ x) * 0x9e3779b97f4a7c15u; }

/// The forms of a kernel's statements, and a statement that has each.
template <int Statements> struct form_numbers {
  int form[Statements + 1] = {};
  int examples[Statements + 1] = {};
  int forms = 0;
  int code_length = 0;
  std::uint64_t hash = 0;  // of the forms
};
template <int Statements, class Graph> constexpr form_numbers<Statements> number_forms(const statement* statements, const window* windows, const Graph& g) {
  form_numbers<Statements> r;
  sequence<extent> signatures;  // of the forms, one after the other
  sequence<std::size_t> starts;
  constexpr std::size_t mask = std::bit_ceil(std::size_t(2 * Statements + 1)) - 1;
  int form_at[mask + 1] = {};  // by hash: a form's number + 1
  for (int k = 0; k < Statements; ++k) {
    const std::size_t start = signatures.count;
    append_signature(signatures, statements, k, windows, g);
    const std::size_t length = signatures.count - start;
    std::uint64_t hash = length;
    for (std::size_t i = 0; i < length; ++i) add_to_hash(hash, std::uint64_t(signatures.items[start + i]));
    std::size_t at = (hash >> 32) & mask;
    for (;; at = (at + 1) & mask) {
      const int found = form_at[at] - 1;
      if (found < 0) break;
      bool same = starts.items[found + 1] - starts.items[found] == length;
      for (std::size_t i = 0; same && i < length; ++i) same = signatures.items[starts.items[found] + i] == signatures.items[start + i];
      if (same) break;
    }
    if (form_at[at] == 0) {
      if (starts.count == 0) starts.push_back(0);
      starts.push_back(signatures.count);
      add_to_hash(r.hash, hash);
      r.examples[r.forms++] = k;
      form_at[at] = r.forms;
    } else signatures.count = start;
    r.form[k] = form_at[at] - 1;
    r.code_length += 1 + statements[k].register_count;
  }
  return r;
}

/// Whether a buffer is an output that one step alone looks at.
template <class Plan> constexpr bool is_output_of_one_step(const Plan& plan, int number) {
  const buffer& b = plan.buffers[std::size_t(number)];
  return b.where == buffer::output && b.reuses < 0 && std::count(plan.step_buffers.begin(), plan.step_buffers.end(), number) == 1;
}

/// Kernel types of the steps of Plan, which was made from the graph Graph. Both are constexpr variables.
template <const auto& Plan, const auto& Graph> struct lowering {
  template <int I> static consteval auto where() {
    return []<std::size_t... D>(std::index_sequence<D...>) {
      return type_is<access<Plan.statements[I].where.offset, Plan.statements[I].where.strides.dims[D]...>>{};
    }(std::make_index_sequence<std::size_t(Plan.statements[I].where.strides.rank)>{});
  }
  template <int I> using access_of = typename decltype(where<I>())::type;

  template <int I> static consteval auto program() {
    using T = type_of<Plan.statements[I].type>;
    using P = primitive_with_id<Plan.statements[I].op_id>;
    constexpr int n = Plan.statements[I].node;
    return []<std::size_t... A>(std::index_sequence<A...>) {
      return type_is<typename lane_program<P, T, Graph.attributes[std::size_t(Graph.nodes[n].attributes) + A]...>::type>{};
    }(std::make_index_sequence<std::size_t(P::kind == role::pointwise ? Graph.nodes[n].attribute_count : 0)>{});
  }

  template <int W>
  using window_type = window_along<Plan.windows[W].dimension, Plan.windows[W].offset, Plan.windows[W].extent_inside, Plan.windows[W].wraps>;

  /// Whether a store of a step writes an output that no other step looks at, one lane behind the other, and that may be so large that it
  /// leaves the caches before anything reads it.
  static constexpr bool is_stored_once(const step& of, const statement& s) {
    const int number = Plan.step_buffers[std::size_t(of.buffers + s.buffer)], rank = s.where.strides.rank;
    const buffer& b = Plan.buffers[std::size_t(number)];
    if (!is_output_of_one_step(Plan, number)) return false;
    if (rank == 0 || s.indexed_strides.rank > 0 || s.type == dtype::boolean || s.where.strides[rank - 1] < 1) return false;
    return has_symbol(b.dims) || b.dims.size() * size_of(b.type) >= kernels::streamed_bytes;
  }

  /// The form of statement I of the plan; the statements of its kernel start at First.
  template <int Step, int First, int I> static consteval auto form() {
    constexpr auto what = Plan.statements[I].what;
    constexpr int b = Plan.statements[I].buffer;
    using T = type_of<Plan.statements[I].type>;
    if constexpr (what == statement::constant) return type_is<kernels::constant<T, element_bits(Plan.statements[I].type, Plan.statements[I].bits)>>{};
    else if constexpr (what == statement::index) return type_is<kernels::index<T, access_of<I>>>{};
    else if constexpr (what == statement::store) {
      if constexpr (is_stored_once(Plan.steps[Step], Plan.statements[I])) return type_is<kernels::store_once<T, b, access_of<I>>>{};
      else return type_is<kernels::store<T, b, access_of<I>>>{};
    }
    else if constexpr (what == statement::reduce) {
      using P = primitive_with_id<Plan.statements[I].op_id>;
      return type_is<kernels::reduce<std::conditional_t<Plan.statements[I].finds_place, kernels::place_of<P>, P>, T, b, access_of<I>>>{};
    }
    else if constexpr (what == statement::load && Plan.statements[I].windowed != 0)
      return []<std::size_t... K>(std::index_sequence<K...>) {
        return type_is<kernels::load_window<T, b, access_of<I>, window_type<Plan.statements[I].windows + int(K)>...>>{};
      }(std::make_index_sequence<std::size_t(std::popcount(Plan.statements[I].windowed))>{});
    else if constexpr (what == statement::load)
      return []<std::size_t... K>(std::index_sequence<K...>) {
        using from = access_of<I>;
        if constexpr (Plan.statements[I].ahead) return type_is<kernels::load_ahead<T, b, from, indexed<Plan.statements[I].indexed[K], Plan.statements[I].indexed_strides.dims[K]>...>>{};
        else return type_is<kernels::load<T, b, from, indexed<Plan.statements[I].indexed[K], Plan.statements[I].indexed_strides.dims[K]>...>>{};
      }(std::make_index_sequence<std::size_t(Plan.statements[I].indexed_strides.rank)>{});
    else
      return []<std::size_t... R>(std::index_sequence<R...>) {
        return type_is<kernels::apply<typename decltype(program<I>())::type, T,
                                      type_of<Plan.statements[First + Plan.statements[I].registers[R]].type>...>>{};
      }(std::make_index_sequence<std::size_t(Plan.statements[I].register_count)>{});
  }

  template <int Step>
  static constexpr auto numbered = number_forms<Plan.steps[Step].statement_count>(Plan.statements.data() + Plan.steps[Step].statements, Plan.windows.data(), Graph);
  /// A step's statements as numbers: see kernel.
  template <int Step> static constexpr auto code = [] {
    std::array<int, std::size_t(numbered<Step>.code_length)> r{};
    std::size_t at = 0;
    for (int k = 0; k < Plan.steps[Step].statement_count; ++k) {
      const statement& s = Plan.statements[std::size_t(Plan.steps[Step].statements + k)];
      r[at++] = numbered<Step>.form[k];
      for (int i = 0; i < s.register_count; ++i) r[at++] = s.registers[i];
    }
    return r;
  }();

  /// The number of a step's kernel type.
  template <int Step> static constexpr std::uint64_t kernel_number = [] {
    constexpr const step& s = Plan.steps[Step];
    std::uint64_t hash = numbered<Step>.hash;
    for (int k = 0; k < numbered<Step>.forms; ++k) {
      const statement& example = Plan.statements[std::size_t(s.statements + numbered<Step>.examples[k])];
      add_to_hash(hash, example.what == statement::store && is_stored_once(s, example));
    }
    for (int c : code<Step>) add_to_hash(hash, std::uint64_t(c));
    for (int d = 0; d < s.space.rank; ++d) add_to_hash(hash, std::uint64_t(s.space.dims[d]));
    return hash;
  }();

  // A class template without members besides `type`: g++ substitutes a lambda's packs, and those of a class whose member is
  // named within a pack, in quadratic time.
  template <int Step, int First, class Dimensions, class Forms, class Code> struct lowered_step;
  template <int Step, int First, std::size_t... D, std::size_t... F, std::size_t... C>
  struct lowered_step<Step, First, std::index_sequence<D...>, std::index_sequence<F...>, std::index_sequence<C...>> {
    using type = kernel<space<Plan.steps[Step].space.dims[D]...>, forms<typename decltype(form<Step, First, First + numbered<Step>.examples[F]>())::type...>,
                        code<Step>[C]...>;
  };
  template <int Step>
  using lowered_type = typename lowered_step<Step, Plan.steps[Step].statements, std::make_index_sequence<std::size_t(Plan.steps[Step].space.rank)>,
                                             std::make_index_sequence<std::size_t(numbered<Step>.forms)>,
                                             std::make_index_sequence<std::size_t(numbered<Step>.code_length)>>::type;
  /// The kernel type of a step.
#ifdef __CUDACC__  // which names keys to the host's compiler before what binds them
  template <int Step> using kernel_of = lowered_type<Step>;
#else
  template <int Step> using kernel_of = typename binding<numbered_kernel<kernel_number<Step>>, lowered_type<Step>>::key;
#endif
};

}  // namespace cotangent
