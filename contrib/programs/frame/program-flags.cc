/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "program-flags.h"

#include "ns3/input-error.h"
#include "ns3/nearest-name.h"
#include "ns3/rows.h"
#include "ns3/units.h"

#include <algorithm>
#include <boost/algorithm/string/case_conv.hpp>
#include <boost/algorithm/string/join.hpp>
#include <cctype>
#include <map>
#include <span>
#include <sstream>

namespace AstraSim
{

namespace
{

namespace po = boost::program_options;

/// A flag's name in some programs or simulators, and its name here.
const std::map<std::string, std::string> ALIASES_OF_ALL = {
    {"topo", "network-topo"},
    {"topology", "network-topo"},
    {"conf", "network-conf"},
    {"config", "network-conf"},
};

/// A letter's value may follow it at once, as in -t16 and -w./micro.txt, but -network is not -n
/// with the value etwork.
bool
IsWord(const std::string& written)
{
    return written.size() > 1 && std::isalpha(static_cast<unsigned char>(written[1]));
}

/// @return the value of a flag in --help, if the flag does not say it
std::string
PlaceholderOf(const ns3::RowValue& value)
{
    if (!value.words.empty())
    {
        return "{" + boost::algorithm::join(value.words, ",") + "}";
    }
    return value.kind == ns3::RowValue::Kind::Number ? "N" : "TEXT";
}

/// @return names and value of a flag, as "-t, --thread N"
std::string
NamesOf(const ProgramFlags::Flag& flag)
{
    std::string text = flag.letter ? std::string("-") + flag.letter + ", " : "";
    for (std::string alias : std::span(flag.names).subspan(1))
    {
        std::ranges::replace(alias, '-', '_');
        text += "-" + alias + ", ";
    }
    text += "--" + flag.name;
    return flag.isSwitch ? text
                         : text + (flag.alone.empty() ? " " + flag.placeholder
                                                      : "[=" + flag.placeholder + "]");
}

/// @return the sentence of a flag with its default, unless it has one in words
std::string
SentenceOf(const ProgramFlags::Flag& flag)
{
    const bool hasDefault =
        flag.value.standard.empty() || flag.sentence.find("(default") != std::string::npos;
    return flag.sentence + (hasDefault ? "" : " (default: " + flag.value.standard + ")");
}

/// @return a text in lines of 79 characters, all but the first of which are indented
std::string
Wrap(const std::string& text, std::size_t indent)
{
    constexpr std::size_t WIDTH = 79;
    std::istringstream words(text);
    std::string result;
    std::size_t column = indent;
    for (std::string word; words >> word;)
    {
        const bool isFirst = result.empty();
        const bool fits = column + 1 + word.size() <= WIDTH;
        result += isFirst ? "" : fits ? " " : "\n" + std::string(indent, ' ');
        column = isFirst || !fits ? indent + word.size() : column + 1 + word.size();
        result += word;
    }
    return result;
}

} // namespace

void
RefuseFlag(const std::string& what, const std::string& expected)
{
    throw ns3::InputError("command line", 0, what, expected);
}

ns3::RowValue
Truth(bool& target)
{
    const auto parse = [](std::string_view text) -> std::optional<bool> {
        const std::string word = boost::algorithm::to_lower_copy(std::string(text));
        const bool isTrue = word == "true" || word == "yes" || word == "on" || word == "1";
        const bool isFalse = word == "false" || word == "no" || word == "off" || word == "0";
        return isTrue || isFalse ? std::optional(isTrue) : std::nullopt;
    };
    return ns3::Parsed(target, parse, "true or false");
}

ns3::RowValue
Ignored()
{
    return {"a text", [](std::string_view) { return true; }};
}

ns3::RowValue
Any(std::string& target)
{
    return {"a text",
            [&target](std::string_view text) {
                target = text;
                return true;
            },
            target};
}

ns3::RowValue
Any(std::vector<std::string>& target)
{
    return {"a text", [&target](std::string_view text) {
                target.emplace_back(text);
                return true;
            }};
}

ProgramFlags::Flag&
ProgramFlags::Flag::Alias(std::initializer_list<const char*> others)
{
    names.insert(names.end(), others.begin(), others.end());
    return *this;
}

ProgramFlags::Flag&
ProgramFlags::Flag::Alone(const char* word)
{
    alone = word;
    return *this;
}

ProgramFlags::Flag&
ProgramFlags::Flag::SameAs(const char* other)
{
    sameAs = other;
    return *this;
}

ProgramFlags::Flag&
ProgramFlags::Flag::Needs(const char* other, std::function<bool()> hasEffect)
{
    idle = [other = std::string(other), hasEffect = std::move(hasEffect)] {
        return hasEffect() ? "" : "without " + other;
    };
    return *this;
}

ProgramFlags::Flag&
ProgramFlags::Flag::HasNone(const std::string& reason, std::function<bool()> isAsked)
{
    idle = [reason, isAsked = std::move(isAsked)] { return isAsked() ? ": " + reason : ""; };
    return *this;
}

std::string
ProgramFlags::Flag::Spelt() const
{
    return letter ? std::string("-") + letter : "--" + name;
}

ProgramFlags::ProgramFlags(std::string usage, std::string purpose)
    : m_usage(std::move(usage)),
      m_purpose(std::move(purpose))
{
}

ProgramFlags::Flag&
ProgramFlags::Add(FlagSubject subject, ns3::Row row)
{
    Flag& flag = m_flags.emplace_back(Flag{std::move(row)});
    const std::size_t blank = flag.name.find(' ');
    flag.placeholder =
        blank == std::string::npos ? PlaceholderOf(flag.value) : flag.name.substr(blank + 1);
    flag.name = flag.name.substr(0, blank);
    const std::size_t comma = flag.name.find(',');
    flag.letter = comma == std::string::npos ? '\0' : flag.name.back();
    flag.name = flag.name.substr(0, comma);
    flag.names = {flag.name};
    flag.subject = subject;
    return flag;
}

ProgramFlags::Flag&
ProgramFlags::Add(FlagSubject subject, const char* names, bool& target, const std::string& help)
{
    const auto take = [&target](std::string_view) { return target = true; };
    Flag& flag = Add(subject, {names, {"no value", take}, help});
    flag.isSwitch = true;
    return flag;
}

const ProgramFlags::Flag*
ProgramFlags::Find(const std::string& written) const
{
    const auto dashed = [](std::string name) {
        std::ranges::replace(name, '_', '-');
        return name;
    };
    const auto alias = ALIASES_OF_ALL.find(dashed(written));
    const std::string wanted = dashed(alias == ALIASES_OF_ALL.end() ? written : alias->second);
    const auto flag = std::ranges::find_if(m_flags, [&](const Flag& each) {
        return std::ranges::find(each.names, wanted, dashed) != each.names.end();
    });
    return flag == m_flags.end() ? nullptr : &*flag;
}

po::options_description
ProgramFlags::Describe() const
{
    po::options_description all;
    for (const Flag& flag : m_flags)
    {
        auto* value = flag.isSwitch ? nullptr : po::value<std::string>();
        if (value && !flag.alone.empty())
        {
            value->implicit_value(flag.alone);
        }
        const std::string names = flag.name + (flag.letter ? std::string(",") + flag.letter : "");
        const po::value_semantic* semantic = value;
        all.add_options()(names.c_str(), semantic ? semantic : po::bool_switch());
    }
    return all;
}

/// @return the arguments with every known flag of several letters as --its-name
std::vector<std::string>
ProgramFlags::Normalise(const std::vector<std::string>& arguments) const
{
    std::vector<std::string> result;
    for (const std::string& argument : arguments)
    {
        const auto begin = argument.find_first_not_of('-');
        if (begin == 0 || begin > 2)
        {
            result.push_back(argument);
            continue;
        }
        const auto equals = argument.find('=');
        const std::string written = argument.substr(begin, equals - begin);
        const Flag* flag = Find(written);
        const std::string value = equals == std::string::npos ? "" : argument.substr(equals);
        if (flag)
        {
            result.push_back("--" + flag->name + value);
        }
        else if (begin == 1 && IsWord(written))
        {
            RefuseUnknown(argument);
        }
        else if (written.size() == 1 && !value.empty())
        {
            result.insert(result.end(), {argument.substr(0, equals), value.substr(1)});
        }
        else
        {
            result.push_back(argument);
        }
    }
    return result;
}

std::vector<std::string>
ProgramFlags::Read(const std::vector<std::string>& arguments)
{
    try
    {
        const po::options_description known = Describe();
        const auto style =
            po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
        m_given = po::command_line_parser(Normalise(arguments))
                      .options(known)
                      .style(style)
                      .allow_unregistered()
                      .run()
                      .options;
    }
    catch (const po::error& error)
    {
        RefuseFlag(error.what(), "flags as --help says");
    }
    const auto asked = [](const auto& flag) { return flag.isGiven; };
    for (const bool isQuestion : {true, false})
    {
        for (const po::option& option : m_given)
        {
            const auto flag = std::ranges::find(m_flags, option.string_key, &Flag::name);
            if (flag != m_flags.end() && (flag->subject == FlagSubject::Question) == isQuestion)
            {
                Take(*flag, option.value.empty() ? flag->alone : option.value.front());
            }
        }
        if (std::ranges::any_of(m_flags, asked) && isQuestion)
        {
            break;
        }
    }
    RefuseTwice();
    return po::collect_unrecognized(m_given, po::include_positional);
}

void
ProgramFlags::Take(Flag& flag, const std::string& text)
{
    if (flag.isGiven && !flag.repeats)
    {
        RefuseFlag(flag.Spelt() + " is given twice", "each flag once");
    }
    flag.isGiven = true;
    if (!flag.value.take(text))
    {
        const bool isNumber = ns3::ParseReal(text).has_value();
        RefuseFlag(flag.Spelt() + " is " + (isNumber ? text : "'" + text + "'"),
                   flag.value.expected +
                       (isNumber ? "" : ns3::NearestHint(text, flag.value.words)));
    }
}

void
ProgramFlags::RefuseTwice() const
{
    for (const Flag& flag : m_flags)
    {
        if (!flag.sameAs.empty() && flag.isGiven && IsGiven(flag.sameAs))
        {
            RefuseFlag(Find(flag.sameAs)->Spelt() + " and " + flag.Spelt() + " are the same flag",
                       "one of them");
        }
    }
}

std::vector<std::string>
ProgramFlags::DescribeIdle() const
{
    std::vector<std::string> warnings;
    for (const Flag& flag : m_flags)
    {
        const std::string reason = flag.isGiven && flag.idle ? flag.idle() : "";
        if (!reason.empty())
        {
            const char* joint = reason.starts_with(':') ? "" : " ";
            warnings.push_back("--" + flag.name + " has no effect" + joint + reason);
        }
    }
    return warnings;
}

bool
ProgramFlags::IsGiven(const std::string& name) const
{
    const Flag* flag = Find(name);
    return flag && flag->isGiven;
}

std::vector<std::string>
ProgramFlags::GetModelFlags() const
{
    std::vector<std::string> flags;
    for (const po::option& option : m_given)
    {
        const auto flag = std::ranges::find(m_flags, option.string_key, &Flag::name);
        if (option.unregistered)
        {
            flags.push_back(boost::algorithm::join(option.original_tokens, " "));
        }
        else if (flag == m_flags.end() || flag->subject == FlagSubject::Model)
        {
            const std::string value = boost::algorithm::join(option.value, " ");
            flags.push_back(option.string_key + (value.empty() ? "" : "=" + value));
        }
    }
    return flags;
}

nlohmann::ordered_json
ProgramFlags::GetRecorded() const
{
    auto recorded = nlohmann::ordered_json::object();
    for (const Flag& flag : m_flags)
    {
        if (flag.recorded)
        {
            recorded[flag.recordedAs] = flag.recorded();
        }
    }
    return recorded;
}

std::string
ProgramFlags::Help() const
{
    constexpr std::size_t SENTENCES = 24; ///< the column at which they begin
    std::string text =
        "usage: " + m_usage + "\n\n" + (m_purpose.empty() ? "" : m_purpose + "\n\n") + "flags:\n";
    for (const Flag& flag : m_flags)
    {
        const std::string names = "  " + NamesOf(flag);
        const std::size_t gap = names.size() + 2 <= SENTENCES ? SENTENCES - names.size() : 0;
        text += names + (gap ? std::string(gap, ' ') : "\n" + std::string(SENTENCES, ' ')) +
                Wrap(SentenceOf(flag), SENTENCES) + "\n";
    }
    return text;
}

void
ProgramFlags::RefuseUnknown(const std::string& flag) const
{
    if (!flag.starts_with('-'))
    {
        RefuseFlag("argument '" + flag + "' belongs to no flag", "flags as --help says");
    }
    std::string name = flag.substr(0, flag.find('='));
    name.erase(0, name.find_first_not_of('-'));
    std::vector<std::string> known;
    std::ranges::transform(m_flags, std::back_inserter(known), &Flag::name);
    for (const auto& [alias, target] : ALIASES_OF_ALL)
    {
        if (Find(target))
        {
            known.push_back(alias);
        }
    }
    RefuseFlag("unknown flag '" + flag + "'",
               "a flag of --help" + ns3::NearestHint(name, known, "--"));
}

std::optional<int64_t>
ParseBytes(std::string_view text, std::initializer_list<SizeUnit> units)
{
    int64_t scale = 1;
    for (const auto& [suffix, bytes] : units)
    {
        if (text.ends_with(suffix))
        {
            text.remove_suffix(suffix.size());
            scale = bytes;
            break;
        }
    }
    return ns3::ParseScaled(text, scale);
}

uint64_t
ParseSizeFlag(const std::string& flag, const std::string& text)
{
    const auto bytes = ParseBytes(boost::algorithm::to_upper_copy(text),
                                  {{"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}});
    if (!bytes)
    {
        RefuseFlag(flag + ": \"" + text + "\" is not a valid size",
                   "bytes, or a number with K, M or G");
    }
    return static_cast<uint64_t>(*bytes);
}

} // namespace AstraSim
