#pragma once
/// What a compiled program is: its graph, its kernels and its costs, for reading and for asserting.

#include <span>

#include <cotangent/compiler/jit.hpp>
#include <cotangent/graph/print.hpp>

namespace cotangent {

/// Constants of a program. flops counts each arithmetic operation of the kernels as 1 and library functions by a
/// nominal cost; bytes_accessed is what steps read from and write to buffers; peak_bytes is the arena plus outputs
/// that do not take a donated argument's memory. Bodies of loops count once per turn, of while loops once, of branches
/// all. Run-time extents count as 1.
struct program_cost {
  double flops = 0;
  extent bytes_accessed = 0;
  int kernels = 0;
  extent peak_bytes = 0;
};

constexpr extent points_of(const shape& s) {
  extent n = 1;
  for (extent e : s) n *= is_symbol(e) ? 1 : e;
  return n;
}

/// visit(integral_constant<int, I>, what, times, type_is<body>) of the bodies of step I of a program.
template <class Program, int I, class Visit> constexpr void visit_bodies_of_step(const Visit& visit) {
  constexpr int n = Program::plan.steps[I].node;
  if constexpr (n >= 0)
    if constexpr (runs_bodies(Program::canonical.nodes[n]))
      control<primitive_with_id<Program::graph.nodes[n].op_id>>::template visit_bodies<Program, n>(
          [&](const char* what, extent times, auto body) { visit(std::integral_constant<int, I>(), what, times, body); });
}
template <class Program, class Visit> constexpr void visit_bodies_of_steps(const Visit& visit) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (visit_bodies_of_step<Program, int(I)>(visit), ...);
  }(std::make_index_sequence<std::size_t(Program::steps)>{});
}

template <class Program> constexpr program_cost cost_of() {
  constexpr auto& plan = Program::plan;
  constexpr auto& graph = Program::canonical;
  program_cost c;
  c.kernels = int(plan.steps.size());
  for (const step& s : plan.steps) {
    if (s.node >= 0 && runs_bodies(graph.nodes[std::size_t(s.node)])) {
      --c.kernels;
      continue;
    }
    for (int k = 0; k < s.buffer_count; ++k) {
      const buffer& b = plan.buffers[std::size_t(plan.step_buffers[std::size_t(s.buffers + k)])];
      c.bytes_accessed += points_of(b.dims) * size_of(b.type);
    }
    if (s.node < 0) {
      for (int i = 0; i < s.statement_count; ++i) {
        const statement& t = plan.statements[std::size_t(s.statements + i)];
        if (t.node >= 0) c.flops += double(s.turns * points_of(s.space)) * graph.nodes[std::size_t(t.node)].op->flops;
      }
    } else if (graph.nodes[std::size_t(s.node)].op_id == primitive_of<gemm_p>.id) {
      const node& n = graph.nodes[std::size_t(s.node)];
      const extent axis = graph.attributes[std::size_t(n.attributes) + 2];
      const node& lhs = graph.nodes[std::size_t(graph.operands[std::size_t(n.operands)])];
      c.flops += 2.0 * gemm_p::share(graph.attributes.data() + n.attributes, n.attribute_count) * double(points_of(n.dims)) * (axis < 0 ? 1.0 : double(points_of({lhs.dims[int(axis)]})));
    } else {
      const node& n = graph.nodes[std::size_t(s.node)];
      c.flops += double(points_of(n.dims)) * n.op->flops;
    }
  }
  visit_bodies_of_steps<Program>([&]<class Body>(int, const char*, extent times, type_is<Body>) {
    constexpr program_cost body = cost_of<Body>();
    const extent turns = times > 0 ? times : 1;
    c.flops += double(turns) * body.flops, c.bytes_accessed += turns * body.bytes_accessed, c.kernels += body.kernels;
  });
  c.peak_bytes = plan.arena_bytes;
  for (const buffer& b : plan.buffers)
    if (b.where == buffer::output && b.reuses < 0) c.peak_bytes += points_of(b.dims) * size_of(b.type);
  return c;
}

/// Whether step I is a loop that runs in one kernel.
template <class Program, int I> constexpr bool is_loop_in_kernel() {
  constexpr int n = Program::plan.steps[I].node;
  if constexpr (Program::template step_is_call<I>()) {
    using how = control<primitive_with_id<Program::graph.nodes[n].op_id>>;
    if constexpr (requires { how::template facts<Program, n>::in_registers; }) return how::template facts<Program, n>::in_registers;
  }
  return false;
}
/// What the backend tells of the kernels of step I, in lines.
template <class Program, int I> std::string kernels_of_step(const std::string& prefix) {
  std::string text;
  if constexpr (requires { Program::backend::template kernels_of_step<Program, I>(); })
    if constexpr (!Program::template step_is_call<I>() || is_loop_in_kernel<Program, I>()) {
      const std::string lines = Program::backend::template kernels_of_step<Program, I>();
      for (std::size_t at = 0, end; (end = lines.find('\n', at)) != std::string::npos; at = end + 1) text += prefix + "  runs     " + lines.substr(at, end + 1 - at);
    }
  return text;
}

inline std::string shape_text(const shape& s) {
  std::string r = "[";
  for (int i = 0; i < s.rank; ++i) (r += i ? "," : "") += extent_text(s[i]);
  return r + "]";
}

/// A plan's lists, whatever their lengths: text is made by one function for all programs.
struct plan_lists {
  std::span<const step> steps;
  std::span<const statement> statements;
  std::span<const int> step_buffers;
  std::span<const window> windows;
  std::span<const buffer> buffers;
  std::span<const row_blocks> blocks;

  template <plan_sizes S>
  explicit plan_lists(const plan<S>& p) : steps(p.steps), statements(p.statements), step_buffers(p.step_buffers), windows(p.windows), buffers(p.buffers), blocks(p.blocks) {}
};

/// Where a statement's windows look: the distance along each dimension.
inline std::string distance_text(const plan_lists& plan, const statement& s) {
  shape distance = filled(s.where.strides.rank, 0);
  for (int i = s.windows; i < s.windows + std::popcount(s.windowed); ++i) distance[plan.windows[std::size_t(i)].dimension] = plan.windows[std::size_t(i)].offset;
  return shape_text(distance);
}

/// The steps of a program. `prefix` stands before each line; bodies[i] is what step i runs, in lines.
inline std::string steps_text(const plan_lists& plan, const graph& g, const std::string* bodies, const std::string& prefix) {
  const auto name = [&](const buffer& b) {
    switch (b.where) {
      case buffer::input: return "input " + std::to_string(b.number);
      case buffer::output: return "output " + std::to_string(b.number) + (b.reuses >= 0 ? " (in the memory of input " + std::to_string(b.reuses) + ")" : "");
      case buffer::data: return std::string("constant array");
      case buffer::block: return "block+" + std::to_string(b.offset);
      default: return "arena+" + std::to_string(b.offset);
    }
  };
  std::string text;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const step& s = plan.steps[i];
    for (const row_blocks& b : plan.blocks)
      if (b.first == int(i))
        text += prefix + "steps " + std::to_string(i) + " to " + std::to_string(b.first + b.count - 1) + " run together, " + (b.block == 1 ? "a row" : (b.block > 0 ? std::to_string(b.block) : "some") + " rows") + " at a time\n";
    text += prefix + "step " + std::to_string(i) + ": ";
    const bool is_call = s.node >= 0 && runs_bodies(g[s.node]);
    if (s.node >= 0) text += operation_text(g, s.node) + (is_call ? "" : " -> " + type_text(g[s.node]));
    else ((text += "kernel over ") += shape_text(s.space)) += s.after_rows ? ", on each block of finished rows of the step before" : "";
    text += '\n';
    std::string reads, writes, operations;
    for (int k = 0; k < s.statement_count; ++k) {
      const statement& t = plan.statements[std::size_t(s.statements + k)];
      if (t.what == statement::apply) (operations += " ") += g[t.node].op->name;
      if (t.what == statement::load && t.node >= 0) operations += " gather";
      if (t.what != statement::load && t.what != statement::store && t.what != statement::reduce) continue;
      const buffer& b = plan.buffers[std::size_t(plan.step_buffers[std::size_t(s.buffers + t.buffer)])];
      std::string where = name(b) + " " + shape_text(b.dims);
      if (t.windowed != 0) where += " at a distance of " + distance_text(plan, t);
      if (t.what == statement::reduce) where = std::string(t.finds_place ? "index of " : "") + std::string(g[t.node].op->name) + " into " + where;
      std::string& to = t.what == statement::load ? reads : writes;
      (to += to.empty() ? "" : "; ") += where;
    }
    if (s.node >= 0) {
      const int operands = g[s.node].operand_count, shown = s.buffer_count - is_call;
      for (int k = 0; k < shown; ++k) {
        const buffer& b = plan.buffers[std::size_t(plan.step_buffers[std::size_t(s.buffers + k)])];
        std::string& to = k >= operands ? writes : reads;
        ((to += to.empty() ? "" : "; ") += name(b) + " ") += shape_text(b.dims);
      }
    }
    if (!operations.empty()) text += prefix + "  computes" + operations + "\n";
    if (!reads.empty()) text += prefix + "  reads    " + reads + "\n";
    if (!writes.empty()) text += prefix + "  writes   " + writes + "\n";
    text += bodies[i];
  }
  return text;
}
/// WithKernels: with what the backend tells of each kernel.
template <class Program, bool WithKernels = true> std::string steps_text(const std::string& prefix) {
  std::string bodies[Program::steps + 1];
  if constexpr (WithKernels)
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((bodies[I] += kernels_of_step<Program, int(I)>(prefix)), ...);
    }(std::make_index_sequence<std::size_t(Program::steps)>{});
  visit_bodies_of_steps<Program>([&]<int Step, class Body>(std::integral_constant<int, Step>, const char* what, extent times, type_is<Body>) {
    constexpr bool with_kernels = WithKernels && !is_loop_in_kernel<Program, Step>();
    bodies[Step] += prefix + "  " + what + (times > 1 ? ", " + std::to_string(times) + " times" : "") + '\n' + steps_text<Body, with_kernels>(prefix + "    ");
  });
  return steps_text(plan_lists(Program::plan), thaw(Program::canonical), bodies, prefix);
}
template <class Program> std::string kernels_text() {
  constexpr auto& plan = Program::plan;
  constexpr program_cost c = cost_of<Program>();
  std::string text = steps_text<Program>("");
  text += std::to_string(plan.steps.size()) + " steps, arena of " + std::to_string(plan.arena_bytes) + " bytes, about " + number_text(c.flops) + " flops\n";
  return text;
}

template <class F> template <class... A> std::string jitted<F>::graph(const A&...) const {
  return graph_text(thaw(simplified_function<F, traced_tree<A>...>));
}
template <class F> template <class... A> std::string jitted<F>::dot(const A&...) const {
  return graph_dot(thaw(simplified_function<F, traced_tree<A>...>));
}
/// The backend whose program a call of these arguments is described by: the accelerator's that this file is compiled for, where they
/// are device_arrays.
template <class Accelerators, bool OnDevice> struct described_backend { using type = host::backend; };
template <class First, class... Rest> struct described_backend<types<First, Rest...>, true> { using type = First; };
template <class... A> using described_backend_of = typename described_backend<accelerators, on_device<A...>>::type;

template <class F> template <class... A> std::string jitted<F>::kernels(A&&...) const {
  return kernels_text<program<described_backend_of<A...>, F, donated_mask<A&&...>(), traced_tree<std::remove_cvref_t<A>>...>>();
}
template <class F> template <class... A> constexpr auto jitted<F>::cost(A&&...) {
  return cost_of<program<described_backend_of<A...>, F, donated_mask<A&&...>(), traced_tree<std::remove_cvref_t<A>>...>>();
}

}  // namespace cotangent
