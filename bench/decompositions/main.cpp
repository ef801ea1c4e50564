/// Decompositions of batches of matrices: see decompositions.hpp.

#include <Eigen/Core>

#include "decompositions.hpp"

namespace {
template <int... Order> void add_orders() {
  (decompositions::add_eigh<Order>(), ...), (decompositions::add_svd<Order>(), ...), (decompositions::add_qr<Order>(), ...);
}
}  // namespace

int main(int argc, char** argv) {
  bench::init(argc, argv);
  add_orders<3, 6, 20, 200>();
  return bench::run(argc, argv);
}
