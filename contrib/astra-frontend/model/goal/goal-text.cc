/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "goal-text.h"

#include "ns3/input-lines.h"
#include "ns3/units.h"

#include <cctype>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <unordered_map>

namespace AstraSim
{

namespace
{

constexpr std::string_view NUM_RANKS = "num_ranks";
constexpr std::string_view COMMENT = "//";
constexpr std::string_view OPEN_COMMENT = "/*";
constexpr std::string_view CLOSE_COMMENT = "*/";
constexpr const char* STATEMENTS =
    "rank N {, send 8b to 1 tag 0, recv 8b from 1 tag 0, calc 100, a requires b, or }";

bool
IsWordCharacter(char c)
{
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

/// Divides lines into words, numbers and signs, without comments.
class GoalWords
{
  public:
    explicit GoalWords(const std::string& path)
        : m_lines(path)
    {
    }

    /// Go to the next line that has words. @return false at the end of the file
    bool Next()
    {
        while (m_lines.Next())
        {
            Divide(m_lines.RestFrom(0));
            m_at = 0;
            if (!m_words.empty())
            {
                return true;
            }
        }
        m_words.clear();
        return false;
    }

    /// @return the next word, without taking it; empty at the end of the line
    std::string_view Peek() const
    {
        return m_at < m_words.size() ? m_words[m_at] : std::string_view{};
    }

    /// Take the next word if it is that one.
    bool TakeIf(std::string_view word)
    {
        const bool isThere = Peek() == word;
        m_at += isThere ? 1 : 0;
        return isThere;
    }

    void Expect(std::string_view word, std::string_view where)
    {
        if (!TakeIf(word))
        {
            m_lines.Fail(fmt::format("'{}' is not '{}'", Peek(), word),
                         fmt::format("'{}' {}", word, where));
        }
    }

    std::string_view TakeName(std::string_view of)
    {
        const std::string_view word = Peek();
        if (word.empty() || !std::isalpha(static_cast<unsigned char>(word[0])))
        {
            m_lines.Fail(fmt::format("'{}' is not a valid {}", word, of),
                         "a name that begins with a letter");
        }
        ++m_at;
        return word;
    }

    /// @param most the largest number @param any whether -1 is allowed, which gives @p most
    uint64_t TakeNumber(std::string_view of,
                        uint64_t most = std::numeric_limits<uint32_t>::max(),
                        bool any = false)
    {
        if (any && TakeIf("-1"))
        {
            return most;
        }
        const auto number = ns3::ParseUnsigned(Peek());
        if (!number || *number > most)
        {
            m_lines.Fail(fmt::format("'{}' is not a valid {}", Peek(), of),
                         fmt::format("a whole number up to {}", most));
        }
        ++m_at;
        return *number;
    }

    /// @return whether the line has no more words
    bool IsAtEnd() const
    {
        return m_at == m_words.size();
    }

    const ns3::InputLines& Lines() const
    {
        return m_lines;
    }

  private:
    void Divide(std::string_view text)
    {
        m_words.clear();
        while (!text.empty())
        {
            const std::size_t length = m_inComment ? CommentLength(text) : PieceLength(text);
            text.remove_prefix(length);
        }
    }

    /// @return the characters up to the comment's end
    std::size_t CommentLength(std::string_view text)
    {
        const std::size_t end = text.find(CLOSE_COMMENT);
        m_inComment = end == std::string_view::npos;
        return m_inComment ? text.size() : end + CLOSE_COMMENT.size();
    }

    /// Keep the word at the start of a text. @return its characters; blanks are one by one
    std::size_t PieceLength(std::string_view text)
    {
        if (text.starts_with(COMMENT))
        {
            return text.size();
        }
        if (text.starts_with(OPEN_COMMENT))
        {
            m_inComment = true;
            return OPEN_COMMENT.size();
        }
        if (std::isspace(static_cast<unsigned char>(text[0])))
        {
            return 1;
        }
        std::size_t length = 1;
        const auto is = [&text](int (*kind)(int), std::size_t i) {
            return i < text.size() && kind(static_cast<unsigned char>(text[i])) != 0;
        };
        if (is(std::isdigit, 0) || (text[0] == '-' && is(std::isdigit, 1)))
        {
            while (is(std::isdigit, length)) // 8b is 8 and b
            {
                ++length;
            }
        }
        else if (IsWordCharacter(text[0]))
        {
            while (length < text.size() && IsWordCharacter(text[length]))
            {
                ++length;
            }
        }
        m_words.push_back(text.substr(0, length));
        return length;
    }

    ns3::InputLines m_lines;
    bool m_inComment{false};
    std::vector<std::string_view> m_words;
    std::size_t m_at{0};
};

/// Reads one file, statement by statement.
class GoalTextReader
{
  public:
    explicit GoalTextReader(const std::string& path)
        : m_words(path)
    {
    }

    std::vector<GoalProgram> Read()
    {
        while (m_words.Next())
        {
            while (!m_words.IsAtEnd())
            {
                ReadStatement();
            }
        }
        if (m_rank)
        {
            Fail("the file ends within rank " + std::to_string(*m_rank), "}");
        }
        for (std::size_t rank = 0; rank < m_hasProgram.size(); ++rank)
        {
            if (!m_hasProgram[rank])
            {
                Fail(fmt::format("rank {} of {} has no schedule", rank, m_hasProgram.size()),
                     "rank N { } for every rank");
            }
        }
        return std::move(m_programs);
    }

  private:
    void ReadStatement()
    {
        if (m_rank)
        {
            ReadOfRank();
        }
        else if (m_words.TakeIf(NUM_RANKS))
        {
            ReadRankCount();
        }
        else
        {
            BeginRank();
        }
    }

    void ReadRankCount()
    {
        constexpr uint64_t MOST_RANKS = 1 << 24;
        if (!m_programs.empty())
        {
            Fail("num_ranks comes again", "it once, above all ranks");
        }
        const uint64_t count = m_words.TakeNumber("number of ranks", MOST_RANKS);
        if (count == 0)
        {
            Fail("num_ranks is 0", "1 or more");
        }
        m_programs.resize(count);
        m_hasProgram.resize(count);
    }

    void BeginRank()
    {
        m_words.Expect("rank", "and its number outside of { }");
        const uint64_t rank = m_words.TakeNumber("rank");
        if (rank >= m_programs.size())
        {
            Fail(fmt::format("there is no rank {}", rank),
                 fmt::format("a number below the {} of num_ranks", m_programs.size()));
        }
        if (m_hasProgram[rank])
        {
            Fail(fmt::format("rank {} comes again", rank), "each rank once");
        }
        m_words.Expect("{", "behind the rank's number");
        m_hasProgram[rank] = true;
        m_rank = rank;
        m_labels.clear();
    }

    void ReadOfRank()
    {
        if (m_words.TakeIf("}"))
        {
            m_rank.reset();
            return;
        }
        const std::string_view word = m_words.Peek();
        if (word == "send" || word == "recv" || word == "calc")
        {
            ReadOperation();
            return;
        }
        const std::string label(m_words.TakeName("statement or label"));
        if (m_words.TakeIf(":"))
        {
            if (!m_labels.try_emplace(label, ReadOperation()).second)
            {
                Fail("the label '" + label + "' comes again", "each label once in a rank");
            }
            return;
        }
        const bool onStart = m_words.TakeIf("irequires");
        if (!onStart && !m_words.TakeIf("requires"))
        {
            Fail(fmt::format("'{}' begins no statement", label), STATEMENTS);
        }
        const uint32_t after = OperationOf(label);
        const uint32_t before = OperationOf(std::string(m_words.TakeName("label")));
        m_programs[*m_rank].Add(GoalDependency{before, after, onStart});
    }

    uint32_t OperationOf(const std::string& label) const
    {
        const auto found = m_labels.find(label);
        if (found == m_labels.end())
        {
            Fail("there is no operation '" + label + "' above this line",
                 "the label of an operation of this rank");
        }
        return found->second;
    }

    /// @return the number of the operation
    uint32_t ReadOperation()
    {
        GoalOperation operation{};
        operation.line = m_words.Lines().Line();
        if (m_words.TakeIf("calc"))
        {
            operation.type = GoalOperation::Type::Calculate;
            operation.size = m_words.TakeNumber("time in ns", MOST);
        }
        else
        {
            ReadMessage(operation);
        }
        while (ReadOption(operation))
        {
        }
        return m_programs[*m_rank].Add(operation);
    }

    void ReadMessage(GoalOperation& operation)
    {
        const bool isSend = m_words.TakeIf("send");
        if (!isSend && !m_words.TakeIf("recv"))
        {
            Fail(fmt::format("'{}' is no operation", m_words.Peek()), "send, recv or calc");
        }
        operation.type = isSend ? GoalOperation::Type::Send : GoalOperation::Type::Receive;
        operation.size = m_words.TakeNumber("size", MOST);
        m_words.Expect("b", "behind the number of bytes");
        m_words.Expect(isSend ? "to" : "from", "and a rank");
        operation.peer = static_cast<uint32_t>(m_words.TakeNumber("rank", UINT32_MAX, !isSend));
    }

    /// @return whether there was one
    bool ReadOption(GoalOperation& operation)
    {
        const bool isMessage = operation.type != GoalOperation::Type::Calculate;
        if (isMessage && m_words.TakeIf("tag"))
        {
            operation.tag = static_cast<uint32_t>(m_words.TakeNumber("tag", UINT32_MAX, true));
            return true;
        }
        if (m_words.TakeIf("cpu"))
        {
            operation.stream = static_cast<uint32_t>(m_words.TakeNumber("cpu"));
            return true;
        }
        if (isMessage && m_words.TakeIf("nic"))
        {
            m_words.TakeNumber("nic");
            return true;
        }
        return false;
    }

    [[noreturn]] void Fail(const std::string& what, const std::string& expected) const
    {
        m_words.Lines().Fail(what, expected);
    }

    static constexpr uint64_t MOST = std::numeric_limits<int64_t>::max();

    GoalWords m_words;
    std::vector<GoalProgram> m_programs;
    std::vector<bool> m_hasProgram;
    std::optional<uint64_t> m_rank;                     ///< whose statements come
    std::unordered_map<std::string, uint32_t> m_labels; ///< of m_rank
};

} // namespace

bool
IsGoalText(std::string_view begin)
{
    while (!begin.empty())
    {
        const bool isLine = begin.starts_with(COMMENT) || begin.starts_with('#');
        if (isLine || begin.starts_with(OPEN_COMMENT))
        {
            const std::size_t end = begin.find(isLine ? "\n" : CLOSE_COMMENT);
            begin.remove_prefix(end == std::string_view::npos ? begin.size() : end + 1);
            continue;
        }
        if (!std::isspace(static_cast<unsigned char>(begin[0])) && begin[0] != '/')
        {
            return begin.starts_with(NUM_RANKS);
        }
        begin.remove_prefix(1);
    }
    return false;
}

std::vector<GoalProgram>
ReadGoalText(const std::string& path)
{
    return GoalTextReader(path).Read();
}

} // namespace AstraSim
