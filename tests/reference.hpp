#pragma once
/// An interpreter of graphs: every primitive as the plainest loop over doubles, straight from its definition. What the
/// rules of primitives, the passes and the compiled kernels are checked against.

#include <cstdint>
#include <string>
#include <vector>

#include <cotangent/graph/graph.hpp>

namespace reference {

namespace ct = cotangent;
using ct::dtype;
using ct::extent;
using ct::shape;

/// An array of any dtype; int64 elements must be exact as doubles.
struct tensor {
  dtype type = dtype::float64;
  shape dims;
  std::vector<double> x;

  tensor() = default;
  tensor(dtype t, const shape& s, double fill = 0) : type(t), dims(s), x(std::size_t(s.size()), fill) {}
};

inline std::size_t offset(const shape& dims, const shape& index) {
  extent o = 0;
  for (int i = 0; i < dims.rank; ++i) o = o * dims[i] + index[i];
  return std::size_t(o);
}

/// f(index) for every index, in row-major order.
template <class F> void for_each_index(const shape& dims, F f) {
  shape index;
  for (int i = 0; i < dims.rank; ++i) index.push_back(0);
  for (extent n = dims.size(); n-- > 0;) {
    f(static_cast<const shape&>(index));
    for (int i = dims.rank; i-- > 0 && ++index[i] == dims[i];) index[i] = 0;
  }
}

inline bool inside(const shape& dims, const shape& index) {
  for (int i = 0; i < dims.rank; ++i)
    if (index[i] < 0 || index[i] >= dims[i]) return false;
  return true;
}

/// The outputs of `g` on these inputs. Arrays of complex numbers are real ones whose last axis has the two parts.
std::vector<tensor> evaluate(const ct::graph& g, const std::vector<tensor>& inputs, bool rounded = true);

}  // namespace reference
