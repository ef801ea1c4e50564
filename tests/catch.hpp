#pragma once
/// Catch2, version 2 or 3. `CHECK_THROWS_WITH(x, "whole message")` is the same in both.

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
