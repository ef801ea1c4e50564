#pragma once
/// The CPU as a backend: how the steps of an executable run (compiler/executable.hpp).

#include <cotangent/backends/cpu/chunks.hpp>
#include <cotangent/backends/cpu/convolution.hpp>
#include <cotangent/backends/cpu/cumulative.hpp>
#include <cotangent/backends/cpu/decompositions.hpp>
#include <cotangent/backends/cpu/fft.hpp>
#include <cotangent/backends/cpu/gemm.hpp>
#include <cotangent/backends/cpu/loops.hpp>
#include <cotangent/backends/cpu/maths.hpp>
#include <cotangent/backends/cpu/packets.hpp>
#include <cotangent/backends/cpu/scatter.hpp>
#include <cotangent/backends/cpu/small_products.hpp>
#include <cotangent/backends/cpu/sort.hpp>
#include <cotangent/backends/cpu/turned.hpp>
#include <cotangent/backends/cpu/turns.hpp>
#include <cotangent/compiler/control.hpp>
#include <cotangent/core/device.hpp>

namespace cotangent::host {

template <class Executable> struct steps {
  static constexpr const auto& plan = Executable::plan;
  static constexpr const auto& graph = Executable::graph;
  using state = typename Executable::state;
  using lowered = typename Executable::lowered;
  template <int Step> using step_arguments = typename Executable::template step_arguments<Step>;
  static constexpr int buffer_count = Executable::buffer_count, step_count = Executable::steps;

  template <int Step> static COTANGENT_HOST_INLINE void run(const state& s) {
    constexpr cotangent::step x = plan.steps[Step];
    constexpr int group = Executable::blocks_at(Step);
    if constexpr (group >= 0) {
      if constexpr (plan.blocks[group].first == Step) group_run<group>(s).run();
    } else if constexpr (x.node < 0) {
      if constexpr (x.after_rows) {
        if constexpr (is_small_gemm<Step - 1>()) run_kernel<Step>(s);
      } else run_kernel<Step>(s);
    } else if constexpr (graph.nodes[x.node].op_id == primitive_of<gemm_p>.id) run_gemm<Step>(s);
    else run_opaque<Step>(s);
  }

  template <int Step> static COTANGENT_HOST_INLINE void run_kernel(const state& s) {
    const step_arguments<Step> own(s);
    using kernel = typename lowered::template kernel_of<Step>;
    if constexpr (turns<Step>()) host::turned_copy_of<kernel>::run(own.buffers, own.extents);
    else host::run<kernel>(own.buffers, own.extents);
  }

  template <int Step> static auto tasks_of(const state& s) {
    const step_arguments<Step> own(s);
    return host::tasks_of<typename lowered::template kernel_of<Step>>(own.buffers, own.extents);
  }
  /// The points of a kernel whose outermost index is in [first, last), in this thread. The caller fences stores.
  template <int Step> static void run_rows(const state& s, extent first, extent last) {
    if constexpr (turns<Step>()) {
      const step_arguments<Step> own(s);
      host::turned_copy_of<typename lowered::template kernel_of<Step>>::run_rows(own.buffers, own.extents, first, last);
    } else tasks_of<Step>(s).run_rows(first, last);
  }
  template <int Step> static constexpr bool turns() { return host::turned_copy_of<typename lowered::template kernel_of<Step>>::turns; }
  /// visit(its tasks, its number) for a kernel that sums over rows.
  template <int Step, class Visit> static int visit_sums(const state& s, const Visit& visit) {
    if constexpr (sums_rows(Step)) visit(tasks_of<Step>(s), Step);
    return 0;
  }
  static constexpr bool sums_rows(int at) {
    const cotangent::step& x = plan.steps[std::size_t(at)];
    for (int k = 0; k < x.statement_count; ++k)
      if (reduces_rows(plan.statements[std::size_t(x.statements + k)])) return true;
    return false;
  }

  /// The extents m, n, k of a step's product.
  template <int Step> static constexpr shape extents_of_product() {
    constexpr int n = plan.steps[Step].node;
    constexpr extent axis = graph.attributes[std::size_t(graph.nodes[n].attributes) + 2];
    return {graph.nodes[n].dims[1], graph.nodes[n].dims[2], axis < 0 ? 1 : graph.nodes[Executable::template operand_node<n, 0>()].dims[int(axis)]};
  }
  template <int Step> static constexpr host::gemm_form form_of_gemm() {
    constexpr int at = plan.steps[Step].node, lhs = Executable::template operand_node<at, 0>(), rhs = Executable::template operand_node<at, 1>();
    constexpr const extent* where = graph.attributes.data() + graph.nodes[at].attributes;
    constexpr shape product = extents_of_product<Step>();
    using T = type_of<graph.nodes[at].type>;
    constexpr bool left_rows = where[2] == graph.nodes[lhs].dims.rank - 1, right_rows = where[5] == graph.nodes[rhs].dims.rank - 1;
    host::gemm_form f{left_rows ? host::gemm_form::rows : host::gemm_form::columns, right_rows ? host::gemm_form::rows : host::gemm_form::columns};
    f.matrices = !has_symbol(product) && product[0] > 1 && product[1] > 1 && product[2] > 1;
    f.triangles = gemm_p::triangles(where, graph.nodes[at].attribute_count);
    f.adds = gemm_p::adds(where, graph.nodes[at].attribute_count);
    f.tiled = host::is_tiled<T>(f, product[0], product[1], product[2]);
    return f;
  }
  /// Of a batch of products, those in [first, last); a negative `last` stands for all.
  template <int Step> static COTANGENT_HOST_INLINE void run_gemm(const state& s, extent first = 0, extent last = -1) {
    constexpr cotangent::step x = plan.steps[Step];
    constexpr int at = x.node, lhs = Executable::template operand_node<at, 0>(), rhs = Executable::template operand_node<at, 1>();
    using T = type_of<graph.nodes[at].type>;
    constexpr const extent* where = graph.attributes.data() + graph.nodes[at].attributes;
    const step_arguments<Step> own(s);
    constexpr shape product = extents_of_product<Step>(), left = graph.nodes[lhs].dims, right = graph.nodes[rhs].dims;
    const T* a = static_cast<const T*>(own.buffers[0]);
    const T* b = static_cast<const T*>(own.buffers[1]);
    T* c = static_cast<T*>(own.buffers[2]);
    using small = host::small_product<T, product[0], product[1], product[2], Executable::stride_of(left, where[1]), Executable::stride_of(left, where[2]),
                                      Executable::stride_of(right, where[4]), Executable::stride_of(right, where[5])>;
    if constexpr (is_small_gemm<Step>()) {
      for (extent q = first; q < (last < 0 ? graph.nodes[at].dims[0] : last); ++q)
        small::run(a + q * Executable::stride_of(left, where[0]), b + q * Executable::stride_of(right, where[3]), c + q * small::rows * small::columns);
    } else {
      const matrix_product p = Executable::template product_of<Step>(s);
      host::matrix_operand<T> ma{a, p.left[1], p.left[2], p.left[0]}, mb{b, p.right[1], p.right[2], p.right[0]};
      ma.data = ma.at(first, 0, 0), mb.data = mb.at(first, 0, 0), c += first * p.rows * p.columns;
      const extent batch = last < 0 ? p.batch : last - first;
      const auto multiply = [&](const auto& after) {
        if constexpr (has_small_products<Step>()) host::small_gemm<small>(batch, ma, mb, c, after);
        else host::gemm<T, form_of_gemm<Step>()>(batch, p.rows, p.columns, p.contracted, ma, mb, c, after);
      };
      if constexpr (Step + 1 < step_count) {
        if constexpr (plan.steps[Step + 1].after_rows) {
          const step_arguments<Step + 1> of_rows(s);
          multiply([&](extent, extent first, extent last) { host::run_rows<typename lowered::template kernel_of<Step + 1>>(of_rows.buffers, of_rows.extents, first, last); });
          return;
        }
      }
      multiply(host::keep_rows());
    }
  }

  /// Of what works by lines, those in the rows [first, last); a negative `last` stands for all.
  template <int Step> static void run_opaque(const state& s, extent first = 0, extent last = -1) {
    constexpr cotangent::step x = plan.steps[Step];
    constexpr bare_node n = graph.nodes[x.node];
    array_ref refs[x.buffer_count];
    Executable::template array_arguments<Step>(s, refs);
    for (array_ref& r : refs) {
      if (last < 0) break;
      r.data = static_cast<std::byte*>(r.data) + first * erase(r.dims, 0).size() * size_of(r.type);
      r.dims[0] = last - first;
    }
    constexpr dtype type = graph.nodes[Executable::template operand_node<x.node, 0>()].type;
    using runner = host::opaque<primitive_with_id<n.op_id>>;
    constexpr extent rows = host::known_extent(n.dims, n.dims.rank - 2), columns = host::known_extent(n.dims, n.dims.rank - 1);
    if constexpr (requires { runner::template run<type_of<type>, rows, columns>(refs, *refs, graph.attributes.data()); })
      runner::template run<type_of<type>, rows, columns>(refs, refs[x.buffer_count - 1], graph.attributes.data() + n.attributes);
    else runner::template run<type_of<type>>(refs, refs[x.buffer_count - 1], graph.attributes.data() + n.attributes);
  }
  static constexpr bool scatters(int at) { return plan.steps[std::size_t(at)].node >= 0 && is_scatter(graph.nodes[std::size_t(plan.steps[std::size_t(at)].node)].op_id); }
  /// visit(the updates of a step, if it is a scatter).
  template <int Step, class Visit> static int visit_scatter(const state& s, const Visit& visit) {
    if constexpr (scatters(Step)) {
      constexpr cotangent::step x = plan.steps[Step];
      constexpr bare_node n = graph.nodes[x.node];
      array_ref refs[x.buffer_count];
      Executable::template array_arguments<Step>(s, refs);
      visit(typename host::opaque<primitive_with_id<n.op_id>>::template updates<type_of<n.type>>(refs, refs[x.buffer_count - 1], graph.attributes.data() + n.attributes));
    }
    return 0;
  }
  template <int Group, class Visit, std::size_t... I> static void visit_group_scatters(const state& s, const Visit& visit, std::index_sequence<I...>) {
    const int done[] = {0, visit_scatter<plan.blocks[Group].first + int(I)>(s, visit)...};
    (void)done;
  }

  /// Whether each product of a gemm's batch is a small_product.
  template <int Step> static constexpr bool has_small_products() {
    constexpr bare_node x = graph.nodes[plan.steps[Step].node];
    constexpr shape product = extents_of_product<Step>();
    constexpr extent small = 32;
    return !has_symbol(product) && product[0] <= small && product[1] <= small && product[2] <= small && !gemm_p::adds(graph.attributes.data() + x.attributes, x.attribute_count);
  }
  /// Whether a gemm is so small that it runs in one thread, and the kernel on its rows by itself.
  template <int Step> static constexpr bool is_small_gemm() {
    constexpr int n = plan.steps[Step].node;
    if constexpr (n < 0) return false;
    else if constexpr (graph.nodes[n].op_id != primitive_of<gemm_p>.id) return false;
    else {
      constexpr extent batch = graph.nodes[n].dims[0], few_terms = 4, few_rows = 8, short_row = 128, little_work = 1 << 16, half_vector = native_lanes<type_of<graph.nodes[n].type>> / 2;
      constexpr shape product = extents_of_product<Step>();
      if constexpr (is_symbol(batch) || has_symbol(product) || gemm_p::adds(graph.attributes.data() + graph.nodes[n].attributes, graph.nodes[n].attribute_count)) return false;
      else if constexpr (batch == 1 && has_small_products<Step>()) return true;
      else return product[2] <= few_terms && (product[0] < few_rows || product[1] < half_vector) && product[1] <= short_row && batch * product.size() <= little_work;
    }
  }

  /// Memory for the sums over rows of the steps of a group: copies, one per task.
  struct row_sums {
    char* memory = nullptr;
    extent copies = 0;
    std::size_t offsets[step_count + 1] = {};  // of each step's
  };
  /// Sets the pointers to what exists for a block of rows only, from row `first` on, which lies in `memory`.
  template <int Group> static void place_block(state& s, std::byte* memory, extent block, extent first) {
    constexpr row_blocks group = plan.blocks[Group];
    for (int i = 0; i < buffer_count; ++i) {
      const buffer& b = plan.buffers[std::size_t(i)];
      if (b.where != buffer::block || b.first != group.first) continue;
      const extent row = s.value(row_elements(b, group.rows));
      s.buffers[i] = memory - first * row * size_of(b.type);
      memory += bytes_of_rows(block, row, b.type);
    }
  }
  /// Runs rows [first, last) through the steps of a group but its scatters. The caller fences stores.
  template <int Group, std::size_t... I>
  static void run_block(const state& s, extent first, extent last, const row_sums& sums, extent copy, std::index_sequence<I...>) {
    const int done[] = {0, run_rows_of<plan.blocks[Group].first + int(I)>(s, first, last, sums, copy)...};
    (void)done;
  }
  template <int Step> static int run_rows_of(const state& s, extent first, extent last, [[maybe_unused]] const row_sums& sums, [[maybe_unused]] extent copy) {
    constexpr int node = plan.steps[Step].node;
    if constexpr (node >= 0) {
      if constexpr (graph.nodes[node].op_id == primitive_of<gemm_p>.id) run_gemm<Step>(s, first, last);
      else if constexpr (!scatters(Step)) run_opaque<Step>(s, first, last);
    }
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
  static constexpr bool group_scatters(const row_blocks& group) {
    for (int i = group.first; i < group.first + group.count; ++i)
      if (scatters(i)) return true;
    return false;
  }
  static constexpr bool group_is_of_kernels(const row_blocks& group) {
    for (int i = group.first; i < group.first + group.count; ++i)
      if (plan.steps[std::size_t(i)].node >= 0) return false;
    return true;
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
    group.block = rows_at_a_time(group.row_bytes, group_is_of_kernels(group));
    each([&](const buffer& b, extent row) {
      if (is_of_block(b, group)) group.memory += bytes_of_rows(group.block, row, b.type);
    });
    return group;
  }
  /// A group of steps, block by block. A task takes some blocks; if there are scatters, blocks one by one, which have theirs in order, or a
  /// share of the blocks, which has copies of its own of what it scatters into.
  template <int Group> class group_run {
   public:
    explicit group_run(const state& given) : s(given), group(measured(given, plan.blocks[Group])), rows(s.value(group.rows)), blocks(host::divide_up(rows, group.block)) {
      constexpr extent small = 1 << 16, bytes_of_sums = 1 << 23;
      std::size_t one_copy = 0;
      visit_sums(s, [&](auto tasks, int) { one_copy += tasks.plan_copies(1); });
      const extent most_copies = one_copy > 0 ? bytes_of_sums / extent(one_copy) : 0;
      const extent most_tasks = !has_sums ? 256 : most_copies > 64 ? 64 : most_copies < 8 ? 8 : most_copies;
      together = rows * group.row_bytes <= small ? blocks : host::divide_up(blocks, most_tasks);
      sums.copies = together > 0 ? host::divide_up(blocks, together) : has_sums;  // sums of nothing are set, too
      if constexpr (scatters) {
        shares = blocks;
        visit_scatters(s, [&](const auto& updates) { shares = host::smaller(shares, updates.copies()); });
        if (shares <= 1) return;
        at_once = most_tasks > shares ? most_tasks / shares : 1;
        sums.copies = shares * at_once;
      }
    }

    void run() {
      std::size_t bytes = 0;
      visit_sums(s, [&](auto tasks, int at) {
        sums.offsets[at] = bytes;
        bytes += tasks.plan_copies(sums.copies);
      });
      const host::scratch memory(bytes);
      sums.memory = memory.data();
      if constexpr (!scatters) run_tasks();
      else {
        visit_scatters(s, [](const auto& updates) { updates.start(); });
        for (extent copy = 0; copy < sums.copies; ++copy) start_sums(copy);
        if (shares > 1) run_shares();
        else if (many_threads()) run_together(0, blocks, sums.copies, 0, [](const state& own, const auto& visit) { visit_scatters(own, visit); });
        else run_in_turn();
      }
      visit_sums(s, [&](auto tasks, int at) {
        tasks.plan_copies(sums.copies);
        tasks.finish_copies(sums.memory + sums.offsets[at]);
      });
    }

   private:
    static constexpr bool has_sums = group_sums_rows(plan.blocks[Group]), scatters = group_scatters(plan.blocks[Group]);
    using members = std::make_index_sequence<std::size_t(plan.blocks[Group].count)>;
    const state& s;
    const row_blocks group;
    const extent rows, blocks;
    extent together = 0;             // blocks of a task
    extent shares = 1, at_once = 1;  // of the blocks; and how many of a share have sums of their own
    row_sums sums;

    template <class Visit> static void visit_sums(const state& of, const Visit& visit) { visit_group_sums<Group>(of, visit, members()); }
    template <class Visit> static void visit_scatters(const state& of, const Visit& visit) { visit_group_scatters<Group>(of, visit, members()); }
    extent end_of(extent i) const { return host::smaller((i + 1) * group.block, rows); }
    extent begin_of_share(extent share) const { return blocks * share / shares; }
    void start_sums(extent copy) const {
      visit_sums(s, [&](auto tasks, int at) {
        tasks.plan_copies(sums.copies);
        tasks.start_copy(sums.memory + sums.offsets[at], copy);
      });
    }
    /// Runs block i but its scatters in a thread's memory.
    void run_one(state& own, const host::scratch& memory, extent i, extent copy) const {
      place_block<Group>(own, reinterpret_cast<std::byte*>(memory.data()), group.block, i * group.block);
      run_block<Group>(own, i * group.block, end_of(i), sums, copy, members());
    }

    void run_tasks() const {
      host::parallel_for(sums.copies, [&](extent t) {
        const host::scratch memory(std::size_t(group.memory));
        state own = s;
        start_sums(t);
        for (extent i = t * together; i < host::smaller((t + 1) * together, blocks); ++i) run_one(own, memory, i, t);
        store_fence();
      });
    }
    /// Blocks that run at a time are neighbours, no more than there are copies of sums: each has one for itself.
    void run_in_turn() const {
      host::ordered_numbers numbers(blocks);
      host::parallel_for(host::smaller(num_threads(), sums.copies), [&](extent) {
        const host::scratch memory(std::size_t(group.memory));
        state own = s;
        numbers.take_some([&](extent i, const auto& turn) {
          run_one(own, memory, i, i % sums.copies);
          turn.wait();
          visit_scatters(own, [&](const auto& updates) { updates.run_rows_here(i * group.block, end_of(i)); });
        });
        store_fence();
      });
    }
    /// Blocks [begin, end), `count` at a time with the copies of sums from `copy` on; and then their updates, which many threads combine at
    /// once: each_update(state, visit) visits them.
    template <class EachUpdate> void run_together(extent begin, extent end, extent count, extent copy, const EachUpdate& each_update) const {
      const host::scratch memory(std::size_t(group.memory * count));
      for (extent first = begin; first < end; first += count) {
        const extent last = host::smaller(first + count, end);
        state own = s;
        place_block<Group>(own, reinterpret_cast<std::byte*>(memory.data()), group.block * count, first * group.block);
        host::parallel_for(last - first, [&](extent k) {
          run_block<Group>(own, (first + k) * group.block, end_of(first + k), sums, copy + k, members());
          store_fence();
        });
        each_update(own, [&](const auto& updates) { updates.run_rows(first * group.block, end_of(last - 1)); });
      }
    }
    void run_shares() const {
      extent bytes = 0;
      visit_scatters(s, [&](const auto& updates) { bytes += shares * updates.copy_bytes(); });
      const host::scratch copies{std::size_t(bytes)};
      const auto each_copy = [&](const state& own, extent share, const auto& visit) {
        char* all = copies.data();
        visit_scatters(own, [&](const auto& updates) {
          visit(updates.into(all + share * updates.copy_bytes()));
          all += shares * updates.copy_bytes();
        });
      };
      const auto clear = [&](extent share) { each_copy(s, share, [](const auto& copy) { copy.clear(); }); };
      if (many_threads())
        for (extent share = 0; share < shares; ++share) {
          clear(share);
          run_together(begin_of_share(share), begin_of_share(share + 1), at_once, share * at_once,
                       [&](const state& own, const auto& visit) { each_copy(own, share, visit); });
        }
      else
        host::parallel_for(shares, [&](extent share) {
          const host::scratch memory(std::size_t(group.memory));
          state own = s;
          clear(share);
          for (extent begin = begin_of_share(share), i = begin; i < begin_of_share(share + 1); ++i) {
            run_one(own, memory, i, share * at_once + (i - begin) % at_once);
            each_copy(own, share, [&](const auto& copy) { copy.run_rows_here(i * group.block, end_of(i)); });
          }
          store_fence();
        });
      const char* all = copies.data();
      visit_scatters(s, [&](const auto& updates) {
        updates.combine(all, shares);
        all += shares * updates.copy_bytes();
      });
    }
  };
};

/// The ys of a loop that its body reduces over rows (reduces_by_rows): those of some turns, in the order of the turns, in copies. With Lanes, each
/// element has as many partial results, which the turns add to; without, the turns write it.
template <class Facts, int Lanes = 0> struct reduced_ys {
  extent copies, bytes = 0;

  template <class Turns> reduced_ys(const Turns& turns, extent blocks) : copies(blocks) {
    each([&]<int Y>(std::integral_constant<int, Y>) {
      offsets_[Y] = bytes;
      bytes += aligned_bytes(copies * size<Y>(turns) * extent(sizeof(type<Y>)));
    });
  }
  /// The bytes of a turn in a copy.
  template <class Turns> static extent turn_bytes(const Turns& turns) {
    extent all = 0;
    each([&]<int Y>(std::integral_constant<int, Y>) { all += elements<Y>(turns) * lanes * extent(sizeof(type<Y>)); });
    return all;
  }
  /// task(turns that write to a copy, its number) for each copy, then combines them, in order, into where `turns` writes.
  template <class Turns, class Task> void run(const Turns& turns, bool in_threads, const Task& task) const {
    const scratch memory{std::size_t(bytes)};
    const auto one = [&](extent copy) {
      Turns own = turns;
      place(own, memory.data(), copy);
      task(own, copy);
    };
    if (in_threads) parallel_for(copies, one);
    else for (extent copy = 0; copy < copies; ++copy) one(copy);
    combine(turns, memory.data());
  }

 private:
  static constexpr int lanes = Lanes > 0 ? Lanes : 1;
  extent offsets_[Facts::ys + 1];

  /// What y is reduced by, or 0.
  static constexpr std::uint64_t operation(int y) {
    constexpr const auto& plan = Facts::body::plan;
    for (const statement& s : plan.statements)
      if (s.what == statement::reduce && buffer_of_kernel(plan, s.buffer).number == Facts::carries + y) return s.op_id;
    return 0;
  }
  template <int Y> using type = type_of<Facts::result(Facts::carries + Y).type>;
  template <int Y> using op = primitive_with_id<operation(Y)>;
  template <class Visit> static void each(const Visit& visit) {
    const auto one = [&]<int Y>(std::integral_constant<int, Y> y) {
      if constexpr (operation(Y) != 0) visit(y);
    };
    [&]<int... Y>(std::integer_sequence<int, Y...>) { (one(std::integral_constant<int, Y>()), ...); }(std::make_integer_sequence<int, Facts::ys>());
  }
  /// Of a turn.
  template <int Y, class Turns> static extent elements(const Turns& turns) { return (Facts::reverse ? -turns.y_step[Y] : turns.y_step[Y]) / extent(sizeof(type<Y>)); }
  template <int Y, class Turns> static extent size(const Turns& turns) { return turns.length * elements<Y>(turns) * lanes; }
  template <int Y> type<Y>* first_copy(char* memory) const { return reinterpret_cast<type<Y>*>(memory + offsets_[Y]); }

  /// Lets turns write to a copy.
  template <class Turns> void place(Turns& turns, char* memory, extent copy) const {
    each([&]<int Y>(std::integral_constant<int, Y>) {
      type<Y>* const own = first_copy<Y>(memory) + copy * size<Y>(turns);
      if constexpr (Lanes > 0) std::fill_n(own, size<Y>(turns), op<Y>::template identity<type<Y>>());
      turns.y_step[Y] = elements<Y>(turns) * lanes * extent(sizeof(type<Y>));
      turns.y_at[Y] = reinterpret_cast<std::byte*>(own);
    });
  }
  template <class Turns> void combine(const Turns& turns, char* memory) const {
    each([&]<int Y>(std::integral_constant<int, Y>) {
      const extent n = size<Y>(turns), row = elements<Y>(turns);
      type<Y>* own = first_copy<Y>(memory);
      combine_copies<op<Y>, type<Y>, int(sizeof(type<Y>))>(own, n, 0, copies, 1, 0, 0, n);
      for (extent t = 0; t < turns.length; ++t)
        for (extent i = 0; i < row; ++i, own += lanes) reinterpret_cast<type<Y>*>(turns.y_at[Y] + t * turns.y_step[Y])[i] = fold_lanes<op<Y>, type<Y>>(pack<type<Y>, lanes>::load(own));
    });
  }
};

/// The steps of a packet's body: kernels and gathers of rows, in the thread that has the packet.
template <class Executable> struct packet_steps {
  static constexpr const auto& plan = Executable::plan;
  using state = typename Executable::state;

  template <int Step> static COTANGENT_HOST_INLINE void run(const state& s) {
    constexpr int group = Executable::blocks_at(Step);
    if constexpr (plan.steps[Step].node >= 0) steps<Executable>::template run_opaque<Step>(s);
    else if constexpr (group < 0) run_kernel<Step>(s, 0);
    else if constexpr (plan.blocks[group].first == Step)
      for (extent row = 0; row < plan.blocks[group].rows; ++row)
        [&]<int... I>(std::integer_sequence<int, I...>) COTANGENT_EXPANDED { (run_kernel<Step + I>(s, row), ...); }(std::make_integer_sequence<int, plan.blocks[group].count>());
  }

 private:
  /// Of the buffers of a step in a row block.
  template <int Step> static constexpr auto row_bytes = [] {
    constexpr cotangent::step x = plan.steps[Step];
    std::array<extent, std::size_t(x.buffer_count)> bytes{};
    for (int k = 0; k < x.buffer_count; ++k) {
      const buffer& b = plan.buffers[std::size_t(plan.step_buffers[std::size_t(x.buffers + k)])];
      bytes[std::size_t(k)] = elements_to_next_row(b, x.turns) * size_of(b.type);
    }
    return bytes;
  }();
  template <int Step> static COTANGENT_HOST_INLINE void run_kernel(const state& s, [[maybe_unused]] extent row) {
    typename Executable::template step_arguments<Step> at(s);
    if constexpr (at.own.moving != 0)
      for (int k = 0; k < at.own.buffer_count; ++k) {
        if (at.own.moving >> k & 1u) at.buffers[k] = static_cast<std::byte*>(at.buffers[k]) + row * row_bytes<Step>[k];
      }
    packet_kernel<typename Executable::lowered::template kernel_of<Step>>::run(at.buffers, at.extents);
  }
};
template <extent Lanes> struct packet_backend;

/// See `executable`.
struct backend {
  using platform = cotangent::cpu;
  struct queue {
    queue() = default;
    template <class Device> explicit queue(const Device&) {}
  };
  struct scope {
    template <class Device> scope(const Device&, const char*) {}
  };
  static constexpr schedule_choices choices{};
  static constexpr extent stack_bytes = 8192;
  static constexpr extent least_parallel_work = 1 << 20;  // statements, of loops and packets
  template <class Executable> using steps = host::steps<Executable>;

  class memory {
   public:
    memory(queue, extent bytes) : scratch_(std::size_t(bytes)) {}
    std::byte* data() const { return reinterpret_cast<std::byte*>(scratch_.data()); }

   private:
    scratch scratch_;
  };
  template <class Elements> static COTANGENT_HOST_INLINE const void* constant(queue, const Elements& elements) { return elements.data(); }
  static COTANGENT_HOST_INLINE void copy(queue, void* to, const void* from, extent bytes) { std::memcpy(to, from, std::size_t(bytes)); }

  /// A number that a step writes and the host reads.
  template <class T> class result {
   public:
    explicit result(queue) {}
    void* address() { return &value_; }
    T get() const { return value_; }

   private:
    T value_{};
  };
  template <class T> static T read(queue, const void* from) { return *static_cast<const T*>(from); }
  /// Where a loop's body finds the number of its turn.
  class counter {
   public:
    COTANGENT_HOST_INLINE counter(queue, extent) {}
    COTANGENT_HOST_INLINE void* at(extent i) {
      value_ = std::int32_t(i);
      return &value_;
    }

   private:
    std::int32_t value_ = 0;
  };

  /// Whether a loop whose carries could stay in registers should: one of few rows (more rows fill the units while others wait), or of
  /// short turns that read and write nothing but the carries and what they have in common (other arrays go by in longer pieces row block
  /// by row block).
  template <class Facts> static constexpr bool keeps_in_registers() {
    using layout = layout_of<typename Facts::body::lowered::template kernel_of<0>>;
    if (Facts::reduces_rows && layout::shape.finds_places) return false;
    return (has_few_rows<layout>() && !Facts::reduces_rows) || (!streams_rows<Facts>() && has_short_turns<layout>());
  }
  /// What kernels() tells of how step I of a program runs.
  template <class Program, int I> static std::string kernels_of_step() { return Program::template step_is_call<I>() ? "all turns in registers\n" : ""; }
  /// Runs the turns of such a loop.
  template <class Facts, class Turns> static void loop_in_registers(const typename Facts::body::state& b, const Turns& turns) {
    constexpr cotangent::step kernel = Facts::body::plan.steps[0];
    const auto own = loop_arguments<Facts>(b);
    with_loop_types<Facts>([&]<class Kernel, class Roles, class... Carry>(type_is<Kernel>, Roles, types<Carry...>) {
      using loop = scan_of_rows<Kernel, Roles, Carry...>;
      if constexpr (Facts::reduces_rows) reduce_in_registers<Facts, loop>(own.buffers, own.extents, turns, rows_of<typename Facts::body>(b));
      else if constexpr (has_few_rows<layout_of<Kernel>>()) loop(own.buffers, own.extents, turns).run();
      else {
        const loop all(own.buffers, own.extents, turns);
        const extent rows = rows_of<typename Facts::body>(b);
        if (rows * turns.length * kernel.statement_count <= least_parallel_work) return all.run(0, rows);
        const extent block = rows_of_task<Facts>(rows);
        parallel_for(divide_up(rows, block), [&](extent t) { all.run(t * block, smaller((t + 1) * block, rows)); });
      }
    });
  }
  /// The same of a while loop; of any number of rows, as they stop by themselves. Threads take rows through all turns.
  template <class Facts, class Carried> static void while_in_registers(const typename Facts::condition::state& c, const typename Facts::body::state& b, const Carried& carry) {
    const auto own = loop_arguments<Facts>(b);
    const auto of_test = test_arguments<Facts>(c);
    with_loop_types<Facts>([&]<class Kernel, class Roles, class... Carry>(type_is<Kernel>, Roles, types<Carry...>) {
      with_test_types<Facts>([&]<class Test, class TestRoles>(type_is<Test>, TestRoles) {
        using loop = while_of_rows<Kernel, Roles, Test, TestRoles, Carry...>;
        const loop all(own.buffers, own.extents, of_test.buffers, of_test.extents, carry);
        if constexpr (Facts::one_point) all.run(0, 1);
        else {
          constexpr extent few = 8;
          const extent rows = rows_of<typename Facts::body>(b), block = few * loop::together;
          parallel_for(divide_up(rows, block), [&](extent t) { all.run(t * block, smaller((t + 1) * block, rows)); });
        }
      });
    });
  }
  /// Runs the turns of another loop whose body works row by row (runs_by_rows). Threads take rows through all turns where that is
  /// worth it.
  template <class Facts, class Turns> static void loop_by_rows(const typename Facts::body::state& b, const Turns& turns) {
    using body = typename Facts::body;
    constexpr cotangent::step kernel = body::plan.steps[0];
    const extent rows = rows_of<body>(b), block = rows_of_task<Facts>(rows);
    if (rows <= block || rows * turns.length * kernel.statement_count <= least_parallel_work) return turns.run(b);
    parallel_for(divide_up(rows, block), [&](extent t) {
      turns.each(b, [&](const auto& state) { steps<body>::template run_rows<0>(state, t * block, smaller((t + 1) * block, rows)); });
      store_fence();
    });
  }

  /// The same of a loop whose body reduces over rows as well (reduces_by_rows): blocks of rows go through all turns, with results of their
  /// own, which are combined in the order of the blocks. How many there are depends on sizes alone.
  template <class Facts, class Turns> static void loop_reducing_rows(const typename Facts::body::state& b, const Turns& turns) {
    using body = typename Facts::body;
    constexpr cotangent::step kernel = body::plan.steps[0];
    constexpr extent cache = 1 << 15, unit = 64, most_bytes = 1 << 22;
    const extent rows = rows_of<body>(b), block = divide_up(cache / Facts::row_bytes, unit) * unit;
    const reduced_ys<Facts> ys(turns, divide_up(rows, block));
    if (ys.copies <= 1 || ys.bytes > most_bytes) return turns.run(b);
    ys.run(turns, rows * turns.length * kernel.statement_count > least_parallel_work, [&](const Turns& own, extent t) {
      own.each(b, [&](const auto& state) { steps<body>::template run_rows<0>(state, t * block, smaller((t + 1) * block, rows)); });
      store_fence();
    });
  }

  /// The same of a loop whose carries stay in registers; of some turns at a time, if there are very many.
  template <class Facts, class Loop, class Turns> static void reduce_in_registers(void* const* buffers, const extent* extents, const Turns& turns, extent rows) {
    using reduced = reduced_ys<Facts, Loop::lanes>;
    constexpr cotangent::step kernel = Facts::body::plan.steps[0];
    constexpr extent least = 4 * Loop::vectors * Loop::lanes, most_tasks = 32, most_bytes = 1 << 22;
    const extent block = std::max(least, divide_up(divide_up(rows, most_tasks), least) * least), tasks = std::max<extent>(divide_up(rows, block), 1);
    const extent at_once = std::max<extent>(most_bytes / (tasks * reduced::turn_bytes(turns) + 1), 1);
    Turns some = turns;
    for (extent first = 0; first < turns.length; first += some.length) {
      some.length = smaller(at_once, turns.length - first);
      reduced(some, tasks).run(some, rows * some.length * kernel.statement_count > least_parallel_work, [&](const Turns& own, extent t) {
        Loop(buffers, extents, own).run(t * block, smaller((t + 1) * block, rows));
      });
      some.skip(some.length);
    }
  }

  template <extent Lanes> using of_packets = packet_backend<Lanes>;
  /// Runs the body of packets (control<packets_p>) on all instances. Threads take packets.
  template <class Facts, class State, class Access> static void run_packets(const State& s, const Access& at) {
    using body = typename Facts::body;
    constexpr int lanes = int(Facts::lanes), operands = Facts::operands, results = Facts::results;
    constexpr extent most_tasks = 256;
    constexpr extent work = work_of<body>();
    const extent instances = s.value(Facts::instances), packets = divide_up(instances, lanes);
    const auto of_packet = [&](const shape& all, int axis) {
      shape dims = s.value(all);
      if (axis >= 0) dims[axis] = lanes;
      return dims;
    };
    const auto operand_dims = [&](int k) { return of_packet(Facts::operand(k).dims, Facts::operand_axis(k)); };
    std::size_t offsets[operands + results + 1] = {};  // in the memory of a task
    for (int k = 0; k < operands + results; ++k) {
      const bool result = k >= operands;
      const shape dims = result ? of_packet(Facts::result(k - operands).dims, Facts::result_axis(k - operands)) : operand_dims(k);
      const dtype type = result ? Facts::result(k - operands).type : Facts::operand(k).type;
      offsets[k + 1] = offsets[k] + (result || Facts::operand_axis(k) >= 0 ? std::size_t(aligned_bytes(dims.size() * size_of(type))) : 0);
    }
    const auto run = [&](extent first, extent last) {
      const scratch memory(offsets[operands + results] + std::size_t(static_arena<body>()));
      std::byte* const packet = reinterpret_cast<std::byte*>(memory.data());
      placed_body<body> placed(typename body::backend::queue(), packet + offsets[operands + results], operand_dims);
      typename body::state& b = placed.state;
      for (int k = 0; k < operands; ++k) body::input(b, k) = Facts::operand_axis(k) < 0 ? at.buffer(k) : packet + offsets[k];
      for (int r = 0; r < results; ++r) body::output(b, r) = packet + offsets[operands + r];
      for (extent p = first; p < last; ++p) {
        const extent start = p * lanes, count = smaller(lanes, instances - start);
        [&]<std::size_t... K>(std::index_sequence<K...>) { (fill<Facts, int(K)>(s, at, b, start, count), ...); }(std::make_index_sequence<std::size_t(operands)>());
        body::run(b);
        [&]<std::size_t... R>(std::index_sequence<R...>) { (empty<Facts, int(R)>(s, at, b, start, count), ...); }(std::make_index_sequence<std::size_t(results)>());
      }
      store_fence();
    };
    if (packets * work <= least_parallel_work) return run(0, packets);
    const extent together = divide_up(packets, most_tasks);
    parallel_for(divide_up(packets, together), [&](extent t) { run(t * together, smaller((t + 1) * together, packets)); });
  }

  /// Runs the bodies of chunks (control<chunks_p>) on all rows.
  template <class Facts, class State, class Access> static void run_chunks(const State& s, const Access& at) {
    chunk_run<Facts, State, Access>(s, at).run();
  }

  /// The numbers among a call's inputs stay where they are.
  template <class Program, int Numbers, class Size>
  static COTANGENT_HOST_INLINE void run_program(typename Program::state& s, const void** inputs, void* const* outputs, const Size&) {
    Program::execute(s, inputs, outputs);
  }

 private:
  /// The statements that run for a packet, at points of kernels.
  template <class Body> static constexpr extent work_of() {
    extent work = 0;
    for (const cotangent::step& x : Body::plan.steps) work += x.turns * x.space.size() * x.statement_count;
    return work;
  }
  /// The instances of operand K, or of result R, from or to where all are.
  template <class Facts, int K, class State, class Access>
  static void fill(const State& s, const Access& at, typename Facts::body::state& b, extent start, extent count) {
    if constexpr (constexpr int axis = Facts::operand_axis(K); axis >= 0) {
      using T = type_of<Facts::operand(K).type>;
      const axis_lines lines(s.value(Facts::operand(K).dims), axis);
      fill_packet<int(Facts::lanes)>(reinterpret_cast<const T*>(at.buffer(K)), lines, start, count, static_cast<T*>(Facts::body::input(b, K)));
    }
  }
  template <class Facts, int R, class State, class Access>
  static void empty(const State& s, const Access& at, typename Facts::body::state& b, extent start, extent count) {
    using T = type_of<Facts::result(R).type>;
    const axis_lines lines(s.value(Facts::result(R).dims), Facts::result_axis(R));
    T* const array = reinterpret_cast<T*>(at.buffer(Facts::operands + R));
    const bool once = Access::is_output(Facts::operands + R) && lines.before * lines.count * lines.behind * extent(sizeof(T)) >= kernels::streamed_bytes;
    empty_packet<int(Facts::lanes)>(static_cast<const T*>(Facts::body::output(b, R)), lines, start, count, array, once);
  }
  /// The rows of a body of one kernel.
  template <class Body> static extent rows_of(const typename Body::state& b) {
    constexpr cotangent::step kernel = Body::plan.steps[0];
    return b.value(extent_named(Body::plan, kernel, kernel.space[0]));
  }
  /// Rows whose carries stay in the cache of a core: several tasks for each thread, or one where arrays are read and written turn by
  /// turn, of which long pieces come faster.
  template <class Facts> static extent rows_of_task(extent rows) {
    constexpr extent cache = 1 << 14, unit = 64, tasks = Facts::xs + Facts::ys > 0 ? 1 : 4;
    const extent fit = cache / Facts::row_bytes, share = divide_up(rows, tasks * num_threads());
    return divide_up(fit < share ? fit : share, unit) * unit;
  }
};

/// That of a packet's body.
template <extent Lanes> struct packet_backend : backend {
  static constexpr schedule_choices choices = choices_of_packets(Lanes);
  template <class Executable> using steps = packet_steps<Executable>;
};

}  // namespace cotangent::host
