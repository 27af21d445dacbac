/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// Hot: touches every byte of a payload.
#include "cclo-plugins.h"

#include "cclo-half.h"

#include "ns3/assert.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace ns3
{

namespace
{

template <typename Element>
Element
Load(const uint8_t* from)
{
    Element element;
    std::memcpy(&element, from, sizeof(Element));
    return element;
}

template <typename Element>
void
Store(uint8_t* to, Element element)
{
    std::memcpy(to, &element, sizeof(Element));
}

template <typename Element, typename Operation>
void
ForEach(std::span<uint8_t> a, std::span<const uint8_t> b, Operation operation)
{
    for (std::size_t at = 0; at + sizeof(Element) <= a.size(); at += sizeof(Element))
    {
        Store(&a[at], operation(Load<Element>(&a[at]), Load<Element>(&b[at])));
    }
}

template <typename Element>
void
Apply(bool maximum, std::span<uint8_t> a, std::span<const uint8_t> b)
{
    if (maximum)
    {
        ForEach<Element>(a, b, [](Element x, Element y) { return std::max(x, y); });
        return;
    }
    ForEach<Element>(a, b, [](Element x, Element y) {
        if constexpr (std::is_integral_v<Element>)
        {
            using Unsigned = std::make_unsigned_t<Element>;
            return static_cast<Element>(static_cast<Unsigned>(x) + static_cast<Unsigned>(y));
        }
        else
        {
            return x + y;
        }
    });
}

void
ApplyHalf(bool maximum, std::span<uint8_t> a, std::span<const uint8_t> b)
{
    ForEach<uint16_t>(a, b, [maximum](uint16_t x, uint16_t y) {
        const float u = CcloHalfToFloat(x);
        const float v = CcloHalfToFloat(y);
        return maximum ? (u < v ? y : x) : CcloFloatToHalf(u + v);
    });
}

} // namespace

void
CcloArithmetic::Combine(uint32_t function, std::span<uint8_t> a, std::span<const uint8_t> b)
{
    NS_ASSERT(function < FUNCTIONS && a.size() == b.size());
    const bool maximum = function >= 5;
    switch (function % 5)
    {
    case 0:
        return Apply<float>(maximum, a, b);
    case 1:
        return Apply<double>(maximum, a, b);
    case 2:
        return Apply<int32_t>(maximum, a, b);
    case 3:
        return Apply<int64_t>(maximum, a, b);
    default:
        return ApplyHalf(maximum, a, b);
    }
}

CcloBytes
CcloCompressionLane::Convert(uint32_t function, std::span<const uint8_t> in)
{
    CcloBytes out;
    if (function == FLOAT32_TO_FLOAT16)
    {
        out.resize(in.size() / 2);
        for (std::size_t i = 0; i < out.size(); i += 2)
        {
            Store(&out[i], CcloFloatToHalf(Load<float>(&in[2 * i])));
        }
        return out;
    }
    out.resize(in.size() * 2);
    for (std::size_t i = 0; i < in.size(); i += 2)
    {
        Store(&out[2 * i], CcloHalfToFloat(Load<uint16_t>(&in[i])));
    }
    return out;
}

} // namespace ns3
