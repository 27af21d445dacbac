/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-endpoint.h"

#include "rank-failure.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <set>
#include <string_view>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <thread>
#include <unistd.h>

namespace AstraSim
{

namespace
{

constexpr uint32_t API_VERSION = FI_VERSION(1, 15);
constexpr std::size_t COMPLETIONS = 64; ///< read at once
constexpr std::size_t LONGEST_ADDRESS = 512;
constexpr std::string_view SHM = "shm";
constexpr std::string_view SHM_ADDRESS = "fi_shm://"; ///< then the name of the memory

using Info = std::unique_ptr<fi_info, decltype([](fi_info* info) { fi_freeinfo(info); })>;

std::string
Reason(int64_t status)
{
    return fi_strerror(static_cast<int>(-status));
}

/// @throw RankFailure with @p what and a reason, if @p status is an error
void
Check(int64_t status, const std::string& what)
{
    if (status < 0)
    {
        throw RankFailure(what + ": " + Reason(status));
    }
}

Info
AskFor(const std::string& provider)
{
    const Info hints(fi_allocinfo());
    hints->caps = FI_TAGGED | FI_DIRECTED_RECV;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->tx_attr->msg_order = FI_ORDER_SAS;
    hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->fabric_attr->prov_name = provider.empty() ? nullptr : strdup(provider.c_str());
    fi_info* found = nullptr;
    const int status = fi_getinfo(API_VERSION, nullptr, nullptr, 0, hints.get(), &found);
    return Info(status == 0 ? found : nullptr);
}

/// @return the texts that @p select takes from libfabric's offers, each once
template <typename Select>
std::string
NamesIn(const fi_info* list, Select select)
{
    std::set<std::string> names;
    for (const fi_info* info = list; info; info = info->next)
    {
        names.insert(select(*info));
    }
    return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::string
ProviderOf(const fi_info& info)
{
    return info.fabric_attr->prov_name;
}

std::string
DeviceOf(const fi_info& info)
{
    return info.domain_attr->name;
}

bool
IsSuitable(const fi_info& info, const FabricChoice& choice)
{
    if (ProviderOf(info) != choice.provider)
    {
        return false;
    }
    if (!choice.device.empty())
    {
        return DeviceOf(info) == choice.device;
    }
    const bool isIp = choice.provider.starts_with("tcp") || choice.provider.starts_with("sockets");
    return !isIp || ((DeviceOf(info) == "lo") == choice.onOneHost);
}

/// @return the entry to use, IPv4 before others
const fi_info*
Choose(const fi_info* list, const FabricChoice& choice)
{
    const fi_info* best = nullptr;
    for (const fi_info* info = list; info; info = info->next)
    {
        const bool isIpv6 = info->addr_format == FI_SOCKADDR_IN6;
        if (IsSuitable(*info, choice) &&
            (!best || (best->addr_format == FI_SOCKADDR_IN6 && !isIpv6)))
        {
            best = info;
        }
    }
    return best;
}

std::string
DescribeMemoryLimit()
{
    rlimit limit{};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    return limit.rlim_cur == RLIM_INFINITY
               ? "the limit of locked memory (ulimit -l) is none"
               : fmt::format("the limit of locked memory (ulimit -l) is {} KiB",
                             limit.rlim_cur >> 10);
}

/// Bytes that the provider shm of libfabric 1.17 has for each rank, and asks for on each core.
constexpr uint64_t SHM_BYTES = 16 << 20;

/// @return why there is no provider of shared memory, if that is for want of room; else empty
std::string
DescribeSharedMemory()
{
    struct statvfs room
    {
    };

    if (statvfs("/dev/shm", &room) != 0)
    {
        return fmt::format("/dev/shm cannot be used ({})", std::strerror(errno));
    }
    const uint64_t free = uint64_t{room.f_bavail} * room.f_frsize;
    const uint64_t needed = SHM_BYTES * std::max(1U, std::thread::hardware_concurrency());
    return free >= needed
               ? ""
               : fmt::format("/dev/shm has {} MiB free and it needs {} (docker run --shm-size)",
                             free >> 20,
                             needed >> 20);
}

/// Pages of shared memory are taken when they are first written to; SIGBUS says that none is left.
void
OnBusError(int)
{
    constexpr std::string_view TEXT =
        "the provider shm has no memory left: /dev/shm is full; expected 16 MiB for each rank of "
        "this host (docker run --shm-size), or --provider tcp\n";
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, TEXT.data(), TEXT.size());
    _exit(1);
}

} // namespace

FabricChoice
FabricChoice::Make(const std::string& provider,
                   const std::vector<std::string>& devices,
                   uint32_t localRank,
                   bool onOneHost)
{
    FabricChoice choice;
    choice.onOneHost = onOneHost;
    choice.device = devices.empty() ? "" : devices[localRank % devices.size()];
    if (provider == "auto")
    {
        // Not shm: that of libfabric 1.17 may stall with many large messages under way.
        choice.provider = AskFor("verbs;ofi_rxm") ? "verbs;ofi_rxm" : "tcp;ofi_rxm";
    }
    else
    {
        choice.provider =
            provider == "verbs" || provider == "tcp" ? provider + ";ofi_rxm" : provider;
    }
    if (choice.provider == SHM && !onOneHost)
    {
        throw RankFailure(
            "provider shm joins the ranks of one host, and there are several; expected "
            "--provider verbs or tcp");
    }
    return choice;
}

void
FabricEndpoint::CloseFid::operator()(auto* object) const
{
    fi_close(&object->fid);
}

FabricEndpoint::~FabricEndpoint() = default;

std::unique_ptr<FabricEndpoint>
FabricEndpoint::Open(const FabricChoice& choice)
{
    const Info list = AskFor(choice.provider);
    if (!list)
    {
        const Info all = AskFor("");
        const std::string few = choice.provider == SHM ? DescribeSharedMemory() : "";
        throw RankFailure(fmt::format("libfabric has no provider {} here{}; expected one of {}",
                                      choice.provider,
                                      few.empty() ? "" : ": " + few,
                                      NamesIn(all.get(), ProviderOf)));
    }
    const fi_info* info = Choose(list.get(), choice);
    if (!info)
    {
        throw RankFailure(fmt::format("provider {} has no device {}; expected one of {}",
                                      choice.provider,
                                      choice.device.empty() ? "between hosts" : choice.device,
                                      NamesIn(list.get(), DeviceOf)));
    }
    if (choice.provider == SHM)
    {
        std::signal(SIGBUS, &OnBusError); // before libfabric's own, which hands on
    }
    std::unique_ptr<FabricEndpoint> self(new FabricEndpoint);
    self->m_info.reset(fi_dupinfo(info));
    fid_fabric* fabric = nullptr;
    Check(fi_fabric(self->m_info->fabric_attr, &fabric, nullptr), "the fabric does not open");
    self->m_fabric.reset(fabric);
    fid_domain* domain = nullptr;
    Check(fi_domain(fabric, self->m_info.get(), &domain, nullptr),
          DeviceOf(*self->m_info) + " does not open");
    self->m_domain.reset(domain);
    fi_av_attr addressAttributes{};
    addressAttributes.type = FI_AV_TABLE;
    fid_av* addresses = nullptr;
    Check(fi_av_open(domain, &addressAttributes, &addresses, nullptr), "no table of addresses");
    self->m_addresses.reset(addresses);
    fi_cq_attr completionAttributes{};
    completionAttributes.format = FI_CQ_FORMAT_TAGGED;
    completionAttributes.wait_obj = FI_WAIT_NONE;
    fid_cq* completions = nullptr;
    Check(fi_cq_open(domain, &completionAttributes, &completions, nullptr),
          "no queue of completions");
    self->m_completions.reset(completions);
    fid_ep* endpoint = nullptr;
    Check(fi_endpoint(domain, self->m_info.get(), &endpoint, nullptr), "no endpoint");
    self->m_endpoint.reset(endpoint);
    Check(fi_ep_bind(endpoint, &addresses->fid, 0), "no endpoint with addresses");
    Check(fi_ep_bind(endpoint, &completions->fid, FI_TRANSMIT | FI_RECV),
          "no endpoint with completions");
    Check(fi_enable(endpoint), "the endpoint does not begin");
    std::array<char, LONGEST_ADDRESS> address{};
    std::size_t length = address.size();
    Check(fi_getname(&endpoint->fid, address.data(), &length), "the endpoint has no address");
    self->m_address.assign(address.data(), length);
    return self;
}

std::string
FabricEndpoint::GetProvider() const
{
    return ProviderOf(*m_info);
}

std::string
FabricEndpoint::GetDevice() const
{
    return DeviceOf(*m_info);
}

std::string
FabricEndpoint::Describe() const
{
    std::array<char, LONGEST_ADDRESS> text{};
    std::size_t length = text.size();
    fi_av_straddr(m_addresses.get(), m_address.data(), text.data(), &length);
    return fmt::format("{} on {} ({})", GetProvider(), GetDevice(), text.data());
}

std::size_t
FabricEndpoint::GetInjectBytes() const
{
    return m_info->tx_attr->inject_size;
}

void
FabricEndpoint::Connect(const std::vector<std::string>& addresses)
{
    for (const std::string& address : addresses)
    {
        fi_addr_t peer = FI_ADDR_UNSPEC;
        if (fi_av_insert(m_addresses.get(), address.data(), 1, &peer, 0, nullptr) != 1)
        {
            throw RankFailure(fmt::format("the address of rank {} is not one of {}",
                                          m_peers.size(),
                                          GetProvider()));
        }
        m_peers.push_back(peer);
    }
}

void
FabricEndpoint::ForgetNames()
{
    if (GetProvider() == SHM && m_address.starts_with(SHM_ADDRESS))
    {
        shm_unlink(("/" + m_address.substr(SHM_ADDRESS.size())).c_str());
    }
}

void*
FabricEndpoint::Register(void* memory, std::size_t bytes)
{
    if (!(m_info->domain_attr->mr_mode & FI_MR_LOCAL))
    {
        return nullptr;
    }
    fid_mr* region = nullptr;
    const int status = fi_mr_reg(m_domain.get(),
                                 memory,
                                 bytes,
                                 FI_SEND | FI_RECV,
                                 0,
                                 m_nextKey++,
                                 0,
                                 &region,
                                 nullptr);
    Check(status,
          fmt::format("{} cannot register {} MiB of memory; {}",
                      GetDevice(),
                      bytes >> 20,
                      DescribeMemoryLimit()));
    m_regions.emplace_back(region);
    return fi_mr_desc(region);
}

bool
FabricEndpoint::TryPost(Transfer& transfer)
{
    const fi_addr_t peer = transfer.peer == ANY_PEER ? FI_ADDR_UNSPEC : m_peers[transfer.peer];
    const ssize_t status = transfer.receives ? fi_trecv(m_endpoint.get(),
                                                        transfer.buffer,
                                                        transfer.bytes,
                                                        transfer.descriptor,
                                                        peer,
                                                        transfer.tag,
                                                        0,
                                                        &transfer)
                                             : fi_tsend(m_endpoint.get(),
                                                        transfer.buffer,
                                                        transfer.bytes,
                                                        transfer.descriptor,
                                                        peer,
                                                        transfer.tag,
                                                        &transfer);
    if (status == -FI_EAGAIN)
    {
        return false;
    }
    if (status < 0)
    {
        throw TransferError(&transfer, Reason(status));
    }
    return true;
}

void
FabricEndpoint::Post(Transfer& transfer)
{
    auto& backlog = transfer.receives ? m_receiveBacklog : m_sendBacklog;
    if (!backlog.empty() || !TryPost(transfer))
    {
        backlog.push_back(&transfer);
    }
}

void
FabricEndpoint::PostBacklog(std::deque<Transfer*>& backlog)
{
    // In order per peer: a refused message holds up only the later ones for the same peer.
    std::set<uint32_t> refused;
    for (auto next = backlog.begin(); next != backlog.end();)
    {
        if (refused.contains((*next)->peer) || !TryPost(**next))
        {
            refused.insert((*next)->peer);
            ++next;
            if (refused.size() >= m_peers.size())
            {
                return;
            }
            continue;
        }
        next = backlog.erase(next);
    }
}

bool
FabricEndpoint::Poll(Handler handler, void* arg)
{
    std::array<fi_cq_tagged_entry, COMPLETIONS> entries;
    const ssize_t count = fi_cq_read(m_completions.get(), entries.data(), entries.size());
    if (count == -FI_EAVAIL)
    {
        ReportError();
    }
    if (count < 0 && count != -FI_EAGAIN)
    {
        throw TransferError(nullptr, Reason(count));
    }
    if (!m_sendBacklog.empty())
    {
        PostBacklog(m_sendBacklog);
    }
    if (!m_receiveBacklog.empty())
    {
        PostBacklog(m_receiveBacklog);
    }
    for (ssize_t i = 0; i < count; ++i)
    {
        auto& transfer = *static_cast<Transfer*>(entries[static_cast<std::size_t>(i)].op_context);
        transfer.received = entries[static_cast<std::size_t>(i)].len;
        handler(arg, transfer);
    }
    return count > 0;
}

void
FabricEndpoint::ReportError()
{
    fi_cq_err_entry error{};
    const ssize_t status = fi_cq_readerr(m_completions.get(), &error, 0);
    if (status < 0)
    {
        throw TransferError(nullptr, Reason(status));
    }
    const auto* transfer = static_cast<const Transfer*>(error.op_context);
    if (error.err == FI_ETRUNC)
    {
        throw TransferError(
            transfer,
            fmt::format("a message is {} bytes longer than what is expected", error.olen));
    }
    throw TransferError(transfer, fi_strerror(error.err));
}

} // namespace AstraSim
