#include <Eigen/Eigenvalues>

#include "decompositions.hpp"

namespace decompositions {
namespace {

struct values_and_vectors {
  template <class Values, class Matrices> using of = std::tuple<Values, Matrices>;
};
constexpr auto ours = [](auto a) { return ct::linalg::eigh(a); };
constexpr auto by_eigen = [](auto& d) {
  d.by_eigen([&](std::size_t k, const auto& x) {
    const Eigen::SelfAdjointEigenSolver<std::remove_cvref_t<decltype(x)>> solver(x);
    d.found[k] = solver.eigenvalues(), d.left[k] = solver.eigenvectors();
  });
};
constexpr auto value = [](const auto& d, int k, int i) { return std::pair(std::get<0>(d.result)(k, i), d.found[std::size_t(k)](i)); };

}  // namespace

template <int N> void add_eigh() { add<N, values_and_vectors>("eigh", ours, by_eigen, value); }
template void add_eigh<DECOMPOSITIONS_ORDER>();

}  // namespace decompositions
