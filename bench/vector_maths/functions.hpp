#pragma once
/// The rows of a kind of function and a type; functions.cpp defines it.

namespace vector_maths {

enum class function_kind {
  elementary,     // exponentials, logarithms, powers, roots, remainders
  trigonometric,  // and hyperbolic
  special,        // logistic, error and gamma functions
};

template <class T, function_kind Kind> void add();

}  // namespace vector_maths
