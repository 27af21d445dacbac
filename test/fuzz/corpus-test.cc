/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fuzz-targets.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace
{

std::vector<std::string>
CorpusOf(const FuzzTarget& target)
{
    std::vector<std::string> inputs;
    const auto folder = std::filesystem::path(SOURCE_DIR) / "test/fuzz/corpus" / target.name;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
    {
        std::ifstream file(entry.path(), std::ios::binary);
        std::ostringstream text;
        text << file.rdbuf();
        inputs.push_back(text.str());
    }
    return inputs;
}

/// @return the input with one thing changed
std::string
Mutated(std::string input, std::mt19937& random)
{
    static constexpr std::array<std::string_view, 12> TOKENS = {"-1",
                                                                "0",
                                                                "18446744073709551616",
                                                                "1e308",
                                                                "nan",
                                                                "\n",
                                                                " ",
                                                                "\xff",
                                                                "{",
                                                                "]",
                                                                ":",
                                                                "4294967295"};
    const auto place = [&] { return random() % (input.size() + 1); };
    switch (random() % 5)
    {
    case 0:
        input.insert(place(), TOKENS[random() % TOKENS.size()]);
        break;
    case 1:
        input.erase(place(), 1 + random() % 16);
        break;
    case 2:
        input.resize(place());
        break;
    case 3:
        input.insert(place(), input.substr(place(), random() % 64));
        break;
    default:
        if (!input.empty())
        {
            input[random() % input.size()] = static_cast<char>(random());
        }
    }
    return input;
}

class Readers : public testing::TestWithParam<FuzzTarget>
{
};

} // namespace

TEST_P(Readers, TakeSomethingOfTheirCorpus)
{
    const std::vector<std::string> corpus = CorpusOf(GetParam());
    bool any = false;
    for (const std::string& input : corpus)
    {
        any = Takes(GetParam(), input) || any;
    }
    EXPECT_TRUE(any) << "the corpus has " << corpus.size() << " inputs";
}

TEST_P(Readers, ReadMutantsOrRefuseThem)
{
    std::mt19937 random(1);
    std::vector<std::string> inputs = CorpusOf(GetParam());
    ASSERT_FALSE(inputs.empty());
    for (int i = 0; i < 500; ++i)
    {
        std::string mutant = inputs[random() % inputs.size()];
        for (unsigned changes = 1 + random() % 4; changes > 0; --changes)
        {
            mutant = Mutated(mutant, random);
        }
        EXPECT_NO_THROW(Takes(GetParam(), mutant)) << mutant;
    }
}

INSTANTIATE_TEST_SUITE_P(All,
                         Readers,
                         testing::ValuesIn(FuzzTargets().begin(), FuzzTargets().end()),
                         [](const auto& info) {
                             std::string name = info.param.name;
                             for (char& c : name)
                             {
                                 c = c == '-' ? '_' : c;
                             }
                             return name;
                         });
