/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGIBLE_H
#define LEGIBLE_H

#include <string>
#include <string_view>

namespace ns3
{

/**
 * @ingroup base
 * Makes a message that quotes a damaged file legible: text in quotes and words have 80 characters
 * at most (a path 512), and control characters are escapes.
 *
 * @code
 * std::cerr << "warning: " << Legible(warning) << "\n";
 * @endcode
 *
 * @param text a message of one line
 * @return the message, still of one line
 */
std::string Legible(std::string_view text);

} // namespace ns3

#endif /* LEGIBLE_H */
