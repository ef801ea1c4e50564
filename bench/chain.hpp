#pragma once
/// The rows of one kind and length of chain; chain_case.cpp defines it.

#include "baselines/chains.hpp"

template <baselines::chain_kind Kind, int Operations> void add_chains();
