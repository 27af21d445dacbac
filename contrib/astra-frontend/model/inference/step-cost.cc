/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "step-cost.h"

#include "ns3/clock-range.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace AstraSim
{

namespace
{

constexpr double ELEMENT = 2; // bytes of a bfloat16

/// @return bytes of a factor, with its share of a scale: a byte for 16 numbers of NVFP4
double
BytesOf(FactorType type)
{
    switch (type)
    {
    case FactorType::Bfloat16:
        return ELEMENT;
    case FactorType::Fp8:
        return 1;
    case FactorType::Nvfp4:
        return 1.0 / 2 + 1.0 / 16;
    }
    return 0;
}

/// Outputs of a product that one block of threads computes (NVIDIA, Matrix Multiplication
/// Background User's Guide), as in python/clustersim/workload/kernels/roofline.py.
constexpr std::array<std::array<double, 2>, 6> TILES = {
    {{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128}, {64, 64}}};

} // namespace

void
StepShape::Add(uint64_t before, uint64_t count, bool isDecoding, bool isSampled, uint64_t drafts)
{
    tokens += count;
    sampled += isSampled ? 1 + drafts : 0;
    if (isDecoding)
    {
        ++decodingSequences;
        decodingTokens += count;
        decodeCached += before + count;
        windowDecodeCached += std::min<uint64_t>(before + count, window);
        return;
    }
    promptTokens += count;
    promptCached += before + count;
    const auto news = static_cast<double>(count);
    promptScores += news * static_cast<double>(before) + news * (news + 1) / 2;
    windowPromptCached += std::min<uint64_t>(before, window) + count;
    // The first ones see all tokens before them, the others as many as the window has.
    const uint64_t withAll = window > before ? std::min<uint64_t>(window - before, count) : 0;
    const auto first = static_cast<double>(withAll);
    windowPromptScores += first * static_cast<double>(before) + first * (first + 1) / 2 +
                          static_cast<double>(count - withAll) * window;
}

StepCost::StepCost(const InstancePool& pool, uint32_t layers)
    : m_pool(pool),
      m_layers(layers)
{
}

std::pair<uint32_t, uint32_t>
StepCost::LayersOf(uint32_t stage) const
{
    const uint32_t least = m_layers / m_pool.pp;
    const uint32_t more = m_layers % m_pool.pp;
    const uint32_t first = stage * least + std::min(stage, more);
    return {first, first + least + (stage < more)};
}

uint32_t
StepCost::StageOf(uint32_t layer) const
{
    uint32_t stage = 0;
    while (layer >= LayersOf(stage).second)
    {
        ++stage;
    }
    return stage;
}

double
StepCost::Moved(double bytes) const
{
    return bytes / (m_pool.gpu->memoryGBps * m_pool.gpu->stream);
}

double
StepCost::Filled(double m, double n, double count) const
{
    double best = 0;
    for (const auto& [rows, columns] : TILES)
    {
        const double tiles = std::ceil(m / rows) * std::ceil(n / columns) * count;
        const double waves = std::ceil(tiles / m_pool.gpu->sms);
        best = std::max(best, m * n * count / (waves * m_pool.gpu->sms * rows * columns));
    }
    return best;
}

double
StepCost::Matmul(const OperatorRow& row, double m, double count) const
{
    const double n = row.figures[0];
    const double k = row.figures[1];
    const double work = 2 * m * n * k * count;
    if (work == 0)
    {
        return 0;
    }
    const GpuRoofline& gpu = *m_pool.gpu;
    const double speed = row.factors == FactorType::Bfloat16 ? gpu.tflops * gpu.matmul
                         : row.factors == FactorType::Fp8 ? gpu.eightBitTflops * gpu.eightBitMatmul
                                                          : gpu.fourBitTflops * gpu.fourBitMatmul;
    const double factor = BytesOf(row.factors);
    return std::max(work / (speed * 1e3 * Filled(m, n, count)),
                    Moved(count * (factor * (m * k + k * n) + ELEMENT * m * n)));
}

double
StepCost::Attention(const OperatorRow& row, const StepShape& shape) const
{
    const auto& [perScore, perCached, perToken, unused] = row.figures;
    const bool windowed = row.kind == OperatorKind::WindowedAttention;
    const double speed = m_pool.gpu->tflops * 1e3 * m_pool.gpu->attention;
    const auto promptCached =
        static_cast<double>(windowed ? shape.windowPromptCached : shape.promptCached);
    const double promptScores = windowed ? shape.windowPromptScores : shape.promptScores;
    const auto decodeScores =
        static_cast<double>(windowed ? shape.windowDecodeCached : shape.decodeCached);
    const auto news = static_cast<double>(shape.promptTokens);
    const auto decoding = static_cast<double>(shape.decodingSequences);
    const auto decodingTokens = static_cast<double>(shape.decodingTokens);
    const auto roofline = [&, perScore = perScore](double scores, double bytes) {
        return std::max(perScore * scores / speed, Moved(bytes));
    };
    double nanoseconds = 0;
    if (news > 0)
    {
        nanoseconds += row.times.IsEmpty()
                           ? roofline(promptScores, perCached * promptCached + perToken * news)
                           : row.times.At(news, promptScores / news);
    }
    if (decoding > 0)
    {
        const OperatorTimes& times =
            news > 0 && !row.mixedTimes.IsEmpty() ? row.mixedTimes : row.decodingTimes;
        nanoseconds += times.IsEmpty()
                           ? roofline(decodeScores * decodingTokens / decoding,
                                      perCached * decodeScores + perToken * decodingTokens)
                           : times.At(decoding, decodeScores / decoding);
    }
    return nanoseconds;
}

TimePs
StepCost::TimeOf(const OperatorRow& row, const StepShape& shape) const
{
    const auto& [a, b, c, d] = row.figures;
    const auto tokens =
        static_cast<double>(row.place == OperatorPlace::Last ? shape.sampled : shape.tokens);
    const bool isOfExperts =
        row.kind == OperatorKind::Experts || row.kind == OperatorKind::ExpertMemory;
    const bool isAttention =
        row.kind == OperatorKind::Attention || row.kind == OperatorKind::WindowedAttention;
    if (!isAttention && !row.times.IsEmpty())
    {
        const double news = isOfExperts ? static_cast<double>(shape.instanceTokens) : tokens;
        return news == 0 ? 0 : ns3::RoundToPs(row.times.At(1, news) * 1000);
    }
    double nanoseconds = 0;
    switch (row.kind)
    {
    case OperatorKind::Matmul:
        nanoseconds = Matmul(row, tokens, c);
        break;
    case OperatorKind::Experts: {
        const double arriving = std::ceil(static_cast<double>(shape.instanceTokens) * d);
        const double active = std::min(c, arriving);
        nanoseconds = active == 0 ? 0 : Matmul(row, std::ceil(arriving / active), active);
        break;
    }
    case OperatorKind::Memory:
        nanoseconds = Moved(a * tokens);
        break;
    case OperatorKind::ExpertMemory:
        nanoseconds = Moved(a * static_cast<double>(shape.instanceTokens) * b);
        break;
    case OperatorKind::Attention:
    case OperatorKind::WindowedAttention:
        nanoseconds = Attention(row, shape);
        break;
    case OperatorKind::Linear:
        nanoseconds = shape.tokens == 0
                          ? 0
                          : a + b * static_cast<double>(shape.promptTokens) +
                                c * static_cast<double>(shape.decodingSequences) +
                                d * static_cast<double>(shape.promptCached + shape.decodeCached);
        break;
    }
    return ns3::RoundToPs(nanoseconds * 1000);
}

TimePs
StepCost::DraftTime(const StepShape& shape) const
{
    const Speculation& speculation = m_pool.speculation;
    if (speculation.tokens == 0 || shape.decodingSequences == 0)
    {
        return 0;
    }
    StepShape draft; // of one token a sequence
    draft.tokens = shape.decodingSequences;
    draft.sampled = shape.decodingSequences;
    draft.decodingSequences = shape.decodingSequences;
    draft.decodingTokens = shape.decodingSequences;
    draft.decodeCached = shape.decodeCached;
    draft.windowDecodeCached = shape.windowDecodeCached;
    draft.instanceTokens = shape.instanceDecoding;
    double time = 0;
    for (const OperatorRow& row : m_pool.rows)
    {
        const auto each = static_cast<double>(TimeOf(row, draft));
        if (row.place == OperatorPlace::Layers)
        {
            const uint32_t last = std::min(row.lastLayer, m_layers - 1);
            time += speculation.draftShare * each * (last - row.firstLayer + 1);
        }
        else if (row.place == OperatorPlace::Last)
        {
            time += each;
        }
    }
    return ns3::RoundToPs(speculation.tokens * time);
}

std::vector<StepSegment>
StepCost::Program(uint32_t stage, const StepShape& shape, bool marksLayers) const
{
    const auto [first, end] = LayersOf(stage);
    std::vector<TimePs> times;
    for (const auto& row : m_pool.rows)
    {
        times.push_back(TimeOf(row, shape));
    }
    std::vector<StepSegment> program;
    StepSegment open;
    const TimePs launch = shape.captured ? 0 : m_pool.launch;
    TimePs launched = 0;
    bool returns = false; // the next exchange of tokens
    const auto close = [&](uint32_t layer) {
        if (open.compute > 0 || open.op != CollectiveOp::None || layer != UINT32_MAX)
        {
            open.layer = layer;
            program.push_back(open);
        }
        open = {};
    };
    const auto add = [&](uint32_t index) {
        const OperatorRow& row = m_pool.rows[index];
        launched = ns3::AddPs(launched, times[index] > 0 ? launch : 0);
        open.compute = ns3::AddPs(open.compute, times[index]);
        // A kernel ends after the one before it, and no earlier than it is launched.
        open.launched = std::max(ns3::AddPs(open.launched, times[index]), launched);
        open.row = index;
        const uint32_t ranks = row.group == GroupKind::Tp ? m_pool.tp : m_pool.ep;
        if (row.op == CollectiveOp::None || ranks < 2)
        {
            return;
        }
        const uint64_t tokens = row.place == OperatorPlace::Last ? shape.sampled : shape.tokens;
        open.bytes =
            static_cast<uint64_t>(std::ceil(row.bytesPerToken * static_cast<double>(tokens)));
        // Replicas that have no tokens take part where they exchange them with others.
        const bool exchanges = row.op == CollectiveOp::AllToAll && row.group == GroupKind::Ep;
        if (open.bytes == 0 && !exchanges)
        {
            return;
        }
        open.op = exchanges ? CollectiveOp::AllToAllV : row.op;
        open.group = row.group;
        open.returns = exchanges && std::exchange(returns, !returns);
        close(UINT32_MAX);
    };
    const auto addAll = [&](OperatorPlace place, uint32_t layer) {
        for (uint32_t i = 0; i < m_pool.rows.size(); ++i)
        {
            const OperatorRow& row = m_pool.rows[i];
            if (row.place == place && row.firstLayer <= layer && layer <= row.lastLayer)
            {
                add(i);
            }
        }
    };
    if (stage == 0)
    {
        addAll(OperatorPlace::First, 0);
    }
    for (uint32_t layer = first; layer < end; ++layer)
    {
        addAll(OperatorPlace::Layers, layer);
        if (marksLayers)
        {
            close(layer);
        }
    }
    if (stage + 1 == m_pool.pp)
    {
        addAll(OperatorPlace::Last, 0);
        if (const TimePs draft = DraftTime(shape); draft > 0)
        {
            open.row = static_cast<uint32_t>(m_pool.rows.size() - 1);
            open.compute = ns3::AddPs(open.compute, draft);
            open.launched = ns3::AddPs(std::max(open.launched, launched), draft);
        }
    }
    close(UINT32_MAX);
    return program;
}

} // namespace AstraSim
