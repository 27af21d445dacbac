/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @defgroup collectives collectives: collectives and the libraries that choose them
 * @brief From a collective to messages: graphs of flows, the libraries that choose among them
 * (NCCL, RCCL, HCCL, MSCCL's programs), GPUs, and the executor, on any RankNetwork. It needs no
 * ns-3.
 */
