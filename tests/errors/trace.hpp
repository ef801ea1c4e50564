#pragma once
/// What jit does first: the trace of F for arguments of the types V. It needs no backend, so these tests are fast.

#include <cotangent/transforms/collectives.hpp>

namespace ct = cotangent;

template <auto F, class... V> constexpr bool trace = ct::traced_function<std::remove_const_t<decltype(F)>, V...>.error.empty();
