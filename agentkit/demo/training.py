"""The demo's training stage: a few LoRA updates on the CPU, with success before and after."""

import json
from collections.abc import Callable
from typing import Any

import attrs
import gymnasium as gym
import numpy as np

from agentkit.demo.settings import DemoFolder, DemoSettings
from agentkit.demo.stack import LAMBDA, ROLE_LAMBDA, judge_wrappers, make_env
from agentkit.judges import OracleJudge
from agentkit.models import ConstrainedReadout
from agentkit.trajectory import Trajectory, write_atomically
from agentkit.wrappers import JudgeRewardWrapper

Say = Callable[[str], None]


@attrs.frozen(kw_only=True)
class TrainingReport:
    """What training did."""

    losses: list[float]
    success_before: float
    success_after: float
    score_before: float
    """Mean oracle score per step of the evaluation episodes, which moves long before success does."""
    score_after: float


def train(folder: DemoFolder, settings: DemoSettings, model: Any, tokenizer: Any, say: Say) -> TrainingReport:
    """Evaluate, make ``settings.updates`` LoRA updates (going on from the last checkpoint), evaluate again."""
    from peft import LoraConfig
    from transformers import PrinterCallback, TrainerCallback

    from agentkit.trainers import AgentGRPOTrainer, RoleCredit, StepScores

    class Losses(TrainerCallback):
        """Prints the loss of each update."""

        def on_log(self, args, state, control, logs=None, **kwargs):
            if logs and "loss" in logs:
                say(f"    update {state.global_step}/{settings.updates}: loss {logs['loss']:+.4f}")

    last = _last_checkpoint(folder)
    if last is None:
        folder.rollouts.unlink(missing_ok=True)  # of a run that was stopped before its first checkpoint
    trainer = AgentGRPOTrainer(
        model,
        lambda: make_env(folder, settings),
        _config(folder, settings),
        wrappers=_frozen_judges(model, tokenizer) if settings.teacher == "model" else [_oracle],
        # Roles are the environment's own, as `make_env` asks for them.
        credit_terms=[StepScores(judge=settings.teacher, weight=LAMBDA), RoleCredit(weight=ROLE_LAMBDA)],
        processing_class=tokenizer,
        peft_config=LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"]),
        on_rollouts=lambda done: _tell(done, say),
        callbacks=[Losses()],
    )
    trainer.remove_callback(PrinterCallback)  # the demo prints its own lines
    before = _evaluate(folder, settings, trainer, "before", say)
    trainer.train(resume_from_checkpoint=str(last) if last is not None else None)
    after = _evaluate(folder, settings, trainer, "after", say)
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    return TrainingReport(
        losses=losses,
        success_before=before[0],
        success_after=after[0],
        score_before=before[1],
        score_after=after[1],
    )


def _config(folder: DemoFolder, settings: DemoSettings) -> Any:
    from agentkit.trainers import AgentGRPOConfig

    return AgentGRPOConfig(
        output_dir=str(folder.training),
        seed=settings.seed,
        max_turns=settings.turns,
        max_steps=settings.updates,
        num_generations=settings.group_size,
        per_device_train_batch_size=settings.group_size,
        learning_rate=1e-3,
        lr_scheduler_type="constant",
        beta=0.0,
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        logging_steps=1,
        save_steps=1,
        save_total_limit=1,
        report_to=[],
        disable_tqdm=True,
    )


def _oracle(env: gym.Env) -> gym.Env:
    return JudgeRewardWrapper(env, OracleJudge(), weight=LAMBDA)


def _frozen_judges(model: Any, tokenizer: Any) -> list[Callable[[gym.Env], gym.Env]]:
    """Judges that share the policy's weights, asked with its adapter switched off, so that the teacher stays frozen."""
    readout = ConstrainedReadout(model, tokenizer)

    def frozen(queries):
        from peft.tuners.tuners_utils import BaseTunerLayer

        layers = [m for m in model.modules() if isinstance(m, BaseTunerLayer)]
        for layer in layers:
            layer.enable_adapters(False)
        try:
            return readout(queries)
        finally:
            for layer in layers:
                layer.enable_adapters(True)

    return judge_wrappers(frozen)


def _evaluate(folder: DemoFolder, settings: DemoSettings, trainer: Any, when: str, say: Say) -> tuple[float, float]:
    """Success and mean oracle score of the current policy on fixed seeds; kept on disk, so that a run can go on."""
    path = folder.root / f"evaluation_{when}.json"
    if not path.exists():
        seeds = list(range(1000, 1000 + settings.evaluated))
        trajectories = [episode.trajectory for episode in trainer.play(seeds, 1)]
        scores = [v.score for t in trajectories for v in OracleJudge()(t) if v.score is not None]
        result = {"success": float(np.mean([t.won for t in trajectories])), "score": float(np.mean(scores))}
        write_atomically(path, json.dumps(result) + "\n")
    result = json.loads(path.read_text("utf-8"))
    say(f"    {when} training: success {result['success']:.0%}, mean oracle score {result['score']:.3f}")
    return result["success"], result["score"]


def _tell(done: list[Trajectory], say: Say) -> None:
    advantages = [step.advantage for t in done for step in t.steps if step.advantage is not None]
    won = sum(t.won for t in done)
    say(
        f"    group of {len(done)}: {won} won, advantages of {len(advantages)} steps from {min(advantages):+.2f} to "
        f"{max(advantages):+.2f}"
    )


def _last_checkpoint(folder: DemoFolder) -> Any:
    from transformers.trainer_utils import get_last_checkpoint

    return get_last_checkpoint(str(folder.training)) if folder.training.exists() else None
