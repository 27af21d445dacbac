/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "whole-expression.h"

#include <algorithm>
#include <cctype>

namespace AstraSim
{

namespace
{

/// One function for each level of precedence, from sums down to operands.
class WholeExpression
{
  public:
    using Names = std::map<std::string, int64_t>;

    WholeExpression(std::string_view text, const Names& names)
        : m_left(text),
          m_names(names)
    {
    }

    /// @return the value, or nothing for an illegal expression
    std::optional<int64_t> Compute()
    {
        const int64_t value = Sum();
        return m_legal && Next() == '\0' ? std::optional(value) : std::nullopt;
    }

  private:
    /// @return the next character that is no blank; 0 at the end
    char Next()
    {
        m_left.remove_prefix(std::min(m_left.find_first_not_of(' '), m_left.size()));
        return m_left.empty() ? '\0' : m_left.front();
    }

    bool Take(char character)
    {
        const bool found = Next() == character;
        m_left.remove_prefix(found ? 1 : 0);
        return found;
    }

    void Require(char character)
    {
        m_legal = Take(character) && m_legal;
    }

    int64_t Sum()
    {
        int64_t value = Product();
        for (char sign = Next(); sign == '+' || sign == '-'; sign = Next())
        {
            Take(sign);
            value += sign == '+' ? Product() : -Product();
        }
        return value;
    }

    int64_t Product()
    {
        int64_t value = Operand();
        for (char sign = Next(); sign == '*' || sign == '/' || sign == '%'; sign = Next())
        {
            Take(sign);
            const int64_t other = Operand();
            value = sign == '*' ? value * other : Divide(value, other, sign == '%');
        }
        return value;
    }

    int64_t Divide(int64_t value, int64_t by, bool remainder)
    {
        m_legal = m_legal && by > 0;
        if (!m_legal)
        {
            return 0;
        }
        const int64_t left = ((value % by) + by) % by;
        return remainder ? left : (value - left) / by;
    }

    int64_t Operand()
    {
        if (Take('('))
        {
            const int64_t value = Sum();
            Require(')');
            return value;
        }
        const auto isPart = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
        Next();
        const auto end = std::ranges::find_if_not(m_left, isPart);
        const std::string word(m_left.begin(), end);
        m_left.remove_prefix(word.size());
        if (word == "min" || word == "max")
        {
            return Extreme(word == "min");
        }
        if (!word.empty() && word.size() < 10 &&
            std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c); }))
        {
            return std::stoll(word);
        }
        const auto found = m_names.find(word);
        m_legal = m_legal && found != m_names.end();
        return m_legal ? found->second : 0;
    }

    int64_t Extreme(bool least)
    {
        Require('(');
        const int64_t first = Sum();
        Require(',');
        const int64_t second = Sum();
        Require(')');
        return least ? std::min(first, second) : std::max(first, second);
    }

    std::string_view m_left;
    const Names& m_names;
    bool m_legal{true};
};

} // namespace

std::optional<int64_t>
ComputeWhole(std::string_view text, const std::map<std::string, int64_t>& names)
{
    return WholeExpression(text, names).Compute();
}

} // namespace AstraSim
