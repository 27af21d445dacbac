/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MSCCL_ALGORITHMS_H
#define MSCCL_ALGORITHMS_H

#include <string>

namespace AstraSim
{

/**
 * Make a CollectiveAlgorithm, once, of each program of MSCCL's that the environment names. As in
 * RCCL, one is taken wherever collective, ranks and bytes fit, at any cost of NCCL's own
 * algorithms; its name is that of the file without .xml.
 * @param named MSCCL_XML_FILES: files with ':' between them; empty: none
 * @param directory MSCCL_ALGO_DIR, of *.xml; empty: none
 * @throw ns3::InputError if one cannot be read
 */
void LoadMscclAlgorithms(const std::string& named, const std::string& directory);

/// Make an algorithm of a file, unless it is one already.
void LoadMscclAlgorithm(const std::string& path);

} // namespace AstraSim

#endif /* MSCCL_ALGORITHMS_H */
