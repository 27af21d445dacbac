/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "base/input-path.h"
#include "flow-run.h"
#include "rdma-qbb/fabric/fabric-identity.h"

#include "ns3/csv-cell.h"
#include "ns3/fct-writer.h"
#include "ns3/input-error.h"
#include "ns3/output-directory.h"
#include "ns3/output-file.h"
#include "ns3/text-line.h"

#include <cinttypes>
#include <cmath>
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
        file.Finish();
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
    for (uint64_t value = 1; value < 20'000; value += 7)
    {
        values.insert(values.end(), {value, value * 5'003, value * 900'000'000'001});
    }
    for (const uint64_t value : values)
    {
        char expected[64];
        std::snprintf(expected,
                      sizeof expected,
                      "%08x %" PRIu64 "\n",
                      static_cast<uint32_t>(value),
                      value);
        char text[TextLine::ROOM];
        TextLine line(text);
        line.Hex8(static_cast<uint32_t>(value)).Space().Decimal(value).End();
        EXPECT_EQ(line.View(), expected);
    }
}

TEST(TextLine, WritesDecimalsAsPrintfDoesAlsoBesideTheMiddleOfTwoNumbers)
{
    std::vector<double> values{0, 1, 0.1, 99.999999499, 99.9999995, 99.9999999, 1e6, 1.1e6, 1e12};
    for (const uint64_t whole : {0U, 1U, 7U, 100U, 12'345U, 999'999U})
    {
        // Thousandths of a millionth, as rates in bit/s are of Gb/s: 500 of them are the middle.
        for (uint32_t thousandths = 0; thousandths < 3'000; ++thousandths)
        {
            values.push_back(static_cast<double>(whole * 1'000'000'000 + thousandths) / 1e9);
        }
        for (const double middle :
             {0.0000005, 0.1234565, 0.5, 0.015625, 0.9999995, 0.0625, 0.0005, 0.9995})
        {
            const double value = static_cast<double>(whole) + middle;
            values.insert(values.end(),
                          {value, std::nextafter(value, 0), std::nextafter(value, 1e9)});
        }
    }
    for (const double value : values)
    {
        char expected[64];
        char text[TextLine::ROOM];
        std::snprintf(expected, sizeof expected, "%.6f", value);
        EXPECT_EQ(TextLine(text).Fixed<6>(value).View(), expected);
        std::snprintf(expected, sizeof expected, "%.3f", value);
        EXPECT_EQ(TextLine(text).Fixed<3>(value).View(), expected);
    }
}

TEST(TextLine, JoinsNumbersAndText)
{
    char text[TextLine::ROOM];
    TextLine line(text);
    line.Text("n:").Decimal(12).Comma().Fixed<6>(2.5).Text('(').Decimal(0).Text(')').End();
    EXPECT_EQ(line.View(), "n:12, 2.500000(0)\n");
}

TEST(OutputFile, TakesWholeLinesBetweenFormattedOnes)
{
    ScratchDirectory directory;
    {
        OutputFile file(directory / "a.txt");
        file.Write("1 one\n");
        file.Print("%d %s\n", 2, "two");
        file.Write("3 three\n");
        TextLine line(file.Room());
        line.Decimal(4).Space().Text("four").End();
        file.Take(line);
        EXPECT_EQ(file.Lines(), 4u);
        file.Finish();
    }
    EXPECT_THAT(directory.LinesOf("a.txt"), ElementsAre("1 one", "2 two", "3 three", "4 four"));
}

TEST(OutputFile, LinesAreInTheFileBeforeItsEndAndWhole)
{
    ScratchDirectory directory;
    OutputFile file(directory / "a.txt");
    const std::string line = std::string(999, 'x') + "\n";
    for (int i = 0; i < 100; ++i)
    {
        file.Write(line);
    }
    // A piece of 64 KiB has gathered: the file has all whole lines that fit it.
    EXPECT_EQ(std::filesystem::file_size(directory / "a.txt.part"), 65U * 1000);
    file.Flush();
    EXPECT_EQ(std::filesystem::file_size(directory / "a.txt.part"), 100U * 1000);
}

TEST(OutputFile, HasItsNameOnlyWhenItIsWhole)
{
    ScratchDirectory directory;
    std::ofstream(directory / "a.txt") << "of an earlier run\n";
    {
        OutputFile file(directory / "a.txt");
        file.Write("a line\n");
    }
    EXPECT_THAT(directory.LinesOf("a.txt"), ElementsAre("of an earlier run"));
    EXPECT_THAT(directory.LinesOf("a.txt.part"), ElementsAre("a line"));
    OutputFile file(directory / "a.txt");
    file.Write("another\n");
    file.Finish();
    EXPECT_THAT(directory.LinesOf("a.txt"), ElementsAre("another"));
    EXPECT_FALSE(std::filesystem::exists(directory / "a.txt.part"));
}

TEST(OutputFile, CannotBeWrittenTwiceAtOnce)
{
    ScratchDirectory directory;
    OutputFile first(directory / "a.txt");
    try
    {
        OutputFile second(directory / "a.txt");
        ADD_FAILURE() << "opened twice";
    }
    catch (const InputError& error)
    {
        EXPECT_THAT(error.what(),
                    HasSubstr("a.txt: is being written by another program; expected"));
    }
    first.Finish();
    OutputFile(directory / "a.txt").Finish();
}

TEST(OutputFile, IsNoDirectory)
{
    ScratchDirectory directory;
    EXPECT_THROW(OutputFile(directory.Path()), InputError);
}

TEST(OutputDirectory, BelongsToOneRunAtATime)
{
    ScratchDirectory directory;
    {
        const OutputDirectory first(directory.Path());
        EXPECT_THROW(OutputDirectory(directory.Path()), InputError);
    }
    const OutputDirectory afterwards(directory.Path());
    EXPECT_NO_THROW(OutputDirectory(directory.Path(), "prefix-")) << "files of its own";
}

TEST(OutputDirectory, RemovesWhatRunsLeaveAndNothingElse)
{
    ScratchDirectory directory;
    for (const char* name : {"fct.txt",
                             "EndToEnd.12.csv",
                             "node-3-port-0.pcap",
                             "ncclFlowModel__dimension_utilization_0.3.csv",
                             "ncclFlowModel_EndToEnd.csv",
                             "my_fct.txt",
                             "pauses.csv.part",
                             "notes.txt",
                             "film.part",
                             "node-3-port-.pcap",
                             "EndToEnd.12.csv.gz",
                             "EndToEnd.old.csv"})
    {
        std::ofstream(directory / name) << "";
    }
    const OutputDirectory output(directory.Path());
    OutputFile open(output.Path("links.csv"));
    output.RemoveParts({});
    output.RemoveEarlierResults({"elsewhere/my_fct.txt"});
    std::vector<std::string> left;
    for (const auto& entry : std::filesystem::directory_iterator(directory.Path()))
    {
        left.push_back(entry.path().filename());
    }
    EXPECT_THAT(left,
                testing::UnorderedElementsAre("notes.txt",
                                              "film.part",
                                              "node-3-port-.pcap",
                                              "EndToEnd.12.csv.gz",
                                              "EndToEnd.old.csv",
                                              "links.csv.part"));
}

TEST(CsvCell, QuotesWhatWouldEndACellAndDisarmsFormulas)
{
    EXPECT_EQ(CsvCell("attention_layer-3"), "attention_layer-3");
    EXPECT_EQ(CsvCell("a,b"), "\"a,b\"");
    EXPECT_EQ(CsvCell("say \"a\""), "\"say \"\"a\"\"\"");
    EXPECT_EQ(CsvCell("=1+1"), "'=1+1");
    EXPECT_EQ(CsvCell("-1,2"), "\"'-1,2\"");
    EXPECT_EQ(CsvCell("@x"), "'@x");
    EXPECT_EQ(CsvCell("two\nlines"), "two lines");
}

TEST(OutputFile, KeepsTheOrderOfThousandsOfNumbers)
{
    ScratchDirectory directory;
    {
        OutputFile file(directory / "a.txt");
        for (uint64_t i = 0; i < 50'000; ++i)
        {
            TextLine line(file.Room());
            line.Decimal(i).End();
            file.Take(line);
        }
        file.Finish();
    }
    const std::vector<std::string> lines = directory.LinesOf("a.txt");
    ASSERT_EQ(lines.size(), 50'000U);
    for (uint64_t i = 0; i < lines.size(); ++i)
    {
        ASSERT_EQ(lines[i], std::to_string(i));
    }
}

TEST(OutputFile, TakesLinesLongerThanItsPieces)
{
    ScratchDirectory directory;
    const std::string line(100'000, 'x');
    {
        OutputFile file(directory / "a.txt");
        file.Write("short\n");
        file.Write(line + "\n");
        file.Print("%s\n", line.c_str());
        file.Print("%s\n", line.substr(0, 600).c_str());
        EXPECT_EQ(file.Lines(), 4U);
        file.Finish();
    }
    EXPECT_THAT(directory.LinesOf("a.txt"), ElementsAre("short", line, line, line.substr(0, 600)));
}

TEST(OutputFile, AFullDiskIsAnErrorThatNamesTheFile)
{
    if (!std::filesystem::exists("/dev/full"))
    {
        GTEST_SKIP() << "no /dev/full here";
    }
    const auto expectFull = [](const auto& write) {
        try
        {
            OutputFile file("/dev/full");
            write(file);
            ADD_FAILURE() << "written to a full disk";
        }
        catch (const InputError& error)
        {
            EXPECT_THAT(error.what(),
                        testing::StartsWith("/dev/full: cannot be written: No space"));
        }
    };
    expectFull([](OutputFile& file) {
        file.Write("a line\n");
        file.Flush();
    });
    expectFull([](OutputFile& file) {
        for (int i = 0; i < 1000; ++i)
        {
            file.Print("%0100d\n", i); // the run goes on: no flush
        }
    });
    expectFull([](OutputFile& file) { file.Write(std::string(100'000, 'x') + "\n"); });
}

TEST(FctWriter, WritesWhatPrintfWouldHoweverMessagesRepeat)
{
    ScratchDirectory directory;
    std::istringstream text(Star(300));
    const ClusterTopology topology = ClusterTopology::Read(text, "topology");
    std::vector<std::string> expected;
    {
        FctWriter writer(topology, directory / "fct.txt");
        uint64_t number = 1;
        for (int i = 0; i < 3'000; ++i)
        {
            // Sizes, ideals and ports in all combinations, more than are remembered.
            number = number * 6364136223846793005U + 1442695040888963407U;
            FctRecord record{};
            record.src = number >> 33 & 255;
            record.dst = 299;
            record.sport = static_cast<uint16_t>(number >> 17);
            record.dport = std::array<uint16_t, 3>{0, 100, 65535}[number >> 40 & 1U ? 2 : i % 2];
            record.bytes = i % 50 ? (number >> 20 & 7) * 34'953 : UINT64_MAX - (number >> 60);
            record.startPs = static_cast<int64_t>(number >> (i % 60 + 2));
            record.fctPs = i;
            record.idealPs = i % 70 ? (number >> 50 & 7) * 499 : INT64_MAX - 1'000;
            writer.Write(record);
            char line[256];
            std::snprintf(line,
                          sizeof line,
                          "%08x %08x %u %u %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64,
                          HostAddress(topology, record.src),
                          HostAddress(topology, record.dst),
                          record.sport,
                          record.dport,
                          record.bytes,
                          (record.startPs + 500) / 1000,
                          (record.fctPs + 500) / 1000,
                          (record.idealPs + 500) / 1000);
            expected.emplace_back(line);
        }
        writer.Finish();
    }
    EXPECT_EQ(directory.LinesOf("fct.txt"), expected);
}

TEST(ResolveOutputPath, RelativePathsStayInsideTheOutputDirectory)
{
    ScratchDirectory directory;
    std::vector<std::string> moved;
    const std::string out = directory.Path();
    EXPECT_EQ(ResolveOutputPath("K", "fct.txt", out, moved), out + "/fct.txt");
    EXPECT_EQ(ResolveOutputPath("K", "mix/fct.txt", out, moved), out + "/mix/fct.txt");
    EXPECT_TRUE(std::filesystem::is_directory(out + "/mix"));
    EXPECT_THAT(moved, IsEmpty());
    EXPECT_EQ(ResolveOutputPath("K", "../../scratch/fct.txt", out, moved), out + "/fct.txt");
    EXPECT_THAT(moved, ElementsAre("K ../../scratch/fct.txt"));
}

TEST(ResolveOutputPath, AbsolutePathsBecomeTheirBaseNameInTheOutputDirectory)
{
    ScratchDirectory elsewhere;
    std::filesystem::create_directory(elsewhere / "out");
    std::vector<std::string> moved;
    const std::string out = elsewhere / "out";
    // Its directory could be written, but a second run would overwrite the first one's file.
    const std::string shared = elsewhere / "x_fct.txt";
    EXPECT_EQ(ResolveOutputPath("FCT", shared, out, moved), out + "/x_fct.txt");
    EXPECT_THAT(moved, ElementsAre("FCT " + shared));
    moved.clear();
    EXPECT_EQ(ResolveOutputPath("FCT", "/no/such/place/x_fct.txt", out, moved), out + "/x_fct.txt");
    EXPECT_THAT(moved, ElementsAre("FCT /no/such/place/x_fct.txt"));
    std::ofstream(elsewhere / "file") << "";
    EXPECT_THROW(ResolveOutputPath("K", "fct.txt", elsewhere / "file", moved), InputError);
}

TEST(ResolveOutputPath, AbsolutePathsInsideTheOutputDirectoryStand)
{
    ScratchDirectory directory;
    std::vector<std::string> moved;
    const std::string out = directory.Path();
    EXPECT_EQ(ResolveOutputPath("K", out + "/mix/x.txt", out, moved), out + "/mix/x.txt");
    EXPECT_THAT(moved, IsEmpty());
}

TEST(WarnOfMoved, NamesAllFilesInOneLine)
{
    std::vector<std::string> warnings;
    WarnOfMoved({}, "out", warnings);
    EXPECT_THAT(warnings, IsEmpty());
    WarnOfMoved({"FCT /a/f.txt", "PFC /a/p.txt"}, "out", warnings);
    EXPECT_THAT(warnings,
                ElementsAre("written to out under their base names, as they lead out of the output "
                            "directory: FCT /a/f.txt, PFC /a/p.txt"));
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
