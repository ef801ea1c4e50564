#include <Eigen/SVD>

#include "decompositions.hpp"

namespace decompositions {
namespace {

struct vectors_and_values {
  template <class Values, class Matrices> using of = std::tuple<Matrices, Values, Matrices>;
};
constexpr auto ours = [](auto a) { return ct::linalg::svd(a); };
constexpr auto by_eigen = [](auto& d) {
  d.by_eigen([&](std::size_t k, const auto& x) {
    const Eigen::JacobiSVD<std::remove_cvref_t<decltype(x)>> solver(x, Eigen::ComputeFullU | Eigen::ComputeFullV);
    d.found[k] = solver.singularValues(), d.left[k] = solver.matrixU(), d.right[k] = solver.matrixV();
  });
};
constexpr auto value = [](const auto& d, int k, int i) { return std::pair(std::get<1>(d.result)(k, i), d.found[std::size_t(k)](i)); };

}  // namespace

template <int N> void add_svd() { add<N, vectors_and_values>("svd", ours, by_eigen, value); }
template void add_svd<DECOMPOSITIONS_ORDER>();

}  // namespace decompositions
