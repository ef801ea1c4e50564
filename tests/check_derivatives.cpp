/// The checks of check_derivatives.hpp that work on graphs, and the rules of all primitives.

#define COMPILE_RULES
#include "check_derivatives.hpp"

#include <sstream>

namespace checks {

int occurrences(const std::string& word, const std::string& text) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size()) ++count;
  return count;
}
std::string difference(const tensors& have, const tensors& want, double tolerance, double least) {
  std::ostringstream s;
  if (have.size() != want.size()) return "another number of arrays";
  for (std::size_t k = 0; k < have.size(); ++k) {
    if (have[k].type != want[k].type || !(have[k].dims == want[k].dims)) return "array " + std::to_string(k) + ": another dtype or shape";
    double scale = least;
    for (double v : want[k].x)
      if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
    for (std::size_t i = 0; i < have[k].x.size(); ++i) {
      const double a = have[k].x[i], b = want[k].x[i];
      if ((std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) <= tolerance * scale) continue;
      s << "array " << k << ", element " << i << " of " << have[k].x.size() << ": " << a << " where " << b << " is right";
      return s.str();
    }
  }
  return "";
}
void check_close(const tensors& have, const tensors& want, double tolerance) { CHECK(difference(have, want, tolerance) == ""); }
tensors random_like(const tensors& t, numbers& random) {
  tensors r;
  for (const tensor& x : t) r.push_back(random.like(x));
  return r;
}
tensor batch_of_three(const tensor& x, int axis, numbers& random) {
  tensor r(x.type, ct::insert(x.dims, axis, 3));
  reference::for_each_index(r.dims, [&](const shape& i) {
    const double v = x.x[reference::offset(x.dims, ct::erase(i, axis))];
    r.x[reference::offset(r.dims, i)] = ct::is_floating(x.type) ? v + 0.01 * random() : x.type == dtype::boolean ? double((v != 0) != (i[axis] == 1)) : v + double(i[axis]);
  });
  return r;
}

namespace {

tensors moved(const tensors& x, const tensors& by, double step) {
  tensors r = x;
  for (std::size_t k = 0; k < x.size(); ++k)
    for (std::size_t i = 0; i < x[k].x.size(); ++i) r[k].x[i] += step * by[k].x[i];
  return r;
}
tensors join(tensors a, const tensors& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
tensors floating(const tensors& t) {
  tensors r;
  for (const tensor& x : t)
    if (ct::is_floating(x.type)) r.push_back(x);
  return r;
}
tensors part(const tensors& t, std::size_t first, std::size_t count) {
  return {t.begin() + std::ptrdiff_t(first), t.begin() + std::ptrdiff_t(first + count)};
}
double inner(const tensors& a, const tensors& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k)
    for (std::size_t i = 0; ct::is_floating(a[k].type) && i < a[k].x.size(); ++i) sum += a[k].x[i] * b[k].x[i];
  return sum;
}
flag_list floating_flags(const tensors& t) {
  flag_list f;
  for (const tensor& x : t) f.push_back(ct::is_floating(x.type));
  return f;
}
/// Central difference of the outputs of g along `by` (zero for integer inputs).
tensors finite_difference(const graph& g, const tensors& x, const tensors& by) {
  const double h = 6e-6;
  tensors high = reference::evaluate(g, moved(x, by, h), false);
  const tensors low = reference::evaluate(g, moved(x, by, -h), false);
  for (std::size_t k = 0; k < high.size(); ++k)
    for (std::size_t i = 0; i < high[k].x.size(); ++i) high[k].x[i] = ct::is_floating(high[k].type) ? (high[k].x[i] - low[k].x[i]) / (2 * h) : 0;
  return high;
}
tensor instance(const tensor& x, int axis, extent k) {
  tensor r(x.type, ct::erase(x.dims, axis));
  reference::for_each_index(r.dims, [&](const shape& i) { r.x[reference::offset(r.dims, i)] = x.x[reference::offset(x.dims, ct::insert(i, axis, k))]; });
  return r;
}

void check_simplified(const graph& g, const tensors& inputs) {
  const graph s = ct::simplify(g);
  INFO("simplify " << s.error.view());
  REQUIRE(s.error.empty());
  const tensors want = reference::evaluate(g, inputs, false);
  CHECK(difference(reference::evaluate(s, inputs, false), want, 1e-12) == "");
  if (!ct::any_has_several_results(s)) return;
  INFO("prune_results");
  CHECK(difference(reference::evaluate(ct::prune_results(s), inputs, false), want, 1e-12) == "");
  for (std::size_t o = 0; o < want.size() && want.size() > 1; ++o) {
    flag_list wanted;
    wanted.assign(want.size(), false);
    wanted[o] = true;
    const graph alone = ct::prune_results(s, wanted);
    INFO("result " << o << " alone: " << alone.error.view());
    REQUIRE(alone.error.empty());
    CHECK(difference(reference::evaluate(alone, inputs, false), {want[o]}, 1e-12) == "");
  }
}

}  // namespace

void check_batching(const graph& g, const tensors& inputs, numbers& random) {
  for (std::size_t alone = 0; alone <= inputs.size(); ++alone) {
    if (alone == 1 && inputs.size() == 1) break;
    ct::sequence<int> in, out;
    tensors batched;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const bool mapped = alone == inputs.size() || alone == k;
      in.push_back(!mapped ? ct::not_mapped : alone == k ? inputs[k].dims.rank : 0);
      batched.push_back(mapped ? batch_of_three(inputs[k], in.back(), random) : inputs[k]);
    }
    const auto output_count = g.outputs.size();
    out.assign(output_count, 0);
    for (const extent size : {extent(3), ct::dyn}) {
      const graph b = ct::batch_graph(g, in, out, size);
      INFO("vmap, input " << alone << " of " << inputs.size() << " mapped; size " << size << "; " << b.error.view());
      REQUIRE(b.error.empty());
      const tensors have = reference::evaluate(b, batched, false);
      for (extent k = 0; k < 3; ++k) {
        tensors one, got;
        for (std::size_t i = 0; i < inputs.size(); ++i) one.push_back(in[i] == ct::not_mapped ? inputs[i] : instance(batched[i], in[i], k));
        for (const tensor& t : have) got.push_back(instance(t, 0, k));
        CHECK(difference(got, reference::evaluate(g, one, false), 1e-12) == "");
      }
    }
  }
}

void check_rules(const graph& g, const tensors& x, orders order, double tolerance) {
  INFO(g.error.view());
  REQUIRE(g.error.empty());
  numbers random;
  const tensors y = reference::evaluate(g, x, false);
  check_simplified(g, x);
  check_batching(g, x, random);
  if (order == orders::none) return;

  const flag_list active = floating_flags(x);
  const tensors t = random_like(x, random), c = random_like(y, random);
  const graph forward = ct::jvp_graph(g, active);
  INFO("jvp " << forward.error.view());
  REQUIRE(forward.error.empty());
  const tensors forward_inputs = join(x, floating(t));
  const tensors forward_outputs = reference::evaluate(forward, forward_inputs, false);
  CHECK(difference(part(forward_outputs, 0, y.size()), y, 1e-12) == "");
  const tensors tangents = part(forward_outputs, y.size(), y.size());
  CHECK(difference(tangents, finite_difference(g, x, t), tolerance) == "");
  check_simplified(forward, forward_inputs);
  check_batching(forward, forward_inputs, random);

  const graph backward = ct::vjp_graph(g, active, false);
  INFO("vjp " << backward.error.view());
  REQUIRE(backward.error.empty());
  const tensors backward_inputs = join(x, c);
  const tensors backward_outputs = reference::evaluate(backward, backward_inputs, false);
  const tensors cotangents = part(backward_outputs, y.size(), backward_outputs.size() - y.size());
  CHECK(inner(c, tangents) == Approx(inner(cotangents, floating(t))).epsilon(tolerance).margin(tolerance));
  check_simplified(backward, backward_inputs);
  check_batching(backward, backward_inputs, random);
  if (order == orders::first) return;

  const tensors t2 = random_like(backward_inputs, random);
  const graph second = ct::jvp_graph(backward, floating_flags(backward_inputs));
  INFO("jvp of vjp " << second.error.view());
  REQUIRE(second.error.empty());
  const tensors second_inputs = join(backward_inputs, floating(t2));
  const tensors second_outputs = reference::evaluate(second, second_inputs, false);
  CHECK(difference(part(second_outputs, backward_outputs.size(), backward_outputs.size()), finite_difference(backward, backward_inputs, t2), tolerance) == "");
  check_simplified(second, second_inputs);
  check_batching(second, second_inputs, random);
}

void check_same(const graph& have, const graph& want, const tensors& x, double tolerance) {
  numbers random;
  const flag_list active = floating_flags(x);
  const auto equal = [&](const char* what, const graph& a, const graph& b, const tensors& in) {
    INFO(what << ": " << a.error.view() << b.error.view());
    REQUIRE((a.error.empty() && b.error.empty()));
    CHECK(difference(reference::evaluate(a, in, false), reference::evaluate(b, in, false), tolerance) == "");
  };
  equal("value", have, want, x);
  equal("jvp", ct::jvp_graph(have, active), ct::jvp_graph(want, active), join(x, random_like(floating(x), random)));
  const tensors in = join(x, random_like(reference::evaluate(want, x, false), random));
  const graph a = ct::vjp_graph(have, active, false), b = ct::vjp_graph(want, active, false);
  equal("vjp", a, b, in);
  equal("jvp of vjp", ct::jvp_graph(a, floating_flags(in)), ct::jvp_graph(b, floating_flags(in)), join(in, random_like(floating(in), random)));
}

}  // namespace checks
