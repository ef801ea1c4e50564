#pragma once
/// A device of many threads as a backend: how the steps of an executable run on a queue of one (compiler/executable.hpp).
///
/// A queue names a device and an order of work on it. It is small, and has
///   run(grid)                                    (backends/simt/kernel.hpp)
///   run_rows(grid), slots(blocks)                (backends/simt/rows.hpp); how many slots so many blocks use
///   shared_bytes                                 of memory that a block of threads has for itself
///   copy(to, from, bytes)                        within the device's memory
///   copy_to_host(to, from, bytes)                when the work before it is done
///   sort(keys, values, count)                    by key; equal keys keep their order
///   product<T>(product, a, b, c)                 c = a b
///   constant(elements, bytes)                    where the device keeps these elements of the program
///   memory(queue, bytes)                         memory until the work that was given before its end is done, with data()
///   remember(describe)                           the step that is given next, as a function that names it
/// and, if the device has a library for large matrices, which are row-major and one after the other,
///   cholesky(a, l, n, matrices), lu(a, factors, n, matrices), lu_solve(factors, b, x, n, m, matrices, transposed),
///   triangular_solve(a, b, x, n, m, matrices, lower, transposed, unit_diagonal)
///                                                as the primitives of these names say (primitives/factorizations.hpp)
///   transform(what, lines, x, y)                 as fft_lines_p says (primitives/fft.hpp), of such lines of real numbers on either side

#include <array>
#include <string>
#include <string_view>

#include <cotangent/backends/simt/gemm.hpp>
#include <cotangent/backends/simt/loop.hpp>
#include <cotangent/backends/simt/opaque.hpp>
#include <cotangent/backends/simt/run.hpp>
#include <cotangent/backends/simt/teams.hpp>
#include <cotangent/core/device.hpp>

namespace cotangent::simt {

/// Names a step for messages.
template <class Executable, int Step> std::string describe_step() {
  static constexpr cotangent::step x = Executable::plan.steps[Step];
  static constexpr auto names = [] {
    std::array<std::string_view, std::size_t(x.node >= 0 ? 1 : x.statement_count)> r{};
    for (int k = 0; k < int(r.size()); ++k) {
      const int n = x.node >= 0 ? x.node : Executable::plan.statements[std::size_t(x.statements + k)].node;
      if (n >= 0) r[std::size_t(k)] = Executable::canonical.nodes[std::size_t(n)].op->name;
    }
    return r;
  }();
  std::string text = "step " + std::to_string(Step) + (x.node >= 0 ? ":" : ": the kernel of");
  for (std::string_view name : names)
    if (!name.empty()) (text += ' ') += name;
  return text;
}

template <class Executable> struct steps {
  template <int Group> using team = team_of_rows<Executable, Group>;
  template <int Step> using step_arguments = typename Executable::template step_arguments<Step>;
  static constexpr const auto& plan = Executable::plan;
  static constexpr const auto& graph = Executable::graph;
  using state = typename Executable::state;

  template <int Step> static void run(const state& s) {
    constexpr int group = Executable::blocks_at(Step);
    if constexpr (group < 0) run_alone<Step>(s);
    else if constexpr (plan.blocks[group].first == Step) run_group<group>(s, std::make_integer_sequence<int, plan.blocks[group].count>{});
  }

 private:
  template <int Step> using kernel_of = typename Executable::lowered::template kernel_of<Step>;

  template <int Step> static void run_alone(const state& s) {
    constexpr cotangent::step x = plan.steps[Step];
    s.queue.remember(describe_step<Executable, Step>);
    if constexpr (x.node < 0) {
      const step_arguments<Step> own(s);
      run_kernel<kernel_of<Step>>(s.queue, own.buffers, own.extents);
    } else if constexpr (graph.nodes[x.node].op_id == primitive_of<gemm_p>.id) {
      using T = type_of<graph.nodes[x.node].type>;
      const matrix_product p = Executable::template product_of<Step>(s);
      const step_arguments<Step> own(s);
      if (p.batch * p.rows * p.columns > 0)
        s.queue.product(p, static_cast<const T*>(own.buffers[0]), static_cast<const T*>(own.buffers[1]), static_cast<T*>(own.buffers[2]));
    } else {
      constexpr bare_node n = graph.nodes[x.node];
      array_ref refs[x.buffer_count];
      Executable::template array_arguments<Step>(s, refs);
      constexpr dtype first = graph.nodes[Executable::template operand_node<x.node, 0>()].type;
      opaque<primitive_with_id<n.op_id>>::template run<type_of<first>>(s.queue, refs, refs[x.buffer_count - 1], graph.attributes.data() + n.attributes);
    }
  }

  /// The buffers of which only the rows of a block exist: where each lies in a slot.
  struct slot_plan {
    extent offset[Executable::buffer_count + 1] = {}, bytes_of_row[Executable::buffer_count + 1] = {};
    extent bytes = 0;
  };
  /// Kept: with those that teams keep in registers.
  template <int Group, bool Kept = false> static slot_plan plan_slot(const state& s, extent rows_at_once) {
    constexpr row_blocks group = plan.blocks[Group];
    slot_plan p;
    int i = 0;
    for (const buffer& b : plan.buffers) {
      if (is_of_block(b, group) && (Kept || !team<Group>::facts.keeps[i])) {
        const extent row = s.value(row_elements(b, group.rows));
        p.offset[i] = p.bytes, p.bytes_of_row[i] = row * size_of(b.type);
        p.bytes += bytes_of_rows(rows_at_once, row, b.type);
      }
      ++i;
    }
    return p;
  }
  template <int Step> static auto row_arguments_of(const state& s, const slot_plan& slot) {
    constexpr cotangent::step x = plan.steps[Step];
    const step_arguments<Step> own(s);
    row_arguments<kernel_of<Step>> a(own.buffers, own.extents);
    for (int k = 0; k < a.count; ++k) {
      const int b = plan.step_buffers[std::size_t(x.buffers + k)];
      a.offset[k] = slot.offset[b], a.bytes_of_row[k] = slot.bytes_of_row[b];
    }
    return a;
  }
  /// The phases of a group: reading what is kept of whole rows, and those of its steps.
  template <int Group, int Place = 0, class Steps> static auto phases_of_group(const state& s, const slot_plan& slot, extent rows, Steps steps_of_group) {
    constexpr auto kept = team<Group>::kept;
    if constexpr (Place == int(kept.size())) return phases_from<Group>(s, slot, rows, steps_of_group);
    else {
      const auto rest = phases_of_group<Group, Place + 1>(s, slot, rows, steps_of_group);
      if constexpr (plan.buffers[kept[Place]].where == buffer::block) return rest;
      else {
        using T = type_of<plan.buffers[kept[Place]].type>;
        return with_first(row_loads<typename team<Group>::type, Place, T>{static_cast<const T*>(s.buffers[kept[Place]])}, rest);
      }
    }
  }
  template <int Group> static auto phases_from(const state&, const slot_plan&, extent, std::integer_sequence<int>) { return phase_list<>{}; }
  template <int Group, int Step, int... Later> static auto phases_from(const state& s, const slot_plan& slot, extent rows, std::integer_sequence<int, Step, Later...>) {
    constexpr row_blocks group = plan.blocks[Group];
    constexpr int at = group.first + Step;
    using phases = phases_of<kernel_of<at>, is_symbol(group.rows) ? -1 : group.rows, typename team<Group>::type, typename team<Group>::template kept_by<at>>;
    return before(phases{}, row_arguments_of<at>(s, slot), rows, phases_from<Group>(s, slot, rows, std::integer_sequence<int, Later...>{}));
  }
  template <int Step> static extent points_of(const state& s) {
    return row_arguments_of<Step>(s, {}).whole.points(every_dim<layout_of<kernel_of<Step>>>);
  }
  /// The steps of a group as one grid; or one after the other, where there are too few rows to keep a device busy.
  template <int Group, int... I> static void run_group(const state& s, std::integer_sequence<int, I...> steps_of_group) {
    constexpr row_blocks group = plan.blocks[Group];
    constexpr int first = group.first;
    constexpr extent points_at_once = points_of_thread * block_threads, few_rows = 64, long_row = 4096;
    const extent rows = s.value(group.rows), points[] = {points_of<first + I>(s)...};
    if (rows == 0) return;
    extent longest = 1;
    for (extent p : points)
      if (p / rows > longest) longest = p / rows;
    if constexpr (is_symbol(group.rows) || group.rows < few_rows)
      if (rows < few_rows && longest > long_row) {
        const slot_plan whole = plan_slot<Group, true>(s, rows);
        const typename Executable::backend::memory memory(s.queue, whole.bytes);
        state own = s;
        for (int b = 0; b < Executable::buffer_count; ++b)
          if (whole.bytes_of_row[b] > 0) own.buffers[b] = memory.data() + whole.offset[b];
        const int done[] = {0, (run_alone<first + I>(own), 0)...};
        (void)done;
        return;
      }
    s.queue.remember(describe_step<Executable, first>);
    using shares = typename team<Group>::type;
    const extent rows_at_once = shares::length > 0 ? shares::threads / shares::group : longest < points_at_once ? points_at_once / longest : 1;
    const slot_plan slot = plan_slot<Group>(s, rows_at_once);
    run_rows_grid<typename team<Group>::registers, shares::threads>(s.queue, phases_of_group<Group>(s, slot, rows, steps_of_group), rows, rows_at_once, slot.bytes);
  }
};

/// Writes the C++ numbers of a call to the device: they travel with the grid's arguments.
template <int Count> struct numbers_grid {
  static constexpr int threads = 32, bytes_each = 16;
  struct alignas(bytes_each) number {
    unsigned char bytes[bytes_each];
  };
  number numbers[Count];
  number* to;

  extent blocks() const { return 1; }
  COTANGENT_HD void operator()(extent, int thread) const {
    for (int i = thread; i < Count; i += threads) to[i] = numbers[i];
  }
};

/// Moves the numbers among a call's inputs to the device: size_of_number(i) is that of input i, or 0.
template <class Queue, int Count> class numbers_on_device {
 public:
  template <class Size>
  numbers_on_device(const Queue& q, const void** inputs, int input_count, const Size& size_of_number)
      : memory_(q, Count * numbers_grid<Count>::bytes_each) {
    numbers_grid<Count> grid{};
    grid.to = reinterpret_cast<typename numbers_grid<Count>::number*>(memory_.data());
    for (int i = 0, k = 0; i < input_count; ++i) {
      const std::size_t size = size_of_number(i);
      if (size == 0) continue;
      std::memcpy(grid.numbers[k].bytes, inputs[i], size);
      inputs[i] = grid.to + k++;
    }
    q.run(grid);
  }

 private:
  typename Queue::memory memory_;
};
template <class Queue> class numbers_on_device<Queue, 0> {
 public:
  template <class Size> numbers_on_device(const Queue&, const void**, int, const Size&) {}
  ~numbers_on_device() {}  // a variable of it is not unused
};

struct count_up {
  std::int32_t* to;
  COTANGENT_HD void operator()(extent i) const { to[i] = std::int32_t(i); }
};

/// See `executable`.
template <class Queue> struct backend {
  using queue = Queue;
  using memory = typename Queue::memory;
  struct scope {
    scope(const device&, const char*) {}
  };
  static constexpr schedule_choices choices{.rows_of_many_axes = true, .products_by_rows = false, .sums_over_rows = false, .lines_by_rows = false, .scatters_by_rows = false, .packets = false, .finds_places = false, .copies_turned = false};
  static constexpr extent stack_bytes = 0;
  template <class Executable> using steps = simt::steps<Executable>;

  template <class Elements> static const void* constant(const Queue& q, const Elements& elements) { return q.constant(elements.data(), elements.size() * sizeof(elements[0])); }
  static void copy(const Queue& q, void* to, const void* from, extent bytes) { q.copy(to, from, bytes); }
  template <class T> static T read(const Queue& q, const void* from) {
    T value;
    q.copy_to_host(&value, from, sizeof value);
    return value;
  }
  template <class T> class result {
   public:
    explicit result(const Queue& q) : queue_(q), memory_(q, sizeof(T)) {}
    void* address() { return memory_.data(); }
    T get() const { return read<T>(queue_, memory_.data()); }

   private:
    Queue queue_;
    memory memory_;
  };
  class counter {
   public:
    counter(const Queue& q, extent count) : memory_(q, count * extent(sizeof(std::int32_t))) {
      for_each(q, count, count_up{reinterpret_cast<std::int32_t*>(memory_.data())});
    }
    void* at(extent i) { return memory_.data() + i * extent(sizeof(std::int32_t)); }

   private:
    memory memory_;
  };
  /// Turns of a loop whose carries stay in registers, in one kernel; and of one whose body works row by row.
  template <class Facts> static constexpr bool keeps_in_registers() { return true; }
  template <class Facts, class Turns> static void loop_in_registers(const typename Facts::body::state& b, const Turns& turns) { run_loop<Facts>(b, turns); }
  template <class Facts, class Carried> static void while_in_registers(const typename Facts::condition::state& c, const typename Facts::body::state& b, const Carried& carry) {
    run_while<Facts>(c, b, carry);
  }
  template <class Facts, class Turns> static void loop_by_rows(const typename Facts::body::state& b, const Turns& turns) { turns.run(b); }

  template <class Program, int Numbers, class Size>
  static void run_program(typename Program::state& s, const void** inputs, void* const* outputs, const Size& size_of_number) {
    const numbers_on_device<Queue, Numbers> moved(s.queue, inputs, Program::input_count, size_of_number);
    Program::execute(s, inputs, outputs);
  }
};

}  // namespace cotangent::simt
