#pragma once
/// Building graphs: values, the rule table of a primitive, and the hash-consing builder.

#include <bit>
#include <string_view>

#include <cotangent/core/binding.hpp>
#include <cotangent/graph/graph.hpp>

namespace cotangent {

struct builder;
struct element_call;

/// A node of the graph under construction; the untyped form of `var`. The null value is a structural zero.
struct value {
  builder* b = nullptr;
  int id = -1;

  constexpr value() = default;
  constexpr value(builder* builder, int node) : b(builder), id(node) {}  // no aggregate: nvcc would not convert a var to it
  constexpr explicit operator bool() const { return b != nullptr; }
  constexpr bool operator==(const value&) const = default;
  constexpr const node& get() const;
  constexpr shape dims() const { return get().dims; }  // a copy: nodes move when the graph grows
  constexpr dtype type() const { return get().type; }
  constexpr int rank() const { return get().dims.rank; }
};

/// Complex numbers as arrays of their two parts. A null imaginary part is zero.
struct complex_value {
  value re, im;
};

/// One application of a primitive, as its rules see it.
struct call {
  builder* b = nullptr;
  const primitive* op = nullptr;
  const value* operands = nullptr;
  int count = 0;
  const extent* attributes = nullptr;
  int attribute_count = 0;
  std::uint64_t bits = 0;
  dtype type = dtype::float32;  // of the result; for `infer`, what the caller asked for
  shape dims;                   // of the result; set by `infer`
  value result;                 // null while inferring and simplifying
  const sequence<graph>* bodies = nullptr;  // where the attributes' bodies are; null: in the builder's graph

  constexpr value operator[](int k) const { return operands[k]; }
  constexpr extent attribute(int k) const { return attributes[k]; }
  /// Attributes [first, first + count) as a list.
  constexpr shape list(int first, int n) const {
    shape s;
    for (int i = 0; i < n; ++i) s.push_back(attributes[first + i]);
    return s;
  }
};

/// How a buffer is read: element offset + sum of index * stride, per dimension.
struct buffer_access {
  extent offset = 0;
  shape strides;
};

/// How passes treat a primitive.
enum class role : unsigned char {
  source,     // no operands: a constant, an iota
  pointwise,  // one lane program per element
  view,       // the operand read in another order: costs nothing inside a kernel
  reduction,  // combines elements along axes
  gather,     // reads operand 0 at computed places
  opaque,     // runs by itself on whole buffers
  call,       // has bodies: rules decide what it means
  element     // one result of an operation with several
};

/// One flag per node, input or operand. (sequence<bool> is not usable in constant evaluation everywhere.)
using flag_list = sequence<char>;

/// Which rules a primitive has. (Comparing a function's address with null is not constant under -fsanitize.)
struct rule_set {
  bool simplify = false, jvp = false, vjp = false, vjp_all = false, batch = false, linear = false, several = false, elements = false, found_in = false, of_complex = false, along = false;
};

/// What reverse mode keeps of an operation with several results between its way forward and its way back.
struct saved_state {
  sequence<graph> bodies;
  sequence<value> values;
  sequence<int> numbers;
  flag_list flags;
};

/// The rules of a primitive with several results. Its node stands for all of them; element_p (graph/results.hpp) takes one.
/// Each rule appends to `results` the values that stand for the results, in order.
struct multiple_rules {
  /// Equal, simpler values; or nothing.
  void (*simplify)(const call&, sequence<value>& results);
  /// The results and their tangents; null tangents are zeros.
  void (*jvp)(const call&, const value* tangents, sequence<value>& results, sequence<value>& result_tangents);
  /// The results of the way forward, if the operands that `active` names are differentiated.
  void (*forward)(const call&, const flag_list& active, sequence<value>& results, saved_state& saved);
  /// The cotangents of all operands from those of the results; null is zero. `c` is the call that went forward.
  void (*backward)(const call& c, const saved_state& saved, const value* cotangents, sequence<value>& operand_cotangents);
  /// Which operands the results that `used` names need. The call's operands are not values.
  void (*needs)(const call&, const flag_list& used, flag_list& operands);
  /// The results that `used` names, of a call that has no others; null for those.
  void (*prune)(const call&, const flag_list& used, sequence<value>& results);
  /// The results with their batch axes, if they have one, at the front, and whether they have.
  void (*batch)(const call&, const bool* batched, extent size, sequence<value>& results, flag_list& result_batched);
  /// The numbers of the results of `whole`, another call of the primitive in the same graph, that the call's results equal; empty if
  /// one is not among them.
  sequence<int> (*found_in)(const call&, const call& whole) = nullptr;
};
template <class P> constexpr multiple_rules multiple_rules_of() {
  multiple_rules r{&P::simplify_all, &P::jvp_all, &P::forward, &P::backward, &P::needs, &P::prune, &P::batch_all};
  if constexpr (requires { &P::found_in; }) r.found_in = &P::found_in;
  return r;
}
template <class P> inline constexpr multiple_rules multiple_rules_for = multiple_rules_of<P>();

/// The rules of a primitive. A pass that needs a missing one says so by name.
struct primitive {
  std::string_view name;
  std::uint64_t id = 0;
  role kind = role::opaque;
  rule_set has;
  double flops = 0;                                             // per element of the result (reductions: of the operand)
  void (*infer)(call&) = nullptr;                               // sets type and dims, or fails
  value (*simplify)(const call&) = nullptr;                     // an equal, simpler value, or null
  value (*jvp)(const call&, const value* tangents) = nullptr;   // the result's tangent; null tangents are zeros
  value (*vjp)(const call&, int k, value g) = nullptr;          // the cotangent of operand k; null is zero
  void (*vjp_all)(const call&, value g, sequence<value>& cotangents) = nullptr;  // of all operands, in place of vjp, where they are made together
  value (*batch)(const call&, const bool* batched, extent size) = nullptr;  // batch axes are at the front
  bool (*linear)(const call&, int k) = nullptr;                 // whether linear in operand k, the others fixed
  bool commutative = false;                                     // of two operands, in either order
  bool bilinear = false;                                        // linear in each operand, but not in both together
  bool constant = false;                                        // the derivative is zero
  bool of_extents = false;                                      // depends on the operands' extents alone
  bool by_parts = false;                                        // of complex numbers: does the same to each of their parts
  bool by_lines = false;                                        // role opaque: attribute 0 is an axis, and each line along it is for itself
  extent most_elements = 0;                                     // by_lines: of a line that `elements` is for (are_few_lines)
  buffer_access (*view)(const call&, const buffer_access&) = nullptr;       // role view: access to the result
  void (*elements)(element_call&) = nullptr;                                // role source, opaque: the elements of the result
  value (*combine)(value, value) = nullptr;                                 // role reduction: two elements
  complex_value (*of_complex)(const call&, const complex_value*) = nullptr;  // the result for complex operands; a real one is its real part
  value (*along)(const call&, const bool* batched, extent size) = nullptr;  // a collective: the result where the axis that it names is the batch axis
  bool varies = false;                                                      // a collective: that result has the batch axis
  const multiple_rules* all = nullptr;                                          // of a primitive with several results
};

constexpr std::uint64_t hash_of(std::string_view s) {
  std::uint64_t h = 1469598103934665603ull;  // FNV-1a
  for (char c : s) h = (h ^ std::uint64_t(static_cast<unsigned char>(c))) * 1099511628211ull;
  return h;
}

/// From a primitive's id back to its struct: lowering needs the type.
template <std::uint64_t Id> struct primitive_key {};
template <class P> struct registration : binding<primitive_key<hash_of(P::name)>, P> {
  static constexpr std::uint64_t id = hash_of(P::name);
};

template <class P> constexpr primitive table_of() {
  primitive t;
  t.name = P::name;
  t.id = registration<P>::id;
  t.kind = P::kind;
  if constexpr (requires { P::flops; }) t.flops = P::flops;
  if constexpr (requires { P::commutative; }) t.commutative = P::commutative;
  if constexpr (requires { P::bilinear; }) t.bilinear = P::bilinear;
  if constexpr (requires { P::constant; }) t.constant = P::constant;
  if constexpr (requires { P::of_extents; }) t.of_extents = P::of_extents;
  if constexpr (requires { P::by_parts; }) t.by_parts = P::by_parts;
  if constexpr (requires { P::by_lines; }) t.by_lines = P::by_lines;
  if constexpr (requires { P::most_elements; }) t.most_elements = P::most_elements;
  t.infer = &P::infer;
  if constexpr (requires { &P::simplify; }) t.simplify = &P::simplify, t.has.simplify = true;
  if constexpr (requires { &P::jvp; }) t.jvp = &P::jvp, t.has.jvp = true;
  if constexpr (requires { &P::vjp; }) t.vjp = &P::vjp, t.has.vjp = true;
  if constexpr (requires { &P::vjp_all; }) t.vjp_all = &P::vjp_all, t.has.vjp_all = true;
  if constexpr (requires { &P::batch; }) t.batch = &P::batch, t.has.batch = true;
  if constexpr (requires { &P::linear; }) t.linear = &P::linear, t.has.linear = true;
  if constexpr (requires { &P::view; }) t.view = &P::view;
  if constexpr (requires { &P::elements; }) t.elements = &P::elements, t.has.elements = true;
  if constexpr (requires { &P::of_complex; }) t.of_complex = &P::of_complex, t.has.of_complex = true;
  if constexpr (requires { &P::along; }) t.along = &P::along, t.has.along = true, t.varies = P::varies;
  if constexpr (P::kind == role::reduction) t.combine = &P::template combine<value>;
  if constexpr (requires { &P::batch_all; }) t.all = &multiple_rules_for<P>, t.has.several = true;
  if constexpr (requires { &P::found_in; }) t.has.found_in = true;
  return t;
}

/// The table of primitive P.
template <class P> inline constexpr primitive primitive_of = table_of<P>();

/// The struct of the primitive with this id.
template <std::uint64_t Id> using primitive_with_id = type_bound_to<primitive_key<Id>>;

/// Traces that are live at once are nested: the deepest one, and its level.
struct live_trace {
  int level = 0;
  builder* deepest = nullptr;
};
/// Where a new trace stands. The deepest live one is kept by the outermost. The arguments of an inner trace alone do not tell it, because a
/// lambda may capture deeper values.
struct nesting {
  static constexpr int unknown = 1000;  // deeper than all others
  int level = 0;
  live_trace* innermost = nullptr;
  constexpr nesting(int l = 0, live_trace* i = nullptr) : level(l), innermost(i) {}
};

/// Appends nodes to a graph; an operation that is there already is not appended again.
struct builder {
  graph g;
  symbol_table symbols;
  shape axis;                    // while a batch is made: the name of its axis, packed (graph/axes.hpp)
  int level = 0;                 // nesting of traces: an inner trace captures values of outer ones
  live_trace own_innermost;      // of the outermost trace; see nesting
  live_trace* innermost = nullptr;
  sequence<value> captured;   // values of outer builders, in the order of the inputs that stand for them
  sequence<int> captured_inputs;
  bool simplifying = false;      // ask the primitives' simplify rules
  bool of_elements = false;      // what is made are the elements of arrays, and many: rules that look far do not pay
  bool inlining = true;          // also those of calls, which replace a call by its body

  constexpr builder() = default;
  constexpr builder(const builder&) = delete;
  constexpr builder& operator=(const builder&) = delete;

  /// Records the first error. What is built afterwards does not matter.
  constexpr void fail(const message& m) {
    if (g.error.empty()) g.error = m;
  }
  constexpr bool failed() const { return g.error.length > 0; }

  constexpr value input(dtype type, const shape& dims) {
    node n;
    n.type = type, n.dims = dims, n.bits = g.inputs.size();
    g.nodes.push_back(n);
    *earlier.extend(1) = 0;
    g.inputs.push_back(g.size() - 1);
    return {this, g.size() - 1};
  }

  /// A new symbol for axis `axis` of the next input.
  constexpr extent input_extent(int axis) { return symbols.add({symbol::input, extent(g.inputs.size()), axis}); }

  /// `v` as a value of this builder: a value of an outer trace becomes an extra input.
  constexpr value adopt(value v) {
    if (v.b == this) return v;
    if (innermost && v.b->level >= level) {
      fail(message{} << "a transformed function was called with numbers alone inside of another one, and captures its argument; pass a traced argument");
      return dead();
    }
    for (std::size_t i = 0; i < captured.size(); ++i)
      if (captured[i] == v) return {this, captured_inputs[i]};
    shape dims = v.dims();
    for (int i = 0; i < dims.rank; ++i)
      if (is_symbol(dims[i])) dims[i] = input_extent(i);
    const value in = input(v.type(), dims);
    captured.push_back(v);
    captured_inputs.push_back(in.id);
    return in;
  }

  constexpr value emit(call c) {
    c.b = this;
    for (int i = 0; i < c.count; ++i)
      if (!c.operands[i].b) fail(message{} << c.op->name << ": an operand is not a traced value");
    if (g.error.length > 0) return dead();
    c.dims = {};
    c.op->infer(c);
    return emit_inferred(c);
  }

  /// The same for a call on this builder whose result's dtype and extents are known.
  constexpr value emit_inferred(const call& c) {
    if (g.error.length > 0) return dead();
    if (simplifying && c.op->has.simplify && (inlining || c.op->kind != role::call))
      if (value simpler = c.op->simplify(c)) return simpler;
    if (!c.bodies) return {this, append(c)};
    sequence<extent> attributes;
    for (int k = 0; k < c.attribute_count; ++k) attributes.push_back(c.attributes[k]);
    for (extent k = 1; k <= attributes[0]; ++k) attributes[std::size_t(k)] = add_subgraph(borrowed((*c.bodies)[std::size_t(attributes[std::size_t(k)])]));
    call own = c;
    own.bodies = nullptr, own.attributes = attributes.data();
    return {this, append(own)};
  }

  /// Keeps the body of a call; its number goes into the call's attributes. Equal bodies have one number: so are equal calls one node.
  constexpr extent add_subgraph(graph&& body) {
    for (std::size_t i = 0; i < g.subgraphs.size(); ++i)
      if (are_same(g.subgraphs[i], body)) return extent(i);
    own(body);
    g.subgraphs.push_back(std::move(body));
    return extent(g.subgraphs.size()) - 1;
  }

  /// The value that stands for what could not be built.
  constexpr value dead() {
    if (dead_node < 0) g.nodes.push_back(node{}), *earlier.extend(1) = 0, dead_node = g.size() - 1;
    return {this, dead_node};
  }

  /// The finished graph. Shapes and attributes name representatives of the symbols.
  constexpr graph finish() {
    if (!symbols.symbols.empty()) {
      for (node& n : g.nodes)
        for (int i = 0; i < n.dims.rank; ++i) n.dims[i] = symbols.resolve(n.dims[i]);
      for (extent& a : g.attributes) a = symbols.resolve(a);
      for (symbol& s : symbols.symbols)
        if (s.what != symbol::input) s.a = symbols.resolve(s.a), s.b = symbols.resolve(s.b);
    }
    g.symbols = symbols.symbols;
    g.equalities = symbols.equalities;
    return std::move(g);
  }

  /// Starts as a copy of a graph without its outputs: node n of it is value {this, n}.
  constexpr void start_from(const graph& from) {
    take_symbols(from);
    reserve(from, 4);
    g = from;
    g.outputs.clear();
    for (std::size_t n = 0; n < from.nodes.count; ++n) {
      const node& x = from.nodes.items[n];
      const int* operands = from.operands.items + x.operands;
      std::size_t h = start_hash(x.op_id, x.bits);
      for (int i = 0; i < x.operand_count; ++i) h = (h + 29 * std::size_t(operands[i])) % buckets;
      if (x.attribute_count > 0) h = add_attributes(h, from.attributes.items + x.attributes, x.attribute_count);
      earlier.items[n] = latest[h];
      latest[h] = int(n) + 1;
    }
    earlier.count = from.nodes.count;
  }

  /// Makes room for `times` as many nodes as `from` has.
  constexpr void reserve(const graph& from, std::size_t times) {
    g.nodes.reserve(times * from.nodes.count), g.operands.reserve(times * from.operands.count);
    g.attributes.reserve(times * from.attributes.count);
    earlier.reserve(times * from.nodes.count);
  }

  /// Starts from the symbols of `from`, so that its extents mean the same here.
  constexpr void take_symbols(const graph& from) {
    for (symbol s : from.symbols) {
      symbols.symbols.push_back(s);
      symbols.merged_into.push_back(symbol_base + extent(symbols.symbols.size()) - 1);
    }
    symbols.equalities = from.equalities;
  }

 private:
  static constexpr int buckets = 4096;
  int latest[buckets] = {};  // per hash: 1 + the latest node that has it, or 0
  sequence<int> earlier;     // per node: 1 + the one of the same hash before it, or 0
  int dead_node = -1;

  /// Where the search for a node begins. Every step of a hash gives a small number: a compiler keeps each number that a
  /// constant evaluation meets.
  static constexpr std::size_t start_hash(std::uint64_t op_id, std::uint64_t bits) { return (op_id ^ bits ^ (bits >> 44)) % buckets; }
  static constexpr std::size_t add_attributes(std::size_t h, const extent* attributes, int count) {
    for (int i = 0; i < count; ++i) h = (h * 29 + std::uint64_t(attributes[i]) % buckets) % buckets;
    return h;
  }

  constexpr bool same(const node& x, const call& c) const {
    if (x.op_id != c.op->id || x.bits != c.bits || x.type != c.type || x.operand_count != c.count ||
        x.attribute_count != c.attribute_count)
      return false;
    const int* operands = g.operands.items + x.operands;
    const bool exchanged = c.op->commutative && operands[0] != c.operands[0].id;
    for (int i = 0; i < c.count; ++i)
      if (operands[i] != c.operands[exchanged ? 1 - i : i].id) return false;
    const extent* attributes = g.attributes.items + x.attributes;
    for (int i = 0; i < c.attribute_count; ++i)
      if (attributes[i] != c.attributes[i]) return false;
    return true;
  }

  constexpr int append(const call& c) {
    std::size_t h = start_hash(c.op->id, c.bits);
    for (int i = 0; i < c.count; ++i) h = (h + 29 * std::size_t(c.operands[i].id)) % buckets;  // the same in any order
    if (c.attribute_count > 0) h = add_attributes(h, c.attributes, c.attribute_count);
    for (int n = latest[h]; n > 0; n = earlier.items[n - 1])
      if (same(g.nodes.items[n - 1], c)) return n - 1;
    const std::size_t operand_start = g.operands.count, attribute_start = g.attributes.count;
    int* operands = g.operands.extend(std::size_t(c.count));
    for (int i = 0; i < c.count; ++i) operands[i] = c.operands[i].id;
    if (c.attribute_count > 0) {
      extent* attributes = g.attributes.extend(std::size_t(c.attribute_count));
      for (int i = 0; i < c.attribute_count; ++i) attributes[i] = c.attributes[i];
    }
    *g.nodes.extend(1) = {{c.op->id, c.type, c.dims, c.bits, int(operand_start), c.count, int(attribute_start), c.attribute_count}, c.op};
    *earlier.extend(1) = latest[h];
    latest[h] = int(g.nodes.count);
    return latest[h] - 1;
  }
};

constexpr const node& value::get() const { return b->g.nodes.items[id]; }

/// Applies primitive P. Values of an outer trace are captured by the innermost one.
template <class P, std::size_t N>
constexpr value emit(const value (&operands)[N], const extent* attributes = nullptr, int attribute_count = 0,
                     dtype type = dtype::float32) {
  value adopted[N];
  builder* b = operands[0].b;
  for (std::size_t i = 1; i < N; ++i)
    if (operands[i].b && operands[i].b->level > b->level) b = operands[i].b;
  for (std::size_t i = 0; i < N; ++i) adopted[i] = !operands[i].b || operands[i].b == b ? operands[i] : b->adopt(operands[i]);
  call c;
  c.op = &primitive_of<P>, c.operands = adopted, c.count = int(N), c.type = type;
  c.attributes = attributes, c.attribute_count = attribute_count;
  return b->emit(c);
}

/// Applies primitive P with the attributes of a list.
template <class P, std::size_t N>
constexpr value emit(const value (&operands)[N], const shape& attributes, dtype type = dtype::float32) {
  return emit<P>(operands, attributes.dims, attributes.rank, type);
}

/// The same operation on other operands.
constexpr value emit_again(const call& c, const value* operands) {
  call d = c;
  d.operands = operands;
  return c.b->emit(d);
}

}  // namespace cotangent
