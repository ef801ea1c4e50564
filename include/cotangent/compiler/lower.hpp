#pragma once
/// Lowering: statements of a plan as kernel types.

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
  if (d == dtype::float64) return bits;
  if (d == dtype::int32) return std::uint32_t(bits);
  return bits;
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
    if constexpr (n < 0) return type_is<P>{};
    else
      return []<std::size_t... A>(std::index_sequence<A...>) {
        return type_is<typename lane_program<P, T, Graph.attributes[std::size_t(Graph.nodes[n].attributes) + A]...>::type>{};
      }(std::make_index_sequence<std::size_t(P::kind == role::pointwise ? Graph.nodes[n].attribute_count : 0)>{});
  }

  template <int I> static consteval auto lower() {
    constexpr auto what = Plan.statements[I].what;
    constexpr int b = Plan.statements[I].buffer;
    using T = type_of<Plan.statements[I].type>;
    if constexpr (what == statement::constant) return type_is<kernels::constant<T, element_bits(Plan.statements[I].type, Plan.statements[I].bits)>>{};
    else if constexpr (what == statement::index) return type_is<kernels::index<T, Plan.statements[I].dimension>>{};
    else if constexpr (what == statement::store) return type_is<kernels::store<T, b, Plan.statements[I].registers[0], access_of<I>>>{};
    else if constexpr (what == statement::reduce)
      return type_is<kernels::reduce<typename decltype(program<I>())::type, T, b, Plan.statements[I].registers[0], access_of<I>>>{};
    else if constexpr (what == statement::load)
      return []<std::size_t... K>(std::index_sequence<K...>) {
        return type_is<kernels::load<T, b, access_of<I>, indexed<Plan.statements[I].indexed[K], Plan.statements[I].indexed_strides.dims[K]>...>>{};
      }(std::make_index_sequence<std::size_t(Plan.statements[I].indexed_strides.rank)>{});
    else
      return []<std::size_t... R>(std::index_sequence<R...>) {
        return type_is<kernels::apply<typename decltype(program<I>())::type, T, Plan.statements[I].registers[R]...>>{};
      }(std::make_index_sequence<std::size_t(Plan.statements[I].register_count)>{});
  }

  template <int I> struct lowered_statement {
    using type = typename decltype(lower<I>())::type;
  };
  // A class template and no lambda: g++ substitutes a lambda's packs in quadratic time.
  template <int Step, class Dimensions, class Statements> struct lowered_step;
  template <int Step, std::size_t... D, int... I>
  struct lowered_step<Step, std::index_sequence<D...>, std::integer_sequence<int, I...>> {
    using type = kernel<space<Plan.steps[Step].space.dims[D]...>, typename lowered_statement<Plan.steps[Step].statements + I>::type...>;
  };
  /// The kernel type of a step.
  template <int Step>
  using kernel_of = typename lowered_step<Step, std::make_index_sequence<std::size_t(Plan.steps[Step].space.rank)>,
                                          std::make_integer_sequence<int, Plan.steps[Step].statement_count>>::type;
};

}  // namespace cotangent
