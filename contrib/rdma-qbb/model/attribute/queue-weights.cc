/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "queue-weights.h"

#include "ns3/units.h"

#include <istream>
#include <ostream>
#include <string>

namespace ns3
{

ATTRIBUTE_HELPER_CPP(QueueWeights);

bool
QueueWeights::Set(uint64_t priority, uint64_t weight)
{
    if (priority == 0 || priority >= weights.size() || weight == 0 || weight > MAX_WEIGHT)
    {
        return false;
    }
    weights[priority] = static_cast<uint32_t>(weight);
    return true;
}

std::ostream&
operator<<(std::ostream& text, const QueueWeights& weights)
{
    const char* separator = "";
    for (std::size_t priority = 1; priority < weights.weights.size(); ++priority)
    {
        if (weights.weights[priority] != 1)
        {
            text << separator << priority << "=" << weights.weights[priority];
            separator = " ";
        }
    }
    return text;
}

std::istream&
operator>>(std::istream& text, QueueWeights& weights)
{
    weights = QueueWeights();
    bool legal = true;
    for (std::string word; text >> word;)
    {
        const std::size_t equals = word.find('=');
        const auto priority = ParseUnsigned(word.substr(0, equals));
        const auto weight =
            equals == std::string::npos ? std::nullopt : ParseUnsigned(word.substr(equals + 1));
        legal = legal && priority && weight && weights.Set(*priority, *weight);
    }
    text.clear(legal ? std::ios::eofbit : std::ios::eofbit | std::ios::failbit);
    return text;
}

} // namespace ns3
