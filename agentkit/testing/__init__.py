"""Test doubles one can script, and the checks that environments, wrappers and judges must pass.

`ScriptedEnv` and `ScriptedModel` stand in for an environment and a language model, `HeldJudge` for a judge that answers
late; `check_text_env`, `check_wrapper`, `check_vector_wrapper` and `check_judge` raise AssertionError with one sentence
for the first fault they find; `BAD_JUDGES` and `BAD_MODELS` misbehave in ways that real ones did. Nothing here needs
more than numpy, gymnasium, attrs and cattrs.
"""

from agentkit.testing.adversarial import BAD_JUDGES, BAD_MODELS
from agentkit.testing.held_judge import HeldJudge
from agentkit.testing.judge_check import check_judge, sample_trajectories
from agentkit.testing.scripted_env import ScriptedEnv
from agentkit.testing.scripted_model import ScriptedModel
from agentkit.testing.text_env_check import check_text_env
from agentkit.testing.vector_wrapper_check import check_vector_wrapper
from agentkit.testing.wrapper_check import check_wrapper

__all__ = [
    "BAD_JUDGES",
    "BAD_MODELS",
    "HeldJudge",
    "ScriptedEnv",
    "ScriptedModel",
    "check_judge",
    "check_text_env",
    "check_vector_wrapper",
    "check_wrapper",
    "sample_trajectories",
]
