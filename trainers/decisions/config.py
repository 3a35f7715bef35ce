"""`DecisionConfig`: transformers' `TrainingArguments` and how the trained model is read out."""

from dataclasses import dataclass, field

from transformers import TrainingArguments

SCORINGS = ("sum", "mean")
LABELS = ("words", "listed", "letters")


@dataclass
class DecisionConfig(TrainingArguments):
    """Every option of `transformers.TrainingArguments`, and these.

    ``scoring``, ``temperature`` and ``labels`` are those of `agentkit.models.ConstrainedReadout`, which reads the saved
    folder out under the same ones.
    """

    scoring: str = field(default="sum", metadata={"help": "The log-score of an option: sum or mean over its tokens."})
    temperature: float = field(default=1.0, metadata={"help": "Divides the log-scores."})
    labels: str = field(default="words", metadata={"help": "What a choice is answered with: words, listed, letters."})
    max_length: int | None = field(
        default=2048, metadata={"help": "The most tokens of an example; longer contexts lose their middle."}
    )
    early_stopping_patience: int | None = field(
        default=None, metadata={"help": "Stop after so many evaluations without a better one; None = never."}
    )

    def __post_init__(self):
        if self.scoring not in SCORINGS:
            mend = "; 'pmi' calibrates a model that is not trained" if self.scoring == "pmi" else ""
            raise ValueError(f"scoring must be one of {', '.join(SCORINGS)}, got {self.scoring!r}{mend}")
        if not self.temperature > 0:
            raise ValueError(f"temperature must be positive, got {self.temperature!r}")
        if self.labels not in LABELS:
            raise ValueError(f"labels must be one of {', '.join(LABELS)}, got {self.labels!r}")
        if self.max_length is not None and self.max_length < 1:
            raise ValueError(f"max_length must be at least 1 or null, got {self.max_length!r}")
        if self.early_stopping_patience is not None:
            self._stop_early(self.early_stopping_patience)
        self.remove_unused_columns = False  # examples are token trees, not columns of the model's arguments
        super().__post_init__()

    def _stop_early(self, patience: int) -> None:
        """What the Trainer needs for it: evaluations, checkpoints at the same steps, and the best one at the end."""
        if patience < 1:
            raise ValueError(f"early_stopping_patience must be at least 1 or null, got {patience!r}")
        if self.eval_strategy == "no":
            self.eval_strategy = "epoch"
        self.save_strategy, self.save_steps = self.eval_strategy, self.eval_steps or self.save_steps
        self.load_best_model_at_end = True
        self.metric_for_best_model = self.metric_for_best_model or "eval_nll"
        self.greater_is_better = self.metric_for_best_model.endswith("accuracy")
