#include <Eigen/QR>

#include "decompositions.hpp"

namespace decompositions {
namespace {

struct two_matrices {
  template <class, class Matrices> using of = std::tuple<Matrices, Matrices>;
};
constexpr auto ours = [](auto a) { return ct::linalg::qr(a); };
constexpr auto by_eigen = [](auto& d) {
  d.by_eigen([&](std::size_t k, const auto& x) {
    const Eigen::HouseholderQR<std::remove_cvref_t<decltype(x)>> solver(x);
    d.left[k] = solver.householderQ(), d.right[k] = solver.matrixQR().template triangularView<Eigen::Upper>();
  });
};
/// R's diagonal, whose signs Eigen leaves open.
constexpr auto value = [](const auto& d, int k, int i) { return std::pair(std::get<1>(d.result)(k, i, i), std::abs(d.right[std::size_t(k)](i, i))); };

}  // namespace

template <int N> void add_qr() { add<N, two_matrices>("qr", ours, by_eigen, value); }
template void add_qr<DECOMPOSITIONS_ORDER>();

}  // namespace decompositions
