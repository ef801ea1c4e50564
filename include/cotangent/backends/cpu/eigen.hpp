#pragma once
/// What the CPU backend uses of Eigen.

// GCC warns of the deliberately undefined vectors in its own intrinsics where Eigen uses them.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
// Under nvcc Eigen would mark everything for devices and give up its packets; here it runs on the host only.
#if defined(__CUDACC__) && !defined(EIGEN_NO_CUDA)
#define EIGEN_NO_CUDA
#endif
#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
