/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef OTHERS_FILES_H
#define OTHERS_FILES_H

#include <filesystem>
#include <gtest/gtest.h>
#include <string>

/// Skips a test that compares with files of SimAI, ASTRA-sim or the HPCC simulator if they are not
/// beside this checkout. The repository carries none of them.
#define NEEDS_OTHERS_FILES()                                                                       \
    if (!std::filesystem::exists(OTHERS_FILES_DIR))                                                \
    {                                                                                              \
        GTEST_SKIP() << "other people's files are not beside this checkout (../shared/data)";      \
    }

/// @return the path of one of these files @param name such as "hpcc/fat.txt"
inline std::string
OthersFile(const std::string& name)
{
    return std::string(OTHERS_FILES_DIR) + "/" + name;
}

#endif /* OTHERS_FILES_H */
