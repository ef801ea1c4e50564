#pragma once
/// What the library throws. Nothing is written to any output before it throws.

#include <stdexcept>
#include <string>

namespace cotangent {

/// The base of every exception of this library.
struct error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Extents, ranks or indices that do not fit.
struct shape_error : error {
  using error::error;
};

/// A device that is missing, full, or failed.
struct device_error : error {
  using error::error;
};

/// A file that is missing, damaged, or holds something else.
struct io_error : error {
  using error::error;
};

}  // namespace cotangent
