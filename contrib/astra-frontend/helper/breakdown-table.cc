/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "breakdown-table.h"

#include "ns3/output-file.h"

#include <boost/algorithm/string/replace.hpp>
#include <fmt/format.h>

namespace AstraSim
{

namespace
{

double
Share(double part, double total)
{
    return total > 0 ? 100 * part / total : 0;
}

std::string
EscapeXml(std::string text)
{
    boost::algorithm::replace_all(text, "&", "&amp;");
    boost::algorithm::replace_all(text, "<", "&lt;");
    boost::algorithm::replace_all(text, ">", "&gt;");
    return text;
}

} // namespace

std::vector<BreakdownPart>
PartsOf(const TimeBreakdown& breakdown)
{
    const auto exposed = [&breakdown](GroupKind kind) {
        return breakdown.exposed[static_cast<std::size_t>(kind)];
    };
    std::vector<BreakdownPart> parts = {
        {"compute", breakdown.compute},
        {"exposed TP communication", exposed(GroupKind::Tp)},
        {"exposed DP communication", exposed(GroupKind::Dp)},
        {"exposed DP_EP communication", exposed(GroupKind::DpEp)},
        {"exposed EP communication", exposed(GroupKind::Ep)},
        {"exposed PP communication", exposed(GroupKind::Pp)},
    };
    if (exposed(GroupKind::Cp) > 0)
    {
        parts.push_back({"exposed CP communication", exposed(GroupKind::Cp)});
    }
    if (exposed(GroupKind::Custom) > 0)
    {
        parts.push_back({"exposed communication of other groups", exposed(GroupKind::Custom)});
    }
    parts.push_back({"pipeline bubble", breakdown.bubble});
    return parts;
}

std::string
BreakdownTable(const TimeBreakdown& breakdown)
{
    std::string text = fmt::format("{:<40} {:>18} {:>8}\n", "", "us", "share");
    for (const BreakdownPart& part : PartsOf(breakdown))
    {
        text += fmt::format("{:<40} {:>18.3f} {:>7.2f}%\n",
                            part.name,
                            part.microseconds,
                            Share(part.microseconds, breakdown.total));
    }
    return text + fmt::format("{:<40} {:>18.3f}\n", "total", breakdown.total);
}

void
WriteBreakdownSvg(const TimeBreakdown& breakdown, const std::string& title, const std::string& path)
{
    // Okabe and Ito's palette, which colour-blind people can tell apart.
    constexpr const char* COLOURS[] =
        {"#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#999999"};
    constexpr double LEFT = 20;
    constexpr double WIDTH = 760;
    const auto parts = PartsOf(breakdown);
    std::string bars;
    std::string legend;
    double x = LEFT;
    double y = 150;
    for (std::size_t i = 0; i < parts.size(); ++i)
    {
        if (parts[i].microseconds <= 0)
        {
            continue;
        }
        const double share = Share(parts[i].microseconds, breakdown.total);
        const double width = WIDTH * share / 100;
        bars += fmt::format("<rect x=\"{:.2f}\" y=\"60\" width=\"{:.2f}\" height=\"56\" "
                            "fill=\"{}\"><title>{}: {:.3f} us</title></rect>\n",
                            x,
                            width,
                            COLOURS[i],
                            parts[i].name,
                            parts[i].microseconds);
        legend += fmt::format("<rect x=\"{0}\" y=\"{1}\" width=\"14\" height=\"14\" "
                              "fill=\"{2}\"/><text x=\"{3}\" y=\"{4}\">{5}</text>"
                              "<text x=\"560\" y=\"{4}\" text-anchor=\"end\">{6:.3f} ms</text>"
                              "<text x=\"660\" y=\"{4}\" text-anchor=\"end\">{7:.2f}%</text>\n",
                              LEFT,
                              y - 12,
                              COLOURS[i],
                              LEFT + 24,
                              y,
                              parts[i].name,
                              parts[i].microseconds / 1000,
                              share);
        x += width;
        y += 24;
    }
    ns3::WriteWholeFile(
        path,
        fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 {0}\" "
                    "font-family=\"sans-serif\" font-size=\"14\">\n"
                    "<rect width=\"800\" height=\"{0}\" fill=\"white\"/>\n"
                    "<text x=\"{1}\" y=\"36\" font-size=\"18\">{2}: {3:.3f} ms</text>\n"
                    "{4}{5}</svg>\n",
                    y,
                    LEFT,
                    EscapeXml(title),
                    breakdown.total / 1000,
                    bars,
                    legend));
}

} // namespace AstraSim
