"""`DecisionTrainer`: fine-tunes a causal LM as judge, decider, role judge or comparator on option tokens.

The loss is the cross-entropy between hard or soft labels and the softmax over the options' log-scores: exactly the
distribution that `agentkit.models.ConstrainedReadout` gives at test time (its prompt, its token boundary, its
terminator, its scoring), so nothing is spent on tokens that no option could begin with. Everything around the loss
(optimizer, schedule, accumulation, PEFT, precision, checkpoints, resuming, loggers, `accelerate launch`) is
`transformers.Trainer`'s own; evaluation asks a `ConstrainedReadout` the held-out questions.
"""

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
from accelerate.utils import gather_object
from transformers import EarlyStoppingCallback, Trainer

from agentkit.extras import require
from agentkit.models.readout import ConstrainedReadout
from agentkit.models.readout_settings import write_settings
from agentkit.trainers.decisions.config import DecisionConfig
from agentkit.trainers.decisions.examples import DecisionExample
from agentkit.trainers.decisions.metrics import DecisionMetrics, decision_metrics
from agentkit.trainers.decisions.option_batches import EncodedExample, collate, decision_loss, option_scores
from agentkit.trainers.decisions.saving import save_whole

logger = logging.getLogger(__name__)


class DecisionTrainer(Trainer):
    """Trains a model to answer closed questions.

    Args:
        model: a causal LM with ``sdpa`` or ``eager`` attention.
        processing_class: its tokenizer.
        args: the configuration.
        train_examples: questions with their hard or soft labels.
        eval_examples: held-out ones (see `agentkit.trainers.split_by_group`); needed for evaluations.
        peft_config: a PEFT configuration, such as `peft.LoraConfig`; the adapter is merged when the model is saved.
        kwargs: passed to `transformers.Trainer` (``callbacks``, ``optimizers``, ...).

    Raises:
        ValueError: no example fits ``args.max_length``, or the model's attention takes no mask.
    """

    args: DecisionConfig

    def __init__(
        self,
        model: Any,
        processing_class: Any,
        args: DecisionConfig,
        train_examples: Sequence[DecisionExample],
        eval_examples: Sequence[DecisionExample] = (),
        *,
        peft_config: Any = None,
        **kwargs: Any,
    ):
        if args.n_gpu > 1:
            raise ValueError(
                f"{args.n_gpu} GPUs in one process; use `accelerate launch`, or set CUDA_VISIBLE_DEVICES=0"
            )
        if args.early_stopping_patience is not None and not eval_examples:
            raise ValueError("early_stopping_patience needs eval_examples to evaluate on")
        encoder = _readout(model, processing_class, args)
        if peft_config is not None:
            model = require("peft", "train").get_peft_model(model, peft_config)
        self.eval_examples = list(eval_examples)
        super().__init__(
            model=model,
            args=args,
            data_collator=collate,
            train_dataset=_encode(encoder, train_examples),  # type: ignore[arg-type] - a list is a map-style dataset
            eval_dataset=self.eval_examples or None,  # type: ignore[arg-type]
            processing_class=processing_class,
            **kwargs,
        )
        self.model_accepts_loss_kwargs = False  # the loss is a mean over examples, whatever their tokens
        if args.early_stopping_patience is not None:
            self.add_callback(EarlyStoppingCallback(args.early_stopping_patience))

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """The mean cross-entropy of the batch, and with ``return_outputs`` also its (B, K) log-scores."""
        scores = option_scores(model, inputs, self.args.scoring, self.args.temperature)
        loss = decision_loss(scores, inputs["target"])
        return (loss, {"scores": scores}) if return_outputs else loss

    def measure(self, examples: Sequence[DecisionExample]) -> DecisionMetrics:
        """Accuracy and calibration of the current weights, read out as at test time; each process asks its share."""
        model: Any = self.accelerator.unwrap_model(self.model)
        training = model.training
        model.eval()
        rank, processes = self.accelerator.process_index, self.accelerator.num_processes
        own = list(examples)[rank::processes]
        try:
            decisions = _readout(model, self.processing_class, self.args)([example.query for example in own])
        finally:
            model.train(training)
        answers = [
            (decision.probabilities if decision.unscored is None else None, example.probabilities)
            for decision, example in zip(decisions, own, strict=True)
        ]
        everyone = gather_object(answers) if processes > 1 else answers
        return decision_metrics([p for p, _ in everyone], [t for _, t in everyone])

    def evaluate(
        self, eval_dataset: Any = None, ignore_keys: list[str] | None = None, metric_key_prefix: str = "eval"
    ) -> dict[str, float]:
        """`measure` on held-out examples, logged as ``eval_accuracy``, ``eval_nll``, ``eval_brier``, ``eval_ece``.

        Raises:
            ValueError: there are no held-out examples.
        """
        examples = self.eval_examples if eval_dataset is None else list(eval_dataset)
        if not examples:
            raise ValueError("eval_examples is empty; hold some out with split_by_group(examples)")
        metrics = {f"{metric_key_prefix}_{k}": v for k, v in attrs.asdict(self.measure(examples)).items()}
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def save_readout(self, folder: str | os.PathLike[str]) -> Path:
        """Write model, tokenizer and readout settings: a folder for `ConstrainedReadout.from_pretrained`.

        Every process calls it; the main one writes. An adapter is merged into a copy of the weights first.
        """
        args = self.args

        def complete(partial: Path) -> None:
            write_settings(partial, scoring=args.scoring, temperature=args.temperature, labels=args.labels)

        return save_whole(self, folder, complete)


def _readout(model: Any, tokenizer: Any, args: DecisionConfig) -> ConstrainedReadout:
    return ConstrainedReadout(
        model,
        tokenizer,
        scoring=args.scoring,  # pyright: ignore[reportArgumentType] - checked by DecisionConfig
        temperature=args.temperature,
        labels=args.labels,  # pyright: ignore[reportArgumentType]
        max_length=args.max_length,
    )


def _encode(readout: ConstrainedReadout, examples: Sequence[DecisionExample]) -> list[EncodedExample]:
    encoded = []
    for example in examples:
        item = readout.asked(example.query)
        if item is not None:
            encoded.append(EncodedExample(item, example.probabilities))
    if not encoded:
        raise ValueError(f"none of {len(examples)} train_examples fits max_length={readout.max_length} tokens")
    if len(encoded) < len(examples):
        logger.warning(
            "%d of %d examples do not fit max_length and are left out", len(examples) - len(encoded), len(examples)
        )
    return encoded
