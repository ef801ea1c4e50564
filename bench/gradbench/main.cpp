/// Problems of ADBench, GradBench and FastAD's paper against derivatives by hand (problems.hpp).

#include "problems.hpp"

int main(int argc, char** argv) {
  bench::init(argc, argv);
  gradbench::add_ba();
  gradbench::add_gmm<2, 5>();
  gradbench::add_gmm<10, 25>();
  gradbench::add_gmm<32, 50>();
  gradbench::add_gmm<64, 100>();
  gradbench::add_lstm<2, 1024>();
  gradbench::add_lstm<4, 4096>();
  gradbench::add_ht<1600>();
  gradbench::add_ht<25600>();
  gradbench::add_lse();
  gradbench::add_llsq();
  gradbench::add_ode();
  gradbench::add_det<5>();
  gradbench::add_det<6>();
  gradbench::add_kmeans<10, 1000, 8>();
  gradbench::add_kmeans<100, 10000, 16>();
  gradbench::add_saddle();
  gradbench::add_particle();
  gradbench::add_fastad();
  gradbench::add_fastad_models();
  return bench::run(argc, argv);
}
