/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LOADED_CODE_H
#define LOADED_CODE_H

#include <string>

namespace AstraSim
{

/**
 * @return a text that differs between builds of this program and its libraries: for each file a
 * line with its GNU build ID, or its SHA-256 where it has none
 */
std::string DescribeLoadedCode();

} // namespace AstraSim

#endif /* LOADED_CODE_H */
