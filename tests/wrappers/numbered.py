"""An environment, judges and actions in which every step of every episode can be told from every other.

The action ``"n"`` (a number that no other step has) gives the reward n / 8; ``"n!"`` also terminates the episode and
``"n?"`` truncates it. What a judge says about a step is a function of its number, so any signal that strays to another
step, episode or copy is found out.
"""

import gymnasium as gym

from agentkit import Verdict
from agentkit.envs.contract import TextSpace


class NumberedEnv(gym.Env):
    """Does what its actions say."""

    def __init__(self):
        self.observation_space, self.action_space = TextSpace(), TextSpace()
        self.opened = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.opened += 1
        return f"opening {self.opened}", self.info()

    def step(self, action):
        return f"after {action}", number_of(action) / 8, action.endswith("!"), action.endswith("?"), self.info()

    def info(self):
        return {
            "goal": "count",
            "admissible_actions": (),
            "action_hint": "a number",
            "won": False,
            "state_changed": True,
            "milestones": (),
            "task_type": "numbers",
            "task_id": "numbers-0",
        }


def number_of(action):
    return int(action.rstrip("!?"))


def score_a(number):
    """A score in eighths, or None."""
    return None if number % 5 == 0 else (number % 8) / 8


def score_b(number):
    return None if number % 7 == 3 else (number % 4) / 4


def score_prefix(number):
    return None if number % 6 == 1 else (number % 16) / 16


def role_of(number):
    return (None, "decisive", "exploration", "no-progress", "regression")[number % 5]


def fails(trajectory):
    """The judges fail on whole episodes that begin with such a number."""
    return number_of(trajectory.steps[0].action) % 9 == 4


class NumberedJudge:
    """Scores each step by its number; fails on some episodes, alone and in a batch."""

    def __init__(self, name, score, context="hindsight", batched=False):
        self.name, self.score, self.context = name, score, context
        if batched:
            self.judge_all = lambda trajectories: [self(trajectory) for trajectory in trajectories]

    def __call__(self, trajectory):
        if self.context == "hindsight" and fails(trajectory):
            raise TimeoutError("too slow")
        return [self.score(number_of(step.action)) for step in trajectory.steps]

    def expected(self, numbers):
        if self.context == "hindsight" and numbers[0] % 9 == 4:
            return [None] * len(numbers)
        return [self.score(number) for number in numbers]


JUDGE_A = NumberedJudge("a", score_a)
JUDGE_B = NumberedJudge("b", score_b, batched=True)
PREFIX = NumberedJudge("prefix", score_prefix, context="prefix")


def roles(trajectory):
    return [role_of(number_of(step.action)) for step in trajectory.steps]


def score_of(verdict):
    assert isinstance(verdict, Verdict)
    return verdict.score
