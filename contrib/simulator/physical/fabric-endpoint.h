/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_ENDPOINT_H
#define FABRIC_ENDPOINT_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <rdma/fabric.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace AstraSim
{

/// The provider and device that send a rank's data.
struct FabricChoice
{
    std::string provider; ///< libfabric's name, such as "verbs;ofi_rxm", "tcp;ofi_rxm" or "shm"
    std::string device;   ///< NIC or network interface; empty: the first that is suitable
    bool onOneHost{true}; ///< all ranks are: tcp takes the loopback interface

    /**
     * Choose provider and device by the flags.
     * @param provider of --provider: auto, verbs, tcp, shm, or a name of libfabric's
     * @param devices of --nic or --interface, one per rail; may be empty
     * @param localRank number of the rank on its host, which is its rail
     * @param onOneHost whether all ranks are on this host
     */
    static FabricChoice Make(const std::string& provider,
                             const std::vector<std::string>& devices,
                             uint32_t localRank,
                             bool onOneHost);
};

/**
 * @ingroup simulator
 * @brief A connectionless endpoint of libfabric (FI_EP_RDM) that sends and receives tagged messages
 * between ranks, reliably and in order for each pair and tag.
 *
 * @code
 * auto endpoint = FabricEndpoint::Open(choice);
 * endpoint->Connect(addresses); // GetAddress() of every rank, by rank
 * endpoint->Send(transfer);
 * while (!done) endpoint->Poll([](void* arg, FabricEndpoint::Transfer& ended) { ... }, arg);
 * @endcode
 */
class FabricEndpoint
{
  public:
    static constexpr uint32_t ANY_PEER = UINT32_MAX;

    /// A message on its way; stays at its address until Poll() gives it back.
    struct Transfer
    {
        fi_context2 context; ///< libfabric's own; first
        uint32_t peer{ANY_PEER};
        bool receives{false};
        uint64_t tag{0};
        void* buffer{nullptr};
        std::size_t bytes{0}; ///< to be sent, or room to receive
        void* descriptor{nullptr};
        std::size_t received{0}; ///< set when it has been received
    };

    /// A transfer that cannot be completed.
    class TransferError : public std::runtime_error
    {
      public:
        TransferError(const Transfer* transfer, const std::string& cause)
            : std::runtime_error(cause),
              m_transfer(transfer)
        {
        }

        /// @return the transfer; null if the fabric does not say which
        const Transfer* GetTransfer() const
        {
            return m_transfer;
        }

      private:
        const Transfer* m_transfer;
    };

    /// Called for each transfer that has ended.
    using Handler = void (*)(void* arg, Transfer& transfer);

    /// @throw RankFailure if there is no such provider or device
    static std::unique_ptr<FabricEndpoint> Open(const FabricChoice& choice);

    ~FabricEndpoint();
    FabricEndpoint(const FabricEndpoint&) = delete;
    FabricEndpoint& operator=(const FabricEndpoint&) = delete;

    /// @return this endpoint's address in the provider's own form
    const std::string& GetAddress() const
    {
        return m_address;
    }

    /// @return provider, device and address that carry the messages, such as "tcp;ofi_rxm on lo
    /// (fi_sockaddr_in://...)"
    std::string Describe() const;

    /// @return libfabric's name of the provider
    std::string GetProvider() const;

    /// @return name of the NIC or interface
    std::string GetDevice() const;

    /// @return bytes of the longest message that the provider takes at once, as it says itself
    std::size_t GetInjectBytes() const;

    /// @param addresses of all ranks, by rank @throw RankFailure if one is of another kind
    void Connect(const std::vector<std::string>& addresses);

    /// Take the names of shared memory away once all peers have it: a rank that is killed leaves
    /// nothing behind then.
    void ForgetNames();

    /// Tell the NIC of memory that messages use. @return its descriptor, maybe null
    /// @throw RankFailure
    void* Register(void* memory, std::size_t bytes);

    /// Begin to send. @throw TransferError
    void Send(Transfer& transfer)
    {
        Post(transfer);
    }

    /// Begin to receive. @throw TransferError
    void Receive(Transfer& transfer)
    {
        Post(transfer);
    }

    /// Make progress, and hand over completed messages.
    /// @return whether anything has @throw TransferError
    bool Poll(Handler handler, void* arg);

  private:
    template <auto Free>
    struct Closer
    {
        void operator()(auto* object) const
        {
            Free(object);
        }
    };

    struct CloseFid
    {
        void operator()(auto* object) const;
    };

    FabricEndpoint() = default;

    void Post(Transfer& transfer);
    /// @return whether the provider has taken it
    bool TryPost(Transfer& transfer);
    void PostBacklog(std::deque<Transfer*>& backlog);
    [[noreturn]] void ReportError();

    std::unique_ptr<fi_info, Closer<&fi_freeinfo>> m_info;
    // closed in the opposite order
    std::unique_ptr<fid_fabric, CloseFid> m_fabric;
    std::unique_ptr<struct fid_domain, CloseFid> m_domain;
    std::unique_ptr<struct fid_av, CloseFid> m_addresses;
    std::unique_ptr<struct fid_cq, CloseFid> m_completions;
    std::vector<std::unique_ptr<struct fid_mr, CloseFid>> m_regions;
    std::unique_ptr<struct fid_ep, CloseFid> m_endpoint;
    std::vector<fi_addr_t> m_peers;
    std::string m_address;
    std::deque<Transfer*> m_sendBacklog;    ///< in order
    std::deque<Transfer*> m_receiveBacklog; ///< in order
    uint64_t m_nextKey{1};
};

} // namespace AstraSim

#endif /* FABRIC_ENDPOINT_H */
