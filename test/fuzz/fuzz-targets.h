/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FUZZ_TARGETS_H
#define FUZZ_TARGETS_H

#include <span>
#include <string_view>

/**
 * A reader of user input, for input of any kind. It returns, or throws ns3::InputError; whatever
 * else happens is a fault. test-fuzz runs each over its corpus and over mutations of it;
 * scripts/maintain/fuzz.sh has libFuzzer search for more.
 */
struct FuzzTarget
{
    const char* name; ///< also the folder of its corpus
    void (*read)(std::string_view input);
};

/// @return every reader
std::span<const FuzzTarget> FuzzTargets();

/// Run a reader. @return whether it took the input, false if it refused it
bool Takes(const FuzzTarget& target, std::string_view input);

#endif /* FUZZ_TARGETS_H */
