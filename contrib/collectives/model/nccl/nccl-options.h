/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NCCL_OPTIONS_H
#define NCCL_OPTIONS_H

#include "collectives/model/graph/channel-graph.h"
#include "collectives/model/library/library-options.h"
#include "measured-figures.h"
#include "network-kind.h"
#include "tuner-table.h"

#include "ns3/rank-network.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace AstraSim
{

/// Ways from GPU to GPU by what they cross, as NCCL orders them (PATH_LOC to PATH_SYS).
enum class PciePath : uint8_t
{
    Nowhere,
    NvLinks,
    OneSwitch,
    Switches,
    HostBridge,
    BetweenCpus,
};

/// Releases of NCCL; cost model and kernels follow one of them.
enum class NcclRelease : uint8_t
{
    V2_18,
    V2_20,
    V2_23,
    V2_28,
    V2_29_2, ///< and 2.29.3
    V2_29,   ///< 2.29.7
    V2_30,
};

constexpr std::size_t NCCL_RELEASES = 7;
constexpr NcclRelease FIRST_NCCL_RELEASE = NcclRelease::V2_18;
constexpr NcclRelease LAST_NCCL_RELEASE = NcclRelease::V2_30;

/// Settings of a user; the names are those of the environment variables.
struct NcclOptions : LibraryOptions
{
    bool nvlsEnable{true};         ///< NCCL_NVLS_ENABLE; AS_NVLS_ENABLE wins
    bool nvlsTreeEnable{true};     ///< AS_NVLSTREE_ENABLE; as nvlsEnable if not given
    bool nvlsRequired{false};      ///< NCCL_NVLS_ENABLE 1: an error where there is none
    bool nvlsIsUsers{false};       ///< whether nvlsEnable is the user's word, not the network's
    bool nvlsTreeIsUsers{false};   ///< the same of nvlsTreeEnable
    bool collNetEnable{false};     ///< NCCL_COLLNET_ENABLE
    std::optional<bool> pxnEnable; ///< AS_PXN_ENABLE; empty: where it must be
    NcclChoices<NcclProtocol> protocols; ///< NCCL_PROTO
    uint32_t minChannels{0};             ///< NCCL_MIN_NCHANNELS; 0: none
    uint32_t maxChannels{0};             ///< NCCL_MAX_NCHANNELS; 0: none
    uint32_t nvChannels{0};              ///< AS_NV_CHANNELS, in a server; 0: NCCL's
    uint32_t ringChannels{0};            ///< AS_RING_CHANNELS, between servers; 0: NCCL's
    uint32_t ringSteps{1};               ///< AS_RING_STEPS_PER_MESSAGE
    /// NCCL_P2P_NET_CHUNKSIZE, NCCL_P2P_NVL_CHUNKSIZE and NCCL_P2P_PCI_CHUNKSIZE: bytes of a step
    /// of sends and receives between pairs in groups of several nodes, of one, and of one without
    /// NVLinks.
    std::optional<uint64_t> pairNetChunk; ///< empty: NCCL's, or RCCL's
    uint64_t pairNvlinkChunk{524288};
    uint64_t pairPcieChunk{131072};
    uint64_t nvlsChunk{0};     ///< NCCL_NVLS_CHUNKSIZE; 0: the network's, or NCCL's
    uint64_t nvlsTreeChunk{0}; ///< NCCL_NVLSTREE_MAX_CHUNKSIZE; 0: the network's, or NCCL's
    /// NCCL_BUFFSIZE: bytes of a connection with Simple; 0: the network's, or NCCL's
    uint64_t bufferBytes{0};
    /// NCCL_NCHANNELS_PER_NET_PEER: of a pair in groups of several nodes; 0: NCCL's
    uint32_t channelsPerNetPeer{0};
    /// NCCL_IB_TIMEOUT: a NIC waits 4.096 us x 2^this for an answer; empty: as the release has it
    std::optional<uint32_t> ibTimeout;
    uint32_t ibRetryCount{7};                ///< NCCL_IB_RETRY_CNT: times that it sends again
    bool crossNic{true};                     ///< NCCL_CROSS_NIC: 0 false, 1 and 2 true
    NcclRelease release{NcclRelease::V2_30}; ///< NCCL_TUNING
    NetworkKind networkKind;                 ///< AS_NETWORK_KIND: the network between nodes
    std::string networkTable; ///< AS_NETWORK_TABLE: file of kinds of networks; empty: none
    MeasuredFigures figures{MeasuredFigures::GetBuiltIn()}; ///< with those of figuresFile
    std::string figuresFile; ///< AS_MEASURED_FIGURES: file of measured figures; empty: none
    /// NCCL_TUNER_CONFIG_FILE: choices of the user's tuner; null: none
    std::shared_ptr<const TunerTable> tunerFile;
    bool usesKindsTuner{true}; ///< OFI_NCCL_TUNER_TYPE: Region true, Internal false
    /// NCCL_P2P_LEVEL, or NCCL_P2P_DISABLE: the longest way over PCIe on which GPUs write to each
    /// other's memory; empty: NCCL's
    std::optional<PciePath> peerLevel;
    bool hostsAreAmd{false}; ///< AS_HOST_CPU: AMD; else Intel, or Arm, which NCCL takes for it
    std::string gpuType;     ///< AS_GPU_TYPE; empty: the topology's
    std::string gpuTable;    ///< AS_GPU_TABLE: file of GPU types; empty: none

    /// Set the kind of network, and NVLS by its default unless the user has set NVLS.
    /// @param what the option that names the kind, for the error
    /// @throw ns3::InputError from @p source if neither networkTable nor the built-in one has it
    void SetNetworkKind(const std::string& kind,
                        const std::string& source,
                        const std::string& what);

    /// @return the tuner that NCCL loads: the user's, or that of the network's plug-in, which
    /// releases from 2.21 on find by themselves; null: none
    const TunerTable* GetTuner() const;

    /// @return bytes of a step with Simple, of which a buffer has eight
    uint64_t GetSimpleStep() const
    {
        constexpr uint64_t STEPS = 8;
        const uint64_t bytes = bufferBytes ? bufferBytes : networkKind.bufferBytes;
        return bytes ? bytes / STEPS : SIMPLE_STEP;
    }

    /// @return bytes of a step of sends and receives between nodes @param libraryBytes by default
    uint64_t GetPairNetChunk(uint64_t libraryBytes) const
    {
        return pairNetChunk.value_or(networkKind.pairChunk ? networkKind.pairChunk : libraryBytes);
    }

    /// @return bytes of a chunk of NVLS at most; 0: NCCL's
    uint64_t GetNvlsChunk() const
    {
        return nvlsChunk ? nvlsChunk : networkKind.nvlsChunk;
    }

    /// @return bytes of a chunk of NVLS-Tree at most; 0: NCCL's
    uint64_t GetNvlsTreeChunk() const
    {
        return nvlsTreeChunk ? nvlsTreeChunk : networkKind.nvlsTreeChunk;
    }

    /// @return NCCL_IB_TIMEOUT in force
    uint32_t GetIbTimeout() const
    {
        return ibTimeout.value_or(release < NcclRelease::V2_23 ? 18 : 20);
    }

    /// @return the time without an answer after which NICs give up, and NCCL ends with an error
    TimePs GetPatience() const
    {
        constexpr TimePs UNIT = 4'096'000;
        return (UNIT << GetIbTimeout()) * (ibRetryCount + 1);
    }

    /// @return the file of NCCL_TUNER_CONFIG_FILE; empty: none
    std::string GetTunerFile() const
    {
        return tunerFile ? tunerFile->GetName() : "";
    }

    /// Answers the value of an environment variable, or nothing.
    using Lookup = std::function<std::optional<std::string>(const std::string& name)>;

    /// @throw ns3::InputError naming a variable with an unusable value
    static NcclOptions FromEnvironment(const Lookup& lookup);

    /// @return the variables, as Rows::ToCsv() has them
    static std::string DescribeVariables();
};

} // namespace AstraSim

#endif /* NCCL_OPTIONS_H */
