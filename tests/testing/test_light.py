"""What needs no more than the core dependencies, shown in a fresh interpreter."""

import subprocess
import sys

SCRIPT = """
import sys
from agentkit import rollout
from agentkit.testing import ScriptedEnv, ScriptedModel, check_judge, check_text_env, check_wrapper
from agentkit.wrappers import JudgeRewardWrapper, TextualizeWrapper

def judge(trajectory):
    return [float(bool(step.milestones)) for step in trajectory.steps]

plan = iter(("look", "take key", "unlock chest", "take gem"))
(trajectory,) = rollout(JudgeRewardWrapper(ScriptedEnv(), judge), lambda observation, info: next(plan))
assert trajectory.score_array("judge").tolist() == [0, 1, 1, 1]
check_wrapper(JudgeRewardWrapper, judge=judge)
check_text_env(ScriptedEnv())
check_judge(judge)

allowed = {"agentkit", "gymnasium", "numpy", "attr", "attrs", "cattrs", "cattr", "cloudpickle", "farama_notifications",
           "typing_extensions"}
foreign = {name.partition(".")[0] for name, module in sys.modules.items() if getattr(module, "__file__", None)
           and "site-packages" in module.__file__} - allowed
print(sorted(name for name in foreign if not name.startswith(("_", "gym_agentkit"))))
"""


def test_the_testing_room_and_the_wrappers_need_the_core_only():
    result = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "[]"
