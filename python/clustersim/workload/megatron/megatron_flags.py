# SPDX-License-Identifier: GPL-2.0-only
"""Flags of Megatron-LM's pretrain_gpt.py that no flag of ours stands for: those without effect, those not simulated,
those refused.

`--flag` is a switch, `--flag=` has a value and `--flag*` several. Flags that change the model or the plan are in
megatron_line.py.
"""


def _table(text: str) -> dict[str, str]:
    """@return the mark of each flag: nothing, = or *"""
    return {word.rstrip("=*"): word[len(word.rstrip("=*")):] for word in text.split()}


# Why a flag changes neither the time nor the memory of a training step.
DATA = _table("""--data-path* --train-data-path* --valid-data-path* --test-data-path* --data-args-path= --per-split-data-args-path=
    --per-dataset-sequences-path= --split= --data-cache-path= --mock-data --num-workers= --dataloader-type= --dataloader-fast-cache-load
    --dataloader-defer-npy-index-mmap --no-create-attention-mask-in-dataloader --no-mmap-bin-files --reset-position-ids --reset-attention-mask
    --eod-mask-loss --num-dataset-builder-threads= --object-storage-cache-path= --mid-level-dataset-surplus= --allow-ambiguous-pad-tokens
    --multiple-validation-sets --validation-set-names* --full-validation --sample-rate= --mask-prob= --short-seq-prob= --fim-data --fim-rate=
    --fim-spm-rate= --fim-split-sample= --fim-fragment-rate= --fim-no-prefix= --fim-prefix-token= --fim-middle-token= --fim-suffix-token=
    --fim-pad-token= --fim-eod-token= --enable-msc --disable-msc --finetune-hf-dataset= --finetune-data-split= --finetune-data-files*
    --vocab-file= --merge-file= --vocab-extra-ids= --tokenizer-type= --tokenizer-model= --tokenizer-metadata= --tokenizer-special-tokens*
    --tokenizer-sentencepiece-legacy --no-tokenizer-sentencepiece-ignore-extra-whitespaces --disable-tokenizer-sentencepiece-ignore-extra-whitespaces
    --tokenizer-hf-no-use-fast --tokenizer-hf-no-include-special-tokens --trust-remote-code --tiktoken-pattern= --tiktoken-num-special-tokens=
    --null-tokenizer-eod-id= --null-tokenizer-pad-id= --chat-template= --use-gigatoken --sft-tokenizer-prompt-format=""")
LEARNING = _table("""--init-method-std= --embedding-init-method-std= --init-method-xavier-uniform --no-initialization --data-parallel-random-init
    --use-cpu-initialization --init-model-with-meta-device --lazy-mpu-init --seed= --te-rng-tracker --inference-rng-tracker --lr= --min-lr=
    --lr-decay-style= --lr-decay-iters= --lr-decay-samples= --lr-warmup-iters= --lr-warmup-samples= --lr-warmup-fraction= --lr-warmup-init=
    --lr-wsd-decay-style= --lr-wsd-decay-iters= --lr-wsd-decay-samples= --decoupled-lr= --decoupled-min-lr= --head-lr-mult= --train-iters=
    --train-samples= --iterations-to-skip* --phase-transition-iterations= --weight-decay= --start-weight-decay= --end-weight-decay=
    --weight-decay-incr-style= --no-weight-decay-cond-type= --apply-wd-to-qk-layernorm --adam-beta1= --adam-beta2= --adam-eps= --clip-grad=
    --dump-param-to-param-group-map= --loss-scale= --initial-loss-scale= --min-loss-scale= --loss-scale-window= --hysteresis= --norm-epsilon=
    --rotary-base= --rotary-percent= --rotary-interleaved --use-rope-scaling --rotary-scaling-factor= --rotary-seq-len-interpolation-factor=
    --rope-scaling-factor= --rope-type= --mscale= --mscale-all-dim= --mrope-section* --enable-gpt-oss --yarn-original-max-position-embeddings=
    --yarn-beta-fast= --yarn-beta-slow= --yarn-correction-range-round-to-int --no-yarn-correction-range-round-to-int --use-mup --mup-width-mult=
    --mup-base-hidden-size= --mup-embedding-mult= --mup-output-mult= --mup-base-head-dim= --mup-attn-scale-power= --qk-clip --qk-clip-alpha=
    --qk-clip-threshold= --apply-query-key-layer-scaling --apply-residual-connection-post-layernorm --softmax-type= --glu-linear-offset=
    --activation-func-clamp-value= --moe-router-load-balancing-type* --moe-aux-loss-coeff* --moe-z-loss-coeff= --moe-router-dtype=
    --moe-router-score-function= --moe-router-topk-scaling-factor= --moe-router-bias-update-rate= --moe-router-enable-expert-bias
    --moe-router-quantile-balancing-ema= --moe-router-num-groups= --moe-router-pre-softmax --moe-router-force-load-balancing
    --moe-enable-routing-replay --moe-apply-probs-on-input --export-moe-apply-probs-on-input --moe-use-upcycling --moe-upcycling-granularity=
    --mtp-loss-scaling-factor= --mtp-detach-heads --mtp-standalone --mhc-sinkhorn-iterations= --mhc-init-gating-factor= --rampup-batch-size* --step-batch-size-schedule=
    --decrease-batch-size-if-needed""")
CHECKPOINTS = _table("""--save= --load= --save-interval= --persistent-save-interval= --save-retain-interval= --save-params-interval= --save-activations-interval=
    --save-tokens-per-expert-interval= --save-wgrads-interval= --save-dgrads-interval= --ckpt-format= --ckpt-step= --override-ckpt-iteration=
    --pretrained-checkpoint= --dist-ckpt-strictness= --dist-ckpt-format= --dist-ckpt-workers= --dist-ckpt-save-pre-mcore-014
    --dist-ckpt-optim-fully-reshardable --distrib-optim-fully-reshardable-mem-efficient --no-load-optim --no-load-rng --no-save-optim --no-save-rng
    --finetune --auto-detect-ckpt-format --async-save --async-strategy= --use-persistent-ckpt-worker --async-ckpt-cpu-priority=
    --async-ckpt-io-priority= --async-ckpt-use-cpu-shm --use-dist-ckpt --use-checkpoint-args --use-mp-args-from-checkpoint-args
    --no-use-tokenizer-model-from-checkpoint-args --disable-use-tokenizer-model-from-checkpoint-args --load-main-params-from-ckpt
    --exit-on-missing-checkpoint --override-opt_param-scheduler --use-checkpoint-opt_param-scheduler --non-persistent-save-interval=
    --non-persistent-ckpt-type= --non-persistent-global-ckpt-dir= --non-persistent-local-ckpt-dir= --non-persistent-local-ckpt-algo=
    --ckpt-convert-format= --ckpt-convert-save= --ckpt-convert-update-legacy-dist-opt-format --ckpt-fully-parallel-save
    --no-ckpt-fully-parallel-save --ckpt-fully-parallel-load --ckpt-fully-parallel-load-exchange-algo= --ckpt-fully-parallel-load-per-rank-objects
    --ckpt-fully-parallel-save-process-group= --ckpt-fully-parallel-load-process-group= --ckpt-assume-constant-structure
    --ckpt-pg-tensors-cache-path= --ckpt-pg-tensors-cache-create --no-ckpt-load-validate-sharding-integrity
    --disable-ckpt-load-validate-sharding-integrity --ckpt-drop-redundant-extra-state --no-strict-fsdp-dtensor-load
    --disable-strict-fsdp-dtensor-load --no-save-tokenizer-assets --disable-save-tokenizer-assets --replication --replication-jump=
    --replication-factor= --verify-integrity --modelopt-enabled --export-model-type= --export-te-mcore-model --export-default-te-spec""")
LOGS = _table("""--log-throughput --log-params-norm --log-num-zeros-in-grad --log-progress --log-timers-to-tensorboard --log-memory-to-tensorboard
    --log-validation-ppl-to-tensorboard --log-world-size-to-tensorboard --no-log-loss-scale-to-tensorboard --disable-log-loss-scale-to-tensorboard --no-log-learning-rate-to-tensorboard
    --log-interval= --log-memory-interval= --log-device-memory-used --log-max-attention-logit --log-energy --log-straggler --logging-level=
    --moe-per-layer-logging --config-logger-dir= --timing-log-level= --timing-log-option= --no-barrier-with-level-1-timing --tensorboard-dir=
    --tensorboard-log-interval= --tensorboard-queue-size= --wandb-project= --wandb-exp-name= --wandb-save-dir= --wandb-entity=
    --result-rejected-tracker-filename= --moe-routing-trace-path= --moe-routing-trace-max-training-iters= --moe-routing-trace-capture-logits
    --moe-routing-trace-capture-hidden-states --moe-routing-trace-dump-weights --otel-enabled --otel-service-name= --otel-span-groups=
    --no-one-logger --one-logger-project= --one-logger-run-name= --one-logger-async --app-tag-run-name= --app-tag-run-version= --profile
    --profile-step-start= --profile-step-end= --profile-ranks* --use-pytorch-profiler --pytorch-profiler-collect-shapes
    --pytorch-profiler-collect-callstack --pytorch-profiler-collect-chakra --record-memory-history --memory-snapshot-path= --record-shapes
    --nvtx-ranges --flight-recorder-dump-path= --flight-recorder-trace-buffer-size= --no-flight-recorder-dump-on-timeout
    --disable-flight-recorder-dump-on-timeout --flight-recorder-include-stack-trace --no-flight-recorder-include-only-active
    --disable-flight-recorder-include-only-active --no-flight-recorder-extra-dump-on-exec --disable-flight-recorder-extra-dump-on-exec
    --run-workload-inspector-server --straggler-ctrlr-port= --straggler-minmax-count= --disable-straggler-on-startup""")
JOB = _table("""--exit-interval= --exit-duration-in-mins= --exit-signal= --exit-signal-handler --exit-signal-handler-for-dataloader
    --exit-signal-handler-for-training --adlr-autoresume --adlr-autoresume-interval= --manual-gc --manual-gc-interval= --no-manual-gc-eval
    --disable-manual-gc-eval --empty-unused-memory-level= --train-sync-interval= --gpu-sniff-test-interval= --test-mode --enable-experimental
    --check-for-nan-in-loss-and-grad --no-check-for-nan-in-loss-and-grad --check-for-spiky-loss --check-for-large-grads
    --check-weight-hash-across-dp-replicas-interval= --rerun-mode= --error-injection-type= --eval-iters= --eval-interval= --start-eval-at-iter=
    --eval-global-batch-size= --eval-micro-batch-size= --distributed-backend= --distributed-timeout-minutes= --distributed-timeout-seconds-after-init=
    --disable-gloo-process-groups --tp-comm-bootstrap-backend= --local-rank= --enable-ft-package --calc-ft-timeouts --ft-num-warmup-iters=
    --inprocess-restart --inprocess-max-iterations= --inprocess-monitor-thread-interval= --inprocess-monitor-process-interval=
    --inprocess-progress-watchdog-interval= --inprocess-heartbeat-interval= --inprocess-soft-timeout= --inprocess-hard-timeout=
    --inprocess-heartbeat-timeout= --inprocess-barrier-timeout= --inprocess-completion-timeout= --inprocess-last-call-wait=
    --inprocess-termination-grace-time= --inprocess-granularity= --inprocess-empty-cuda-cache
    --node-rank= --master-addr= --master-port= --rdzv-id= --rdzv-backend= --rdzv-endpoint= --rdzv-conf= --max-restarts= --monitor-interval=
    --standalone --local-addr= --log-dir= --redirects= --tee= --start-method= --role=""")
# Flags that say how it is simulated anyway: bfloat16, Megatron-Core, and kernels as fused as they can be.
RESTATED = _table("""--bf16 --use-mcore-models --apply-layernorm-1p --no-masked-softmax-fusion --attention-softmax-in-fp32 --group-query-attention
    --multi-latent-attention --moe-permute-fusion --moe-router-fusion --moe-router-padding-for-fp8 --moe-router-padding-for-quantization
    --cross-entropy-loss-fusion --cross-entropy-fusion-impl= --calculate-per-token-loss --no-gradient-accumulation-fusion --no-persist-layer-norm
    --use-precision-aware-optimizer --fp8-amax-history-len= --fp8-amax-compute-algo= --fp8-margin= --fp8-interval= --ddp-bucket-size= --ddp-num-buckets=
    --disable-bf16-reduced-precision-matmul --use-fused-weighted-squared-relu --fused-residual-rmsnorm --use-transformer-engine-op-fuser
    --use-te-activation-func --mla-down-proj-fusion --use-grouped-gemm-for-shared-expert --use-grouped-gemm-for-dense-mlp --moe-use-grouped-tensor
    --moe-single-grouped-weight --moe-single-grouped-bias --moe-mlp-glu-interleave-size= --moe-shared-expert-glu-interleave-size=
    --no-clone-scatter-output-in-embedding --disable-clone-scatter-output-in-embedding --reuse-grad-buf-for-mxfp8-param-ag --keep-fp8-transpose-cache
    --ddp-pad-buckets-for-high-nccl-busbw --ddp-average-in-collective --cpu-offloading-retain-pinned-cpu-buffers --megatron-fsdp-version=
    --fsdp-double-buffer --fsdp-db-use-persist-buf-on-alloc-fail --no-use-layer-wise-param-layout --no-align-grad-reduce --disable-align-grad-reduce
    --no-align-param-gather""")
# Flags that Megatron-LM itself looks at only with a flag that is refused below, or with a value that is; or that
# pretrain_gpt.py does not look at.
IDLE = {
    "--perform-rl-step": _table("""--rl-prompts-per-eval= --grpo-prompts-per-step= --grpo-group-size= --rl-generation-lag= --rl-max-inflight-requests=
        --rl-submission-granularity= --rl-consumption-granularity= --rl-durable-rollout-bank --rl-rollout-bank-dir= --rl-rollout-bank-max-bytes=
        --grpo-iterations= --grpo-clamp-eps-lower= --grpo-clamp-eps-upper= --grpo-kl-beta= --grpo-entropy-term-weight=
        --grpo-filter-groups-with-same-reward --langrl-env-config= --rl-default-temperature= --rl-default-top-p= --rl-default-top-k=
        --rl-offload-optimizer-during-inference --rl-kv-cache-management-mode= --rl-persist-cuda-graphs --no-rl-persist-cuda-graphs
        --rl-partial-rollouts --no-rl-partial-rollouts --rl-inference-logprobs-is-correction --no-rl-inference-logprobs-is-correction
        --rl-importance-sampling-truncation-coef= --rl-use-sequence-packing --no-rl-use-sequence-packing --rl-sequence-packing-max-sequences-per-bin=
        --rl-sequence-packing-algo= --rl-training-cuda-graphs --no-rl-training-cuda-graphs --rl-inference-tensor-model-parallel-size=
        --rl-inference-pipeline-model-parallel-size= --rl-inference-expert-model-parallel-size= --rl-inference-expert-tensor-model-parallel-size=
        --rl-inference-model-unified-memory-level= --rl-offload-inference-model-weights-when-idle --no-rl-offload-inference-model-weights-when-idle
        --refit-method= --rl-verify-model-weights-swap --no-rl-verify-model-weights-swap --rl-skip-bos-token --no-rl-skip-bos-token --rl-profile
        --rl-profile-dir= --rl-inference-parsers*"""),
    "inference": _table("""--inference-batch-times-seqlen-threshold= --max-tokens-to-oom= --use-legacy-static-engine --inference-max-requests=
        --inference-max-seq-length= --inference-dynamic-batching --inference-dynamic-batching-buffer-size-gb=
        --inference-dynamic-batching-paused-buffer-size-gb= --inference-dynamic-batching-mamba-memory-ratio= --inference-dynamic-batching-block-size=
        --inference-dynamic-batching-max-requests= --inference-dynamic-batching-max-tokens= --inference-dynamic-batching-num-cuda-graphs=
        --inference-dynamic-batching-track-paused-request-events --inference-dynamic-batching-track-generated-token-events --decode-only-cuda-graphs
        --inference-cuda-graph-all-prefills --inference-cuda-graph-max-tokens= --inference-cuda-graph-scope=
        --inference-dynamic-batching-unified-memory-level= --enable-chunked-prefill --num-speculative-tokens= --inference-dynamic-batching-prefix-caching
        --no-inference-dynamic-batching-prefix-caching --inference-dynamic-batching-prefix-caching-eviction-policy=
        --inference-dynamic-batching-prefix-caching-coordinator-policy= --inference-dynamic-batching-prefix-caching-routing-alpha=
        --inference-dynamic-batching-prefix-caching-mamba-gb= --inference-dynamic-batching-cuda-graph-mixed-prefill-count=
        --inference-dynamic-batching-cuda-graph-sizing-distribution= --inference-dynamic-batching-sampling-backend=
        --use-same-sampling-seed-across-dp-ranks --inference-dynamic-batching-async-sched-mode= --inference-dynamic-batching-logprobs-mode=
        --inference-logging-step-interval= --inference-text-gen-server-logging --no-inference-text-gen-server-logging --inference-wandb-logging
        --no-inference-wandb-logging --inference-coordinator-port= --mamba-inference-conv-states-dtype= --mamba-inference-ssm-states-dtype=
        --inference-use-synchronous-zmq-collectives --no-inference-use-synchronous-zmq-collectives --inference-disable-ep-consensus
        --no-inference-disable-ep-consensus --inference-shards= --flash-decode --symmetric-ar-type= --nccl-all-reduce-for-prefill
        --inference-fuse-tp-communication --inference-disable-triton-nvls-kernels --inference-grouped-gemm-backend=
        --inference-moe-disable-fused-quant-kernels --inference-moe-token-dispatcher-type= --mlp-chunks-for-prefill= --cache-mla-latents
        --moe-pad-experts-for-cuda-graph-inference --export-kv-cache-quant="""),
    "other programs": _table("""--output-bert-embeddings --bert-embedder-type= --bert-no-binary-head --ict-head-size= --biencoder-projection-dim=
        --biencoder-shared-query-context-model --ict-load= --bert-load= --titles-data-path= --query-in-block-prob= --use-one-sent-docs
        --evidence-data-path= --retriever-report-topk-accuracies* --retriever-score-scaling --block-data-path= --embedding-path= --indexer-batch-size=
        --indexer-log-interval= --num-classes= --img-h= --img-w= --num-channels= --patch-dim= --classes-fraction= --data-per-class-fraction=
        --no-data-sharding --vision-pretraining --vision-pretraining-type= --vision-backbone-type= --swin-backbone-type= --mask-type= --mask-factor=
        --iter-per-epoch= --dino-local-img-size= --dino-local-crops-number= --dino-head-hidden-size= --dino-bottleneck-size= --dino-freeze-last-layer=
        --dino-norm-last-layer --dino-warmup-teacher-temp= --dino-teacher-temp= --dino-warmup-teacher-temp-epochs= --decoder-num-layers=
        --decoder-seq-length= --relative-attention-num-buckets= --relative-attention-max-distance="""),
    "--experimental-attention-variant": _table("""--dsa-indexer-n-heads= --dsa-indexer-head-dim= --dsa-indexer-topk= --dsa-indexer-topk-freq=
        --dsa-indexer-skip-topk-offset= --dsa-indexer-loss-coeff= --dsa-indexer-use-sparse-loss --dsa-kernel-backend= --dsa-indexer-rope-interleaved
        --no-dsa-indexer-rotate-activation --disable-dsa-indexer-rotate-activation --no-dsa-indexer-scoring-relu --disable-dsa-indexer-scoring-relu
        --dsa-indexer-k-norm-epsilon= --dsa-indexer-k-norm-fp32 --linear-attention-freq= --linear-conv-kernel-dim= --linear-key-head-dim=
        --linear-value-head-dim= --linear-num-key-heads= --linear-num-value-heads="""),
    "--hybrid-layer-pattern": _table("""--mamba-state-dim= --mamba-head-dim= --mamba-num-groups= --mamba-num-heads= --disable-mamba-mem-eff-path
        --mamba-training-ssm-states-dtype= --gdp-num-householder= --gdp-cutedsl-kernel --gdp-num-chunk-states-to-recompute="""),
    "--optimizer": _table("""--sgd-momentum= --muon-momentum= --muon-no-split-qkv --muon-nesterov --muon-scale-mode= --muon-fp32-matmul-prec=
        --muon-coefficient-type= --muon-num-ns-steps= --muon-tp-mode= --muon-use-syrk --muon-extra-scale-factor= --muon-scalar-optimizer=
        --lion-beta1= --lion-beta2="""),
    "--optimizer-cpu-offload": _table("""--optimizer-offload-fraction= --use-torch-optimizer-for-cpu-offload --overlap-cpu-optimizer-d2h-h2d
        --no-pin-cpu-grads --no-pin-cpu-params"""),
    "--fine-grained-activation-offloading": _table("""--offload-modules* --min-offloaded-tensor-size= --delay-offload-until-cuda-graph
        --delta-offload-bytes-across-pp-ranks= --activation-offload-fraction= --fine-grained-offloading-max-inflight-offloads="""),
    "--moe-paged-stash": _table("--moe-paged-stash-page-size= --moe-paged-stash-buffer-size-factor-cuda= "
                                "--moe-paged-stash-buffer-size-factor-cpu="),
    "--tensor-parallel-num-weight-shards": _table("""--gtp-remat-opt-in-modules* --gtp-remat-nccl-ub --gtp-expert-remat-nccl-ub
        --gtp-remat-reduce-scatter-with-fp32-accumulation"""),
    "--moe-flex-dispatcher-backend": _table("""--moe-permute-fusion-into-hybridep --moe-hybridep-pad-uneven-dispatch-inputs --moe-hybridep-num-sms=
        --moe-hybridep-num-blocks-permute= --moe-hybridep-num-blocks-unpermute= --moe-hybridep-num-sms-preprocessing= --moe-ncclep-zero-copy"""),
    "--hybrid-context-parallel": _table("--max-seqlen-per-dp-cp-rank="),
    "--batch-invariant-mode": _table("--batch-invariant-backend="),
    "--use-kitchen-attention": _table("--kitchen-attention-backend="),
    "--use-torch-fsdp2": _table("--torch-fsdp2-no-reshard-after-forward"),
    "--logits-save-dir": _table("--logits-save-top-k= --logits-save-top-p= --logits-save-top-p-min-k= "
                                "--logits-save-dtype="),
    "--logits-load-dir": _table("""--logits-load-decode-threads= --logits-load-prefetch-factor= --logits-load-msc-prefetch-depth= --logits-load-kd-loss-alpha=
        --logits-load-ignore-errors"""),
    "--export-kd-teacher-load": _table("--export-kd-teacher-model-config= --export-kd-teacher-ckpt-format= "
                                       "--export-kd-cfg="),
    "--fault-injector-ranks": _table("""--fault-injector-fault-types= --fault-injector-fault-probabilities= --fault-injector-fault-delay=
        --fault-injector-delay-start-iteration= --fault-injector-mtti-seconds= --fault-injector-offset-seconds= --fault-injector-seed="""),
}
WITHOUT = {**DATA, **LEARNING, **CHECKPOINTS, **LOGS, **JOB, **RESTATED,
           **{flag: mark for table in IDLE.values() for flag, mark in table.items()}}

# Flags whose effect is not simulated, though small: a warning says so.
_OVERLAP = "--framework, or the simulator, says what overlaps"
_BUFFERS = "collectives have NCCL's own buffers; with registered ones they take fewer multiprocessors from kernels"
_LAUNCHES = "only whole layers are launched at once (--cuda-graph-impl without modules)"
WARNED = {
    _OVERLAP: _table("""--overlap-param-gather --overlap-param-gather-with-optimizer-step --tp-comm-overlap --no-tp-comm-bulk-wgrad --disable-tp-comm-bulk-wgrad
        --no-tp-comm-bulk-dgrad --disable-tp-comm-bulk-dgrad --no-tp-comm-overlap-ag --disable-tp-comm-overlap-ag --no-tp-comm-overlap-rs
        --disable-tp-comm-overlap-rs --tp-comm-overlap-rs-dgrad --no-tp-comm-split-ag --disable-tp-comm-split-ag --no-tp-comm-split-rs
        --disable-tp-comm-split-rs --tp-comm-overlap-cfg= --delay-wgrad-compute --overlap-moe-expert-parallel-comm --moe-shared-expert-overlap
        --overlap-dispatch-backward-with-experts-wgrad --ep-overlap-early-attn-memory-release --overlap-p2p-communication-warmup-flush
        --no-overlap-p2p-communication --defer-embedding-wgrad-compute --wgrad-deferral-limit= --high-priority-a2a-comm-stream
        --high-priority-stream-groups* --create-all-gather-group --megatron-fsdp-enable-fine-grained-param-gather --suggested-communication-unit-size="""),
    _BUFFERS: _table("--use-nccl-ub --disable-symmetric-registration --fsdp-manual-registration "
                     "--megatron-fsdp-max-pool-double-buffer"),
    _LAUNCHES: _table("--cuda-graph-modules* --cuda-graph-scope* --optimizer-cuda-graph"),
    "launches once are not part of a step": _table("--cuda-graph-warmup-steps="),
    "the simulators' flags and NCCL_ variables say how NCCL works": _table("--nccl-communicator-config-path= "
        "--use-sharp --sharp-enabled-group="),
    "transfers between stages are NCCL's": _table("--use-ring-exchange-p2p"),
    "DeepEP's kernels take the multiprocessors that it chooses": _table("--moe-flex-dispatcher-num-sms= "
        "--moe-deepep-num-sms="),
    "every layer is taken to rotate queries and keys": _table("--no-rope-freq="),
    "attention has the kernels of --framework, or the fastest": _table("--flash-attention-version=")}

# The only values that are simulated, and why.
FUSED = "kernels are those of Transformer Engine, with fused attention"
HOLDS = {"--attention-dropout": ("0", "nothing is dropped"), "--hidden-dropout": ("0", "nothing is dropped"),
         "--transformer-impl": ("transformer_engine", FUSED), "--attention-backend": ("auto flash fused", FUSED),
         "--optimizer": ("adam", "the optimizer is Adam"),
         "--moe-token-drop-policy": ("probs position", "dropped tokens are of each expert"),
         "--cp-comm-type": ("p2p all_gather allgather",
                            "context parallelism gathers keys and values, or passes them around"),
         "--pipeline-model-parallel-comm-backend": ("nccl", "stages communicate with NCCL"),
         "--output-logit-dtype": ("bf16", "logits are bfloat16"), "--fp4-recipe": ("nvfp4", "4-bit floats are NVFP4"),
         "--moe-dispatch-fwd-dtype": ("bf16", "--moe_dispatch_dtype says the type of dispatched tokens"),
         "--moe-combine-bwd-dtype": ("bf16", "results are combined in bfloat16"),
         "--error-injection-rate": ("0", "nothing fails"),
         "--outer-dp-sharding-strategy": ("no_shard", "copies of hybrid sharding are whole"),
         "--mlp-chunks-for-training": ("1", "an MLP computes a micro-batch at once")}
LIST_HOLDS = ("--cp-comm-type",)
_LAYERS = "layers are alike (--config FILE describes others)"
_BF16 = "--dtype and --operator_dtype say the types of products"
CONTRADICT = {
    **dict.fromkeys("--no-bias-swiglu-fusion --no-bias-gelu-fusion --no-bias-dropout-fusion --no-rope-fusion "
                    "--use-legacy-models --disable-jit-fuser "
                    "--no-gradient-reduce-div-fusion --export-force-local-attention".split(), FUSED),
    **dict.fromkeys("--use-kitchen-attention --kitchen-config-file --kitchen-recipe-number".split(), FUSED),
    **dict.fromkeys("--deterministic-mode --batch-invariant-mode".split(),
                    "kernels are the fastest, not those that compute the same bits again"),
    "--use-tp-pp-dp-mapping": "ranks are in the order TP, CP, DP, PP",
    "--optimizer-cpu-offload": "the optimizer and its states are in the GPU's memory",
    **dict.fromkeys("--fine-grained-activation-offloading --moe-paged-stash".split(),
                    "whole layers move to the host's memory (--offload_num_layers)"),
    **dict.fromkeys("--spec --hybrid-layer-pattern --hybrid-override-pattern --is-hybrid-model "
                    "--experimental-attention-variant --mtp-hybrid-override-pattern "
                    "--heterogeneous-layers-config-path --heterogeneous-layers-config-encoded-json".split(), _LAYERS),
    **dict.fromkeys("--mtp-use-repeated-layer --mtp-hsm".split(),
                    "layers that predict further tokens are alike, with weights of their own"),
    **dict.fromkeys("--qk-l2-norm --export-qk-l2-norm".split(),
                    "norms of queries and keys have weights (--qk-layernorm)"),
    "--fp32-residual-connection": "residual sums are bfloat16",
    "--fp16-lm-cross-entropy": "the loss is computed in float32",
    **dict.fromkeys("--te-precision-config-file --no-fp8-wgrad --disable-fp8-wgrad --fp8-output-proj "
                    "--fp8-quantizer-factory --fp4-quantizer-factory "
                    "--export-quant-cfg --export-real-quant-cfg".split(), _BF16),
    "--moe-input-jitter-eps": "inputs of routers have no noise",
    "--moe-router-force-biased": "--moe_imbalance says how uneven experts' shares are",
    "--moe-expert-rank-capacity-factor": "an expert has a capacity, a rank has none (--moe-expert-capacity-factor)",
    "--mhc-recompute-layer-num": "--recompute-modules says what is computed again",
    "--distribute-saved-activations": "each rank keeps the inputs of its layers (--sequence-parallel shards them)",
    **dict.fromkeys("--tensor-parallel-num-weight-shards --expert-tensor-parallel-num-weight-shards".split(),
                    "weights are sharded by TP and ZeRO"),
    **dict.fromkeys("--hierarchical-context-parallel-sizes --hybrid-context-parallel".split(),
                    "context parallelism has one group (--context-parallel-size)"),
    **dict.fromkeys("--sft --dataloader-inter-document-masking".split(),
                    "--document_length says how many tokens attend to each other"),
    "--use-torch-fsdp2": "sharding is that of Megatron-LM (--zero 3 with --framework torch_fsdp2 is PyTorch's)",
    "--enable-full-sharding-in-hsdp": "copies of hybrid sharding are whole",
    "--ddp-reduce-scatter-with-fp32-accumulation": "gradients are reduced by ReduceScatter, not by AllToAll",
    "--ddp-param-name-patterns-for-fp32-local-accumulation": "all gradients add up in one type (--main_grads_dtype)",
    "--fake-process-group": "ranks communicate", "--inprocess-active-world-size": "all ranks take part (--world_size)",
    **dict.fromkeys("--fault-injector-ranks --fault-injector-num-ranks".split(), "nothing fails"),
    **dict.fromkeys("--perform-rl-step --skip-train".split(), "steps are those of pre-training"),
    **dict.fromkeys("--freeze-all-layers --freeze-base-for-mtp --qad-train-target".split(),
                    "all weights are trained, or adapters alone (--lora_rank)"),
    **dict.fromkeys("--logits-save-dir --logits-load-dir --export-kd-teacher-load".split(),
                    "the loss is of the model's own logits"),
    **dict.fromkeys("--export-offline-model --export-legacy-megatron".split(),
                    "the model is Megatron-Core's, with its layers"),
    "--yaml-cfg": "flags say the model and the plan", "--encoder-num-layers": "there is a decoder alone (--num-layers)",
    "--encoder-seq-length": "there is a decoder alone (--seq-length)",
    **{old: f"Megatron-LM has {new} for it" for old, new in (
        ("--batch-size", "--micro-batch-size"), ("--model-parallel-size", "--tensor-model-parallel-size"),
        ("--warmup", "--lr-warmup-fraction"), ("--checkpoint-activations", "--recompute-activations"))}}
