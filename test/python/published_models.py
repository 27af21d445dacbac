# SPDX-License-Identifier: GPL-2.0-only
"""Models as their config.json says them, shortened to keys that matter, with published parameters and what a token and
a sequence leave behind.

Published figures are those of the models' pages at huggingface.co or of their papers, of the text decoder without
layers that predict further tokens. Caches are written as layers x numbers of a token x 2 bytes, states as layers x
numbers x bytes.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Published:
    keys: dict
    total: float  # 10^9
    cache: int  # bytes of a token, bfloat16
    active: float = 0  # 10^9, where it is published; without embeddings as counted here
    state: int = 0  # bytes of a sequence
    outside: float = 0  # 10^9 that are left out


def shape(kind, hidden, layers, heads, kv_heads, ffn, words, **more):
    return dict(model_type=kind, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
                num_key_value_heads=kv_heads,
                intermediate_size=ffn, vocab_size=words, **more)


def latent(q_rank, kv_rank, nope, rope, value):
    return dict(q_lora_rank=q_rank, kv_lora_rank=kv_rank, qk_nope_head_dim=nope, qk_rope_head_dim=rope,
                v_head_dim=value)


def experts(count, each, width, shared=0, dense=0):
    return dict(n_routed_experts=count, num_experts_per_tok=each, moe_intermediate_size=width, n_shared_experts=shared,
                first_k_dense_replace=dense)


def windows(layers, every, window, attention="full_attention"):
    """Each n-th layer attends to all tokens."""
    kinds = ["sliding_attention" if (index + 1) % every else attention for index in range(layers)]
    return dict(sliding_window=window, layer_types=kinds)


def mamba(layers, attention, heads, dim, state, other="mamba"):
    kinds = ["attention" if index in attention else other for index in range(layers)]
    return dict(layer_types=kinds, mamba_n_heads=heads, mamba_d_head=dim, mamba_d_state=state, mamba_n_groups=1,
                mamba_d_conv=4, mamba_expand=2,
                mamba_chunk_size=256)


TIED, LOOSE = dict(tie_word_embeddings=True), dict(tie_word_embeddings=False)
DEEPSEEK = latent(1536, 512, 128, 64, 128)

MODELS = {
    # Dense.
    "Qwen/Qwen2.5-7B": Published(
        shape(
            "qwen2",
            3584,
            28,
            28,
            4,
            18944,
            152064,
            sliding_window=131072,
            use_sliding_window=False,
            max_window_layers=28,
            **LOOSE
        ),
        7.616,
        28 * 2 * 4 * 128 * 2,
    ),
    "mistralai/Mistral-Small-24B-Base-2501": Published(
        shape("mistral", 5120, 40, 32, 8, 32768, 131072, head_dim=128, sliding_window=None, **LOOSE),
        23.572,
        40 * 2 * 8 * 128 * 2,
    ),
    "mistralai/Devstral-2-123B-Instruct-2512": Published(
        shape("ministral3", 12288, 88, 96, 8, 28672, 131072, head_dim=128, **LOOSE), 125.0, 88 * 2 * 8 * 128 * 2
    ),
    "CohereLabs/c4ai-command-a-03-2025": Published(
        shape(
            "cohere2",
            12288,
            64,
            96,
            8,
            36864,
            256000,
            head_dim=128,
            sliding_window=4096,
            sliding_window_pattern=4,
            layer_switch=4,
        ),
        111.058,
        64 * 2 * 8 * 128 * 2,
    ),
    "google/gemma-3-4b-pt": Published(  # its class has the other sizes
        dict(
            model_type="gemma3",
            vision_config={"hidden_size": 1152},
            text_config=dict(
                model_type="gemma3_text",
                hidden_size=2560,
                intermediate_size=10240,
                num_hidden_layers=34,
                sliding_window=1024,
            ),
        ),
        3.88,
        34 * 2 * 4 * 256 * 2,
    ),
    "allenai/Olmo-3-1125-32B": Published(
        shape("olmo3", 5120, 64, 40, 8, 27648, 100278, **windows(64, 4, 4096), **LOOSE), 32.234, 64 * 2 * 8 * 128 * 2
    ),
    "microsoft/phi-4": Published(shape("phi3", 5120, 40, 40, 10, 17920, 100352, **LOOSE), 14.66, 40 * 2 * 10 * 128 * 2),
    "microsoft/Phi-4-mini-instruct": Published(
        shape("phi3", 3072, 32, 24, 8, 8192, 200064, sliding_window=262144, max_position_embeddings=131072, **TIED),
        3.836,
        32 * 2 * 8 * 128 * 2,
    ),
    "LGAI-EXAONE/EXAONE-4.0-32B": Published(
        shape(
            "exaone4",
            5120,
            64,
            40,
            8,
            27392,
            102400,
            head_dim=128,
            sliding_window=4096,
            sliding_window_pattern="LLLG",
            **LOOSE
        ),
        32.0,
        64 * 2 * 8 * 128 * 2,
    ),
    "ByteDance-Seed/Seed-OSS-36B-Base": Published(
        shape(
            "seed_oss",
            5120,
            64,
            80,
            8,
            27648,
            155136,
            head_dim=128,
            attention_bias=True,
            attention_out_bias=False,
            **LOOSE
        ),
        36.151,
        64 * 2 * 8 * 128 * 2,
    ),
    "swiss-ai/Apertus-70B-2509": Published(  # MLPs of two matrices
        shape("apertus", 8192, 80, 64, 8, 43008, 131072, hidden_act="xielu", qk_norm=True, **LOOSE),
        70.6,
        80 * 2 * 8 * 128 * 2,
    ),
    "arcee-ai/AFM-4.5B": Published(
        shape("arcee", 2560, 36, 20, 4, 18432, 128004, head_dim=128, hidden_act="relu2", **LOOSE),
        4.62,
        36 * 2 * 4 * 128 * 2,
    ),
    "nvidia/Minitron-8B-Base": Published(
        shape("nemotron", 4096, 32, 48, 8, 16384, 256000, head_dim=128, hidden_act="relu2", **LOOSE),
        8.27,
        32 * 2 * 8 * 128 * 2,
    ),
    "internlm/internlm3-8b-instruct": Published(
        shape("internlm3", 4096, 48, 32, 2, 10240, 128512, head_dim=128, qkv_bias=False, **LOOSE),
        8.804,
        48 * 2 * 2 * 128 * 2,
    ),
    "baichuan-inc/Baichuan2-13B-Base": Published(
        dict(
            model_type="baichuan",
            hidden_size=5120,
            num_hidden_layers=40,
            num_attention_heads=40,
            intermediate_size=13696,
            vocab_size=125696,
            model_max_length=4096,
            **LOOSE
        ),
        13.9,
        40 * 2 * 40 * 128 * 2,
    ),
    "THUDM/glm-4-9b": Published(
        dict(
            model_type="chatglm",
            hidden_size=4096,
            ffn_hidden_size=13696,
            num_layers=40,
            num_attention_heads=32,
            multi_query_attention=True,
            multi_query_group_num=2,
            kv_channels=128,
            padded_vocab_size=151552,
            add_qkv_bias=True,
        ),
        9.4,
        40 * 2 * 2 * 128 * 2,
    ),
    "openbmb/MiniCPM3-4B": Published(
        shape(
            "minicpm3",
            2560,
            62,
            40,
            40,
            6400,
            73448,
            scale_emb=12,
            dim_model_base=256,
            **latent(768, 256, 64, 32, 64),
            **TIED
        ),
        4.07,
        62 * (256 + 32) * 2,
    ),
    "meta-llama/Llama-3.2-90B-Vision": Published(  # layers that attend to a picture are counted with the others
        dict(
            model_type="mllama",
            vision_config={"hidden_size": 1280},
            text_config=shape(
                "mllama_text_model",
                8192,
                100,
                64,
                8,
                28672,
                128256,
                cross_attention_layers=list(range(3, 100, 5)),
                **LOOSE
            ),
        ),
        87.7,
        100 * 2 * 8 * 128 * 2,
    ),
    "llava-hf/llava-1.5-7b-hf": Published(
        dict(
            model_type="llava",
            vision_config={"hidden_size": 1024},
            text_config=dict(model_type="llama", vocab_size=32064),
        ),
        6.739,
        32 * 2 * 32 * 128 * 2,
    ),
    "OpenGVLab/InternVL3-8B": Published(
        dict(
            model_type="internvl_chat",
            hidden_size=3584,
            force_image_size=448,
            llm_config=shape("qwen2", 3584, 28, 28, 4, 18944, 151674, **LOOSE),
        ),
        7.613,
        28 * 2 * 4 * 128 * 2,
    ),
    "nvidia/Llama-3_3-Nemotron-Super-49B-v1": (
        Published(  # 31 blocks of 80 lack attention, and most of those have narrow MLPs
            dict(
                model_type="nemotron-nas",
                hidden_size=8192,
                num_hidden_layers=80,
                num_attention_heads=64,
                num_key_value_heads=None,
                intermediate_size=None,
                vocab_size=128256,
                block_configs=[
                    {
                        "attention": {"n_heads_in_group": 8 if has else None, "no_op": not has},
                        "ffn": {"ffn_mult": factor, "no_op": False},
                    }
                    for has, factor, count in (
                        (True, 5.25, 48),
                        (True, 2.625, 1),
                        (False, 5.25, 1),
                        (False, 3.28125, 1),
                        (False, 2.625, 5),
                        (False, 1.3125, 10),
                        (False, 1.0, 8),
                        (False, 0.5, 6),
                    )
                    for _ in range(count)
                ],
                **LOOSE
            ),
            49.87,
            49 * 2 * 8 * 128 * 2,
        )
    ),
    "google/gemma-3n-E4B": Published(  # 15 of 35 layers borrow keys and values; its mixtures of streams are left out
        dict(
            model_type="gemma3n",
            text_config=shape(
                "gemma3n_text",
                2048,
                35,
                8,
                2,
                [16384] * 35,
                262400,
                head_dim=256,
                vocab_size_per_layer_input=262144,
                hidden_size_per_layer_input=256,
                num_kv_shared_layers=15,
                altup_num_inputs=4,
                laurel_rank=64,
                **windows(35, 5, 512)
            ),
        ),
        6.87,
        20 * 2 * 2 * 256 * 2,
        outside=(35 * 2 * 2048 * 64 + 6 * 2048**2) / 1e9,
    ),
    "google/gemma-4-31b": Published(  # 10 of 60 layers have 4 heads of 512, whose values are their keys before norms
        dict(
            model_type="gemma4",
            text_config=shape(
                "gemma4_text",
                5376,
                60,
                32,
                16,
                21504,
                262144,
                head_dim=256,
                global_head_dim=512,
                num_global_key_value_heads=4,
                attention_k_eq_v=True,
                **windows(60, 6, 1024),
                **TIED
            ),
        ),
        30.7,
        (50 * 2 * 16 * 256 + 10 * 2 * 4 * 512) * 2,
    ),
    "tiiuae/falcon-7b": Published(  # one head of keys and values, though the file names 71
        dict(model_type="falcon", hidden_size=4544, num_hidden_layers=32, num_attention_heads=71, num_kv_heads=71,
             multi_query=True, new_decoder_architecture=False, parallel_attn=True, bias=False, alibi=False,
             vocab_size=65024),
        6.92, 32 * 2 * 64 * 2,
    ),
    "tiiuae/falcon-11B": Published(
        dict(model_type="falcon", hidden_size=4096, num_hidden_layers=60, num_attention_heads=32, num_kv_heads=8,
             new_decoder_architecture=True, ff_factor=4, num_ln_in_parallel_attn=1, bias=False, vocab_size=65024,
             **LOOSE),
        11.1, 60 * 2 * 8 * 128 * 2,
    ),
    "bigcode/starcoder": Published(
        dict(model_type="gpt_bigcode", n_embd=6144, n_layer=40, n_head=48, n_inner=24576, n_positions=8192,
             multi_query=True, vocab_size=49152),
        15.518, 40 * 2 * 128 * 2,
    ),
    "EleutherAI/gpt-neo-2.7B": Published(
        dict(model_type="gpt_neo", hidden_size=2560, num_layers=32, num_heads=20, window_size=256,
             attention_layers=["global", "local"] * 16, max_position_embeddings=2048, vocab_size=50257),
        2.651, 32 * 2 * 20 * 128 * 2,
    ),
    "facebook/xglm-7.5B": Published(
        dict(model_type="xglm", d_model=4096, num_layers=32, attention_heads=32, ffn_dim=16384, vocab_size=256008),
        7.493, 32 * 2 * 32 * 128 * 2,
    ),
    "Salesforce/codegen-16B-mono": Published(
        dict(model_type="codegen", n_embd=6144, n_layer=34, n_head=24, rotary_dim=64, n_positions=2048,
             vocab_size=51200, activation_function="gelu_new", **LOOSE),
        16.03, 34 * 2 * 24 * 256 * 2,
    ),
    "microsoft/bitnet-b1.58-2B-4T": Published(  # gated by the square of ReLU
        shape("bitnet", 2560, 30, 20, 5, 6912, 128256, hidden_act="relu2", **TIED), 2.413, 30 * 2 * 5 * 128 * 2
    ),
    "openbmb/MiniCPM-2B": Published(  # whose class shares the embedding's weights
        shape("minicpm", 2304, 40, 36, 36, 5760, 122753, scale_emb=12, dim_model_base=256), 2.725, 40 * 2 * 36 * 64 * 2
    ),
    "jhu-clsp/ettin-decoder-1b": Published(
        dict(model_type="modernbert-decoder", hidden_size=1792, num_hidden_layers=28, num_attention_heads=28,
             intermediate_size=3840, vocab_size=50368, local_attention=128, global_attn_every_n_layers=3),
        1.028, 28 * 2 * 28 * 64 * 2,
    ),
    "Qwen/Qwen2-Audio-7B": Published(  # its class has the other sizes
        dict(model_type="qwen2_audio", audio_config={"d_model": 1280},
             text_config=dict(model_type="qwen2", intermediate_size=11008, vocab_size=156032)),
        7.755, 32 * 2 * 32 * 128 * 2,
    ),
    # Experts.
    "Qwen/Qwen3-Omni-30B-A3B-Instruct": Published(
        dict(
            model_type="qwen3_omni_moe",
            thinker_config=dict(
                text_config=shape(
                    "qwen3_omni_moe_text",
                    2048,
                    48,
                    32,
                    4,
                    768,
                    152064,
                    head_dim=128,
                    num_experts=128,
                    num_experts_per_tok=8,
                    moe_intermediate_size=768,
                    **LOOSE
                )
            ),
        ),
        30.5,
        48 * 2 * 4 * 128 * 2,
        3.0,
    ),
    "microsoft/Phi-3.5-MoE-instruct": Published(
        shape(
            "phimoe",
            4096,
            32,
            32,
            8,
            6400,
            32064,
            num_local_experts=16,
            num_experts_per_tok=2,
            attention_bias=True,
            **LOOSE
        ),
        41.87,
        32 * 2 * 8 * 128 * 2,
        6.6,
    ),
    "xai-org/grok-2": Published(  # an MLP beside the experts
        shape(
            "git",
            8192,
            64,
            64,
            8,
            32768,
            131072,
            head_dim=128,
            num_local_experts=8,
            num_experts_per_tok=2,
            moe_intermediate_size=16384,
            residual_moe=True,
            sliding_window_size=-1,
            attn_temperature_len=1024,
            **LOOSE
        ),
        269.5,
        64 * 2 * 8 * 128 * 2,
        115,
    ),
    "Snowflake/snowflake-arctic-base": Published(
        shape(
            "arctic",
            7168,
            35,
            56,
            8,
            4864,
            32000,
            num_local_experts=128,
            num_experts_per_tok=2,
            moe_layer_frequency=1,
            parallel_attn_mlp_res=True,
            use_residual=True,
            **LOOSE
        ),
        480,
        35 * 2 * 8 * 128 * 2,
        17,
    ),
    "rednote-hilab/dots.llm1.base": Published(
        shape("dots1", 4096, 62, 32, 32, 10944, 152064, head_dim=128, **experts(128, 6, 1408, 2, 1), **LOOSE),
        142.8,
        62 * 2 * 32 * 128 * 2,
        14,
    ),
    "baidu/ERNIE-4.5-21B-A3B-Base-PT": Published(
        shape(
            "ernie4_5_moe",
            2560,
            28,
            20,
            4,
            12288,
            103424,
            moe_num_experts=64,
            moe_k=6,
            moe_intermediate_size=1536,
            moe_num_shared_experts=2,
            moe_layer_start_index=1,
            moe_layer_end_index=27,
            moe_layer_interval=1,
            moe_capacity=[64, 64, 64],
            **TIED
        ),
        21.83,
        28 * 2 * 4 * 128 * 2,
    ),
    "tencent/Tencent-Hunyuan-Large": Published(  # each second layer borrows keys and values
        shape(
            "hunyuan",
            6400,
            64,
            80,
            8,
            18304,
            128512,
            attention_head_dim=80,
            num_experts=16,
            moe_topk=1,
            num_shared_expert=1,
            use_cla=True,
            cla_share_factor=2,
            **TIED
        ),
        389,
        32 * 2 * 8 * 80 * 2,
        52,
    ),
    "inclusionAI/Ling-1T": Published(
        shape(
            "bailing_moe_v2",
            8192,
            80,
            64,
            8,
            18432,
            157184,
            head_dim=128,
            num_experts=256,
            num_experts_per_tok=8,
            num_shared_experts=1,
            moe_intermediate_size=2048,
            moe_shared_expert_intermediate_size=2048,
            first_k_dense_replace=4,
            **LOOSE
        ),
        1000,
        80 * 2 * 8 * 128 * 2,
        50,
    ),
    "mistralai/Mistral-Large-3-675B-Instruct-2512": Published(
        dict(
            model_type="mistral3",
            text_config=shape(
                "mistral4", 7168, 61, 128, 128, 16384, 131072, **DEEPSEEK, **experts(128, 4, 4096, 1, 3), **LOOSE
            ),
        ),
        673,
        61 * 576 * 2,
        39,
    ),
    "arcee-ai/Trinity-Mini": Published(
        shape(
            "afmoe",
            2048,
            32,
            32,
            4,
            6144,
            200192,
            head_dim=128,
            num_experts=128,
            num_experts_per_tok=8,
            num_shared_experts=1,
            moe_intermediate_size=1024,
            num_dense_layers=2,
            global_attn_every_n_layers=4,
            **windows(32, 4, 2048),
            **LOOSE
        ),
        26.1,
        32 * 2 * 4 * 128 * 2,
        3,
    ),
    "upstage/Solar-Open-100B": Published(
        shape("solar_open", 4096, 48, 64, 8, 10240, 196608, head_dim=128, **experts(128, 8, 1280, 1), **LOOSE),
        102.6,
        48 * 2 * 8 * 128 * 2,
    ),
    "LGAI-EXAONE/K-EXAONE-236B-A23B": Published(
        shape(
            "exaone_moe",
            6144,
            48,
            64,
            8,
            18432,
            153600,
            head_dim=128,
            num_experts=128,
            num_experts_per_tok=8,
            num_shared_experts=1,
            moe_intermediate_size=2048,
            is_moe_layer=[False] + [True] * 47,
            **windows(48, 4, 128),
            **LOOSE
        ),
        236,
        48 * 2 * 8 * 128 * 2,
        23,
    ),
    "stepfun-ai/step3": Published(  # queries of low rank, and one head of keys and values
        dict(
            model_type="step3_vl",
            text_config=dict(
                model_type="step3_text",
                hidden_size=7168,
                intermediate_size=18432,
                num_hidden_layers=61,
                num_attention_heads=64,
                num_attention_groups=1,
                head_dim=256,
                share_q_dim=2048,
                vocab_size=128815,
                moe_num_experts=48,
                moe_top_k=3,
                moe_intermediate_size=5120,
                share_expert_dim=5120,
                moe_layers_enum=",".join(map(str, range(4, 60))),
            ),
        ),
        316,
        61 * 2 * 256 * 2,
        38,
    ),
    "stepfun-ai/Step-3.5-Flash": Published(  # layers with a window have more heads
        dict(
            model_type="step3p5",
            hidden_size=4096,
            intermediate_size=11264,
            num_hidden_layers=45,
            num_attention_heads=64,
            num_attention_groups=8,
            head_dim=128,
            vocab_size=128896,
            moe_num_experts=288,
            moe_top_k=8,
            moe_intermediate_size=1280,
            share_expert_dim=1280,
            moe_layers_enum=",".join(map(str, range(3, 45))),
            sliding_window=512,
            layer_types=(["full_attention"] + ["sliding_attention"] * 3) * 12,
            attention_other_setting=dict(num_attention_heads=96, num_attention_groups=8, head_dim=128),
        ),
        196.8,
        45 * 2 * 8 * 128 * 2,
        11,
    ),
    "meituan-longcat/LongCat-Flash-Chat": Published(  # two attentions in a layer; a third of the experts are empty
        dict(
            model_type="longcat_flash",
            hidden_size=6144,
            ffn_hidden_size=12288,
            expert_ffn_hidden_size=2048,
            num_layers=28,
            num_attention_heads=64,
            vocab_size=131072,
            n_routed_experts=512,
            zero_expert_num=256,
            moe_topk=12,
            **DEEPSEEK
        ),
        560,
        56 * 576 * 2,
        27,
    ),
    "zai-org/GLM-4.7-Flash": Published(
        shape(
            "glm4_moe_lite",
            2048,
            47,
            20,
            20,
            10240,
            154880,
            **latent(768, 512, 192, 64, 256),
            **experts(64, 4, 1536, 1, 1),
            **LOOSE
        ),
        29.94,
        47 * 576 * 2,
    ),
    "XiaomiMiMo/MiMo-V2-Flash": Published(
        shape(
            "mimo_v2_flash",
            4096,
            48,
            64,
            4,
            16384,
            152576,
            head_dim=192,
            v_head_dim=128,
            swa_num_attention_heads=64,
            swa_num_key_value_heads=8,
            swa_head_dim=192,
            swa_v_head_dim=128,
            sliding_window=128,
            attention_chunk_size=128,
            n_routed_experts=256,
            num_experts_per_tok=8,
            moe_intermediate_size=2048,
            moe_layer_freq=[0] + [1] * 47,
            hybrid_layer_pattern=[0, 1, 1, 1, 1] + [0, 1, 1, 1, 1, 1] * 7 + [0],
            **LOOSE
        ),
        309,
        (9 * 4 + 39 * 8) * (192 + 128) * 2,
        15,
    ),
    "google/gemma-4-26b-a4b": Published(
        dict(
            model_type="gemma4",
            text_config=shape(
                "gemma4_text",
                2816,
                30,
                16,
                8,
                2112,
                262144,
                head_dim=256,
                global_head_dim=512,
                num_global_key_value_heads=2,
                attention_k_eq_v=True,
                enable_moe_block=True,
                num_experts=128,
                top_k_experts=8,
                moe_intermediate_size=704,
                **windows(30, 6, 1024),
                **TIED
            ),
        ),
        25.2,
        (25 * 2 * 8 * 256 + 5 * 2 * 2 * 512) * 2,
        3.8,
    ),
    # Indexers, which keep a key of 128 numbers.
    "zai-org/GLM-5": Published(
        shape(
            "glm_moe_dsa",
            6144,
            78,
            64,
            64,
            12288,
            154880,
            head_dim=64,
            index_head_dim=128,
            index_n_heads=32,
            index_topk=2048,
            indexer_rope_interleave=True,
            topk_method="noaux_tc",
            **latent(2048, 512, 192, 64, 256),
            **experts(256, 8, 2048, 1, 3),
            **LOOSE
        ),
        744,
        78 * (576 + 128) * 2,
        40,
    ),
    "zai-org/GLM-5.2": Published(  # three of four layers take what an earlier one's indexer has chosen
        shape(
            "glm_moe_dsa",
            6144,
            78,
            64,
            64,
            12288,
            154880,
            head_dim=192,
            index_head_dim=128,
            index_n_heads=32,
            index_topk=2048,
            index_topk_freq=4,
            indexer_types=["full"] * 2 + (["full"] + ["shared"] * 3) * 19,
            mlp_layer_types=["dense"] * 3 + ["sparse"] * 75,
            topk_method="noaux_tc",
            **latent(2048, 512, 192, 64, 256),
            **experts(256, 8, 2048, 1, 3),
            **LOOSE
        ),
        743.4,
        (78 * 576 + 21 * 128) * 2,
    ),
    "MiniMaxAI/MiniMax-M3": Published(  # blocks are chosen in all but the first three layers
        shape(
            "minimax_m3",
            6144,
            60,
            64,
            4,
            3072,
            200064,
            head_dim=128,
            dense_intermediate_size=12288,
            shared_intermediate_size=3072,
            n_shared_experts=1,
            num_local_experts=128,
            num_experts_per_tok=4,
            moe_intermediate_size=3072,
            moe_layer_freq=[0] * 3 + [1] * 57,
            use_qk_norm=True,
            sparse_attention_config=dict(
                use_sparse_attention=True,
                sparse_num_index_heads=4,
                sparse_index_dim=128,
                sparse_block_size=128,
                sparse_topk_blocks=16,
                sparse_attention_freq=[0] * 3 + [1] * 57,
            ),
            **LOOSE
        ),
        428,
        (60 * 2 * 4 * 128 + 57 * 128) * 2,
    ),
    # State spaces, linear attention and convolutions.
    "MiniMaxAI/MiniMax-Text-01-hf": Published(
        shape("minimax", 6144, 80, 64, 8, 9216, 200064, head_dim=128, num_local_experts=32, num_experts_per_tok=2,
              layer_types=(["linear_attention"] * 7 + ["full_attention"]) * 10, block_size=256, **LOOSE),
        456, 10 * 2 * 8 * 128 * 2, 45.9, 70 * 64 * 128**2 * 4,
    ),
    "MiniMaxAI/MiniMax-M1-80k": Published(
        shape(
            "minimax_m1",
            6144,
            80,
            64,
            8,
            9216,
            200064,
            head_dim=128,
            num_local_experts=32,
            num_experts_per_tok=2,
            attn_type_list=([0] * 7 + [1]) * 10,
            shared_intermediate_size=0,
            **LOOSE
        ),
        456,
        10 * 2 * 8 * 128 * 2,
        45.9,
        70 * 64 * 128 * 128 * 4,
    ),
    "moonshotai/Kimi-Linear-48B-A3B-Base": Published(
        shape(
            "kimi_linear",
            2304,
            27,
            32,
            32,
            9216,
            163840,
            head_dim=72,
            num_experts=256,
            num_experts_per_token=8,
            num_shared_experts=1,
            moe_intermediate_size=1024,
            first_k_dense_replace=1,
            moe_layer_freq=1,
            linear_attn_config=dict(
                full_attn_layers=[4, 8, 12, 16, 20, 24, 27], head_dim=128, num_heads=32, short_conv_kernel_size=4
            ),
            **latent(None, 512, 128, 64, 128),
            **LOOSE
        ),
        49.1,
        7 * 576 * 2,
        3,
        20 * (32 * 128 * 128 * 4 + 3 * 3 * 4096 * 2),
    ),
    "moonshotai/Kimi-K3": Published(
        dict(
            model_type="kimi_k3",
            text_config=shape(
                "kimi_linear",
                7168,
                93,
                96,
                96,
                33792,
                163840,
                num_experts=896,
                num_experts_per_token=16,
                num_shared_experts=2,
                moe_intermediate_size=3072,
                routed_expert_hidden_size=3584,
                first_k_dense_replace=1,
                mla_use_output_gate=True,
                attn_res_block_size=12,
                linear_attn_config=dict(
                    full_attn_layers=[*range(4, 93, 4), 93],
                    head_dim=128,
                    num_heads=96,
                    short_conv_kernel_size=4,
                    use_full_rank_gate=True,
                ),
                **DEEPSEEK,
                **LOOSE
            ),
        ),
        2800,
        24 * 576 * 2,
        104,
        69 * (96 * 128 * 128 * 4 + 3 * 3 * 12288 * 2),
    ),
    "inclusionAI/Ring-mini-linear-2.0": Published(
        shape(
            "bailing_moe_linear",
            2048,
            20,
            16,
            4,
            5120,
            157184,
            head_dim=128,
            num_experts=256,
            num_experts_per_tok=8,
            num_shared_experts=1,
            moe_intermediate_size=512,
            moe_shared_expert_intermediate_size=512,
            first_k_dense_replace=1,
            layer_group_size=5,
            group_norm_size=4,
            **LOOSE
        ),
        16.4,
        4 * 2 * 4 * 128 * 2,
        state=16 * 16 * 128 * 128 * 4,
    ),
    "Qwen/Qwen3.5-397B-A17B": Published(
        dict(
            model_type="qwen3_5_moe",
            text_config=dict(
                model_type="qwen3_5_moe_text",
                hidden_size=4096,
                num_hidden_layers=60,
                num_attention_heads=32,
                num_key_value_heads=2,
                head_dim=256,
                vocab_size=248320,
                num_experts=512,
                num_experts_per_tok=10,
                moe_intermediate_size=1024,
                shared_expert_intermediate_size=1024,
                attn_output_gate=True,
                full_attention_interval=4,
                linear_conv_kernel_dim=4,
                linear_key_head_dim=128,
                linear_num_key_heads=16,
                linear_num_value_heads=64,
                linear_value_head_dim=128,
                mtp_num_hidden_layers=1,
                **LOOSE
            ),
        ),
        396.8,
        15 * 2 * 2 * 256 * 2,
        17,
        45 * (64 * 128 * 128 * 4 + 3 * (2 * 2048 + 8192) * 2),
    ),
    "tiiuae/Falcon-H1-34B-Base": Published(
        shape(
            "falcon_h1",
            5120,
            72,
            20,
            4,
            21504,
            261120,
            head_dim=128,
            mamba_d_ssm=4096,
            mamba_d_state=256,
            mamba_d_head=128,
            mamba_n_heads=32,
            mamba_n_groups=2,
            mamba_d_conv=4,
            mamba_expand=2,
            mamba_chunk_size=128,
            layer_types=["hybrid"] * 72,
            ssm_multipliers=[0.35, 0.25, 0.17, 0.5, 0.35],
            **LOOSE
        ),
        33.64,
        72 * 2 * 4 * 128 * 2,
        state=72 * (4096 * 256 * 4 + 3 * (4096 + 2 * 2 * 256) * 2),
    ),
    "ibm-granite/granite-4.0-h-small": Published(
        shape(
            "granitemoehybrid",
            4096,
            40,
            32,
            8,
            768,
            100352,
            num_local_experts=72,
            num_experts_per_tok=10,
            shared_intermediate_size=1536,
            **mamba(40, (5, 15, 25, 35), 128, 64, 128),
            **TIED
        ),
        32.2,
        4 * 2 * 8 * 128 * 2,
        9,
        36 * (8192 * 128 * 4 + 3 * (8192 + 256) * 2),
    ),
    "ibm-granite/granite-4.0-h-micro": Published(
        shape(
            "granitemoehybrid",
            2048,
            40,
            32,
            8,
            8192,
            100352,
            num_local_experts=0,
            num_experts_per_tok=0,
            shared_intermediate_size=8192,
            **mamba(40, (5, 15, 25, 35), 64, 64, 128),
            **TIED
        ),
        3.19,
        4 * 2 * 8 * 64 * 2,
        state=36 * (4096 * 128 * 4 + 3 * (4096 + 256) * 2),
    ),
    "ibm-ai-platform/Bamba-9B-v2": Published(
        {
            **shape("bamba", 4096, 32, 32, 8, 14336, 128256, attn_layer_indices=[9, 18, 27], **LOOSE),
            **{key: value for key, value in mamba(32, (), 128, 64, 128).items() if key != "layer_types"},
        },
        9.78,
        3 * 2 * 8 * 128 * 2,
        state=29 * (8192 * 128 * 4 + 3 * (8192 + 256) * 2),
    ),
    "ai21labs/Jamba-v0.1": Published(
        shape(
            "jamba",
            4096,
            32,
            32,
            8,
            14336,
            65536,
            attn_layer_period=8,
            attn_layer_offset=4,
            expert_layer_period=2,
            expert_layer_offset=1,
            num_experts=16,
            num_experts_per_tok=2,
            mamba_d_state=16,
            mamba_d_conv=4,
            mamba_expand=2,
            mamba_dt_rank=256,
            **LOOSE
        ),
        51.57,
        4 * 2 * 8 * 128 * 2,
        12,
        28 * (8192 * 16 * 4 + 3 * 8192 * 2),
    ),
    "tiiuae/falcon-mamba-7b": Published(
        dict(
            model_type="falcon_mamba",
            hidden_size=4096,
            intermediate_size=8192,
            num_hidden_layers=64,
            state_size=16,
            conv_kernel=4,
            expand=2,
            time_step_rank=256,
            vocab_size=65024,
            **LOOSE
        ),
        7.27,
        0,
        state=64 * (8192 * 16 * 4 + 3 * 8192 * 2),
    ),
    "mistralai/Mamba-Codestral-7B-v0.1": Published(
        dict(
            model_type="mamba2",
            hidden_size=4096,
            num_hidden_layers=64,
            num_heads=128,
            head_dim=64,
            state_size=128,
            n_groups=8,
            conv_kernel=4,
            expand=2,
            time_step_rank=256,
            vocab_size=32768,
            **LOOSE
        ),
        7.285,
        0,
        state=64 * (8192 * 128 * 4 + 3 * (8192 + 2 * 8 * 128) * 2),
    ),
    "fla-hub/rwkv7-2.9B-world": Published(
        dict(
            model_type="rwkv7",
            hidden_size=2560,
            num_hidden_layers=32,
            intermediate_size=10240,
            head_dim=64,
            decay_low_rank_dim=96,
            a_low_rank_dim=96,
            v_low_rank_dim=64,
            gate_low_rank_dim=320,
            vocab_size=65536,
            **LOOSE
        ),
        2.95,
        0,
        state=32 * 2560 * 64 * 4,
    ),
    "LiquidAI/LFM2-1.2B": Published(
        dict(
            model_type="lfm2",
            hidden_size=2048,
            num_hidden_layers=16,
            num_attention_heads=32,
            num_key_value_heads=8,
            vocab_size=65536,
            block_auto_adjust_ff_dim=True,
            block_ff_dim=12288,
            block_ffn_dim_multiplier=1.0,
            block_multiple_of=256,
            conv_L_cache=3,
            full_attn_idxs=[2, 5, 8, 10, 12, 14],
            tie_embedding=True,
        ),
        1.17,
        6 * 2 * 8 * 64 * 2,
        state=10 * 2 * 2048 * 2,
    ),
    "LiquidAI/LFM2-8B-A1B": Published(
        shape(
            "lfm2_moe",
            2048,
            24,
            32,
            8,
            7168,
            65536,
            num_dense_layers=2,
            num_experts=32,
            num_experts_per_tok=4,
            moe_intermediate_size=1792,
            conv_L_cache=3,
            layer_types=["full_attention" if index in (2, 6, 10, 14, 18, 21) else "conv" for index in range(24)],
        ),
        8.34,
        6 * 2 * 8 * 64 * 2,
        1.5,
        18 * 2 * 2048 * 2,
    ),
    "nvidia/NVIDIA-Nemotron-Nano-9B-v2": Published(
        shape(
            "nemotron_h",
            4480,
            56,
            40,
            8,
            15680,
            131072,
            hybrid_override_pattern="M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-",
            head_dim=128,
            mamba_num_heads=128,
            mamba_head_dim=80,
            n_groups=8,
            ssm_state_size=128,
            conv_kernel=4,
            mlp_hidden_act="relu2",
            **LOOSE
        ),
        8.89,
        4 * 2 * 8 * 128 * 2,
        state=27 * (10240 * 128 * 4 + 3 * (10240 + 2 * 8 * 128) * 2),
    ),
}
