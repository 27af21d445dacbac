/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flow-run.h"

#include "ns3/input-error.h"
#include "ns3/input-path.h"
#include "ns3/output-file.h"

#include <gmock/gmock.h>

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
