/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * libFuzzer's entry to the reader that the macro FUZZ_TARGET names; scripts/maintain/fuzz.sh builds
 * one program for each.
 */
#include "../fuzz-targets.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int
LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size)
{
    static const FuzzTarget* target = [] {
        for (const FuzzTarget& each : FuzzTargets())
        {
            if (std::string_view(each.name) == FUZZ_TARGET)
            {
                return &each;
            }
        }
        std::abort();
    }();
    Takes(*target, {reinterpret_cast<const char*>(data), size});
    return 0;
}
