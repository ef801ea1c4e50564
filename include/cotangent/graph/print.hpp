#pragma once
/// Graphs as text and in Graphviz's language.

#include <string>

#include <cotangent/graph/results.hpp>
#include <cotangent/primitives/dense.hpp>

namespace cotangent {

/// An extent; run-time ones are n0, n1, ….
inline std::string extent_text(extent e) {
  std::string s(is_symbol(e) ? "n" : "");
  return s += std::to_string(is_symbol(e) ? e - symbol_base : e);  // (g++ 12 warns of "n" + string)
}

/// float32[3,n0]
inline std::string type_text(dtype type, const shape& dims) {
  std::string s(name_of(type));
  s += '[';
  for (int i = 0; i < dims.rank; ++i) (s += i ? "," : "") += extent_text(dims[i]);
  return s + ']';
}
inline std::string type_text(const node& n) { return type_text(n.type, n.dims); }
/// Of an operation with several results (float32[], float32[8]).
inline std::string type_text(const graph& g, int n) {
  if (!has_several_results(g[n])) return type_text(g[n]);
  std::string s;
  for (const call_form::result& r : call_form(g, n).results) (s += s.empty() ? "(" : ", ") += type_text(r.type, r.dims);
  return s + ')';
}

inline std::string number_text(double x) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.9g", x);
  return buffer;
}

inline bool is_scalar_constant(const node& n) { return n.op_id == primitive_of<constant_p>.id; }

/// How an operand is written: a constant as its value, anything else as %number.
inline std::string operand_text(const graph& g, int n) {
  return is_scalar_constant(g[n]) ? number_text(constant_value(g[n].type, g[n].bits)) : "%" + std::to_string(n);
}

/// The name of node n with its attributes, if they say more than the shapes do: `transpose(1,0)`.
inline std::string operation_text(const graph& g, int n) {
  const node& x = g[n];
  if (x.is_input()) return "input";
  std::string s(x.op->name);
  if (x.attribute_count == 0 || x.op_id == primitive_of<dense_p>.id || x.op->kind == role::call) return s;
  s += '(';
  for (int k = 0; k < x.attribute_count; ++k) (s += k ? "," : "") += extent_text(g.attribute(n, k));
  return s + ')';
}

/// One line per node: `%4: float32[3,5] = mul %2 %3`. Constants appear at their uses, bodies of loops and branches under
/// their node. `prefix` stands before each line.
inline std::string graph_text(const graph& g, const std::string& prefix = "") {
  std::string s = prefix + "inputs:";
  for (int i : g.inputs) ((s += " %") += std::to_string(i) + ": ") += type_text(g[i]);
  s += '\n';
  for (int n = 0; n < g.size(); ++n) {
    const node& x = g[n];
    if (x.is_input() || is_scalar_constant(x)) continue;
    (s += prefix) += "  %" + std::to_string(n) + ": " + type_text(g, n) + " = " + operation_text(g, n);
    for (int k = 0; k < x.operand_count; ++k) (s += " ") += operand_text(g, g.operand(n, k));
    s += '\n';
    if (x.op->kind == role::call)
      for (extent k = 1; k <= g.attribute(n, 0); ++k) s += graph_text(g.subgraphs[std::size_t(g.attribute(n, int(k)))], prefix + "      ");
  }
  (s += prefix) += "outputs:";
  for (int o : g.outputs) (s += " ") += operand_text(g, o);
  return s + '\n';
}

/// The graph for `dot -Tsvg`.
inline std::string graph_dot(const graph& g) {
  std::string s = "digraph {\n  rankdir=TB; node [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=10];\n";
  for (int n = 0; n < g.size(); ++n) {
    if (is_scalar_constant(g[n])) continue;
    s += "  n" + std::to_string(n) + " [label=\"" + operation_text(g, n) + "\\n" + type_text(g[n]) + "\"" +
         (g[n].is_input() ? ", style=\"rounded,filled\", fillcolor=\"#dbe9f6\"" : "") + "];\n";
    for (int k = 0; k < g[n].operand_count; ++k) {
      const int from = g.operand(n, k);
      if (!is_scalar_constant(g[from])) s += "  n" + std::to_string(from) + " -> n" + std::to_string(n) + ";\n";
    }
  }
  for (std::size_t o = 0; o < g.outputs.size(); ++o) {
    s += "  out" + std::to_string(o) + " [label=\"output " + std::to_string(o) + "\", style=\"rounded,filled\", fillcolor=\"#e2f0d9\"];\n";
    s += "  n" + std::to_string(g.outputs[o]) + " -> out" + std::to_string(o) + ";\n";
  }
  return s + "}\n";
}

}  // namespace cotangent
