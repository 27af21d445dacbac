/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flow-run.h"

#include "ns3/input-error.h"
#include "ns3/input-path.h"
#include "ns3/output-file.h"
#include "ns3/text-line.h"

#include <cinttypes>
#include <cstdio>
#include <gmock/gmock.h>
#include <vector>

using namespace ns3;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(OutputFile, WritesLinesAndSaysWhyItCannot)
{
    ScratchDirectory directory;
    {
        OutputFile file(directory / "a.txt");
        file.Print("%d %s\n", 1, "one");
        file.Print("%d %s\n", 2, "two");
        EXPECT_EQ(file.Lines(), 2u);
    }
    EXPECT_THAT(directory.LinesOf("a.txt"), ElementsAre("1 one", "2 two"));
    EXPECT_THROW(OutputFile(directory / "missing/a.txt"), InputError);
}

TEST(TextLine, WritesNumbersAsPrintfDoes)
{
    std::vector<uint64_t> values{0, 1, 9, UINT32_MAX, UINT64_MAX};
    for (uint64_t power = 10; power < UINT64_MAX / 10; power *= 10)
    {
        values.insert(values.end(), {power - 1, power, power + 1, 7 * power / 3});
    }
    for (const uint64_t value : values)
    {
        char expected[64];
        std::snprintf(expected,
                      sizeof expected,
                      "%08x %" PRIu64 "\n",
                      static_cast<uint32_t>(value),
                      value);
        TextLine line;
        line.Hex8(static_cast<uint32_t>(value)).Space().Decimal(value).End();
        EXPECT_EQ(line.View(), expected);
    }
}

TEST(OutputFile, TakesWholeLinesBetweenFormattedOnes)
{
    ScratchDirectory directory;
    {
        OutputFile file(directory / "a.txt");
        file.Write("1 one\n");
        file.Print("%d %s\n", 2, "two");
        file.Write("3 three\n");
        EXPECT_EQ(file.Lines(), 3u);
    }
    EXPECT_THAT(directory.LinesOf("a.txt"), ElementsAre("1 one", "2 two", "3 three"));
}

TEST(ResolveOutputPath, RelativePathsStayInsideTheOutputDirectory)
{
    ScratchDirectory directory;
    std::vector<std::string> warnings;
    const std::string out = directory.Path();
    EXPECT_EQ(ResolveOutputPath("K", "fct.txt", out, warnings), out + "/fct.txt");
    EXPECT_EQ(ResolveOutputPath("K", "mix/fct.txt", out, warnings), out + "/mix/fct.txt");
    EXPECT_TRUE(std::filesystem::is_directory(out + "/mix"));
    EXPECT_THAT(warnings, IsEmpty());
    EXPECT_EQ(ResolveOutputPath("K", "../../scratch/fct.txt", out, warnings), out + "/fct.txt");
    EXPECT_THAT(warnings,
                ElementsAre("K ../../scratch/fct.txt is outside the output directory; it goes to " +
                            out + "/fct.txt"));
}

TEST(ResolveOutputPath, AbsolutePathsThatCannotBeWrittenBecomeTheirBaseName)
{
    ScratchDirectory directory;
    std::vector<std::string> warnings;
    const std::string out = directory.Path();
    EXPECT_EQ(ResolveOutputPath("K", out + "/x.txt", "/elsewhere", warnings), out + "/x.txt");
    EXPECT_THAT(warnings, IsEmpty());
    EXPECT_EQ(ResolveOutputPath("FCT", "/no/such/place/x_fct.txt", out, warnings),
              out + "/x_fct.txt");
    EXPECT_THAT(warnings, ElementsAre(HasSubstr("FCT /no/such/place/x_fct.txt cannot be written")));
    std::ofstream(directory / "file") << "";
    EXPECT_THROW(ResolveOutputPath("K", "fct.txt", directory / "file", warnings), InputError);
}

TEST(FindInput, TriesThePathThenTheConfsDirectoryThenTheBaseNameThere)
{
    ScratchDirectory directory;
    std::filesystem::create_directory(directory / "mix");
    const std::string conf = directory / "config.txt";
    EXPECT_EQ(FindInput("mix/topology.txt", conf), "");
    std::ofstream(directory / "topology.txt") << "";
    EXPECT_EQ(FindInput("mix/topology.txt", conf), directory / "topology.txt");
    std::ofstream(directory / "mix/topology.txt") << "";
    EXPECT_EQ(FindInput("mix/topology.txt", conf), directory / "mix/topology.txt");
    EXPECT_EQ(FindInput(directory / "topology.txt", "/elsewhere/conf"), directory / "topology.txt");
}
