#pragma once
/// A graph as it runs: its plan, its kernels, and those of the bodies of its loops and branches.

#include <string>

#include <cotangent/compiler/batches.hpp>
#include <cotangent/compiler/lower.hpp>
#include <cotangent/core/error.hpp>

namespace cotangent {

/// A canonical graph as a constexpr variable. `Make` returns it.
template <class Make> inline constexpr auto canonical_graph = freeze<Make{}>();
template <class Make> inline constexpr bare_graph bare_canonical_graph(canonical_graph<Make>);
template <class Make> struct thaw_canonical {
  constexpr graph operator()() const { return thaw(canonical_graph<Make>); }
};
/// Body K of the graph that `Make` returns, and its canonical graph.
template <class Make, int K> struct thaw_body {
  constexpr graph operator()() const { return thaw(canonical_graph<Make>).subgraphs[std::size_t(K)]; }
};
template <class Make, int K, bool Packets> using make_body = make_canonical_of<thaw_body<Make, K>, Packets>;

constexpr bool runs_bodies(const node& x) { return x.op_id != 0 && x.op->kind == role::call; }

/// A contiguous row-major operand or result of an opaque primitive.
struct array_ref {
  void* data;
  dtype type;
  shape dims;
};
/// The runs of one axis: `before` * `behind` lines of `count` elements, `behind` apart.
struct axis_lines {
  extent before = 1, count = 1, behind = 1;
  axis_lines(const shape& dims, int axis) : count(dims[axis]) {
    for (int i = 0; i < axis; ++i) before *= dims[i];
    for (int i = axis + 1; i < dims.rank; ++i) behind *= dims[i];
  }
};

/// The lines that an fft_lines_p transforms, of as many numbers as it has on the side where there are all of them.
inline axis_lines lines_of_transform(const array_ref& x, const array_ref& y, const extent* attributes) {
  const auto what = fourier(attributes[1]);
  shape dims = (what == fourier::inverse_real ? y : x).dims;
  if (what != fourier::real && what != fourier::inverse_real) --dims.rank;  // the parts
  return axis_lines(dims, int(attributes[0]));
}

/// A batch of products of [rows, contracted] and [contracted, columns] matrices. The result is contiguous; the strides of
/// the operands are along the batch, their rows and their columns.
struct matrix_product {
  extent batch, rows, columns, contracted;
  extent left[3], right[3];
};

/// How a primitive with bodies runs. A specialization has
///   memory<Executable, N>()          what node N of the executable's graph needs for its bodies, as far as it is known
///   run<Executable, Step>(state)     runs a step of the plan
///   visit_bodies<Executable, N>(v)   for reports
template <class P> struct control;

/// `Make` returns the canonical graph; `Donated` a flag per input (compiler/memory.hpp). A `Backend` runs the steps; it has
///   choices                            what the schedule may do
///   stack_bytes                        an arena of so many bytes may lie on the caller's stack
///   queue                              what a call knows of where it runs; made of a device
///   scope                              made of a device and the name of the function, lives as long as a call
///   memory(queue, bytes)               an object that owns memory, aligned to 64 bytes, with data()
///   constant(queue, elements)          where a program's array constant lies
///   copy(queue, to, from, bytes)       within its memory
///   steps<Executable>::run<Step>(s)    runs a kernel, a library call or an opaque primitive
///   run_program<Executable, Numbers>(s, inputs, outputs, size_of_number)
///                                      a call: execute, where so many of the inputs are C++ numbers of the host, of
///                                      size_of_number(i) bytes
///   kernels_of_step<Executable, Step>()  a text for reports; it need not have one
/// and what loops and branches need (compiler/control.hpp).
template <class Make, class Donated, class Backend> struct executable {
  using make = Make;
  using donated = Donated;
  using backend = Backend;
  static constexpr const auto& canonical = canonical_graph<Make>;
  static constexpr const auto& graph = bare_canonical_graph<Make>;
  /// The lists of a frozen graph begin with its own; those of the bodies follow.
  static constexpr graph_sizes sizes = std::remove_cvref_t<decltype(graph)>::sizes;
  static constexpr bool has_bodies = sizes.graphs > 1;
  static constexpr graph_sizes own = [] {
    if constexpr (has_bodies) return graph.headers[0].own;
    else return sizes;
  }();
  static constexpr int input_count = int(own.inputs), output_count = int(own.outputs);

  /// What each call needs.
  struct memory_of_calls {
    template <std::size_t... C> static constexpr sequence<call_memory> list(std::index_sequence<C...>) {
      return {control<primitive_with_id<graph.nodes[calls[C]].op_id>>::template memory<executable, calls[C]>()...};
    }
    constexpr sequence<call_memory> operator()() const { return list(std::make_index_sequence<calls.size()>{}); }
  };
  template <int N> static constexpr bool is_call = runs_bodies(canonical.nodes[N]);
  /// The nodes with bodies. (Each look at a constexpr list of nodes costs g++ the whole list: none if there are no bodies.)
  static constexpr int call_count = [] {
    int count = 0;
    if constexpr (has_bodies)
      for (std::size_t n = 0; n < own.nodes; ++n) count += runs_bodies(canonical.nodes[n]);
    return count;
  }();
  static constexpr auto calls = [] {
    std::array<int, std::size_t(call_count)> r{};
    std::size_t at = 0;
    if constexpr (has_bodies)
      for (std::size_t n = 0; n < own.nodes; ++n)
        if (runs_bodies(canonical.nodes[n])) r[at++] = int(n);
    return r;
  }();

  static constexpr auto plan = make_plan<thaw_canonical<Make>{}, Donated{}, 1 << 16, memory_of_calls{}, Backend::choices>();
  using lowered = lowering<plan, graph>;
  static constexpr int steps = int(plan.steps.size());
  static constexpr int buffer_count = int(plan.buffers.size());
  static constexpr bool has_symbols = plan.symbols.size() > 0;

  struct state {
    [[no_unique_address]] typename Backend::queue queue;
    void* buffers[buffer_count > 0 ? buffer_count : 1];
    extent symbols[plan.symbols.size() > 0 ? plan.symbols.size() : 1];

    constexpr extent value(extent e) const {
      if constexpr (has_symbols) return is_symbol(e) ? symbols[e - symbol_base] : e;
      else return e;
    }
    constexpr shape value(const shape& s) const {
      if constexpr (!has_symbols) return s;
      shape r;
      for (extent e : s) r.push_back(value(e));
      return r;
    }
  };

  /// Evaluates the symbols from the shapes of the inputs.
  static void evaluate_symbols(state& s, const shape* inputs) {
    for (std::size_t i = 0; i < plan.symbols.size(); ++i) {
      const symbol& x = plan.symbols[i];
      s.symbols[i] = x.what == symbol::input ? inputs[x.a][int(x.b)] : evaluate(x.what, s.value(x.a), s.value(x.b));
    }
  }
  /// The same, and checks that the shapes agree.
  static void bind_symbols(state& s, const shape* inputs) {
    evaluate_symbols(s, inputs);
    for (const equality& e : plan.equalities)
      if (s.value(e.a) != s.value(e.b)) throw shape_error(e.of.str() + ": " + difference(s, inputs, e));
    for (std::size_t i = 0; i < own.inputs; ++i) {
      const shape& want = graph.nodes[std::size_t(graph.inputs[i])].dims;
      for (int k = 0; k < want.rank; ++k)
        if (s.value(want[k]) != inputs[i][k])
          throw shape_error(axis_of(inputs, extent(i), k) + ": the extent is " + std::to_string(inputs[i][k]) + " where " + describe(inputs, want[k]) + " needs " + std::to_string(s.value(want[k])));
    }
  }
  static std::string difference(const state& s, const shape* inputs, const equality& e) {
    const std::string a = std::to_string(s.value(e.a)), b = std::to_string(s.value(e.b));
    if (is_symbol(e.a) && plan.symbols[std::size_t(e.a - symbol_base)].what == symbol::greater)
      return (is_symbol(e.b) ? describe(inputs, e.b) + ": the extent is " : "an extent of ") + b + " where at least " + a + " is needed";
    return "extents that must be equal differ: " + describe(inputs, e.a) + " is " + a + " and " + describe(inputs, e.b) + " is " + b;
  }
  static std::string describe(const shape* inputs, extent e) {
    if (!is_symbol(e)) return "the extent " + std::to_string(e);
    const symbol& x = plan.symbols[std::size_t(e - symbol_base)];
    return x.what == symbol::input ? axis_of(inputs, x.a, int(x.b)) : "a computed extent";
  }
  static std::string axis_of(const shape* inputs, extent leaf, int axis) {
    return "argument leaf " + std::to_string(leaf) + " " + std::string((message{} << inputs[leaf]).view()) + ", axis " + std::to_string(axis);
  }

  static extent bytes_of(const state& s, const buffer& b) {
    return (s.value(b.dims).size() * size_of(b.type) + arena_alignment - 1) / arena_alignment * arena_alignment;
  }

  /// The pointers and extents that a step names. Expanded: in a loop's body the compiler then sees through them.
  template <int Step> struct step_arguments {
    static constexpr step own = plan.steps[Step];
    void* buffers[own.buffer_count > 0 ? own.buffer_count : 1];
    extent extents[own.slot_count > 0 ? own.slot_count : 1] = {};  // (compilers warn of one that is passed on unset)

    COTANGENT_HOST_INLINE explicit step_arguments(const state& s) {
      set_buffers(s, std::make_index_sequence<std::size_t(own.buffer_count)>{});
      for (int k = 0; k < own.slot_count; ++k) extents[k] = s.value(plan.slots[std::size_t(own.slots + k)]);
    }

   private:
    template <std::size_t... K> COTANGENT_HOST_INLINE void set_buffers(const state& s, std::index_sequence<K...>) {
      const int done[] = {0, (buffers[K] = s.buffers[plan.step_buffers[own.buffers + K]], 0)...};
      (void)done;
    }
  };

  template <int Step> static consteval std::size_t name_kernel() {
    if constexpr (plan.steps[Step].node >= 0) return 1;
    else return sizeof(kernels::program_of<typename lowered::template kernel_of<Step>>);
  }
  /// Instantiates the kernel types. g++ takes several times as long when it meets them first in a function body whose
  /// instantiation it has put off to the end of the file.
  template <std::size_t... I> static consteval bool name_kernels(std::index_sequence<I...>) {
    const std::size_t sizes[] = {1, name_kernel<int(I)>()...};
    return sizes[0] == 1;
  }
  static constexpr bool named = name_kernels(std::make_index_sequence<std::size_t(steps)>{});

  template <int N, int K> static constexpr int operand_node() { return graph.operands[std::size_t(graph.nodes[N].operands + K)]; }

  /// Stride of an axis of a contiguous operand.
  static constexpr extent stride_of(const shape& dims, extent axis) {
    if (axis < 0) return 0;
    extent stride = 1;
    for (int i = dims.rank; --i > int(axis);) stride *= dims[i];
    return stride;
  }
  /// The products that a gemm_p runs.
  template <int Step> static matrix_product product_of(const state& s) {
    constexpr int at = plan.steps[Step].node;
    constexpr const extent* where = graph.attributes.data() + graph.nodes[at].attributes;
    const shape l = s.value(graph.nodes[operand_node<at, 0>()].dims), r = s.value(graph.nodes[operand_node<at, 1>()].dims);
    const shape p = s.value(graph.nodes[at].dims);
    return {p[0], p[1], p[2], where[2] < 0 ? 1 : l[int(where[2])],
            {stride_of(l, where[0]), stride_of(l, where[1]), stride_of(l, where[2])}, {stride_of(r, where[3]), stride_of(r, where[4]), stride_of(r, where[5])}};
  }
  /// The operands and then the result of an opaque step.
  template <int Step> static void array_arguments(const state& s, array_ref* to) {
    constexpr step x = plan.steps[Step];
    for (int k = 0; k < x.buffer_count; ++k) {
      const bare_node& of = graph.nodes[std::size_t(k + 1 == x.buffer_count ? x.node : graph.operands[std::size_t(graph.nodes[std::size_t(x.node)].operands + k)])];
      to[k] = {s.buffers[plan.step_buffers[std::size_t(x.buffers + k)]], of.type, s.value(of.dims)};
    }
  }

  /// The group of row blocks that step `at` is in, or -1.
  static constexpr int blocks_at(int at) {
    int i = 0;
    for (const row_blocks& r : plan.blocks) {
      if (at >= r.first && at < r.first + r.count) return i;
      ++i;
    }
    return -1;
  }

  template <int Step> static constexpr bool step_is_call() {
    if constexpr (constexpr int n = plan.steps[Step].node; n >= 0) return is_call<n>;
    else return false;
  }
  template <int Step> static COTANGENT_HOST_INLINE int run_step(const state& s) {
    if constexpr (step_is_call<Step>()) control<primitive_with_id<graph.nodes[plan.steps[Step].node].op_id>>::template run<executable, Step>(s);
    else Backend::template steps<executable>::template run<Step>(s);
    return 0;
  }
  template <std::size_t... I> static COTANGENT_HOST_INLINE void run_steps(const state& s, std::index_sequence<I...>) {
    const int done[] = {0, run_step<int(I)>(s)...};
    (void)done;
  }

  /// The buffers in one kind of place.
  template <auto Where> static constexpr auto buffers_in = [] {
    std::array<int, std::size_t(std::count_if(plan.buffers.begin(), plan.buffers.end(), [](const buffer& b) { return b.where == Where; }))> r{};
    std::size_t at = 0;
    for (int i = 0; i < buffer_count; ++i)
      if (plan.buffers[std::size_t(i)].where == Where) r[at++] = i;
    return r;
  }();
  template <std::size_t... I> static COTANGENT_HOST_INLINE void bind_arena([[maybe_unused]] state& s, [[maybe_unused]] std::byte* arena, std::index_sequence<I...>) {
    const int done[] = {0, (s.buffers[buffers_in<buffer::arena>[I]] = arena + plan.buffers[std::size_t(buffers_in<buffer::arena>[I])].offset, 0)...};
    (void)done;
  }
  /// Sets the pointers of what is not an input or output. (Expanded: the compiler then sees where each step works.)
  static COTANGENT_HOST_INLINE void place(state& s, std::byte* arena) {
    if constexpr (plan.dynamic_arena) {
      extent offset = 0;
      arena_room room;
      for (int i : buffers_in<buffer::arena>) {
        const extent bytes = bytes_of(s, plan.buffers[std::size_t(i)]);
        s.buffers[i] = arena + room.begin(offset, bytes);
        offset += arena_room::bytes(bytes);
      }
    } else bind_arena(s, arena, std::make_index_sequence<buffers_in<buffer::arena>.size()>{});
    bind_data(s, std::make_index_sequence<buffers_in<buffer::data>.size()>{});
  }
  /// Where the pointers of inputs and outputs are: the buffers begin with the inputs and then the outputs.
  static COTANGENT_HOST_INLINE void*& input(state& s, int i) { return s.buffers[i]; }
  static COTANGENT_HOST_INLINE void*& output(state& s, int o) { return s.buffers[input_count + o]; }

  /// Runs the steps; every pointer must be set.
  static COTANGENT_HOST_INLINE void run(const state& s) { run_steps(s, std::make_index_sequence<std::size_t(steps)>{}); }

  /// The bytes of the arena for the extents in `s`.
  static extent arena_bytes(const state& s) {
    extent bytes = plan.arena_bytes;
    if constexpr (plan.dynamic_arena)
      for (const buffer& b : plan.buffers)
        if (b.where == buffer::arena) bytes += arena_room::bytes(bytes_of(s, b));
    return bytes;
  }

  /// Elements of array constants.
  template <int B> static constexpr auto data_of() {
    constexpr bare_node n = graph.nodes[plan.buffers[B].number];
    using T = type_of<n.type>;
    std::array<T, std::size_t(n.dims.size())> r{};
    for (std::size_t i = 0; i < r.size(); ++i) {
      const std::uint64_t bits = dense_p::element_bits(graph.attributes.data() + n.attributes, n.dims.rank, extent(i));
      if constexpr (std::is_floating_point_v<T>) r[i] = T(std::bit_cast<double>(bits));
      else r[i] = T(std::int64_t(bits));
    }
    return r;
  }
  template <int B> static constexpr auto data = data_of<B>();
  template <std::size_t... I> static COTANGENT_HOST_INLINE void bind_data([[maybe_unused]] state& s, std::index_sequence<I...>) {
    const int done[] = {0, (s.buffers[buffers_in<buffer::data>[I]] = const_cast<void*>(Backend::constant(s.queue, data<buffers_in<buffer::data>[I]>)), 0)...};
    (void)done;
  }

  /// Runs on these inputs and outputs. The symbols must be bound.
  static COTANGENT_HOST_INLINE void execute(state& s, const void* const* inputs, void* const* outputs) {
    for (int i = 0; i < input_count; ++i) input(s, i) = const_cast<void*>(inputs[i]);
    for (int o = 0; o < output_count; ++o) output(s, o) = outputs[o];
    if constexpr (!plan.dynamic_arena && plan.arena_bytes <= Backend::stack_bytes) {
      alignas(arena_alignment) std::byte arena[plan.arena_bytes > 0 ? plan.arena_bytes : 1];
      place(s, arena);
      run(s);
    } else {
      const typename Backend::memory arena(s.queue, arena_bytes(s));
      place(s, arena.data());
      run(s);
    }
  }
};

}  // namespace cotangent
