"""How often a choice changes when its options are listed in reverse, how often it is right, and what that costs.

Twenty choices with known answers are asked forth and back: with the options unlisted, listed, and under letters;
raw, under two of the four rotations, under adaptive and all rotations, and calibrated. Cost is the time and the tokens
relative to the raw readout of the same form. SmolLM2 on the CPU:

    python examples/benchmarks/option_order.py
"""

# CI arguments: --choices 3

import argparse
import time
from collections.abc import Mapping, Sequence

import attrs

from agentkit.decisions import Decision, DecisionModel, Query, Question
from agentkit.models import Calibrated, ConstrainedReadout, Lettered, Listed, Rotated, smollm2

CHOICES = (
    ("Which of these is an animal?", "dog", "table", "spoon", "cloud"),
    ("Which of these is a colour?", "blue", "chair", "seven", "river"),
    ("Which of these is a fruit?", "apple", "hammer", "shirt", "window"),
    ("What is the capital of France?", "Paris", "Rome", "Madrid", "Berlin"),
    ("What is two plus two?", "four", "nine", "one", "twelve"),
    ("Which of these can fly?", "a bird", "a stone", "a house", "a shoe"),
    ("Where does one keep milk cold?", "the fridge", "the oven", "the shelf", "the bed"),
    ("What heats food?", "the microwave", "the fridge", "the drawer", "the sofa"),
    ("What cleans a dirty plate?", "the sink", "the lamp", "the desk", "the safe"),
    ("Which of these is a day of the week?", "Monday", "March", "noon", "winter"),
    ("Which of these is a month?", "July", "Tuesday", "evening", "ocean"),
    ("What do you use to cut bread?", "a knife", "a pillow", "a book", "a sock"),
    ("Which of these is the largest?", "the sun", "a mouse", "a car", "a tree"),
    ("Which of these is hot?", "fire", "ice", "snow", "a frozen lake"),
    ("Where do fish live?", "in water", "in the sky", "in a book", "in a fire"),
    ("What do people drink?", "water", "sand", "wood", "glass"),
    ("Who treats sick people?", "a doctor", "a carpenter", "a pilot", "a painter"),
    ("What does one read?", "a book", "a fork", "a carpet", "a wheel"),
    ("Which of these is a vegetable?", "a carrot", "a lion", "a bottle", "a train"),
    ("What shines at night?", "the moon", "a sandwich", "a shoe", "a door"),
)
"""A question, its answer, and three options that are wrong."""


@attrs.frozen
class Order:
    """What the order of options did to a model's choices."""

    flip_rate: float
    """The share of questions whose choice changes with the order."""
    accuracy: float
    """The share of right choices, over both orders."""
    seconds: float
    tokens: int


def known_choices() -> list[tuple[Query, str]]:
    """Each question with its answer, which stands in every place equally often."""
    choices = []
    for i, (text, answer, *others) in enumerate(CHOICES):
        others.insert(i % 4, answer)
        choices.append((Query("", Question(text, "choice", tuple(others))), answer))
    return choices


def measure(model: DecisionModel, choices: Sequence[tuple[Query, str]]) -> Order:
    """Ask every question with its options in both orders."""
    forth = [query for query, _ in choices]
    back = [attrs.evolve(q, question=attrs.evolve(q.question, options=q.question.options[::-1])) for q in forth]
    begun = time.perf_counter()
    answers: list[Sequence[Decision]] = [model(forth), model(back)]
    seconds = time.perf_counter() - begun
    pairs = list(zip(*answers, (right for _, right in choices), strict=True))
    return Order(
        flip_rate=sum(a.choice != b.choice for a, b, _ in pairs) / len(pairs),
        accuracy=sum((a.choice == right) + (b.choice == right) for a, b, right in pairs) / (2 * len(pairs)),
        seconds=seconds,
        tokens=sum(decision.usage.input_tokens for some in answers for decision in some),
    )


def variants(form: DecisionModel) -> Mapping[str, DecisionModel]:
    """The order-invariant modes and the calibration of one way to show options."""
    return {
        "raw": form,
        "2 rotations": Rotated(form, 2),
        "adaptive rotations": Rotated(form, "adaptive"),
        "all rotations": Rotated(form),
        "calibrated": Calibrated(form),
    }


def main() -> None:
    """Print one line for each form and mode."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--choices", type=int, default=len(CHOICES), help="how many of the questions to ask")
    choices = known_choices()[: parser.parse_args().choices]
    readout = ConstrainedReadout(*smollm2())
    forms = {"unlisted": readout, "listed": Listed(readout), "letters": Lettered(readout)}
    print(f"{'options':10}{'mode':20}{'flip rate':>10}{'right':>8}{'time':>8}{'tokens':>8}")
    for shown, form in forms.items():
        models = {"raw": form} if shown == "unlisted" else variants(form)
        measure(form, choices[:2])  # warms up
        readout.scorer.forget()
        raw = measure(form, choices)
        for mode, model in models.items():
            readout.scorer.forget()  # so that no mode profits from what an earlier one left behind
            found = measure(model, choices)
            cost = f"{found.seconds / raw.seconds:7.1f}x{found.tokens / raw.tokens:7.1f}x"
            print(f"{shown:10}{mode:20}{found.flip_rate:10.2f}{found.accuracy:8.2f}{cost}", flush=True)


if __name__ == "__main__":
    main()
