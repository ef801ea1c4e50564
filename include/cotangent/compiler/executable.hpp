#pragma once
/// A graph as it runs: its plan, its kernels, and those of the bodies of its loops and branches.

#include <memory>
#include <string>

#include <cotangent/backends/cpu/gemm.hpp>
#include <cotangent/backends/cpu/loops.hpp>
#include <cotangent/backends/cpu/maths.hpp>
#include <cotangent/backends/cpu/scatter.hpp>
#include <cotangent/compiler/instances.hpp>
#include <cotangent/compiler/lower.hpp>
#include <cotangent/core/error.hpp>

namespace cotangent {

/// Memory of one thread for the intermediate values of one program; it grows and is kept.
class scratch {
 public:
  std::byte* get(extent bytes) {
    if (bytes > size_) {
      memory_.reset(static_cast<std::byte*>(::operator new(std::size_t(bytes), std::align_val_t(arena_alignment))));
      size_ = bytes;
    }
    return memory_.get();
  }

 private:
  struct aligned_delete {
    void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t(arena_alignment)); }
  };
  std::unique_ptr<std::byte, aligned_delete> memory_;
  extent size_ = 0;
};

/// A canonical graph as a constexpr variable. `Make` returns it.
template <class Make> inline constexpr auto canonical_graph = freeze<Make{}>();
template <class Make> struct thaw_canonical {
  constexpr graph operator()() const { return thaw(canonical_graph<Make>); }
};
/// Body K of the graph that `Make` returns, and its canonical graph.
template <class Make, int K> struct thaw_body {
  constexpr graph operator()() const { return thaw(canonical_graph<Make>).subgraphs[std::size_t(K)]; }
};
template <class Make, int K> using make_body = make_canonical_of<thaw_body<Make, K>>;

constexpr bool runs_bodies(const node& x) { return x.op_id != 0 && x.op->kind == role::call; }

/// How a primitive with bodies runs. A specialization has
///   memory<Executable, N>()          what node N of the executable's graph needs for its bodies, as far as it is known
///   run<Executable, Step>(state)     runs a step of the plan
///   visit_bodies<Executable, N>(v)   for reports
template <class P> struct control;

/// `Make` returns the canonical graph; `Donated` a flag per input (compiler/memory.hpp).
template <class Make, class Donated> struct executable {
  using make = Make;
  static constexpr const auto& graph = canonical_graph<Make>;
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
  template <int N> static constexpr bool is_call = runs_bodies(graph.nodes[N]);
  /// The nodes with bodies. (Each look at a constexpr list of nodes costs g++ the whole list: none if there are no bodies.)
  static constexpr int call_count = [] {
    int count = 0;
    if constexpr (has_bodies)
      for (std::size_t n = 0; n < own.nodes; ++n) count += runs_bodies(graph.nodes[n]);
    return count;
  }();
  static constexpr auto calls = [] {
    std::array<int, std::size_t(call_count)> r{};
    std::size_t at = 0;
    if constexpr (has_bodies)
      for (std::size_t n = 0; n < own.nodes; ++n)
        if (runs_bodies(graph.nodes[n])) r[at++] = int(n);
    return r;
  }();

  static constexpr auto plan = make_plan<thaw_canonical<Make>{}, Donated{}, 1 << 16, memory_of_calls{}>();
  using lowered = lowering<plan, graph>;
  static constexpr int steps = int(plan.steps.size());
  static constexpr int buffer_count = int(plan.buffers.size());
  static constexpr bool has_symbols = plan.symbols.size() > 0;
  static constexpr extent stack_bytes = 8192;

  struct state {
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
      if (s.value(e.a) != s.value(e.b) && is_symbol(e.a) && plan.symbols[std::size_t(e.a - symbol_base)].what == symbol::greater)
        throw shape_error(describe(e.b) + ": the extent is " + std::to_string(s.value(e.b)) + " where at least " + std::to_string(s.value(e.a)) + " is needed");
      else if (s.value(e.a) != s.value(e.b))
        throw shape_error("extents that must be equal differ: " + describe(e.a) + " is " + std::to_string(s.value(e.a)) + " and " +
                          describe(e.b) + " is " + std::to_string(s.value(e.b)));
    for (std::size_t i = 0; i < own.inputs; ++i) {
      const shape& want = graph.nodes[std::size_t(graph.inputs[i])].dims;
      for (int k = 0; k < want.rank; ++k)
        if (s.value(want[k]) != inputs[i][k])
          throw shape_error("argument leaf " + std::to_string(i) + ", axis " + std::to_string(k) + ": the extent is " +
                            std::to_string(inputs[i][k]) + " where " + describe(want[k]) + " needs " + std::to_string(s.value(want[k])));
    }
  }
  static std::string describe(extent e) {
    if (!is_symbol(e)) return "the extent " + std::to_string(e);
    const symbol& x = plan.symbols[std::size_t(e - symbol_base)];
    if (x.what != symbol::input) return "a computed extent";
    return "argument leaf " + std::to_string(x.a) + ", axis " + std::to_string(x.b);
  }

  static extent bytes_of(const state& s, const buffer& b) {
    return (s.value(b.dims).size() * size_of(b.type) + arena_alignment - 1) / arena_alignment * arena_alignment;
  }

  /// The pointers and extents that a step names. Expanded: in a loop's body the compiler then sees through them.
  template <int Step> static COTANGENT_INLINE void local_arguments(const state& s, void** buffers, extent* extents) {
    constexpr step x = plan.steps[Step];
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      const int done[] = {0, (buffers[K] = s.buffers[plan.step_buffers[std::size_t(x.buffers) + K]], 0)...};
      (void)done;
    }(std::make_index_sequence<std::size_t(x.buffer_count)>{});
    for (int k = 0; k < x.slot_count; ++k) extents[k] = s.value(plan.slots[std::size_t(x.slots + k)]);
  }

  template <int Step> static COTANGENT_INLINE void run_kernel(const state& s) {
    constexpr step x = plan.steps[Step];
    void* buffers[x.buffer_count > 0 ? x.buffer_count : 1];
    extent extents[x.slot_count > 0 ? x.slot_count : 1];
    local_arguments<Step>(s, buffers, extents);
    cpu::run<typename lowered::template kernel_of<Step>>(buffers, extents);
  }

  template <int Step> static auto tasks_of(const state& s) {
    constexpr step x = plan.steps[Step];
    void* buffers[x.buffer_count > 0 ? x.buffer_count : 1];
    extent extents[x.slot_count > 0 ? x.slot_count : 1];
    local_arguments<Step>(s, buffers, extents);
    return cpu::tasks_of<typename lowered::template kernel_of<Step>>(buffers, extents);
  }
  /// The points of a kernel whose outermost index is in [first, last), in this thread.
  template <int Step> static void run_rows(const state& s, extent first, extent last) { tasks_of<Step>(s).run_rows(first, last); }
  /// visit(its tasks, its number) for a kernel that sums over rows.
  template <int Step, class Visit> static int visit_sums(const state& s, const Visit& visit) {
    if constexpr (sums_rows(Step)) visit(tasks_of<Step>(s), Step);
    return 0;
  }
  static constexpr bool sums_rows(int at) {
    const step& x = plan.steps[std::size_t(at)];
    for (int k = 0; k < x.statement_count; ++k)
      if (reduces_rows(plan.statements[std::size_t(x.statements + k)])) return true;
    return false;
  }

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

  /// Of a batch of products, those in [first, last); a negative `last` stands for all.
  template <int Step> static COTANGENT_INLINE void run_gemm(const state& s, extent first = 0, extent last = -1) {
    constexpr step x = plan.steps[Step];
    constexpr int n = x.node, lhs = operand_node<n, 0>(), rhs = operand_node<n, 1>();
    using T = type_of<graph.nodes[n].type>;
    constexpr const extent* where = graph.attributes.data() + graph.nodes[n].attributes;
    void* buffers[3];
    local_arguments<Step>(s, buffers, nullptr);
    constexpr shape product = graph.nodes[n].dims, left = graph.nodes[lhs].dims, right = graph.nodes[rhs].dims;
    constexpr extent contracted = where[2] < 0 ? 1 : left[int(where[2])];
    const T* a = static_cast<const T*>(buffers[0]);
    const T* b = static_cast<const T*>(buffers[1]);
    T* c = static_cast<T*>(buffers[2]);
    constexpr bool is_static = !has_symbol(product) && !is_symbol(contracted);
    if constexpr (is_static && product[0] == 1 && product[1] <= 16 && product[2] <= 16 && contracted <= 16) {
      cpu::small_gemm<T, product[1], product[2], contracted, stride_of(left, where[1]), stride_of(left, where[2]), stride_of(right, where[4]),
                      stride_of(right, where[5])>(a, b, c);
    } else {
      const shape l = s.value(left), r = s.value(right), p = s.value(product);
      cpu::matrix_operand<T> ma{a, stride_of(l, where[1]), stride_of(l, where[2]), stride_of(l, where[0])};
      cpu::matrix_operand<T> mb{b, stride_of(r, where[4]), stride_of(r, where[5]), stride_of(r, where[3])};
      ma.data = ma.at(first, 0, 0), mb.data = mb.at(first, 0, 0), c += first * p[1] * p[2];
      const extent batch = last < 0 ? p[0] : last - first;
      constexpr cpu::gemm_form form{where[2] == left.rank - 1 ? cpu::gemm_form::rows : cpu::gemm_form::columns,
                                    where[5] == right.rank - 1 ? cpu::gemm_form::rows : cpu::gemm_form::columns,
                                    is_static && product[1] > 1 && product[2] > 1 && contracted > 1};
      if constexpr (Step + 1 < steps) {
        if constexpr (plan.steps[Step + 1].after_rows) {
          constexpr step next = plan.steps[Step + 1];
          void* rows_buffers[next.buffer_count > 0 ? next.buffer_count : 1];
          extent rows_extents[next.slot_count > 0 ? next.slot_count : 1];
          local_arguments<Step + 1>(s, rows_buffers, rows_extents);
          cpu::gemm<T, form>(batch, p[1], p[2], s.value(contracted), ma, mb, c, [&](extent, extent first, extent last) {
            cpu::run_rows<typename lowered::template kernel_of<Step + 1>>(rows_buffers, rows_extents, first, last);
          });
          return;
        }
      }
      cpu::gemm<T, form>(batch, p[1], p[2], s.value(contracted), ma, mb, c);
    }
  }

  template <int Step> static void run_opaque(const state& s) {
    constexpr step x = plan.steps[Step];
    constexpr node n = graph.nodes[x.node];
    cpu::array_ref refs[x.buffer_count];
    for (int k = 0; k < x.buffer_count; ++k) {
      const node& of = k + 1 == x.buffer_count ? graph.nodes[std::size_t(x.node)] : graph.nodes[std::size_t(graph.operands[std::size_t(n.operands + k)])];
      refs[k] = {s.buffers[plan.step_buffers[std::size_t(x.buffers + k)]], of.type, s.value(of.dims)};
    }
    constexpr dtype first = graph.nodes[operand_node<x.node, 0>()].type;
    cpu::opaque<primitive_with_id<n.op_id>>::template run<type_of<first>>(refs, refs[x.buffer_count - 1], graph.attributes.data() + n.attributes);
  }

  /// Whether a small gemm runs without rows, so that the kernel after it runs by itself.
  template <int Step> static constexpr bool is_small_gemm() {
    constexpr int n = plan.steps[Step].node;
    if constexpr (n < 0) return false;
    else {
      constexpr shape p = graph.nodes[n].dims;
      constexpr extent axis = graph.attributes[std::size_t(graph.nodes[n].attributes) + 2];
      constexpr extent k = axis < 0 ? 1 : graph.nodes[operand_node<n, 0>()].dims[int(axis)];
      return !has_symbol(p) && !is_symbol(k) && p[0] == 1 && p[1] <= 16 && p[2] <= 16 && k <= 16;
    }
  }

  /// The group of row blocks that step `at` is in, or -1.
  static constexpr int blocks_at(int at) {
    for (std::size_t i = 0; i < plan.blocks.size(); ++i)
      if (at >= plan.blocks[i].first && at < plan.blocks[i].first + plan.blocks[i].count) return int(i);
    return -1;
  }
  /// Memory for the sums over rows of the steps of a group: copies, one per task.
  struct row_sums {
    char* memory = nullptr;
    extent copies = 0;
    std::size_t offsets[steps + 1] = {};  // of each step's
  };
  /// Runs rows [first, last) through the steps of a group. What exists for a block only lies in `memory`.
  template <int Group, std::size_t... I>
  static void run_block(state& s, std::byte* memory, extent block, extent first, extent last, const row_sums& sums, extent copy, std::index_sequence<I...>) {
    constexpr row_blocks group = plan.blocks[Group];
    for (int i = 0; i < buffer_count; ++i) {
      const buffer& b = plan.buffers[std::size_t(i)];
      if (b.where != buffer::block || b.first != group.first) continue;
      const extent row = s.value(row_elements(b, group.rows));
      s.buffers[i] = memory - first * row * size_of(b.type);
      memory += bytes_of_rows(block, row, b.type);
    }
    const int done[] = {0, run_rows_of<group.first + int(I)>(s, first, last, sums, copy)...};
    (void)done;
  }
  template <int Step> static int run_rows_of(const state& s, extent first, extent last, [[maybe_unused]] const row_sums& sums, [[maybe_unused]] extent copy) {
    if constexpr (plan.steps[Step].node >= 0) run_gemm<Step>(s, first, last);
    else if constexpr (sums_rows(Step)) {
      auto tasks = tasks_of<Step>(s);
      tasks.plan_copies(sums.copies);
      tasks.run_rows(first, last, sums.memory + sums.offsets[Step], copy);
    } else run_rows<Step>(s, first, last);
    return 0;
  }
  /// visit_sums of the steps of a group.
  template <int Group, class Visit, std::size_t... I> static void visit_group_sums(const state& s, const Visit& visit, std::index_sequence<I...>) {
    const int done[] = {0, visit_sums<plan.blocks[Group].first + int(I)>(s, visit)...};
    (void)done;
  }
  static constexpr bool group_sums_rows(const row_blocks& group) {
    for (int i = group.first; i < group.first + group.count; ++i)
      if (plan.steps[std::size_t(i)].node < 0 && sums_rows(i)) return true;
    return false;
  }
  /// The group as it is for the extents in `s`.
  static row_blocks measured(const state& s, row_blocks group) {
    if (group.block > 0) return group;
    group.row_bytes = group.memory = 0;
    const auto each = [&](const auto& visit) {
      for (int i = 0; i < buffer_count; ++i) {
        const buffer& b = plan.buffers[std::size_t(i)];
        if (b.first <= group.first && b.last >= group.first + group.count - 1) visit(b, s.value(row_elements(b, group.rows)));
      }
    };
    each([&](const buffer& b, extent row) { group.row_bytes += row * size_of(b.type); });
    group.block = rows_at_a_time(group.row_bytes);
    each([&](const buffer& b, extent row) {
      if (b.where == buffer::block && b.first == group.first) group.memory += bytes_of_rows(group.block, row, b.type);
    });
    return group;
  }
  /// Runs a group of steps, block by block. A task takes some blocks.
  template <int Group> static void run_blocks(const state& s) {
    constexpr auto members = std::make_index_sequence<std::size_t(plan.blocks[Group].count)>{};
    constexpr bool has_sums = group_sums_rows(plan.blocks[Group]);
    constexpr extent small = 1 << 16, bytes_of_sums = 1 << 23;
    const row_blocks group = measured(s, plan.blocks[Group]);
    const extent rows = s.value(group.rows), blocks = cpu::divide_up(rows, group.block);
    row_sums sums;
    std::size_t one_copy = 0;
    visit_group_sums<Group>(s, [&](auto tasks, int) { one_copy += tasks.plan_copies(1); }, members);
    const extent most_copies = one_copy > 0 ? bytes_of_sums / extent(one_copy) : 0;
    const extent most_tasks = !has_sums ? 256 : most_copies > 64 ? 64 : most_copies < 8 ? 8 : most_copies;
    const extent together = rows * group.row_bytes <= small ? blocks : cpu::divide_up(blocks, most_tasks);
    sums.copies = together > 0 ? cpu::divide_up(blocks, together) : has_sums;  // sums of nothing are set, too
    std::size_t bytes = 0;
    visit_group_sums<Group>(s, [&](auto tasks, int at) {
      sums.offsets[at] = bytes;
      bytes += tasks.plan_copies(sums.copies);
    }, members);
    const cpu::scratch memory_of_sums(bytes);
    sums.memory = memory_of_sums.data();
    cpu::parallel_for(sums.copies, [&](extent t) {
      const cpu::scratch memory(std::size_t(group.memory));
      state own = s;
      visit_group_sums<Group>(s, [&](auto tasks, int at) {
        tasks.plan_copies(sums.copies);
        tasks.start_copy(sums.memory + sums.offsets[at], t);
      }, members);
      for (extent i = t * together; i < cpu::smaller((t + 1) * together, blocks); ++i)
        run_block<Group>(own, reinterpret_cast<std::byte*>(memory.data()), group.block, i * group.block, cpu::smaller((i + 1) * group.block, rows), sums, t, members);
    });
    visit_group_sums<Group>(s, [&](auto tasks, int at) {
      tasks.plan_copies(sums.copies);
      tasks.finish_copies(sums.memory + sums.offsets[at]);
    }, members);
  }

  template <int Step> static COTANGENT_INLINE int run_step(const state& s) {
    constexpr step x = plan.steps[Step];
    constexpr int group = blocks_at(Step);
    if constexpr (group >= 0) {
      if constexpr (plan.blocks[group].first == Step) run_blocks<group>(s);
    } else if constexpr (x.node < 0) {
      if constexpr (x.after_rows) {
        if constexpr (is_small_gemm<Step - 1>()) run_kernel<Step>(s);
      } else run_kernel<Step>(s);
    } else if constexpr (is_call<x.node>) {
      control<primitive_with_id<graph.nodes[x.node].op_id>>::template run<executable, Step>(s);
    } else if constexpr (graph.nodes[x.node].op_id == primitive_of<gemm_p>.id) run_gemm<Step>(s);
    else run_opaque<Step>(s);
    return 0;
  }

  template <std::size_t... I> static COTANGENT_INLINE void run_steps(const state& s, std::index_sequence<I...>) {
    const int done[] = {0, run_step<int(I)>(s)...};
    (void)done;
  }

  /// Sets the pointers of what is not an input or output.
  static COTANGENT_INLINE void place(state& s, std::byte* arena) {
    extent offset = 0;
    for (int i = 0; i < buffer_count; ++i) {
      if (plan.buffers[std::size_t(i)].where != buffer::arena) continue;
      if constexpr (plan.dynamic_arena) {
        s.buffers[i] = arena + offset;
        offset += bytes_of(s, plan.buffers[std::size_t(i)]);
      } else {
        s.buffers[i] = arena + plan.buffers[std::size_t(i)].offset;
      }
    }
    bind_data(s, std::make_index_sequence<std::size_t(buffer_count)>{});
  }
  /// Where the pointers of inputs and outputs are: the buffers begin with the inputs and then the outputs.
  static COTANGENT_INLINE void*& input(state& s, int i) { return s.buffers[i]; }
  static COTANGENT_INLINE void*& output(state& s, int o) { return s.buffers[input_count + o]; }

  /// Runs the steps; every pointer must be set.
  static COTANGENT_INLINE void run(const state& s) { run_steps(s, std::make_index_sequence<std::size_t(steps)>{}); }

  /// The bytes of the arena for the extents in `s`.
  static extent arena_bytes(const state& s) {
    extent bytes = plan.arena_bytes;
    if constexpr (plan.dynamic_arena)
      for (const buffer& b : plan.buffers)
        if (b.where == buffer::arena) bytes += bytes_of(s, b);
    return bytes;
  }

  /// Elements of array constants.
  template <int B> static constexpr auto data_of() {
    constexpr node n = graph.nodes[plan.buffers[B].number];
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
  template <int B> static COTANGENT_INLINE int bind_one(state& s) {
    if constexpr (plan.buffers[B].where == buffer::data) s.buffers[B] = const_cast<void*>(static_cast<const void*>(data<B>.data()));
    return 0;
  }
  template <std::size_t... B> static COTANGENT_INLINE void bind_data(state& s, std::index_sequence<B...>) {
    const int done[] = {0, bind_one<int(B)>(s)...};
    (void)done;
  }

  /// Runs on these inputs and outputs. The symbols must be bound.
  static COTANGENT_INLINE void execute(state& s, const void* const* inputs, void* const* outputs) {
    for (int i = 0; i < input_count; ++i) input(s, i) = const_cast<void*>(inputs[i]);
    for (int o = 0; o < output_count; ++o) output(s, o) = outputs[o];
    if constexpr (!plan.dynamic_arena && plan.arena_bytes <= stack_bytes) {
      alignas(arena_alignment) std::byte arena[plan.arena_bytes > 0 ? plan.arena_bytes : 1];
      place(s, arena);
      run(s);
    } else {
      static thread_local scratch memory;
      place(s, memory.get(arena_bytes(s)));
      run(s);
    }
  }
};

}  // namespace cotangent
