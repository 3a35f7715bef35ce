"""`PromptedActor` among listed actions and in open-ended environments."""

from typing import Any

import pytest

from agentkit import rollout
from agentkit.actors import BatchedActor, PromptedActor
from agentkit.actors.prompted import written_action
from agentkit.models import Prompted
from agentkit.models.failures import ServiceError
from agentkit.testing import ScriptedEnv
from tests.models.scripted_chat import ScriptedChat

LISTED: dict[str, Any] = {"goal": "get the gem", "admissible_actions": ("look", "take key")}
OPEN: dict[str, Any] = {"goal": "buy a mug", "admissible_actions": (), "action_hint": "search[words] or click[button]"}


def test_the_label_of_a_listed_action_plays_it() -> None:
    chat = ScriptedChat(["B", "B", "A", "B"])
    actor = PromptedActor(Prompted(chat, probabilities="samples", samples=4))
    assert actor("A hall.", LISTED) == "take key"
    assert actor.distribution == pytest.approx({"look": 0.25, "take key": 0.75})
    prompt = chat.requests[0].messages[-1]["content"]
    assert prompt.startswith("Goal: get the gem\nObservation: A hall.")
    assert "A. look\nB. take key\n" in prompt


def test_an_action_outside_the_list_is_never_played() -> None:
    actor = PromptedActor(Prompted(ScriptedChat(lambda request: "take the gem"), probabilities="samples", samples=1))
    with pytest.raises(RuntimeError, match="the model chose no action: the reply is not one of the answers"):
        actor("A hall.", LISTED)


def test_an_open_action_is_what_the_model_writes() -> None:
    chat = ScriptedChat(["I need mugs.\nAction: search[red mug]", "Action: click[Buy]"])
    actor = PromptedActor(Prompted(chat), temperature=0.4)
    assert actor("A shop.", OPEN) == "search[red mug]"
    assert actor.distribution == {}
    assert chat.requests[0].messages[-1]["content"].endswith("A shop.\nActions: search[words] or click[button]")
    assert chat.requests[0].temperature == 0.4
    assert actor("Results.", OPEN) == "click[Buy]"
    assert (
        "Observation: A shop.\nAction: search[red mug]\nObservation: Results."
        in chat.requests[1].messages[-1]["content"]
    )
    actor.reset()
    chat.script = ["", "", "Action: search[x]"]
    actor("A shop.", OPEN)
    assert "search[red mug]" not in chat.requests[2].messages[-1]["content"]


def test_an_unreadable_open_action_is_asked_for_again_but_not_for_ever() -> None:
    chat = ScriptedChat(["Hm.", "Action:", "Action: search[mug]"])
    assert PromptedActor(Prompted(chat))("A shop.", OPEN) == "search[mug]"
    assert [request.temperature for request in chat.requests] == [0.0, 1.0, 1.0]
    with pytest.raises(RuntimeError, match=r"the model wrote no action: no line 'Action: ...' in 'Hm.'"):
        PromptedActor(Prompted(ScriptedChat(lambda request: "Hm.")))("A shop.", OPEN)
    with pytest.raises(RuntimeError, match="the model wrote no action: the request timed out"):
        PromptedActor(Prompted(ScriptedChat([ServiceError("the request timed out")])))("A shop.", OPEN)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("Action: look", "look"),
        ("action : `take key`", "take key"),
        ("**Action:** take key", "take key"),
        ("Action: look\nAction: take key", "take key"),
        ("My Action: look", None),
        ("Action:", None),
        ("look", None),
    ],
)
def test_written_actions(text: str, action: str | None) -> None:
    assert written_action(text) == action


def test_it_plays_an_episode_and_batched_as_alone() -> None:
    def reply(request: Any) -> str:
        return "C" if "\nC. unlock" in request.messages[-1]["content"] else "B"

    model = Prompted(ScriptedChat(reply), probabilities="samples", samples=1)
    trajectory = rollout(ScriptedEnv(), PromptedActor(model), max_steps=2)[0]
    assert [step.action for step in trajectory.steps] == ["take key", "unlock chest"]
    assert [step.probability for step in trajectory.steps] == [1.0, 1.0]
    batched = BatchedActor(lambda i: PromptedActor(model), 2)
    assert batched(["a", "b"], [LISTED, LISTED]) == ["take key", "take key"]
    assert batched.distributions == [{"look": 0.0, "take key": 1.0}] * 2
