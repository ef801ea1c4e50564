#pragma once
/// Triangular matrices.

namespace cotangent {

/// Which elements (i, j) of a matrix count: all, those with i >= j, or those with i <= j.
enum class matrix_part : unsigned char { whole, lower, upper };

/// That of the transpose.
constexpr matrix_part mirrored(matrix_part t) { return t == matrix_part::whole ? t : t == matrix_part::lower ? matrix_part::upper : matrix_part::lower; }

/// The triangles of a product c = a b: what a and b have outside of theirs is zero, and what c has outside of its own is not used.
struct product_triangles {
  matrix_part a = matrix_part::whole, b = matrix_part::whole, c = matrix_part::whole;
  constexpr bool any() const { return a != matrix_part::whole || b != matrix_part::whole || c != matrix_part::whole; }
  /// Those of c' = b' a'.
  constexpr product_triangles swapped() const { return {mirrored(b), mirrored(a), mirrored(c)}; }
};

}  // namespace cotangent
