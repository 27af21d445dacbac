/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "msccl-program.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <boost/property_tree/xml_parser.hpp>
#include <cctype>
#include <charconv>
#include <fmt/ranges.h>
#include <iterator>
#include <map>
#include <ranges>
#include <sstream>
#include <string_view>

namespace AstraSim
{

namespace
{

using boost::property_tree::ptree;

constexpr int64_t MOST_GPUS = 1024;
constexpr int64_t MOST_CHUNKS = 65536;
constexpr int64_t MOST_CHANNELS = 256;
constexpr std::size_t MOST_STEPS = 4096; ///< of a block; MSCCL has 64
constexpr int64_t MOST_BYTES = int64_t{1} << 60;

/// @return the line of each element, in the order of the text: Boost's parser does not keep them
std::vector<std::size_t>
LinesOfElements(std::string_view text)
{
    std::vector<std::size_t> lines;
    std::size_t line = 1;
    for (std::size_t i = 0; i < text.size(); ++i)
    {
        if (text.substr(i, 4) == "<!--")
        {
            const std::size_t end = std::min(text.find("-->", i), text.size());
            line +=
                static_cast<std::size_t>(std::count(text.begin() + i, text.begin() + end, '\n'));
            i = end;
        }
        else if (text[i] == '<' && i + 1 < text.size() &&
                 std::isalpha(static_cast<unsigned char>(text[i + 1])))
        {
            lines.push_back(line);
        }
        line += i < text.size() && text[i] == '\n' ? 1 : 0;
    }
    return lines;
}

/// An element of the file, with its place for errors.
class Element
{
  public:
    Element(const std::string& file, std::size_t line, std::string name, const ptree& tree)
        : m_file(file),
          m_line(line),
          m_name(std::move(name)),
          m_tree(tree)
    {
    }

    [[noreturn]] void Fail(const std::string& what, const std::string& expected) const
    {
        throw ns3::InputError(m_file, m_line, what, expected);
    }

    bool Has(const char* attribute) const
    {
        return m_tree.get_optional<std::string>(PathOf(attribute)).has_value();
    }

    std::string Text(const char* attribute) const
    {
        const auto value = m_tree.get_optional<std::string>(PathOf(attribute));
        if (!value)
        {
            Fail("<" + m_name + "> has no " + attribute, std::string(attribute) + "=\"...\"");
        }
        return *value;
    }

    int64_t Number(const char* attribute, int64_t least, int64_t most) const
    {
        const std::string text = Text(attribute);
        int64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end != text.data() + text.size() || value < least ||
            value > most)
        {
            Fail(std::string(attribute) + " is '" + text + "'",
                 "a number from " + std::to_string(least) + " to " + std::to_string(most));
        }
        return value;
    }

    /// @return one of some words. @param words by their meaning
    template <typename T>
    T Word(const char* attribute, const std::map<std::string, T>& words) const
    {
        std::string text = Text(attribute);
        std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
        const auto it = words.find(text);
        if (it == words.end())
        {
            Fail(std::string(attribute) + " is '" + text + "'",
                 fmt::format("one of {}", fmt::join(words | std::views::keys, ", ")));
        }
        return it->second;
    }

    std::size_t GetLine() const
    {
        return m_line;
    }

    const ptree& GetTree() const
    {
        return m_tree;
    }

  private:
    static std::string PathOf(const char* attribute)
    {
        return std::string("<xmlattr>.") + attribute;
    }

    const std::string& m_file;
    std::size_t m_line;
    std::string m_name;
    const ptree& m_tree;
};

/// The work of a type of step.
struct Kind
{
    bool receives;
    bool adds;
    bool stores;
    bool sends;
};

const std::map<std::string, Kind> KINDS = {{"s", {false, false, false, true}},
                                           {"r", {true, false, true, false}},
                                           {"rcs", {true, false, true, true}},
                                           {"rrs", {true, true, false, true}},
                                           {"rrc", {true, true, true, false}},
                                           {"rrcs", {true, true, true, true}},
                                           {"cpy", {false, false, true, false}},
                                           {"re", {false, true, true, false}},
                                           {"nop", {false, false, false, false}}};

const std::map<std::string, MscclStep::Buffer> BUFFERS = {{"i", MscclStep::Buffer::Input},
                                                          {"o", MscclStep::Buffer::Output},
                                                          {"s", MscclStep::Buffer::Scratch}};

const std::map<std::string, NcclProtocol> PROTOCOLS = {{"ll", NcclProtocol::Ll},
                                                       {"ll128", NcclProtocol::Ll128},
                                                       {"simple", NcclProtocol::Simple}};

const std::map<std::string, CollectiveOp> OPS = {{"allreduce", CollectiveOp::AllReduce},
                                                 {"allgather", CollectiveOp::AllGather},
                                                 {"reducescatter", CollectiveOp::ReduceScatter},
                                                 {"reduce_scatter", CollectiveOp::ReduceScatter},
                                                 {"alltoall", CollectiveOp::AllToAll}};

/// Reads a file's elements in their order.
class ProgramReader
{
  public:
    ProgramReader(std::istream& text, const std::string& name)
        : m_name(name)
    {
        const std::string content(std::istreambuf_iterator<char>(text), {});
        m_lines = LinesOfElements(content);
        std::istringstream stream(content);
        try
        {
            boost::property_tree::read_xml(stream,
                                           m_tree,
                                           boost::property_tree::xml_parser::trim_whitespace |
                                               boost::property_tree::xml_parser::no_comments);
        }
        catch (const boost::property_tree::xml_parser_error& error)
        {
            throw ns3::InputError(m_name, error.line(), error.message(), "XML of MSCCL");
        }
    }

    MscclProgram Read()
    {
        if (m_tree.size() != 1 || m_tree.front().first != "algo")
        {
            throw ns3::InputError(m_name, 0, "the file has no <algo> alone", "XML of MSCCL");
        }
        const Element algo = Next("algo", m_tree.front().second);
        MscclProgram program;
        program.source = m_name;
        program.protocol = algo.Word("proto", PROTOCOLS);
        program.op = algo.Word("coll", OPS);
        program.chunks = static_cast<uint32_t>(algo.Number("nchunksperloop", 1, MOST_CHUNKS));
        program.minBytes = static_cast<uint64_t>(algo.Number("minBytes", 0, MOST_BYTES));
        const auto most = static_cast<uint64_t>(algo.Number("maxBytes", 0, MOST_BYTES));
        program.maxBytes = most ? most : UINT64_MAX;
        program.inPlace = algo.Number("inplace", 0, 1) == 1 &&
                          !(algo.Has("outofplace") && algo.Number("outofplace", 0, 1) == 1);
        const auto gpus = static_cast<std::size_t>(algo.Number("ngpus", 2, MOST_GPUS));
        ForEach(algo, "gpu", [&](const Element& gpu) { ReadGpu(gpu, program); });
        if (program.gpus.size() != gpus)
        {
            algo.Fail("ngpus is " + std::to_string(gpus) + ", and there are " +
                          std::to_string(program.gpus.size()),
                      "a <gpu> for each");
        }
        return program;
    }

  private:
    Element Next(const char* name, const ptree& tree)
    {
        return {m_name, m_next < m_lines.size() ? m_lines[m_next++] : 0, name, tree};
    }

    template <typename Do>
    void ForEach(const Element& parent, const char* name, Do action)
    {
        for (const auto& [key, tree] : parent.GetTree())
        {
            if (key == "<xmlattr>")
            {
                continue;
            }
            const Element child = Next(name, tree);
            if (key != name)
            {
                child.Fail("<" + key + "> is not known here", std::string("<") + name + ">");
            }
            action(child);
        }
    }

    void ReadGpu(const Element& gpu, MscclProgram& program)
    {
        CheckNumber(gpu, "id", program.gpus.size());
        program.inputChunks = static_cast<uint32_t>(gpu.Number("i_chunks", 0, MOST_CHUNKS));
        program.outputChunks = static_cast<uint32_t>(gpu.Number("o_chunks", 0, MOST_CHUNKS));
        auto& blocks = program.gpus.emplace_back();
        ForEach(gpu, "tb", [&](const Element& tb) {
            CheckNumber(tb, "id", blocks.size());
            MscclBlock block;
            block.line = tb.GetLine();
            block.sendsTo = NumberOrNone(tb, "send", MOST_GPUS);
            block.receivesFrom = NumberOrNone(tb, "recv", MOST_GPUS);
            block.channel = static_cast<uint32_t>(tb.Number("chan", 0, MOST_CHANNELS - 1));
            ForEach(tb, "step", [&](const Element& step) {
                CheckNumber(step, "s", block.steps.size());
                if (block.steps.size() == MOST_STEPS)
                {
                    step.Fail("the thread block has more steps than " + std::to_string(MOST_STEPS),
                              "fewer");
                }
                block.steps.push_back(ReadStep(step));
            });
            blocks.push_back(std::move(block));
        });
    }

    static MscclStep ReadStep(const Element& step)
    {
        const Kind kind = step.Word("type", KINDS);
        MscclStep result;
        result.line = step.GetLine();
        result.receives = kind.receives;
        result.adds = kind.adds;
        result.stores = kind.stores;
        result.sends = kind.sends;
        result.source = {step.Word("srcbuf", BUFFERS), step.Number("srcoff", -1, MOST_CHUNKS)};
        result.destination = {step.Word("dstbuf", BUFFERS), step.Number("dstoff", -1, MOST_CHUNKS)};
        result.chunks = static_cast<uint32_t>(step.Number("cnt", 0, MOST_CHUNKS));
        result.block = NumberOrNone(step, "depid", MOST_CHUNKS);
        result.blockStep = NumberOrNone(step, "deps", MOST_CHUNKS).value_or(0);
        return result;
    }

    static std::optional<uint32_t> NumberOrNone(const Element& element,
                                                const char* attribute,
                                                int64_t most)
    {
        const int64_t value = element.Number(attribute, -1, most);
        return value < 0 ? std::nullopt : std::optional(static_cast<uint32_t>(value));
    }

    /// Refuse elements that are not numbered from 0.
    static void CheckNumber(const Element& element, const char* attribute, std::size_t wanted)
    {
        if (element.Number(attribute, 0, MOST_CHUNKS) != static_cast<int64_t>(wanted))
        {
            element.Fail(std::string(attribute) + " is '" + element.Text(attribute) + "'",
                         std::to_string(wanted));
        }
    }

    const std::string& m_name;
    ptree m_tree;
    std::vector<std::size_t> m_lines; ///< of elements
    std::size_t m_next{0};            ///< the element that comes next
};

} // namespace

MscclProgram
MscclProgram::Read(std::istream& text, const std::string& name)
{
    MscclProgram program = ProgramReader(text, name).Read();
    CheckMscclProgram(program);
    return program;
}

std::optional<uint32_t>
MscclProgram::FindBlock(uint32_t gpu,
                        std::optional<uint32_t> MscclBlock::*end,
                        uint32_t peer,
                        uint32_t channel) const
{
    const auto it = std::ranges::find_if(gpus[gpu], [&](const MscclBlock& block) {
        return block.*end == peer && block.channel == channel;
    });
    return it == gpus[gpu].end() ? std::nullopt
                                 : std::optional(static_cast<uint32_t>(it - gpus[gpu].begin()));
}

std::optional<uint32_t>
MscclProgram::FindReceiver(uint32_t gpu, uint32_t from, uint32_t channel) const
{
    return FindBlock(gpu, &MscclBlock::receivesFrom, from, channel);
}

std::optional<uint32_t>
MscclProgram::FindSender(uint32_t gpu, uint32_t to, uint32_t channel) const
{
    return FindBlock(gpu, &MscclBlock::sendsTo, to, channel);
}

} // namespace AstraSim
