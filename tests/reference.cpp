/// The interpreter: see reference.hpp.

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <cotangent/compiler/complex_parts.hpp>
#include <cotangent/control/control.hpp>
#include <cotangent/transforms/simplify.hpp>
#include <cotangent/transforms/vmap.hpp>

#include "reference.hpp"

namespace reference {
namespace {

/// f(first element, distance of elements, number of elements) of each row along an axis.
template <class F> void each_row(const shape& dims, int axis, F f) {
  std::size_t step = 1, blocks = 1;
  for (int i = 0; i < dims.rank; ++i)
    if (i != axis) (i < axis ? blocks : step) *= std::size_t(dims[i]);
  const std::size_t count = std::size_t(dims[axis]);
  for (std::size_t b = 0; b < blocks; ++b)
    for (std::size_t i = 0; i < step; ++i) f(b * count * step + i, step, count);
}

double erf_inv(double y) {
  if (!(std::abs(y) < 1)) return std::abs(y) == 1 ? std::copysign(std::numeric_limits<double>::infinity(), y) : std::nan("");
  const double l = std::log1p(-y * y), a = 4.3307 + l / 2;  // Winitzki's guess, then Newton's method
  double x = std::copysign(std::sqrt(std::sqrt(a * a - l / 0.147) - a), y);
  for (int i = 0; i < 8; ++i) x -= (std::erf(x) - y) / (1.1283791670955126 * std::exp(-x * x));
  return x;
}

double digamma(double x) {
  double shift = 0;
  if (x < 0) return digamma(1 - x) - M_PI / std::tan(M_PI * x);
  for (; x < 10; ++x) shift -= 1 / x;
  const double r = 1 / (x * x);
  return shift + std::log(x) - 0.5 / x - r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r / 132))));
}

double trigamma(double x) {
  double sum = 0;
  if (x < 0) return std::pow(M_PI / std::sin(M_PI * x), 2) - trigamma(1 - x);
  for (; x < 12; ++x) sum += 1 / (x * x);
  const double r = 1 / (x * x);
  return sum + 1 / x + r / 2 + r / x * (1.0 / 6 - r * (1.0 / 30 - r * (1.0 / 42 - r * (1.0 / 30 - r * (5.0 / 66 - r * 691.0 / 2730)))));
}

using unary = std::function<double(double)>;
const std::map<std::string, unary, std::less<>>& unaries() {
  static const std::map<std::string, unary, std::less<>> table{
      {"neg", [](double x) { return -x; }},
      {"abs", [](double x) { return std::abs(x); }},
      {"sign", [](double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }},
      {"floor", [](double x) { return std::floor(x); }},
      {"ceil", [](double x) { return std::ceil(x); }},
      {"trunc", [](double x) { return std::trunc(x); }},
      {"round", [](double x) { return std::nearbyint(x); }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"cbrt", [](double x) { return std::cbrt(x); }},
      {"exp", [](double x) { return std::exp(x); }},
      {"exp2", [](double x) { return std::exp2(x); }},
      {"exp10", [](double x) { return std::pow(10, x); }},
      {"expm1", [](double x) { return std::expm1(x); }},
      {"log", [](double x) { return std::log(x); }},
      {"log2", [](double x) { return std::log2(x); }},
      {"log10", [](double x) { return std::log10(x); }},
      {"log1p", [](double x) { return std::log1p(x); }},
      {"sin", [](double x) { return std::sin(x); }},
      {"cos", [](double x) { return std::cos(x); }},
      {"tan", [](double x) { return std::tan(x); }},
      {"asin", [](double x) { return std::asin(x); }},
      {"acos", [](double x) { return std::acos(x); }},
      {"atan", [](double x) { return std::atan(x); }},
      {"sinh", [](double x) { return std::sinh(x); }},
      {"cosh", [](double x) { return std::cosh(x); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"asinh", [](double x) { return std::asinh(x); }},
      {"acosh", [](double x) { return std::acosh(x); }},
      {"atanh", [](double x) { return std::atanh(x); }},
      {"logistic", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"erf", [](double x) { return std::erf(x); }},
      {"erfc", [](double x) { return std::erfc(x); }},
      {"erf_inv", erf_inv},
      {"lgamma", [](double x) { return std::lgamma(x); }},
      {"digamma", digamma},
      {"trigamma", trigamma},
      {"is_finite", [](double x) { return double(std::isfinite(x)); }},
      {"stop_gradient", [](double x) { return x; }},
      {"name", [](double x) { return x; }},
      {"saveable", [](double x) { return x; }},
      {"symmetric", [](double x) { return x; }},
  };
  return table;
}

double greatest(double a, double b) { return std::isnan(a) ? a : std::isnan(b) ? b : a > b ? a : b; }
double least(double a, double b) { return std::isnan(a) ? a : std::isnan(b) ? b : a < b ? a : b; }

using binary = std::function<double(double, double)>;
const std::map<std::string, binary, std::less<>>& binaries() {
  static const std::map<std::string, binary, std::less<>> table{
      {"add", [](double a, double b) { return a + b; }},
      {"sub", [](double a, double b) { return a - b; }},
      {"mul", [](double a, double b) { return a * b; }},
      {"div", [](double a, double b) { return a / b; }},
      {"rem", [](double a, double b) { return std::fmod(a, b); }},
      {"max", greatest},
      {"min", least},
      {"pow", [](double a, double b) { return std::pow(a, b); }},
      {"atan2", [](double a, double b) { return std::atan2(a, b); }},
      {"copysign", [](double a, double b) { return std::copysign(a, b); }},
      {"hypot", [](double a, double b) { return std::hypot(a, b); }},
      {"logaddexp", [](double a, double b) { return a == b ? a + std::log(2.0) : std::max(a, b) + std::log1p(std::exp(-std::abs(a - b))); }},
      {"eq", [](double a, double b) { return double(a == b); }},
      {"attains", [](double a, double b) { return double(a == b); }},
      {"ne", [](double a, double b) { return double(a != b); }},
      {"lt", [](double a, double b) { return double(a < b); }},
      {"le", [](double a, double b) { return double(a <= b); }},
      {"gt", [](double a, double b) { return double(a > b); }},
      {"ge", [](double a, double b) { return double(a >= b); }},
      {"and", [](double a, double b) { return double(std::int64_t(a) & std::int64_t(b)); }},
      {"or", [](double a, double b) { return double(std::int64_t(a) | std::int64_t(b)); }},
      {"xor", [](double a, double b) { return double(std::int64_t(a) ^ std::int64_t(b)); }},
      {"shift_left", [](double a, double b) { return double(std::int64_t(a) << std::int64_t(b)); }},
      {"shift_right", [](double a, double b) { return double(std::int64_t(a) >> std::int64_t(b)); }},
  };
  return table;
}

/// A run of a graph. With `rounded`, every float32 node is rounded to float; without, dtypes float32 and float64
/// compute alike, so that finite differences of a float function have the accuracy of double.
/// x of a x = b by Gauss-Jordan elimination with partial pivoting: a [n, n], b [n, m].
std::vector<double> solution(std::vector<double> a, std::vector<double> b, std::size_t n, std::size_t m) {
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t p = k;
    for (std::size_t i = k; i < n; ++i)
      if (std::abs(a[i * n + k]) > std::abs(a[p * n + k])) p = i;
    for (std::size_t j = 0; j < n; ++j) std::swap(a[k * n + j], a[p * n + j]);
    for (std::size_t j = 0; j < m; ++j) std::swap(b[k * m + j], b[p * m + j]);
    const double pivot = a[k * n + k];
    for (std::size_t j = 0; j < n; ++j) a[k * n + j] /= pivot;
    for (std::size_t j = 0; j < m; ++j) b[k * m + j] /= pivot;
    for (std::size_t i = 0; i < n; ++i) {
      const double factor = a[i * n + k];
      if (i == k || factor == 0) continue;
      for (std::size_t j = 0; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
      for (std::size_t j = 0; j < m; ++j) b[i * m + j] -= factor * b[k * m + j];
    }
  }
  return b;
}
/// L of a = L Lᵀ row by row; all NaN if a is not positive definite.
std::vector<double> cholesky(const std::vector<double>& a, std::size_t n) {
  std::vector<double> l(n * n, 0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= l[i * n + k] * l[j * n + k];
      if (i == j && !(sum > 0)) {
        for (std::size_t r = 0; r < n; ++r) std::fill_n(l.begin() + std::ptrdiff_t(r * n), r + 1, std::nan(""));
        for (std::size_t r = 0; r < n; ++r) std::fill_n(l.begin() + std::ptrdiff_t(r * n + r + 1), n - r - 1, 0);
        return l;
      }
      l[i * n + j] = i == j ? std::sqrt(sum) : sum / l[j * n + j];
    }
  return l;
}
/// The symmetric part of L⁻ᵀ P L⁻¹, where P is the lower triangle of Lᵀ times that of g, with half of the diagonal.
std::vector<double> cholesky_pullback(const std::vector<double>& l, const std::vector<double>& g, std::size_t n) {
  std::vector<double> p(n * n, 0), turned(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      turned[j * n + i] = l[i * n + j];
      for (std::size_t k = i; j <= i && k < n; ++k) p[i * n + j] += l[k * n + i] * g[k * n + j] * (i == j ? 0.5 : 1);
    }
  const auto transposed = [n](const std::vector<double>& x) {
    std::vector<double> y(n * n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) y[j * n + i] = x[i * n + j];
    return y;
  };
  const std::vector<double> x = solution(turned, transposed(solution(turned, p, n, n)), n, n);
  std::vector<double> y(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) y[i * n + j] = (x[i * n + j] + x[j * n + i]) / 2;
  return y;
}
/// What lu_p gives, by Doolittle's order of the sums.
std::vector<double> lu(std::vector<double> a, std::size_t n) {
  std::vector<double> pivots(n);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = k; i < n; ++i)
      for (std::size_t j = 0; j < k; ++j) a[i * n + k] -= a[i * n + j] * a[j * n + k];
    std::size_t p = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(a[i * n + k]) > std::abs(a[p * n + k])) p = i;
    pivots[k] = double(p);
    for (std::size_t j = 0; j < n; ++j) std::swap(a[k * n + j], a[p * n + j]);
    for (std::size_t i = k + 1; i < n; ++i) a[i * n + k] /= a[k * n + k];
    for (std::size_t j = k + 1; j < n; ++j)
      for (std::size_t i = 0; i < k; ++i) a[k * n + j] -= a[k * n + i] * a[i * n + j];
  }
  a.insert(a.end(), pivots.begin(), pivots.end());
  return a;
}

/// Negates column j of x [rows, n], and that of `with`, where the first of the greatest elements (within a thousandth) is negative.
void choose_sign(std::vector<double>& x, std::size_t n, std::size_t j, std::vector<double>* with = nullptr) {
  double greatest = 0;
  for (std::size_t i = j; i < x.size(); i += n)
    if (std::abs(x[i]) > 1.001 * std::abs(greatest)) greatest = x[i];
  if (!(greatest < 0)) return;
  for (std::size_t i = j; i < x.size(); i += n) x[i] = -x[i];
  for (std::size_t i = j; with && i < with->size(); i += n) (*with)[i] = -(*with)[i];
}
/// The eigenvalues of a symmetric matrix, ascending, and its vectors as columns: the greatest element off the diagonal is rotated away, again
/// and again.
std::pair<std::vector<double>, std::vector<double>> eigenvectors(std::vector<double> a, std::size_t n) {
  std::vector<double> v(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) v[i * n + i] = 1;
  for (;;) {
    std::size_t p = 0, q = 0;
    double greatest = 0, norm = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        norm += std::abs(a[i * n + j]);
        if (i < j && std::abs(a[i * n + j]) > greatest) greatest = std::abs(a[i * n + j]), p = i, q = j;
      }
    if (!std::isfinite(norm)) return {std::vector<double>(n, std::nan("")), std::vector<double>(n * n, std::nan(""))};
    if (greatest <= 1e-18 * norm) break;
    const double angle = 0.5 * std::atan2(2 * a[p * n + q], a[q * n + q] - a[p * n + p]), c = std::cos(angle), s = std::sin(angle);
    const auto turn = [&](double& x, double& y) { x = std::exchange(y, s * x + c * y) * -s + c * x; };
    for (std::size_t i = 0; i < n; ++i) turn(a[i * n + p], a[i * n + q]), turn(v[i * n + p], v[i * n + q]);
    for (std::size_t i = 0; i < n; ++i) turn(a[p * n + i], a[q * n + i]);
    a[p * n + q] = a[q * n + p] = 0;
  }
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return a[i * n + i] < a[j * n + j]; });
  std::vector<double> values(n), vectors(n * n);
  for (std::size_t j = 0; j < n; ++j) {
    values[j] = a[order[j] * n + order[j]];
    for (std::size_t i = 0; i < n; ++i) vectors[i * n + j] = v[i * n + order[j]];
    choose_sign(vectors, n, j);
  }
  return {values, vectors};
}
/// What qr_p gives, by the method of Gram and Schmidt, each column twice.
std::vector<double> qr(const std::vector<double>& a, std::size_t m, std::size_t n) {
  std::vector<double> x(2 * m * n, 0);
  double *const q = x.data(), *const r = q + m * n;
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < m; ++i) q[i * n + j] = a[i * n + j];
    for (int round = 0; round < 2; ++round)
      for (std::size_t k = 0; k < j; ++k) {
        double sum = 0;
        for (std::size_t i = 0; i < m; ++i) sum += q[i * n + k] * q[i * n + j];
        for (std::size_t i = 0; i < m; ++i) q[i * n + j] -= sum * q[i * n + k];
        r[k * n + j] += sum;
      }
    double squares = 0;
    for (std::size_t i = 0; i < m; ++i) squares += q[i * n + j] * q[i * n + j];
    r[j * n + j] = std::sqrt(squares);
    for (std::size_t i = 0; i < m; ++i) q[i * n + j] /= r[j * n + j];
  }
  return x;
}
/// What svd_p gives: the eigenvalues of [[0, a], [aᵀ, 0]] are plus and minus a's singular values.
std::vector<double> svd(const std::vector<double>& a, std::size_t m, std::size_t n) {
  const std::size_t all = m + n;
  std::vector<double> both(all * all, 0), u(m * n), v(n * n), x(3 * m * n, 0);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) both[i * all + m + j] = both[(m + j) * all + i] = a[i * n + j];
  const auto [values, vectors] = eigenvectors(both, all);
  for (std::size_t j = 0; j < n; ++j) {
    const std::size_t from = all - 1 - j;
    x[m * n + j] = values[from];
    for (std::size_t i = 0; i < m; ++i) u[i * n + j] = std::sqrt(2) * vectors[i * all + from];
    for (std::size_t i = 0; i < n; ++i) v[i * n + j] = std::sqrt(2) * vectors[(m + i) * all + from];
    choose_sign(v, n, j, &u);
  }
  std::copy(u.begin(), u.end(), x.begin());
  std::copy(v.begin(), v.end(), x.begin() + std::ptrdiff_t(2 * m * n));
  return x;
}
/// By minors.
double determinant(const std::vector<double>& a, std::size_t n) {
  if (n == 0) return 1;
  double sum = 0;
  for (std::size_t j = 0; j < n; ++j) {
    std::vector<double> minor;
    for (std::size_t i = 1; i < n; ++i)
      for (std::size_t k = 0; k < n; ++k)
        if (k != j) minor.push_back(a[i * n + k]);
    sum += (j % 2 ? -1 : 1) * a[j] * determinant(minor, n - 1);
  }
  return sum;
}
std::vector<double> adjugate(const std::vector<double>& a, std::size_t n) {
  std::vector<double> x(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      std::vector<double> minor;
      for (std::size_t k = 0; k < n * n; ++k)
        if (k / n != i && k % n != j) minor.push_back(a[k]);
      x[j * n + i] = ((i + j) % 2 ? -1 : 1) * determinant(minor, n - 1);
    }
  return x;
}
std::vector<double> inverse(const std::vector<double>& a, std::size_t n) {
  std::vector<double> x = adjugate(a, n);
  const double divisor = determinant(a, n);
  for (double& e : x) e /= divisor;
  return x;
}

struct interpreter {
  const ct::graph& g;
  bool rounded = true;
  std::vector<extent> symbols;
  std::vector<tensor> at;
  std::map<int, std::vector<tensor>> several;  // the results of operations that have several

  extent value(extent e) const { return ct::is_symbol(e) ? symbols[std::size_t(e - ct::symbol_base)] : e; }
  shape value(const shape& s) const {
    shape r;
    for (extent e : s) r.push_back(value(e));
    return r;
  }
  double cast(dtype t, double v) const {
    if (t == dtype::float32) return rounded ? double(float(v)) : v;
    if (t == dtype::boolean) return v != 0;
    if (ct::is_integer(t) && ct::size_of(t) < 8) {
      const std::uint64_t bits = ct::wrapped_bits(t, std::uint64_t(std::int64_t(v)));
      return ct::is_unsigned_integer(t) ? double(bits) : double(std::int64_t(bits));
    }
    if (t == dtype::int64) return double(std::int64_t(v));
    return v;
  }

  std::vector<tensor> run(const std::vector<tensor>& inputs) {
    if (!g.error.empty()) throw std::runtime_error(std::string(g.error.view()));
    for (const ct::symbol& s : g.symbols)
      symbols.push_back(s.what == ct::symbol::input ? inputs[std::size_t(s.a)].dims[int(s.b)] : ct::evaluate(s.what, value(s.a), value(s.b)));
    for (const ct::equality& e : g.equalities)
      if (value(e.a) != value(e.b)) throw std::runtime_error("extents that must be equal differ");
    at.resize(g.nodes.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!(value(g[g.inputs[i]].dims) == inputs[i].dims)) throw std::runtime_error("an input has another shape than the graph");
      at[std::size_t(g.inputs[i])] = inputs[i];
    }
    for (int n = 0; n < g.size(); ++n) {
      if (ct::has_several_results(g[n])) several[n] = call(n, std::string(g[n].op->name));
      else if (!g[n].is_input()) evaluate(n);
    }
    std::vector<tensor> outputs;
    for (int o : g.outputs) outputs.push_back(at[std::size_t(o)]);
    return outputs;
  }

 private:
  void evaluate(int n) {
    const ct::node& x = g[n];
    const std::string name(x.op->name);
    tensor& r = at[std::size_t(n)];
    r = tensor(x.type, value(x.dims));
    const auto in = [&](int k) -> const tensor& { return at[std::size_t(g.operand(n, k))]; };
    const auto attribute = [&](int k) { return value(g.attribute(n, k)); };
    const auto list = [&](int first, int count) {
      shape s;
      for (int i = 0; i < count; ++i) s.push_back(attribute(first + i));
      return s;
    };
    const auto each = [&](auto f) { for_each_index(r.dims, [&](const shape& i) { r.x[offset(r.dims, i)] = f(i); }); };
    const auto pick = [](const tensor& t, const shape& i) { return t.x[offset(t.dims, i)]; };

    if (const auto u = unaries().find(name); u != unaries().end()) {
      for (std::size_t i = 0; i < r.x.size(); ++i) r.x[i] = u->second(in(0).x[i]);
    } else if (const auto b = binaries().find(name); b != binaries().end()) {
      for (std::size_t i = 0; i < r.x.size(); ++i) {
        const double v = b->second(in(0).x[i], in(1).x[i]);
        r.x[i] = name == "div" && !ct::is_floating(x.type) ? std::trunc(v) : v;
      }
    } else if (name == "not") {
      for (std::size_t i = 0; i < r.x.size(); ++i) r.x[i] = x.type == dtype::boolean ? in(0).x[i] == 0 : double(~std::int64_t(in(0).x[i]));
    } else if (name == "integer_pow") {
      for (std::size_t i = 0; i < r.x.size(); ++i) r.x[i] = std::pow(in(0).x[i], double(attribute(0)));
    } else if (name == "select") {
      for (std::size_t i = 0; i < r.x.size(); ++i) r.x[i] = in(0).x[i] != 0 ? in(1).x[i] : in(2).x[i];
    } else if (name == "clamp") {
      for (std::size_t i = 0; i < r.x.size(); ++i) r.x[i] = least(greatest(in(1).x[i], in(0).x[i]), in(2).x[i]);
    } else if (name == "convert") {
      r.x = in(0).x;
    } else if (name == "random_bits" && x.type == dtype::uint32) {
      for (std::size_t i = 0; i < r.x.size(); ++i) {
        const ct::threefry_words<std::uint32_t> words(std::uint32_t(in(0).x[i]), std::uint32_t(in(1).x[i]), 0, std::uint32_t(in(2).x[i]));
        r.x[i] = words.first ^ words.second;
      }
    } else if (name == "bit_cast" && x.type == dtype::float32 && in(0).type == dtype::uint32) {
      for (std::size_t i = 0; i < r.x.size(); ++i) r.x[i] = std::bit_cast<float>(std::uint32_t(in(0).x[i]));
    } else if (name == "constant") {
      for (double& v : r.x) v = ct::constant_value(x.type, x.bits);
    } else if (name == "dense") {
      for (std::size_t i = 0; i < r.x.size(); ++i)
        r.x[i] = ct::constant_value(x.type, ct::dense_p::element_bits(g.attributes.data() + x.attributes, r.dims.rank, extent(i)));
    } else if (name == "basis") {
      each([&](const shape& i) {
        extent place = 0;
        for (int k = 1; k < r.dims.rank; ++k) place = place * r.dims[k] + i[k];
        return double(i[0] == place);
      });
    } else if (name == "iota") {
      each([&](const shape& i) { return double(i[int(attribute(r.dims.rank))]); });
    } else if (name == "broadcast_in_dim") {
      const shape axes = list(r.dims.rank, in(0).dims.rank);
      each([&](const shape& i) {
        shape from;
        for (int k = 0; k < axes.rank; ++k) from.push_back(in(0).dims[k] == 1 ? 0 : i[int(axes[k])]);
        return pick(in(0), from);
      });
    } else if (name == "reshape") {
      if (in(0).x.size() != r.x.size()) throw std::runtime_error("reshape: another number of elements");
      r.x = in(0).x;
    } else if (name == "transpose") {
      each([&](const shape& i) {
        shape from = i;
        for (int k = 0; k < i.rank; ++k) from[int(attribute(k))] = i[k];
        return pick(in(0), from);
      });
    } else if (name == "slice") {
      const int rank = r.dims.rank;
      each([&](const shape& i) {
        shape from = i;
        for (int k = 0; k < rank; ++k) from[k] = attribute(k) + i[k] * attribute(2 * rank + k);
        if (!inside(in(0).dims, from)) throw std::runtime_error("slice: outside the operand");
        return pick(in(0), from);
      });
    } else if (name == "reverse") {
      const shape axes = list(0, x.attribute_count);
      each([&](const shape& i) {
        shape from = i;
        for (extent a : axes) from[int(a)] = r.dims[int(a)] - 1 - i[int(a)];
        return pick(in(0), from);
      });
    } else if (name == "pick") {
      each([&](const shape& i) {
        shape from;
        for (int k = 0, axis = 0; k < in(0).dims.rank; ++k) from.push_back(attribute(k) < 0 ? i[axis++] : attribute(k));
        return pick(in(0), from);
      });
    } else if (name == "assemble") {
      each([&](const shape& i) {
        shape from;
        extent part = 0;
        for (int k = 0; k < i.rank; ++k) {
          if (attribute(i.rank + k) != 0) from.push_back(i[k]);
          else part = part * r.dims[k] + i[k];
        }
        return pick(in(int(part)), from);
      });
    } else if (name == "conv" || name == "conv_kernel") {
      convolve(in(0), in(1), r, name == "conv", ct::convolution_primitive::form(&g.attributes[std::size_t(x.attributes)]));
    } else if (name == "fft_lines") {
      fourier(in(0), r, int(attribute(0)), ct::fourier(attribute(1)));
    } else if (name == "pad") {
      const int rank = r.dims.rank;
      for (double& v : r.x) v = in(1).x[0];
      for_each_index(in(0).dims, [&](const shape& i) {
        shape to = i;
        for (int k = 0; k < rank; ++k) to[k] = attribute(k) + i[k] * (1 + attribute(2 * rank + k));
        if (inside(r.dims, to)) r.x[offset(r.dims, to)] = pick(in(0), i);
      });
    } else if (name == "concatenate") {
      const int axis = int(attribute(0));
      extent before = 0;
      for (int k = 0; k < x.operand_count; ++k) {
        for_each_index(in(k).dims, [&](const shape& i) {
          shape to = i;
          to[axis] += before;
          r.x[offset(r.dims, to)] = pick(in(k), i);
        });
        before += in(k).dims[axis];
      }
    } else if (name.starts_with("reduce_")) {
      reduce(n, name, list(0, x.attribute_count));
    } else if (name == "argmax" || name == "argmin") {
      const int axis = int(attribute(0));
      each([&](const shape& i) {
        double best = 0;
        extent place = -1;
        for (extent k = 0; k < in(0).dims[axis]; ++k) {
          const double v = pick(in(0), ct::insert(i, axis, k));
          const bool better = name == "argmax" ? v > best : v < best;
          if (place < 0 || (!std::isnan(best) && (std::isnan(v) || better))) best = v, place = k;
        }
        return double(place);
      });
    } else if (name.starts_with("cum") || name == "linear_recurrence") {
      const int axis = int(attribute(0));
      const bool reverse = attribute(1) != 0;
      each_row(r.dims, axis, [&](std::size_t first, std::size_t step, std::size_t count) {
        double y = 0;
        for (std::size_t k = 0; k < count; ++k) {
          const std::size_t at = first + step * (reverse ? count - 1 - k : k);
          const double v = in(0).x[at];
          if (name == "linear_recurrence") y = v * y + in(1).x[at];
          else if (k == 0) y = v;
          else y = name == "cumsum" ? y + v : name == "cumprod" ? y * v : name == "cummax" ? greatest(y, v) : least(y, v);
          r.x[at] = y = cast(x.type, y);
        }
      });
    } else if (name == "cholesky" || name == "cholesky_pullback" || name == "triangular_solve" || name == "lu" || name == "lu_solve") {
      const tensor& last = in(x.operand_count - 1);
      const int rank = last.dims.rank;
      const std::size_t n = std::size_t(in(0).dims[rank - 1]), m = std::size_t(last.dims[rank - 1]);
      const std::size_t size = std::size_t(r.dims[rank - 2]) * m;  // of a result
      for (std::size_t k = 0; size > 0 && k * size < r.x.size(); ++k) {
        std::vector<double> a(in(0).x.begin() + std::ptrdiff_t(k * n * n), in(0).x.begin() + std::ptrdiff_t((k + 1) * n * n)), y;
        if (name == "cholesky") y = cholesky(a, n);
        else if (name == "cholesky_pullback") y = cholesky_pullback(a, {last.x.begin() + std::ptrdiff_t(k * size), last.x.begin() + std::ptrdiff_t((k + 1) * size)}, n);
        else if (name == "lu") y = lu(a, n);
        else {
          const bool triangular = name == "triangular_solve", transposed = attribute(triangular ? 1 : 0) != 0;
          std::vector<double> matrix(n * n, 0);
          for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) {
              const bool read = !triangular || i == j || (attribute(0) != 0) == (j < i);
              const double element = triangular && i == j && attribute(2) != 0 ? 1 : read ? a[i * n + j] : 0;
              matrix[transposed ? j * n + i : i * n + j] = element;
            }
          y = solution(matrix, {last.x.begin() + std::ptrdiff_t(k * size), last.x.begin() + std::ptrdiff_t((k + 1) * size)}, n, m);
        }
        std::copy(y.begin(), y.end(), r.x.begin() + std::ptrdiff_t(k * size));
      }
    } else if (name == "qr" || name == "eigh" || name == "svd" || name == "determinant" || name == "adjugate" || name == "inverse") {
      const int rank = in(0).dims.rank;
      const std::size_t m = std::size_t(in(0).dims[rank - 2]), n = std::size_t(in(0).dims[rank - 1]), size = m * n;
      std::size_t number = 1, at = 0;
      for (int k = 0; k + 2 < rank; ++k) number *= std::size_t(in(0).dims[k]);
      for (std::size_t k = 0; k < number; ++k) {
        const std::vector<double> a(in(0).x.begin() + std::ptrdiff_t(k * size), in(0).x.begin() + std::ptrdiff_t((k + 1) * size));
        std::vector<double> y;
        if (name == "qr") y = qr(a, m, n);
        else if (name == "svd") y = svd(a, m, n);
        else if (name == "adjugate") y = adjugate(a, n);
        else if (name == "inverse") y = inverse(a, n);
        else if (name == "determinant") y = {attribute(0) != 0 ? std::log(std::abs(determinant(a, n))) : determinant(a, n)};
        else {
          std::vector<double> symmetric = a;
          for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = i; j < n; ++j) symmetric[i * n + j] = symmetric[j * n + i];
          const auto [values, vectors] = eigenvectors(symmetric, n);
          y = values;
          y.insert(y.end(), vectors.begin(), vectors.end());
        }
        for (double e : y) r.x[at++] = e;
      }
    } else if (name == "argsort") {
      const int axis = int(attribute(0));
      const bool descending = attribute(2) != 0;
      const auto less = [](double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); };
      const std::size_t kept = std::size_t(r.dims[axis]);  // of each row, the first ones
      each_row(in(0).dims, axis, [&](std::size_t first, std::size_t step, std::size_t count) {
        std::vector<std::size_t> order(count);
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
          const double u = in(0).x[first + step * a], v = in(0).x[first + step * b];
          const bool sooner = descending ? less(v, u) : less(u, v), later = descending ? less(u, v) : less(v, u);
          return sooner || (!later && a < b);
        });
        for (std::size_t k = 0; k < kept; ++k) r.x[first / (count * step) * kept * step + first % step + step * k] = double(order[k]);
      });
    } else if (name == "dot_general") {
      const int nb = int(attribute(0)), nc = int(attribute(1));
      const ct::dot_dimensions d{list(2, nb), list(2 + nb, nb), list(2 + 2 * nb, nc), list(2 + 2 * nb + nc, nc)};
      const shape fl = d.lhs_free(in(0).dims.rank), fr = d.rhs_free(in(1).dims.rank);
      shape inner;
      for (extent a : d.lhs_contracted) inner.push_back(in(0).dims[int(a)]);
      each([&](const shape& i) {
        shape l = in(0).dims, q = in(1).dims;
        for (int k = 0; k < nb; ++k) l[int(d.lhs_batch[k])] = i[k], q[int(d.rhs_batch[k])] = i[k];
        for (int k = 0; k < fl.rank; ++k) l[int(fl[k])] = i[nb + k];
        for (int k = 0; k < fr.rank; ++k) q[int(fr[k])] = i[nb + fl.rank + k];
        double sum = 0;
        for_each_index(inner, [&](const shape& c) {
          for (int k = 0; k < nc; ++k) l[int(d.lhs_contracted[k])] = c[k], q[int(d.rhs_contracted[k])] = c[k];
          sum += pick(in(0), l) * pick(in(1), q);
        });
        return sum;
      });
    } else if (name == "gather") {
      const int first = 1 + int(attribute(0));
      each([&](const shape& i) {
        const shape from = address(n, i, first, 1);
        if (!inside(in(0).dims, from)) throw std::runtime_error("gather: outside the operand");
        return pick(in(0), from);
      });
    } else if (name == "extent") {
      r.x[0] = double(in(0).dims[int(attribute(0))]);
    } else if (name == "element") {
      r = several.at(g.operand(n, 0)).at(std::size_t(attribute(0)));
      if (r.type != x.type || !(r.dims == value(x.dims))) throw std::runtime_error("a result has another dtype or shape than its operation says");
    } else if (name == "roll") {
      const int axis = int(attribute(0));
      const extent by = extent(in(1).x[0]) * (attribute(1) != 0 ? -1 : 1);
      each([&](const shape& i) {
        shape from = i;
        const extent n = r.dims[axis];
        from[axis] = ((i[axis] - by) % n + n) % n;
        return pick(in(0), from);
      });
    } else if (name.starts_with("scatter")) {
      r.x = in(0).x;
      for_each_index(in(1).dims, [&](const shape& i) {
        const shape to = address(n, i, 1, 2);
        if (!inside(r.dims, to)) return;
        double& v = r.x[offset(r.dims, to)];
        const double u = pick(in(1), i);
        v = cast(x.type, name == "scatter" ? u : name == "scatter_add" ? v + u : name == "scatter_mul" ? v * u : name == "scatter_min" ? least(v, u) : greatest(v, u));
      });
    } else if (name == "custom_jvp" || name == "custom_vmap") {
      std::vector<tensor> operands;
      for (int k = 0; k < x.operand_count; ++k) operands.push_back(in(k));
      r = interpreter{g.subgraphs[std::size_t(attribute(1))], rounded, {}, {}, {}}.run(operands)[std::size_t(attribute(int(1 + attribute(0))))];
    } else {
      throw std::runtime_error("the reference does not know the primitive " + name);
    }
    for (double& v : r.x) v = cast(x.type, v);
  }

  /// Operations with several results, whose bodies are graphs.
  std::vector<tensor> call(int n, const std::string& name) const {
    const ct::call_form form(g, n);
    std::vector<tensor> in;
    for (int k = 0; k < g[n].operand_count; ++k) in.push_back(at[std::size_t(g.operand(n, k))]);
    const auto body = [&](std::size_t k, const std::vector<tensor>& inputs) { return interpreter{g.subgraphs[std::size_t(form.bodies[k])], rounded, {}, {}, {}}.run(inputs); };
    const auto list = [&](extent first, extent count) { return std::vector<tensor>(in.begin() + first, in.begin() + first + count); };
    const auto append = [](std::vector<tensor> a, const std::vector<tensor>& b) {
      a.insert(a.end(), b.begin(), b.end());
      return a;
    };
    if (name == "scan") {
      const extent length = value(form.own[0]), carries = form.own[1], xs = form.own[2];
      std::vector<tensor> carry = list(0, carries), ys;
      for (std::size_t k = std::size_t(carries); k < form.results.size(); ++k) ys.emplace_back(form.results[k].type, value(form.results[k].dims));
      const auto row = [](const tensor& t) { return std::ptrdiff_t(ct::erase(t.dims, 0).size()); };
      for (extent step = 0; step < length; ++step) {
        const extent i = form.own[3] != 0 ? length - 1 - step : step;
        std::vector<tensor> inputs;
        if (form.own[4] != 0) inputs.emplace_back(dtype::int32, shape{}, double(i));
        inputs = append(inputs, carry);
        for (const tensor& t : list(carries, xs)) {
          if (t.dims[0] != length) throw std::runtime_error("scan: another length than that of an operand");
          inputs.emplace_back(t.type, ct::erase(t.dims, 0));
          std::copy_n(t.x.begin() + i * row(t), row(t), inputs.back().x.begin());
        }
        const std::vector<tensor> out = body(0, append(inputs, list(carries + xs, extent(in.size()) - carries - xs)));
        carry.assign(out.begin(), out.begin() + carries);
        for (std::size_t k = 0; k < ys.size(); ++k) std::copy_n(out[std::size_t(carries) + k].x.begin(), row(ys[k]), ys[k].x.begin() + i * row(ys[k]));
      }
      return append(carry, ys);
    }
    if (name == "while") {
      const extent carries = form.own[0], tested = form.own[1], constants = form.own[2];
      std::vector<tensor> carry = list(0, carries);
      const auto holds = [&] { return body(0, append({carry.begin(), carry.begin() + tested}, list(carries, constants)))[0].x[0] != 0; };
      while (holds()) carry = body(1, append(carry, list(carries + constants, extent(in.size()) - carries - constants)));
      return carry;
    }
    if (name == "switch") {
      const double k = in[0].x[0];
      if (k < 0 || k >= double(form.bodies.size())) throw std::runtime_error("switch: there is no such branch");
      return body(std::size_t(k), list(1, extent(in.size()) - 1));
    }
    if (name == "checkpoint") return body(0, in);
    if (name == "barrier") return list(0, extent(form.results.size()));
    throw std::runtime_error("the reference does not know the primitive " + name);
  }

  shape address(int n, const shape& i, int first, int operands) const {
    shape to;
    for (int k = first; k < g[n].attribute_count; k += 2) {
      const extent dimension = g.attribute(n, k), index = g.attribute(n, k + 1);
      extent place = dimension >= 0 ? i[int(dimension)] : 0;
      if (index >= 0) {
        const tensor& t = at[std::size_t(g.operand(n, operands + int(index)))];
        place += extent(t.x[offset(t.dims, i)]);
      }
      to.push_back(place);
    }
    return to;
  }

  /// By definition; of the numbers that are not there the conjugates are.
  static void fourier(const tensor& x, tensor& r, int axis, ct::fourier what) {
    const bool of_reals = what == ct::fourier::real, to_reals = what == ct::fourier::inverse_real;
    const extent n = (to_reals ? r : x).dims[axis];
    for_each_index(of_reals || !to_reals ? ct::erase(r.dims, r.dims.rank - 1) : r.dims, [&](const shape& at) {
      std::complex<double> sum = 0;
      for (extent j = 0; j < n; ++j) {
        shape from = at;
        const bool is_conjugate = to_reals && j > n / 2;
        from[axis] = is_conjugate ? n - j : j;
        double re = 0, im = 0;
        if (of_reals) re = x.x[offset(x.dims, from)];
        else {
          const shape re_at = ct::insert(from, from.rank, 0), im_at = ct::insert(from, from.rank, 1);
          re = x.x[offset(x.dims, re_at)], im = x.x[offset(x.dims, im_at)];
        }
        if (to_reals && (j == 0 || 2 * j == n)) im = 0;
        const double sign = what == ct::fourier::inverse || to_reals ? 2 : -2;
        sum += std::complex(re, is_conjugate ? -im : im) * std::polar(1.0, sign * M_PI * double(j * at[axis] % n) / double(n));
      }
      if (to_reals) r.x[offset(r.dims, at)] = sum.real();
      else r.x[offset(r.dims, ct::insert(at, at.rank, 0))] = sum.real(), r.x[offset(r.dims, ct::insert(at, at.rank, 1))] = sum.imag();
    });
  }

  /// By definition: all products of elements that meet. Of the transpose by the kernel, `other` is the result of the convolution.
  static void convolve(const tensor& x, const tensor& other, tensor& r, bool forward, const ct::convolution_form& f) {
    const tensor &kernel = forward ? other : r, &y = forward ? r : other;
    const int n = f.axes();
    const extent channels = kernel.dims[n], features = y.dims[n + 1] / (x.dims[n + 1] / channels);
    for_each_index(y.dims, [&](const shape& at) {
      for_each_index(ct::erase(kernel.dims, n + 1), [&](const shape& tap) {
        shape from = at, weight = ct::insert(tap, n + 1, at[n + 1]);
        for (int i = 0; i < n; ++i) {
          const extent place = at[1 + i] * f.stride[i] + tap[i] * f.dilation[i] - f.low[i];
          if (place < 0 || place % f.spacing[i] != 0 || place / f.spacing[i] >= x.dims[1 + i]) return;
          from[1 + i] = place / f.spacing[i];
        }
        from[n + 1] = at[n + 1] / features * channels + tap[n];
        if (forward) r.x[offset(r.dims, at)] += x.x[offset(x.dims, from)] * other.x[offset(other.dims, weight)];
        else r.x[offset(r.dims, weight)] += x.x[offset(x.dims, from)] * other.x[offset(other.dims, at)];
      });
    });
  }

  void reduce(int n, const std::string& name, const shape& axes) {
    const ct::node& x = g[n];
    tensor& r = at[std::size_t(n)];
    const tensor& in = at[std::size_t(g.operand(n, 0))];
    const double inf = std::numeric_limits<double>::infinity();
    const double start = name == "reduce_prod" || name == "reduce_and" ? 1 : name == "reduce_max" ? -inf : name == "reduce_min" ? inf : 0;
    for (double& v : r.x) v = start;
    for_each_index(in.dims, [&](const shape& i) {
      shape kept;
      for (int k = 0; k < i.rank; ++k)
        if (!axes.contains(k)) kept.push_back(i[k]);
      double& v = r.x[offset(r.dims, kept)];
      const double y = in.x[offset(in.dims, i)];
      v = name == "reduce_sum" ? v + y : name == "reduce_prod" ? v * y : name == "reduce_max" ? greatest(v, y) : name == "reduce_min" ? least(v, y) : name == "reduce_and" ? double(v != 0 && y != 0) : double(v != 0 || y != 0);
      if (ct::is_integer(x.type)) v = cast(x.type, v);
    });
  }
};

}  // namespace

std::vector<tensor> evaluate(const ct::graph& g, const std::vector<tensor>& inputs, bool rounded) {
  if (ct::complex_pass::concerns(g)) return evaluate(ct::complex_pass(g).run(), inputs, rounded);
  return interpreter{g, rounded, {}, {}, {}}.run(inputs);
}

}  // namespace reference
