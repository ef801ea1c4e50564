#pragma once
/// How loops and branches run: their bodies are executables of their own, which run on the caller's memory.

#include <cotangent/compiler/executable.hpp>
#include <cotangent/control/scan_primitive.hpp>
#include <cotangent/control/switch_primitive.hpp>
#include <cotangent/control/while_primitive.hpp>

namespace cotangent {

/// The form of node N of a graph, as far as running needs it.
template <class Executable, int N> struct call_facts {
  static constexpr const auto& graph = Executable::graph;
  static constexpr bare_node at = graph.nodes[N];
  static constexpr extent attribute(int k) { return graph.attributes[std::size_t(at.attributes + k)]; }
  static constexpr int bodies = int(attribute(0));
  template <int K> using body_maker = make_body<typename Executable::make, int(attribute(1 + K)), Executable::backend::choices.packets>;
  static constexpr int results = int(attribute(1 + bodies));
  /// Where the primitive's own attributes begin.
  static constexpr int own = [] {
    int k = 2 + bodies;
    for (int r = 0; r < results; ++r) k += 2 + int(attribute(k + 1));
    return k;
  }();
  static constexpr int operands = at.operand_count;
  static constexpr const bare_node& operand(int k) { return graph.nodes[std::size_t(graph.operands[std::size_t(at.operands + k)])]; }
  static constexpr call_form::result result(int r) {
    int k = 2 + bodies;
    for (; r > 0; --r) k += 2 + int(attribute(k + 1));
    call_form::result x;
    x.type = dtype(attribute(k));
    for (int i = 0; i < int(attribute(k + 1)); ++i) x.dims.push_back(attribute(k + 2 + i));
    return x;
  }
};

/// The bytes of the arena of a body, if they are known.
template <class Body> constexpr extent static_arena() { return Body::plan.dynamic_arena ? 0 : Body::plan.arena_bytes; }

/// Memory whose size only the run knows, or nothing.
template <class Backend, bool Exists> class run_time_memory {
 public:
  run_time_memory(typename Backend::queue queue, extent bytes) : memory_(queue, bytes) {}
  std::byte* data() const { return memory_.data(); }

 private:
  typename Backend::memory memory_;
};
template <class Backend> class run_time_memory<Backend, false> {
 public:
  COTANGENT_HOST_INLINE run_time_memory(typename Backend::queue, extent) {}
  std::byte* data() const { return nullptr; }
};

/// A body's state, and memory for its intermediate values if their sizes are known only now: those go to `memory_of_caller`
/// otherwise.
template <class Body> class placed_body {
 public:
  typename Body::state state;

  /// shape_of(k): of the body's input k.
  template <class ShapeOf> COTANGENT_HOST_INLINE placed_body(typename Body::backend::queue queue, std::byte* memory_of_caller, const ShapeOf& shape_of)
      : state(start(queue, shape_of)), own_(queue, Body::plan.dynamic_arena ? Body::arena_bytes(state) : 0) {
    Body::place(state, Body::plan.dynamic_arena ? own_.data() : memory_of_caller);
  }

 private:
  template <class ShapeOf> static COTANGENT_HOST_INLINE typename Body::state start(typename Body::backend::queue queue, const ShapeOf& shape_of) {
    typename Body::state s;
    s.queue = queue;
    if constexpr (Body::has_symbols) {
      shape shapes[Body::input_count > 0 ? Body::input_count : 1];
      for (int k = 0; k < Body::input_count; ++k) shapes[k] = shape_of(k);
      Body::evaluate_symbols(s, shapes);
    }
    return s;
  }

  run_time_memory<typename Body::backend, Body::plan.dynamic_arena> own_;
};

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
/// Elsewhere: the carries whose places the caller finds (see turning_body), as bits.
template <class Facts, class Body, int Carries, int First, unsigned long Elsewhere = 0> struct carried {
  static constexpr bool is_elsewhere(int k) { return k < 64 && (Elsewhere >> k & 1ul) != 0; }
  static constexpr bool in_place(int k) { return Body::plan.buffers[std::size_t(Body::plan.output_buffers[std::size_t(k)])].reuses == First + k; }
  template <class Which> static constexpr unsigned long mask_of(const Which& which) {
    unsigned long mask = 0;
    for (int k = 0; k < Carries && k < 64; ++k) mask |= which(k) ? 1ul << k : 0ul;
    return mask;
  }
  static constexpr bool needs_second_place(int k) { return !in_place(k) && !is_elsewhere(k); }
  /// Which carries' results may lie where the carries came from.
  static constexpr unsigned long in_place_mask = mask_of(in_place) | Elsewhere;
  /// Whether the bytes of the second places are known: then they lie in the caller's memory.
  static constexpr bool is_static = [] {
    for (int k = 0; k < Carries; ++k)
      if (has_symbol(Facts::operand(k).dims)) return false;
    return true;
  }();
  static constexpr extent bytes_beside = [] {
    extent total = 0;
    for (int k = 0; k < Carries && is_static; ++k)
      if (needs_second_place(k)) total += aligned_bytes(Facts::operand(k).dims.size() * size_of(Facts::operand(k).type));
    return total;
  }();

  /// The bytes of second places whose sizes are known only now.
  template <class Access> static extent run_time_bytes(const Access& at) {
    extent total = 0;
    for (int k = 0; k < Carries && !is_static; ++k)
      if (needs_second_place(k)) total += aligned_bytes(at.bytes(Facts::operand(k).type, Facts::operand(k).dims));
    return total;
  }

  std::byte* now[Carries + 1];  // before the next step
  std::byte *last[Carries + 1], *other[Carries + 1];
  extent bytes[Carries + 1];

  /// The second places begin at `beside`, which moves to their end.
  template <class Access> COTANGENT_HOST_INLINE carried(const Access& at, std::byte*& beside) {
    for (int k = 0; k < Carries; ++k) {
      bytes[k] = at.bytes(Facts::operand(k).type, Facts::operand(k).dims);
      now[k] = at.buffer(k), last[k] = other[k] = at.buffer(Facts::operands + k);
      if (needs_second_place(k)) other[k] = beside, beside += aligned_bytes(bytes[k]);
    }
  }
  /// Points the body at the carries of one step, which goes to `last` or to the other place.
  COTANGENT_HOST_INLINE void step(typename Body::state& b, bool to_last) {
    for (int k = 0; k < Carries; ++k) {
      Body::input(b, First + k) = now[k];
      Body::output(b, k) = now[k] = to_last ? last[k] : other[k];
    }
  }
  /// Copies the carries that are elsewhere to the result.
  void finish(typename Body::backend::queue queue) {
    for (int k = 0; k < Carries; ++k)
      if (now[k] != last[k] && bytes[k] > 0) Body::backend::copy(queue, last[k], now[k], bytes[k]);
  }
};

/// A step that runs bodies: where its buffers are, and how large values are.
template <class Executable, int Step> struct step_access {
  static constexpr step x = Executable::plan.steps[Step];
  const typename Executable::state& s;

  std::byte* buffer(int k) const { return static_cast<std::byte*>(s.buffers[Executable::plan.step_buffers[std::size_t(x.buffers + k)]]); }
  extent bytes(dtype type, const shape& dims) const { return s.value(dims).size() * size_of(type); }
  /// Whether nothing but this step looks at buffer k, an output.
  static constexpr bool is_output(int k) { return is_output_of_one_step(Executable::plan, Executable::plan.step_buffers[std::size_t(x.buffers + k)]); }
};

/// Whether a plan is one kernel, of whose reductions allows(statement) holds.
template <class Plan, class Allows> constexpr bool is_one_kernel(const Plan& plan, const Allows& allows) {
  if (plan.steps.size() != 1 || plan.steps[0].node >= 0) return false;
  for (const statement& s : plan.statements)
    if (s.what == statement::reduce && !allows(s)) return false;
  return true;
}
/// Whether a plan is one kernel that reduces nothing but, if that is allowed, by `op_id`.
template <class Plan> constexpr bool is_one_kernel(const Plan& plan, std::uint64_t op_id = 0) {
  return is_one_kernel(plan, [&](const statement& s) { return s.op_id == op_id; });
}
/// The buffer that the kernel of a plan of one kernel numbers so.
template <class Plan> constexpr const buffer& buffer_of_kernel(const Plan& plan, int local) {
  return plan.buffers[std::size_t(plan.step_buffers[std::size_t(plan.steps[0].buffers + local)])];
}
/// Whether fits(statement, buffer) holds of each load and store of a plan of one kernel whose buffer `which` names.
template <class Plan, class Which, class Fits> constexpr bool accesses_fit(const Plan& plan, const Which& which, const Fits& fits) {
  const step& x = plan.steps[0];
  for (int i = 0; i < x.statement_count; ++i) {
    const statement& s = plan.statements[std::size_t(x.statements + i)];
    if (s.what != statement::load && s.what != statement::store) continue;
    const buffer& b = buffer_of_kernel(plan, s.buffer);
    if (which(b) && !fits(s, b)) return false;
  }
  return true;
}
/// The carries of a body: its inputs from First on and its first outputs.
template <int Carries, int First> constexpr bool is_carried(const buffer& b) {
  return (b.where == buffer::input && b.number >= First && b.number < First + Carries) || (b.where == buffer::output && b.number < Carries);
}
/// Whether an access to an array of as many rows as the kernel of a plan stays in its row.
template <class Plan> constexpr bool is_of_own_row(const Plan& plan, const statement& s, const buffer& b) {
  const extent rows = extent_named(plan, plan.steps[0], plan.steps[0].space[0]);
  return b.dims.rank > 0 && b.dims[0] == rows && !is_symbol(row_elements(b, rows)) && stays_in_row(plan, plan.steps[0], s, b, rows);
}
/// Whether an access is to one element of an array, or of the kernel's row of it, that is known now.
constexpr bool is_at_known_place(const statement& s) { return s.indexed_strides.rank == 0 && s.windowed == 0 && !is_symbol(s.where.offset); }
/// Whether all extents of a kernel from dimension `first` on are 1.
constexpr bool has_one_point(const step& kernel, int first) {
  for (int d = first; d < kernel.space.rank; ++d)
    if (kernel.space[d] != 1) return false;
  return true;
}

/// Whether each point of a loop's body along its outermost dimension, an instance, touches the elements of the carries that
/// are its own and nothing else that is written: then a thread can run all turns of some instances. The body must be one
/// kernel, of whose reductions allows(statement) holds.
template <class Body, int Carries, int First, class Allows> constexpr bool runs_by_rows(const Allows& allows) {
  constexpr const auto& plan = Body::plan;
  if (Carries == 0 || !is_one_kernel(plan, allows) || plan.steps[0].space.rank == 0) return false;
  return accesses_fit(plan, is_carried<Carries, First>, [&](const statement& s, const buffer& b) { return is_of_own_row(plan, s, b); });
}
/// The same without reductions.
template <class Body, int Carries, int First> constexpr bool runs_by_rows() {
  return runs_by_rows<Body, Carries, First>([](const statement&) { return false; });
}
/// The same with reductions over the instances alone, into outputs that are no carries.
template <class Body, int Carries, int First> constexpr bool reduces_by_rows() {
  return runs_by_rows<Body, Carries, First>([](const statement& s) {
    const buffer& b = buffer_of_kernel(Body::plan, s.buffer);
    return reduces_rows(s) && b.where == buffer::output && b.number >= Carries && b.type != dtype::boolean;
  });
}
/// Whether a loop's body is one kernel of a single point, which touches elements of the carries at known places.
template <class Body, int Carries, int First> constexpr bool is_one_point() {
  constexpr const auto& plan = Body::plan;
  if (Carries == 0 || !is_one_kernel(plan) || !has_one_point(plan.steps[0], 0)) return false;
  return accesses_fit(plan, is_carried<Carries, First>, [](const statement& s, const buffer& b) { return is_at_known_place(s) && !has_symbol(b.dims); });
}

/// What a buffer of a loop's body is to the loop, where the body is one kernel.
struct loop_buffer {
  enum kind { constant, index, carry, next_carry, x, y, test };
  kind what = constant;
  int number = 0;
};
/// Facts: those of a scan or a while loop. Local: the buffer's number in the kernel.
template <class Facts> constexpr loop_buffer loop_buffer_of(int local) {
  constexpr const auto& plan = Facts::body::plan;
  const buffer& b = buffer_of_kernel(plan, local);
  if (b.where == buffer::output) return b.number < Facts::carries ? loop_buffer{loop_buffer::next_carry, b.number} : loop_buffer{loop_buffer::y, b.number - Facts::carries};
  const int k = b.number - int(Facts::indexed);
  if (b.where != buffer::input || k >= Facts::carries + Facts::xs) return {};
  if (k < 0) return {loop_buffer::index, 0};
  return k < Facts::carries ? loop_buffer{loop_buffer::carry, k} : loop_buffer{loop_buffer::x, k - Facts::carries};
}
/// The same of the kernel of a while loop's condition.
template <class Facts> constexpr loop_buffer test_buffer_of(int local) {
  constexpr const auto& plan = Facts::condition::plan;
  const buffer& b = buffer_of_kernel(plan, local);
  if (b.where == buffer::output) return {loop_buffer::test, 0};
  return b.where == buffer::input && b.number < Facts::tested ? loop_buffer{loop_buffer::carry, b.number} : loop_buffer{};
}
/// Whether a while loop's condition is one kernel that tests each row by itself, and the loop runs while some row passes; or the
/// one point.
template <class Condition, int Tested, bool OnePoint> constexpr bool tests_by_rows() {
  constexpr const auto& plan = Condition::plan;
  if (!is_one_kernel(plan, OnePoint ? 0 : primitive_of<reduce_or_p>.id) || !has_one_point(plan.steps[0], OnePoint ? 0 : 1)) return false;
  if (!OnePoint && plan.steps[0].space.rank == 0) return false;
  const auto is_input = [](const buffer& b) { return b.where == buffer::input && b.number < Tested; };
  const auto is_result = [](const buffer& b) { return b.where == buffer::output; };
  return accesses_fit(plan, is_result, [](const statement&, const buffer&) { return OnePoint; }) && accesses_fit(plan, is_input, [&](const statement& s, const buffer& b) {
    return is_at_known_place(s) && (OnePoint ? !has_symbol(b.dims) : is_of_own_row(plan, s, b));
  });
}
/// The elements of carry k that belong to a row, in a body that runs by rows; all of them, if it has one point.
template <class Facts> constexpr extent carry_row(int k) {
  extent n = 1;
  for (int d = Facts::one_point ? 0 : 1; d < Facts::operand(k).dims.rank; ++d) n *= Facts::operand(k).dims[d];
  return n;
}
/// Whether a lane can keep the carries of a row in registers through all turns: the body's kernel has a point per row, and there
/// are few.
template <class Facts> constexpr bool keeps_carries() {
  constexpr extent most_elements = 64;
  if (!Facts::by_rows && !Facts::one_point && !Facts::reduces_rows) return false;
  constexpr const auto& plan = Facts::body::plan;
  if (!has_one_point(plan.steps[0], 1) || !accesses_fit(plan, is_carried<Facts::carries, int(Facts::indexed)>, [](const statement& s, const buffer&) { return is_at_known_place(s); })) return false;
  extent elements = 0;
  for (int k = 0; k < Facts::carries; ++k) elements += carry_row<Facts>(k);
  return elements <= most_elements;
}
/// Whether the rows of a scan's body have elements of their own in its xs or ys.
template <class Facts> constexpr bool streams_rows() {
  constexpr const auto& plan = Facts::body::plan;
  const auto streams = [](const buffer& b) {
    const int x = b.number - int(Facts::indexed) - Facts::carries;
    return b.where == buffer::input ? x >= 0 && x < Facts::xs : b.where == buffer::output && b.number >= Facts::carries;
  };
  return !accesses_fit(plan, streams, [](const statement& s, const buffer&) { return s.what == statement::load && is_at_known_place(s) && s.where.strides.rank > 0 && s.where.strides[0] == 0; });
}
/// Where a carry of a scan lies if one of the ys has it anyway.
struct stacked_carry {
  int y = -1;          // the number of the ys that has it, or -1
  bool after = false;  // what a turn makes of it, and not what the turn began with
};
/// Those carries of the body that `Make` returns, as its residuals and trajectories are: for each carry the ys that it lies in.
template <class Make, int Carries, int Ys, int First> inline constexpr auto stacked_carries = [] {
  std::array<stacked_carry, std::size_t(Carries) + 1> r{};
  if constexpr (Carries == 0 || Carries > 64 || Ys == 0) return r;
  const graph g = thaw(canonical_graph<Make>);
  flag_list taken;
  taken.assign(std::size_t(Ys), false);
  for (int k = 0; k < Carries; ++k)
    for (int y = 0; y < Ys && r[std::size_t(k)].y < 0; ++y) {
      const int node = g.outputs[std::size_t(Carries + y)];
      const bool before = node == g.inputs[std::size_t(First + k)];
      if (taken[std::size_t(y)] || (!before && node != g.outputs[std::size_t(k)])) continue;
      taken[std::size_t(y)] = true;
      r[std::size_t(k)] = {y, !before};
    }
  return r;
}();
/// The same body without the ys that carries lie in: a turn reads such a carry from there, and writes the next one there.
template <class Make, int Carries, int Ys, int First> struct turning_body {
  static constexpr bool stacks(int y) {
    for (const stacked_carry& c : stacked_carries<Make, Carries, Ys, First>)
      if (c.y == y) return true;
    return false;
  }
  /// The number of the body's output that has ys number y.
  static constexpr int output_of(int y) {
    int output = Carries;
    for (int i = 0; i < y; ++i) output += !stacks(i);
    return output;
  }
  static constexpr unsigned long mask = [] {
    unsigned long bits = 0;
    for (int k = 0; k < Carries && k < 64; ++k) bits |= stacked_carries<Make, Carries, Ys, First>[std::size_t(k)].y >= 0 ? 1ul << k : 0ul;
    return bits;
  }();
  constexpr graph operator()() const {
    graph g = thaw(canonical_graph<Make>);
    sequence<int> outputs;
    for (int k = 0; k < Carries; ++k) outputs.push_back(g.outputs[std::size_t(k)]);
    for (int y = 0; y < Ys; ++y)
      if (!stacks(y)) outputs.push_back(g.outputs[std::size_t(Carries + y)]);
    g.outputs = outputs;
    return g;
  }
};

/// The turns of a scan: where the carries, and the slices of xs and ys, lie. Steps are in bytes per turn.
template <class Facts> struct loop_turns {
  typename Facts::carry carry;
  const std::byte* x_at[Facts::xs + 1];
  std::byte* y_at[Facts::ys + 1];
  extent x_step[Facts::xs + 1], y_step[Facts::ys + 1];
  extent start = 0, length = 0;
  static constexpr extent index_step = Facts::reverse ? -1 : 1;

  /// All turns, on copies of where they start.
  template <class Run> COTANGENT_HOST_INLINE void each(typename Facts::body::state b, const Run& run_body) const {
    using body = typename Facts::body;
    constexpr int first_x = int(Facts::indexed) + Facts::carries;
    typename Facts::carry at = carry;
    const std::byte* x[Facts::xs + 1];
    std::byte* y[Facts::ys + 1];
    for (int k = 0; k < Facts::xs; ++k) x[k] = x_at[k];
    for (int k = 0; k < Facts::ys; ++k) y[k] = y_at[k];
    typename body::backend::counter counter(b.queue, Facts::indexed ? length : 0);
    for (extent i = 0, index = start; i < length; ++i, index += index_step) {
      if constexpr (Facts::indexed) body::input(b, 0) = counter.at(index);
      at.step(b, ((length - 1 - i) & 1) == 0);
      if constexpr (Facts::carries_elsewhere != 0) step_stacked(b, i);
      for (int k = 0; k < Facts::xs; ++k) body::input(b, first_x + k) = const_cast<std::byte*>(x[k]), x[k] += x_step[k];
      step_ys(b, y, std::make_integer_sequence<int, Facts::ys>());
      run_body(b);
    }
    if constexpr (Facts::carries_elsewhere != 0) finish_stacked(b);
  }
  /// The same of the whole body.
  COTANGENT_HOST_INLINE void run(const typename Facts::body::state& b) const { each(b, whole_body()); }
  /// Goes to the turn that is so many turns later, which begins with the carries that those before it have left in the result.
  void skip(extent count) {
    for (int k = 0; k < Facts::carries; ++k) carry.now[k] = carry.last[k];
    for (int k = 0; k < Facts::xs; ++k) x_at[k] += count * x_step[k];
    for (int k = 0; k < Facts::ys; ++k) y_at[k] += count * y_step[k];
    start += count * index_step;
  }

 private:
  struct whole_body {
    COTANGENT_HOST_INLINE void operator()(const typename Facts::body::state& s) const { Facts::body::run(s); }
  };

  /// Points a turn at what it writes of ys. (With numbers of outputs that the compiler knows: g++ warns of others.)
  template <int... K> COTANGENT_HOST_INLINE void step_ys(typename Facts::body::state& b, std::byte** y, std::integer_sequence<int, K...>) const {
    const int done[] = {0, step_y<K, Facts::output_of_y(K)>(b, y)...};
    (void)done, (void)b, (void)y;
  }
  template <int K, int Output> COTANGENT_HOST_INLINE int step_y(typename Facts::body::state& b, std::byte** y) const {
    if constexpr (Output >= 0) Facts::body::output(b, Output) = y[K];
    y[K] += y_step[K];
    return 0;
  }
  /// Points turn i at the carries that lie in ys. Of those that ys has as they are before a turn, the first is copied there.
  COTANGENT_HOST_INLINE void step_stacked(typename Facts::body::state& b, extent i) const {
    using body = typename Facts::body;
    for (int k = 0; k < Facts::carries; ++k) {
      const stacked_carry where = Facts::stacked(k);
      if (where.y < 0) continue;
      std::byte* const here = y_at[where.y] + i * y_step[where.y];
      void*& from = body::input(b, int(Facts::indexed) + k);
      void*& to = body::output(b, k);
      if (where.after) {
        from = i == 0 ? carry.now[k] : here - y_step[where.y];
        to = here;
      } else {
        if (i == 0 && carry.bytes[k] > 0) body::backend::copy(b.queue, here, carry.now[k], carry.bytes[k]);
        from = here;
        to = i + 1 < length ? here + y_step[where.y] : carry.last[k];
      }
    }
  }
  COTANGENT_HOST_INLINE void finish_stacked(typename Facts::body::state& b) const {
    for (int k = 0; k < Facts::carries; ++k)
      if (const stacked_carry where = Facts::stacked(k); where.y >= 0 && where.after && carry.bytes[k] > 0)
        Facts::body::backend::copy(b.queue, carry.last[k], y_at[where.y] + (length - 1) * y_step[where.y], carry.bytes[k]);
  }
};

template <> struct control<scan_p> {
  template <class Executable, int N> struct facts : call_facts<Executable, N> {
    using base = call_facts<Executable, N>;
    static constexpr int carries = int(base::attribute(base::own + 1)), xs = int(base::attribute(base::own + 2));
    static constexpr int constants = base::operands - carries - xs, ys = base::results - carries;
    static constexpr bool reverse = base::attribute(base::own + 3) != 0, indexed = base::attribute(base::own + 4) != 0;
    using maker = typename base::template body_maker<0>;
    using donated = donated_carries<carries, int(indexed)>;
    using whole_body = executable<maker, donated, typename Executable::backend>;
    static constexpr bool by_rows = runs_by_rows<whole_body, carries, int(indexed)>(), one_point = !by_rows && is_one_point<whole_body, carries, int(indexed)>();
    static constexpr bool reduces_rows = !by_rows && !one_point && Executable::backend::choices.sums_over_rows && reduces_by_rows<whole_body, carries, int(indexed)>();
    /// Carries of rows and points stay in caches and registers; others lie in ys where they can.
    using turning = turning_body<maker, carries, ys, int(indexed)>;
    static constexpr unsigned long carries_elsewhere = [] {
      if constexpr (by_rows || one_point || reduces_rows) return 0ul;
      else return turning::mask;
    }();
    static constexpr stacked_carry stacked(int k) { return carries_elsewhere != 0 ? stacked_carries<maker, carries, ys, int(indexed)>[std::size_t(k)] : stacked_carry{}; }
    static constexpr int output_of_y(int y) { return carries_elsewhere == 0 ? carries + y : turning::stacks(y) ? -1 : turning::output_of(y); }
    using body = typename std::conditional_t<carries_elsewhere != 0, std::type_identity<executable<turning, donated, typename Executable::backend>>, std::type_identity<whole_body>>::type;
    using carry = carried<facts, body, carries, int(indexed), carries_elsewhere>;
    static constexpr bool in_registers = [] {
      if constexpr (keeps_carries<facts>()) return Executable::backend::template keeps_in_registers<facts>();
      else return false;
    }();
    /// The bytes that a row of the carries takes, before a step and after it.
    static constexpr extent row_bytes = [] {
      extent total = 0;
      for (int k = 0; k < carries && (by_rows || reduces_rows); ++k) {
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
    if constexpr (f::in_registers) return {static_arena<typename f::body>(), f::carry::mask_of([](int) { return true; })};
    else return {f::carry::bytes_beside + static_arena<typename f::body>(), f::carry::in_place_mask};
  }

  template <class Executable, int Step> static void run(const typename Executable::state& s) {
    const step_access<Executable, Step> at{s};
    using f = facts<Executable, step_access<Executable, Step>::x.node>;
    using body = typename f::body;
    using backend = typename Executable::backend;
    const extent length = s.value(f::attribute(f::own));
    std::byte* memory = at.buffer(f::operands + f::results);
    const run_time_memory<backend, !f::carry::is_static> beside(s.queue, f::carry::run_time_bytes(at));
    std::byte* places = beside.data();
    loop_turns<f> turns{{at, f::carry::is_static ? memory : places}, {}, {}, {}, {}, f::reverse ? length - 1 : 0, length};
    if (length == 0) return turns.carry.finish(s.queue);

    constexpr int first_carry = int(f::indexed), first_constant = first_carry + f::carries + f::xs;
    placed_body<body> placed(s.queue, memory, [&](int input) {
      const int k = input - first_carry;
      if (k < 0) return shape{};
      const shape dims = s.value(f::operand(k).dims);
      return k >= f::carries && k < f::carries + f::xs ? erase(dims, 0) : dims;
    });
    typename body::state& b = placed.state;
    for (int k = 0; k < f::constants; ++k) body::input(b, first_constant + k) = at.buffer(f::carries + f::xs + k);

    for (int k = 0; k < f::xs; ++k) {
      const bare_node& o = f::operand(f::carries + k);
      const extent bytes = at.bytes(o.type, erase(o.dims, 0));
      turns.x_at[k] = at.buffer(f::carries + k) + turns.start * bytes;
      turns.x_step[k] = f::reverse ? -bytes : bytes;
    }
    for (int k = 0; k < f::ys; ++k) {
      const call_form::result r = f::result(f::carries + k);
      const extent bytes = at.bytes(r.type, erase(r.dims, 0));
      turns.y_at[k] = at.buffer(f::operands + f::carries + k) + turns.start * bytes;
      turns.y_step[k] = f::reverse ? -bytes : bytes;
    }
    if constexpr (f::in_registers) backend::template loop_in_registers<f>(b, turns);
    else if constexpr (f::by_rows) backend::template loop_by_rows<f>(b, turns);
    else if constexpr (f::reduces_rows) backend::template loop_reducing_rows<f>(b, turns);
    else turns.run(b);
  }
};

template <> struct control<while_p> {
  template <class Executable, int N> struct facts : call_facts<Executable, N> {
    using base = call_facts<Executable, N>;
    static constexpr int carries = int(base::attribute(base::own)), tested = int(base::attribute(base::own + 1));
    static constexpr int condition_constants = int(base::attribute(base::own + 2)), body_constants = base::operands - carries - condition_constants;
    using condition = executable<typename base::template body_maker<0>, donated_carries<0, 0>, typename Executable::backend>;
    using body = executable<typename base::template body_maker<1>, donated_carries<carries, 0>, typename Executable::backend>;
    using carry = carried<facts, body, carries, 0>;
    static constexpr int xs = 0;
    static constexpr bool indexed = false, reduces_rows = false, by_instance = base::attribute(base::own + 3) != 0;
    static constexpr bool one_point = is_one_point<body, carries, 0>() && tests_by_rows<condition, tested, true>();
    static constexpr bool by_rows = !one_point && by_instance && runs_by_rows<body, carries, 0>() && tests_by_rows<condition, tested, false>();
    static constexpr bool in_registers = keeps_carries<facts>();
  };
  template <class Executable, int N, class Visit> static constexpr void visit_bodies(const Visit& visit) {
    visit("condition", extent(0), type_is<typename facts<Executable, N>::condition>{});
    visit("body", extent(0), type_is<typename facts<Executable, N>::body>{});
  }

  template <class Executable, int N> static constexpr call_memory memory() {
    using f = facts<Executable, N>;
    constexpr extent bodies = static_arena<typename f::condition>() + static_arena<typename f::body>();
    if constexpr (f::in_registers) return {bodies, f::carry::mask_of([](int) { return true; })};
    else return {f::carry::bytes_beside + bodies, f::carry::in_place_mask};
  }

  template <class Executable, int Step> static void run(const typename Executable::state& s) {
    const step_access<Executable, Step> at{s};
    using f = facts<Executable, step_access<Executable, Step>::x.node>;
    using condition = typename f::condition;
    using body = typename f::body;
    using backend = typename Executable::backend;
    std::byte* memory = at.buffer(f::operands + f::results);
    const run_time_memory<backend, !f::carry::is_static> beside(s.queue, f::carry::run_time_bytes(at));
    std::byte* places = beside.data();
    typename f::carry carry(at, f::carry::is_static ? memory : places);
    const auto shape_of = [&](int k) { return s.value(f::operand(k).dims); };
    placed_body<condition> test(s.queue, memory, [&](int k) { return shape_of(k < f::tested ? k : f::carries + k - f::tested); });
    placed_body<body> turn(s.queue, memory + static_arena<condition>(), [&](int k) { return shape_of(k < f::carries ? k : f::condition_constants + k); });
    for (int k = 0; k < f::condition_constants; ++k) condition::input(test.state, f::tested + k) = at.buffer(f::carries + k);
    for (int k = 0; k < f::body_constants; ++k) body::input(turn.state, f::carries + k) = at.buffer(f::carries + f::condition_constants + k);
    if constexpr (f::in_registers) return backend::template while_in_registers<f>(test.state, turn.state, carry);
    typename backend::template result<bool> goes_on(s.queue);
    condition::output(test.state, 0) = goes_on.address();
    for (bool to_last = true;; to_last = !to_last) {
      for (int k = 0; k < f::tested; ++k) condition::input(test.state, k) = carry.now[k];
      condition::run(test.state);
      if (!goes_on.get()) return carry.finish(s.queue);
      carry.step(turn.state, to_last);
      body::run(turn.state);
    }
  }
};

template <> struct control<switch_p> {
  template <class Executable, int N> struct facts : call_facts<Executable, N> {
    using base = call_facts<Executable, N>;
    template <int K> using branch = executable<typename base::template body_maker<K>, donated_carries<0, 0>, typename Executable::backend>;
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
    placed_body<branch> placed(s.queue, at.buffer(f::operands + f::results), [&](int k) { return s.value(f::operand(1 + k).dims); });
    typename branch::state& b = placed.state;
    for (int k = 0; k < branch::input_count; ++k) branch::input(b, k) = at.buffer(1 + k);
    for (int o = 0; o < branch::output_count; ++o) branch::output(b, o) = at.buffer(f::operands + o);
    branch::run(b);
  }

  template <class Executable, int Step> static void run(const typename Executable::state& s) {
    const step_access<Executable, Step> at{s};
    const std::int32_t index = Executable::backend::template read<std::int32_t>(s.queue, at.buffer(0));
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      const int done[] = {0, (index == std::int32_t(K) ? run_branch<Executable, Step, int(K)>(s) : void(), 0)...};
      (void)done;
    }(std::make_index_sequence<std::size_t(facts<Executable, step_access<Executable, Step>::x.node>::bodies)>{});
  }
};
template <> struct control<packets_p> {
  template <class Executable, int N> struct facts : call_facts<Executable, N> {
    using base = call_facts<Executable, N>;
    static constexpr extent instances = base::attribute(base::own), lanes = base::attribute(base::own + 1);
    /// The axis of the instances of an operand, or -1 if they share it; that of a result.
    static constexpr int operand_axis(int k) { return int(base::attribute(base::own + 2 + k)); }
    static constexpr int result_axis(int r) { return int(base::attribute(base::own + 2 + base::operands + r)); }
    using body = executable<make_packet_body<thaw_body<typename Executable::make, int(base::attribute(1))>, lanes>, donated_carries<0, 0>,
                            typename Executable::backend::template of_packets<lanes>>;
  };
  template <class Executable, int N, class Visit> static constexpr void visit_bodies(const Visit& visit) {
    using f = facts<Executable, N>;
    visit("packet", is_symbol(f::instances) ? 0 : (f::instances + f::lanes - 1) / f::lanes, type_is<typename f::body>{});
  }
  template <class Executable, int N> static constexpr call_memory memory() { return {}; }

  template <class Executable, int Step> static void run(const typename Executable::state& s) {
    using access = step_access<Executable, Step>;
    Executable::backend::template run_packets<facts<Executable, access::x.node>>(s, access{s});
  }
};

template <> struct control<chunks_p> {
  template <class Executable, int N> struct facts : call_facts<Executable, N> {
    using base = call_facts<Executable, N>;
    static constexpr extent rows = base::attribute(base::own), chunk = base::attribute(base::own + 1);
    static constexpr extent least_rows_of_sums = base::attribute(base::own + 2), most_sums = base::attribute(base::own + 3);
    /// The axis of the rows of an operand, or -1 if they share it; that of a result, or -1 if it is a sum.
    static constexpr int operand_axis(int k) { return int(base::attribute(base::own + 4 + k)); }
    static constexpr int result_axis(int r) { return int(base::attribute(base::own + 4 + base::operands + r)); }
    template <int K> using body = executable<thaw_body<typename Executable::make, int(base::attribute(1 + K))>, donated_carries<0, 0>, typename Executable::backend>;
    static constexpr bool has_last = base::bodies > 1;  // the last chunk is shorter, and has a body of its own
    using last_body = body<has_last ? 1 : 0>;
    /// The primitive that makes result R of a body.
    template <int R> static constexpr bare_node made_by = body<0>::graph.nodes[std::size_t(body<0>::graph.outputs[R])];
    /// Whether a body adds sum R to what is in its memory.
    template <int R> static constexpr bool adds = made_by<R>.op_id == primitive_of<gemm_p>.id;
  };
  template <class Executable, int N, class Visit> static constexpr void visit_bodies(const Visit& visit) {
    using f = facts<Executable, N>;
    visit("chunk", is_symbol(f::rows) ? 0 : f::rows / f::chunk, type_is<typename f::template body<0>>{});
    if constexpr (f::has_last) visit("last chunk", extent(1), type_is<typename f::last_body>{});
  }
  template <class Executable, int N> static constexpr call_memory memory() { return {}; }

  template <class Executable, int Step> static void run(const typename Executable::state& s) {
    using access = step_access<Executable, Step>;
    Executable::backend::template run_chunks<facts<Executable, access::x.node>>(s, access{s});
  }
};

/// Nothing runs: what a barrier returns lies where its operands are.
template <> struct control<barrier_p> {
  template <class Executable, int N, class Visit> static constexpr void visit_bodies(const Visit&) {}
  template <class Executable, int N> static constexpr call_memory memory() { return {}; }
  template <class Executable, int Step> static void run(const typename Executable::state&) {}
};

/// Whether a run of an executable waits for what its steps have written: the condition of a loop, or the index of a branch, that the
/// host reads.
template <class Executable> constexpr bool reads_on_host();
template <class Executable, int N> constexpr bool node_reads_on_host() {
  using P = primitive_with_id<Executable::graph.nodes[N].op_id>;
  if constexpr (std::is_same_v<P, switch_p>) return true;
  else if constexpr (std::is_same_v<P, while_p>) return !control<P>::template facts<Executable, N>::in_registers;
  else if constexpr (std::is_same_v<P, scan_p>) return reads_on_host<typename control<P>::template facts<Executable, N>::body>();
  else return false;
}
template <class Executable> constexpr bool reads_on_host() {
  return []<std::size_t... C>(std::index_sequence<C...>) {
    return (false || ... || node_reads_on_host<Executable, Executable::calls[C]>());
  }(std::make_index_sequence<Executable::calls.size()>{});
}

}  // namespace cotangent
