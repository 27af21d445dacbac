/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LOADED_CODE_H
#define LOADED_CODE_H

#include <string>

namespace AstraSim
{

/**
 * @return what tells the code of this process, the program with its libraries, from any other
 * build: a line for each file with its GNU build ID, or its SHA-256 where it has none
 */
std::string DescribeLoadedCode();

} // namespace AstraSim

#endif /* LOADED_CODE_H */
