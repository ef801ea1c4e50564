#pragma once
/// How loops and branches run: their bodies are executables of their own, which run on the caller's memory.

#include <cstring>

#include <cotangent/compiler/executable.hpp>
#include <cotangent/control/scan_primitive.hpp>
#include <cotangent/control/switch_primitive.hpp>
#include <cotangent/control/while_primitive.hpp>

namespace cotangent {

/// The form of node N of a graph, as far as running needs it.
template <class Executable, int N> struct call_facts {
  static constexpr const auto& graph = Executable::graph;
  static constexpr node at = graph.nodes[N];
  static constexpr extent attribute(int k) { return graph.attributes[std::size_t(at.attributes + k)]; }
  static constexpr int bodies = int(attribute(0));
  template <int K> using body_maker = make_body<typename Executable::make, int(attribute(1 + K))>;
  static constexpr int results = int(attribute(1 + bodies));
  /// Where the primitive's own attributes begin.
  static constexpr int own = [] {
    int k = 2 + bodies;
    for (int r = 0; r < results; ++r) k += 2 + int(attribute(k + 1));
    return k;
  }();
  static constexpr int operands = at.operand_count;
  static constexpr const node& operand(int k) { return graph.nodes[std::size_t(graph.operands[std::size_t(at.operands + k)])]; }
  static constexpr call_form::result result(int r) {
    int k = 2 + bodies;
    for (; r > 0; --r) k += 2 + int(attribute(k + 1));
    call_form::result x;
    x.type = dtype(attribute(k));
    for (int i = 0; i < int(attribute(k + 1)); ++i) x.dims.push_back(attribute(k + 2 + i));
    return x;
  }
};

/// The bytes of the arena of a body, if they are known, and memory for one that is not.
template <class Body> constexpr extent static_arena() { return Body::plan.dynamic_arena ? 0 : Body::plan.arena_bytes; }
/// Sets the pointers of a body's intermediate values: in `scratch`, or if only the run knows their size, in memory of the
/// thread that is kept between calls.
template <class Body> COTANGENT_INLINE void place_body(typename Body::state& s, std::byte* scratch_memory) {
  if constexpr (Body::plan.dynamic_arena) {
    static thread_local scratch memory;
    Body::place(s, memory.get(Body::arena_bytes(s)));
  } else {
    Body::place(s, scratch_memory);
  }
}

constexpr extent aligned_bytes(extent bytes) { return (bytes + arena_alignment - 1) / arena_alignment * arena_alignment; }

/// The carries of a loop are the first `Carries` operands and results; in the body they are the inputs from First on and
/// the first outputs. They go back and forth between the result's memory and, unless the body can write in place, a
/// second place.
template <int Carries, int First> struct donated_carries {
  constexpr flag_list operator()() const {
    flag_list flags;
    flags.assign(First, 0);
    for (int k = 0; k < Carries; ++k) flags.push_back(donated_to(std::size_t(k)));
    while (flags.size() < 512) flags.push_back(0);
    return flags;
  }
};
template <class Facts, class Body, int Carries, int First> struct carried {
  static constexpr bool in_place(int k) { return Body::plan.buffers[std::size_t(Body::plan.output_buffers[std::size_t(k)])].reuses == First + k; }
  /// Which carries' results may lie where the carries came from.
  static constexpr unsigned long in_place_mask = [] {
    unsigned long mask = 0;
    for (int k = 0; k < Carries && k < 64; ++k) mask |= in_place(k) ? 1ul << k : 0ul;
    return mask;
  }();
  /// The bytes of the second places; with run-time extents they are in memory of the thread.
  static constexpr bool is_static = [] {
    for (int k = 0; k < Carries; ++k)
      if (has_symbol(Facts::operand(k).dims)) return false;
    return true;
  }();
  static constexpr extent bytes_beside = [] {
    extent total = 0;
    for (int k = 0; k < Carries && is_static; ++k)
      if (!in_place(k)) total += aligned_bytes(Facts::operand(k).dims.size() * size_of(Facts::operand(k).type));
    return total;
  }();

  std::byte* now[Carries + 1];  // before the next step
  std::byte *last[Carries + 1], *other[Carries + 1];
  extent bytes[Carries + 1];

  template <class Access> COTANGENT_INLINE carried(const Access& at, std::byte*& memory) {
    for (int k = 0; k < Carries; ++k) {
      bytes[k] = at.bytes(Facts::operand(k).type, Facts::operand(k).dims);
      now[k] = at.buffer(k), last[k] = other[k] = at.buffer(Facts::operands + k);
    }
    if constexpr (is_static) {
      for (int k = 0; k < Carries; ++k)
        if (!in_place(k)) other[k] = memory, memory += aligned_bytes(bytes[k]);
    } else {
      static thread_local scratch beside;
      extent total = 0;
      for (int k = 0; k < Carries; ++k)
        if (!in_place(k)) total += aligned_bytes(bytes[k]);
      std::byte* place = beside.get(total);
      for (int k = 0; k < Carries; ++k)
        if (!in_place(k)) other[k] = place, place += aligned_bytes(bytes[k]);
    }
  }
  /// Points the body at the carries of one step, which goes to `last` or to the other place.
  COTANGENT_INLINE void step(typename Body::state& b, bool to_last) {
    for (int k = 0; k < Carries; ++k) {
      Body::input(b, First + k) = now[k];
      Body::output(b, k) = now[k] = to_last ? last[k] : other[k];
    }
  }
  /// Copies the carries that are elsewhere to the result.
  void finish() {
    for (int k = 0; k < Carries; ++k)
      if (now[k] != last[k] && bytes[k] > 0) std::memcpy(last[k], now[k], std::size_t(bytes[k]));
  }
};

/// A step that runs bodies: where its buffers are, and how large values are.
template <class Executable, int Step> struct step_access {
  static constexpr step x = Executable::plan.steps[Step];
  const typename Executable::state& s;

  std::byte* buffer(int k) const { return static_cast<std::byte*>(s.buffers[Executable::plan.step_buffers[std::size_t(x.buffers + k)]]); }
  extent bytes(dtype type, const shape& dims) const { return s.value(dims).size() * size_of(type); }
};

/// Whether each point of a loop's body along its outermost dimension, an instance, touches the elements of the carries that
/// are its own and nothing else that is written: then a thread can run all turns of some instances. The body must be one
/// kernel without reductions. Its carries are the inputs from First on and the first outputs.
template <class Body, int Carries, int First> constexpr bool runs_by_rows() {
  constexpr const auto& plan = Body::plan;
  if (Carries == 0 || plan.steps.size() != 1 || plan.steps[0].node >= 0 || plan.steps[0].space.rank == 0) return false;
  const step& x = plan.steps[0];
  const extent rows = extent_named(plan, x, x.space[0]);
  for (int i = 0; i < x.statement_count; ++i) {
    const statement& s = plan.statements[std::size_t(x.statements + i)];
    if (s.what == statement::reduce) return false;
    if (s.what != statement::load && s.what != statement::store) continue;
    const buffer& b = plan.buffers[std::size_t(plan.step_buffers[std::size_t(x.buffers + s.buffer)])];
    const bool carried = (b.where == buffer::input && b.number >= First && b.number < First + Carries) || (b.where == buffer::output && b.number < Carries);
    if (carried && (b.dims.rank == 0 || b.dims[0] != rows || is_symbol(row_elements(b, rows)) || !stays_in_row(plan, x, s, b, rows))) return false;
  }
  return true;
}

template <> struct control<scan_p> {
  template <class Executable, int N> struct facts : call_facts<Executable, N> {
    using base = call_facts<Executable, N>;
    static constexpr int carries = int(base::attribute(base::own + 1)), xs = int(base::attribute(base::own + 2));
    static constexpr int constants = base::operands - carries - xs, ys = base::results - carries;
    static constexpr bool reverse = base::attribute(base::own + 3) != 0, indexed = base::attribute(base::own + 4) != 0;
    using body = executable<typename base::template body_maker<0>, donated_carries<carries, int(indexed)>>;
    using carry = carried<facts, body, carries, int(indexed)>;
    static constexpr bool by_rows = runs_by_rows<body, carries, int(indexed)>();
    /// The bytes that a row of the carries takes, before a step and after it.
    static constexpr extent row_bytes = [] {
      extent total = 0;
      for (int k = 0; k < carries && by_rows; ++k) {
        extent row = 2 * size_of(base::operand(k).type);
        for (int d = 1; d < base::operand(k).dims.rank; ++d) row *= base::operand(k).dims[d];
        total += row;
      }
      return total;
    }();
  };
  /// visit(what it is, how often it runs or 0, type_is<the body>) of each body.
  template <class Executable, int N, class Visit> static constexpr void visit_bodies(const Visit& visit) {
    using f = facts<Executable, N>;
    constexpr extent length = f::attribute(f::own);
    visit("body", is_symbol(length) ? 0 : length, type_is<typename f::body>{});
  }

  template <class Executable, int N> static constexpr call_memory memory() {
    using f = facts<Executable, N>;
    return {f::carry::bytes_beside + static_arena<typename f::body>(), f::carry::in_place_mask};
  }

  template <class Executable, int Step> static void run(const typename Executable::state& s) {
    const step_access<Executable, Step> at{s};
    using f = facts<Executable, step_access<Executable, Step>::x.node>;
    using body = typename f::body;
    const extent length = s.value(f::attribute(f::own));
    std::byte* memory = at.buffer(f::operands + f::results);
    typename f::carry carry(at, memory);
    if (length == 0) return carry.finish();

    typename body::state b;
    constexpr int first_carry = int(f::indexed), first_constant = first_carry + f::carries + f::xs;
    if constexpr (body::has_symbols) {
      shape shapes[body::input_count > 0 ? body::input_count : 1];
      for (int k = 0; k < f::operands; ++k) {
        const shape dims = s.value(f::operand(k).dims);
        shapes[first_carry + k] = k >= f::carries && k < f::carries + f::xs ? erase(dims, 0) : dims;
      }
      body::evaluate_symbols(b, shapes);
    }
    place_body<body>(b, memory);
    for (int k = 0; k < f::constants; ++k) body::input(b, first_constant + k) = at.buffer(f::carries + f::xs + k);

    const std::byte* x_at[f::xs + 1];
    std::byte* y_at[f::ys + 1];
    extent x_step[f::xs + 1], y_step[f::ys + 1];
    const extent start = f::reverse ? length - 1 : 0;
    for (int k = 0; k < f::xs; ++k) {
      const node& o = f::operand(f::carries + k);
      x_step[k] = at.bytes(o.type, erase(o.dims, 0));
      x_at[k] = at.buffer(f::carries + k) + start * x_step[k];
      if (f::reverse) x_step[k] = -x_step[k];
    }
    for (int k = 0; k < f::ys; ++k) {
      const call_form::result r = f::result(f::carries + k);
      y_step[k] = at.bytes(r.type, erase(r.dims, 0));
      y_at[k] = at.buffer(f::operands + f::carries + k) + start * y_step[k];
      if (f::reverse) y_step[k] = -y_step[k];
    }
    if constexpr (f::by_rows) {
      constexpr step kernel = body::plan.steps[0];
      const extent rows = b.value(extent_named(body::plan, kernel, kernel.space[0]));
      const extent block = rows_of_task(f::row_bytes, rows);
      if (rows > block && rows * length * kernel.statement_count > least_parallel_work) {
        cpu::parallel_for(cpu::divide_up(rows, block), [&](extent t) {
          turns<f>(b, carry, x_at, x_step, y_at, y_step, start, length, [&](const typename body::state& state) {
            body::template run_rows<0>(state, t * block, cpu::smaller((t + 1) * block, rows));
          });
        });
        return;
      }
    }
    turns<f>(b, carry, x_at, x_step, y_at, y_step, start, length, whole_body<body>());
  }

 private:
  static constexpr extent least_parallel_work = 1 << 20;  // statements
  template <class Body> struct whole_body {
    COTANGENT_INLINE void operator()(const typename Body::state& s) const { Body::run(s); }
  };
  /// Rows whose carries stay in the cache of a core, several tasks for each thread.
  static extent rows_of_task(extent row_bytes, extent rows) {
    constexpr extent cache = 1 << 14, unit = 64;
    const extent fit = cache / row_bytes, share = rows / (4 * num_threads());
    return cpu::divide_up(fit < share ? fit : share, unit) * unit;
  }
  /// All turns of the loop, on copies of where it starts.
  template <class F, class Run>
  static COTANGENT_INLINE void turns(typename F::body::state b, typename F::carry carry, const std::byte* const (&x_start)[F::xs + 1], const extent (&x_step)[F::xs + 1],
                                     std::byte* const (&y_start)[F::ys + 1], const extent (&y_step)[F::ys + 1], extent start, extent length, const Run& run_body) {
    using body = typename F::body;
    constexpr int first_x = int(F::indexed) + F::carries;
    const std::byte* x_at[F::xs + 1];
    std::byte* y_at[F::ys + 1];
    for (int k = 0; k < F::xs; ++k) x_at[k] = x_start[k];
    for (int k = 0; k < F::ys; ++k) y_at[k] = y_start[k];
    std::int32_t index = std::int32_t(start);
    if constexpr (F::indexed) body::input(b, 0) = &index;
    for (extent i = 0; i < length; ++i) {
      carry.step(b, ((length - 1 - i) & 1) == 0);
      for (int k = 0; k < F::xs; ++k) body::input(b, first_x + k) = const_cast<std::byte*>(x_at[k]), x_at[k] += x_step[k];
      for (int k = 0; k < F::ys; ++k) body::output(b, F::carries + k) = y_at[k], y_at[k] += y_step[k];
      run_body(b);
      index += F::reverse ? -1 : 1;
    }
  }
};

template <> struct control<while_p> {
  template <class Executable, int N> struct facts : call_facts<Executable, N> {
    using base = call_facts<Executable, N>;
    static constexpr int carries = int(base::attribute(base::own)), tested = int(base::attribute(base::own + 1));
    static constexpr int condition_constants = int(base::attribute(base::own + 2)), body_constants = base::operands - carries - condition_constants;
    using condition = executable<typename base::template body_maker<0>, donated_carries<0, 0>>;
    using body = executable<typename base::template body_maker<1>, donated_carries<carries, 0>>;
    using carry = carried<facts, body, carries, 0>;
  };
  template <class Executable, int N, class Visit> static constexpr void visit_bodies(const Visit& visit) {
    visit("condition", extent(0), type_is<typename facts<Executable, N>::condition>{});
    visit("body", extent(0), type_is<typename facts<Executable, N>::body>{});
  }

  template <class Executable, int N> static constexpr call_memory memory() {
    using f = facts<Executable, N>;
    return {f::carry::bytes_beside + static_arena<typename f::condition>() + static_arena<typename f::body>(), f::carry::in_place_mask};
  }

  template <class Executable, int Step> static void run(const typename Executable::state& s) {
    const step_access<Executable, Step> at{s};
    using f = facts<Executable, step_access<Executable, Step>::x.node>;
    using condition = typename f::condition;
    using body = typename f::body;
    std::byte* memory = at.buffer(f::operands + f::results);
    typename f::carry carry(at, memory);
    typename condition::state test;
    typename body::state b;
    const auto shape_of = [&](int k) { return s.value(f::operand(k).dims); };
    if constexpr (condition::has_symbols) {
      shape shapes[condition::input_count > 0 ? condition::input_count : 1];
      for (int k = 0; k < condition::input_count; ++k) shapes[k] = shape_of(k < f::tested ? k : f::carries + k - f::tested);
      condition::evaluate_symbols(test, shapes);
    }
    if constexpr (body::has_symbols) {
      shape shapes[body::input_count > 0 ? body::input_count : 1];
      for (int k = 0; k < body::input_count; ++k) shapes[k] = shape_of(k < f::carries ? k : f::condition_constants + k);
      body::evaluate_symbols(b, shapes);
    }
    place_body<condition>(test, memory);
    place_body<body>(b, memory + static_arena<condition>());
    for (int k = 0; k < f::condition_constants; ++k) condition::input(test, f::tested + k) = at.buffer(f::carries + k);
    for (int k = 0; k < f::body_constants; ++k) body::input(b, f::carries + k) = at.buffer(f::carries + f::condition_constants + k);
    bool goes_on = false;
    condition::output(test, 0) = &goes_on;
    for (bool to_last = true;; to_last = !to_last) {
      for (int k = 0; k < f::tested; ++k) condition::input(test, k) = carry.now[k];
      condition::run(test);
      if (!goes_on) return carry.finish();
      carry.step(b, to_last);
      body::run(b);
    }
  }
};

template <> struct control<switch_p> {
  template <class Executable, int N> struct facts : call_facts<Executable, N> {
    using base = call_facts<Executable, N>;
    template <int K> using branch = executable<typename base::template body_maker<K>, donated_carries<0, 0>>;
  };
  template <class Executable, int N, class Visit> static constexpr void visit_bodies(const Visit& visit) {
    using f = facts<Executable, N>;
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      (visit("branch", extent(1), type_is<typename f::template branch<int(K)>>{}), ...);
    }(std::make_index_sequence<std::size_t(f::bodies)>{});
  }

  template <class Executable, int N> static constexpr call_memory memory() {
    using f = facts<Executable, N>;
    return []<std::size_t... K>(std::index_sequence<K...>) {
      const extent bytes[] = {static_arena<typename f::template branch<int(K)>>()...};
      extent most = 0;
      for (extent b : bytes) most = b > most ? b : most;
      return call_memory{most};
    }(std::make_index_sequence<std::size_t(f::bodies)>{});
  }

  template <class Executable, int Step, int K> static void run_branch(const typename Executable::state& s) {
    const step_access<Executable, Step> at{s};
    using f = facts<Executable, step_access<Executable, Step>::x.node>;
    using branch = typename f::template branch<K>;
    typename branch::state b;
    if constexpr (branch::has_symbols) {
      shape shapes[branch::input_count > 0 ? branch::input_count : 1];
      for (int k = 0; k < branch::input_count; ++k) shapes[k] = s.value(f::operand(1 + k).dims);
      branch::evaluate_symbols(b, shapes);
    }
    place_body<branch>(b, at.buffer(f::operands + f::results));
    for (int k = 0; k < branch::input_count; ++k) branch::input(b, k) = at.buffer(1 + k);
    for (int o = 0; o < branch::output_count; ++o) branch::output(b, o) = at.buffer(f::operands + o);
    branch::run(b);
  }

  template <class Executable, int Step> static void run(const typename Executable::state& s) {
    const step_access<Executable, Step> at{s};
    const std::int32_t index = *reinterpret_cast<const std::int32_t*>(at.buffer(0));
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      const int done[] = {0, (index == std::int32_t(K) ? run_branch<Executable, Step, int(K)>(s) : void(), 0)...};
      (void)done;
    }(std::make_index_sequence<std::size_t(facts<Executable, step_access<Executable, Step>::x.node>::bodies)>{});
  }
};
/// Nothing runs: what a barrier returns lies where its operands are.
template <> struct control<barrier_p> {
  template <class Executable, int N, class Visit> static constexpr void visit_bodies(const Visit&) {}
  template <class Executable, int N> static constexpr call_memory memory() { return {}; }
  template <class Executable, int Step> static void run(const typename Executable::state&) {}
};

}  // namespace cotangent
