/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/input-error.h"
#include "ns3/rows.h"

#include <gmock/gmock.h>
#include <string>

using namespace ns3;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace
{

enum class Color
{
    Red,
    Green,
};

/// A place for a value of each kind, and the rows that fill it.
struct Values
{
    uint32_t count{2};
    std::optional<uint64_t> bytes;
    double rate{0};
    bool isOn{false};
    int64_t timePs{0};
    Color color{Color::Green};
    std::string file;
    std::vector<uint32_t> list;
    std::string taken;
    Rows rows{
        "f.txt",
        {{"count,number", Whole(count, 1, 8), "how many"},
         {"bytes", Whole(bytes, 4, UINT64_MAX, "bytes"), "a \"size\""},
         {"rate",
          Real(rate, 0.5, 8),
          "per second",
          false,
          [this] { return count > 1 ? "with count above 1" : ""; }},
         {"on", Flag(isOn), "whether it is"},
         {"time", Scaled(timePs, 1000, 1, "nanoseconds above 0"), "it takes"},
         {"color", Word(color, {{"red", Color::Red}, {"green", Color::Green}}), "it has"},
         {"file", Text(file, "a file"), "to read"},
         {"list", Wholes(list, 0, 9), "of digits"},
         {"own",
          {"a b or c", [this](auto text) { return text.size() == 1 && (taken += text, true); }},
          "of its own",
          true}}};

    std::string ErrorOf(const std::string& name, const std::string& text)
    {
        try
        {
            rows.Read(name, text, 7);
        }
        catch (const InputError& error)
        {
            return error.what();
        }
        return "";
    }
};

} // namespace

TEST(Rows, ReadValuesOfEveryKind)
{
    Values values;
    for (const auto& [name, text] : {std::pair{"number", "8"},
                                     {"bytes", "18446744073709551615"},
                                     {"rate", "0.5"},
                                     {"on", "1"},
                                     {"time", "1.5"},
                                     {"color", "red"},
                                     {"file", "a b"},
                                     {"list", "1 0  9"},
                                     {"own", "x"},
                                     {"own", "y"}})
    {
        values.rows.Read(name, text, 1);
    }
    EXPECT_EQ(values.count, 8);
    EXPECT_EQ(values.bytes, UINT64_MAX);
    EXPECT_EQ(values.rate, 0.5);
    EXPECT_TRUE(values.isOn);
    EXPECT_EQ(values.timePs, 1500);
    EXPECT_EQ(values.color, Color::Red);
    EXPECT_EQ(values.file, "a b");
    EXPECT_THAT(values.list, ElementsAre(1, 0, 9));
    EXPECT_EQ(values.taken, "xy");
    EXPECT_TRUE(values.rows.IsGiven("count"));
}

TEST(Rows, RefuseIllegalValuesWithTheLegalOnes)
{
    const struct
    {
        const char* name;
        std::vector<const char*> illegal;
        const char* expected;
    } cases[] = {
        {"count", {"", "0", "9", "-1", "1.0", "1 2", "0x1", "1e0"}, "a whole number from 1 to 8"},
        {"bytes", {"3", "18446744073709551616"}, "bytes, 4 or more"},
        {"rate", {"", "0.49", "8.1", "nan", "inf", "1s"}, "a number from 0.5 to 8"},
        {"on", {"", "2", "true", "yes"}, "0 or 1"},
        {"time", {"", "0", "-1", "1ns", "1e300"}, "nanoseconds above 0"},
        {"color", {"", "blue", "red green"}, "red or green"},
        {"color", {"Red"}, "red or green; the nearest is red"},
        {"file", {""}, "a file"},
        {"list", {"", "10", "1,2", "1 x"}, "whole numbers from 0 to 9"},
        {"own", {"", "xx"}, "a b or c"},
    };

    for (const auto& [name, illegal, expected] : cases)
    {
        for (const char* text : illegal)
        {
            EXPECT_EQ(Values().ErrorOf(name, text),
                      std::string("f.txt:7: ") + name + " is '" + text + "'; expected " + expected);
        }
    }
    EXPECT_EQ(Values().ErrorOf("own", std::string(100, 'x')).find(std::string(81, 'x')),
              std::string::npos)
        << "long values are cut";
}

TEST(Rows, RefuseUnknownKeysAndThoseGivenTwiceByAnyName)
{
    Values values;
    EXPECT_EQ(values.ErrorOf("conut", "1"),
              "f.txt:7: unknown key 'conut'; expected count, number, bytes, rate, on, time, color, "
              "file, list or own; the nearest is count");
    EXPECT_EQ(values.ErrorOf("number", "1"), "");
    EXPECT_EQ(values.ErrorOf("count", "1"),
              "f.txt:7: the key 'count' occurs twice; expected each key once");
    std::vector<Row> many;
    std::string text;
    for (char name = 'a'; name <= 'z'; ++name)
    {
        many.push_back({std::string(8, name), Text(text, "text"), ""});
    }
    Rows rows("many", std::move(many));
    try
    {
        rows.Read("bbbbbbab", "x", 0);
        FAIL();
    }
    catch (const InputError& error)
    {
        EXPECT_STREQ(error.what(),
                     "many: unknown key 'bbbbbbab'; expected a known key; the nearest is bbbbbbbb");
    }
}

TEST(Rows, FindGivenKeysThatChangeNothing)
{
    Values values;
    EXPECT_TRUE(values.rows.FindIdle().empty()) << "nothing is given";
    values.rows.Read("rate", "1", 3);
    ASSERT_EQ(values.rows.FindIdle().size(), 1);
    EXPECT_EQ(values.rows.FindIdle()[0].what, "rate has no effect with count above 1");
    EXPECT_EQ(values.rows.FindIdle()[0].line, 3);
    EXPECT_THROW(values.rows.RefuseIdle(), InputError);
    values.rows.Read("count", "1", 4);
    EXPECT_TRUE(values.rows.FindIdle().empty());
}

TEST(Rows, DescribeThemselvesWithDefaultsThatAreLegal)
{
    const std::string csv = Values().rows.ToCsv();
    EXPECT_THAT(csv,
                HasSubstr("\"``count``, ``number``\",a whole number from 1 to 8,``2``,how many\n"));
    EXPECT_THAT(csv, HasSubstr("``bytes``,\"bytes, 4 or more\",,\"a \"\"size\"\"\"\n"));
    EXPECT_THAT(csv, HasSubstr("``rate``,a number from 0.5 to 8,,per second\n")) << "0 is illegal";
    EXPECT_THAT(csv, HasSubstr("``on``,0 or 1,``0``,whether it is\n"));
    EXPECT_THAT(csv, HasSubstr("``color``,red or green,``green``,it has\n"));
}
