#pragma once
/// Settings of a thread that hold within a scope.

namespace cotangent {

/// Sets Flag(), a flag of this thread, until the end of its scope. Scopes nest.
template <bool& (*Flag)()> class flag_scope {
 public:
  flag_scope() { Flag() = true; }
  flag_scope(const flag_scope&) = delete;
  flag_scope& operator=(const flag_scope&) = delete;
  ~flag_scope() { Flag() = before_; }

 private:
  const bool before_ = Flag();
};

}  // namespace cotangent
