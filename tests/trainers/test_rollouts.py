"""Rollouts: together as one by one, prompts that read as the chat, masks, gates, invalid actions, cut episodes."""

import numpy as np
import pytest

pytest.importorskip("trl")

from gymnasium.wrappers import TimeLimit

from agentkit.models import ConstrainedReadout
from agentkit.models.chat import ChatEncoder
from agentkit.testing import ScriptedEnv
from agentkit.trainers.rollouts.actions import ConstrainedActions, GeneratedActions, Request, parse_action
from agentkit.trainers.rollouts.episodes import INVALID, Limits, Start, invalid_actions, play_episodes
from agentkit.trainers.rollouts.prompts import Wording
from agentkit.trainers.rollouts.styles import make_style, replay
from agentkit.trainers.rollouts.text_generation import VLLMGenerator
from agentkit.wrappers import ComparatorGateWrapper
from tests.trainers.byte_model import byte_model, doors
from tests.trainers.settings import ScriptedText, judged

STYLES = ("conversation", "windowed")
LIMITS = Limits(max_turns=4, max_tokens=4096)


@pytest.fixture(scope="module")
def small():
    return byte_model()


def starts(count):
    return [Start(i // 2, f"group-{i // 2}", np.random.default_rng([7, i])) for i in range(count)]


def play(small, count, style="conversation", temperature=1.0, limits=LIMITS, envs=None, **wording):
    encoder = ChatEncoder(small.tokenizer)
    return play_episodes(
        envs or [TimeLimit(doors(), 4) for _ in range(count)],
        starts(count),
        make_style(style, encoder, Wording(**wording)),
        ConstrainedActions(ConstrainedReadout(*small), temperature),
        limits,
    )


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_together_equals_one_by_one(small, style, temperature):
    together = play(small, 6, style, temperature)
    encoder = ChatEncoder(small.tokenizer)
    for start, episode in zip(starts(6), together, strict=True):
        (alone,) = play_episodes(
            [TimeLimit(doors(), 4)],
            [start],
            make_style(style, encoder, Wording()),
            ConstrainedActions(ConstrainedReadout(*small), temperature),
            LIMITS,
        )
        assert alone.trajectory.with_steps(probability=[None] * len(alone.trajectory)) == (
            episode.trajectory.with_steps(probability=[None] * len(episode.trajectory))
        )
        for one, other in zip(alone.samples, episode.samples, strict=True):
            assert (one.ids, one.step_ids, one.decisions) == (other.ids, other.step_ids, other.decisions)
            np.testing.assert_allclose(one.log_probabilities, other.log_probabilities, atol=1e-5)


def test_episodes_that_end_leave_the_batch(small):
    sizes = []

    class Counting(ConstrainedActions):
        def choose(self, requests):
            sizes.append(len(requests))
            return super().choose(requests)

    episodes = play_episodes(
        [TimeLimit(doors(), 4) for _ in range(8)],
        starts(8),
        make_style("conversation", ChatEncoder(small.tokenizer), Wording()),
        Counting(ConstrainedReadout(*small)),
        LIMITS,
    )
    lengths = [len(e.trajectory) for e in episodes]
    assert sizes == [sum(length > turn for length in lengths) for turn in range(max(lengths))]
    assert min(lengths) < max(lengths)


def test_the_conversation_reads_as_the_chat_it_was(small):
    (episode,) = play(small, 1, system_prompt="Play.")
    (tokens,) = episode.samples
    steps = episode.trajectory.steps
    messages = [
        {"role": "system", "content": "Play. Answer with your next action only."},
        {"role": "user", "content": f"Goal: get out\n\n{steps[0].observation}"},
    ]
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        messages.append({"role": "assistant", "content": step.action})
        if following is not None:
            messages.append({"role": "user", "content": following.observation})
    assert small.tokenizer.decode(tokens.ids) == small.tokenizer.apply_chat_template(messages, tokenize=False)
    chosen = [i for i, step in zip(tokens.completion_ids, tokens.step_ids, strict=True) if step == 0]
    assert small.tokenizer.decode(chosen) == f"{steps[0].action}<|e|>"


def test_a_window_shows_the_task_the_last_two_steps_and_the_admissible_actions(small):
    env = ScriptedEnv(
        {
            "a": {"observation": "Room A.", "actions": {"go": "b"}},
            "b": {"observation": "Room B.", "actions": {"go": "c"}},
            "c": {"observation": "Room C.", "actions": {"go": "d"}},
            "d": {"observation": "Room D.", "actions": {"rest": "end", "stay": "d"}},
            "end": {"observation": "", "won": True},
        },
        goal="rest",
    )
    (episode,) = play(small, 1, "windowed", envs=[TimeLimit(env, 4)], list_actions=True, system_prompt="")
    assert len(episode.samples) == 4
    first, fourth = (small.tokenizer.decode(episode.samples[t].prompt_ids) for t in (0, 3))
    assert first == (
        "<|u|>Goal: rest\n\nCurrent observation: Room A.\n\nAdmissible actions:\n- go\n\n"
        "Answer with your next action only.<|e|><|a|>"
    )
    assert fourth == (
        "<|u|>Goal: rest\n\nSteps taken so far: 3. The last of them:\n\nObservation 2: Room B.\nAction 2: go\n\n"
        "Observation 3: Room C.\nAction 3: go\n\nCurrent observation: Room D.\n\n"
        "Admissible actions:\n- rest\n- stay\n\nAnswer with your next action only.<|e|><|a|>"
    )
    for t, sample in enumerate(episode.samples):
        assert set(sample.step_ids) == {t}


@pytest.mark.parametrize("style", STYLES)
def test_a_recorded_episode_becomes_the_sequences_of_its_rollout(small, style):
    """So supervised fine-tuning and rollouts read the same prompts."""
    (episode,) = play(small, 1, style, list_actions=True)
    again = replay(episode.trajectory, make_style(style, ChatEncoder(small.tokenizer), Wording(list_actions=True)))
    assert [(s.ids, s.step_ids) for s in again.samples] == [(s.ids, s.step_ids) for s in episode.samples]


def always_better(comparisons):
    half = len(comparisons) // 2
    return ["B"] * half + ["A"] * half


def test_a_withheld_action_stays_in_the_conversation_and_gets_no_credit(small):
    env = ComparatorGateWrapper(TimeLimit(ScriptedEnv(), 2), always_better)
    (episode,) = play(small, 1, limits=Limits(max_turns=2, max_tokens=4096), envs=[env])
    (tokens,) = episode.samples
    ends = [i for i, token in enumerate(tokens.completion_ids) if token == small.tokenizer.eos_token_id]
    # withheld answer, advice, executed answer, observation; then the same for the second step, which ends the episode
    assert [tokens.step_ids[i] for i in ends] == [-1, -1, 0, -1, -1, -1, 1]
    assert len(episode.trajectory) == len(tokens.decisions) == 2


def test_a_withheld_action_makes_no_window(small):
    env = ComparatorGateWrapper(TimeLimit(ScriptedEnv(), 2), always_better)
    (episode,) = play(small, 1, "windowed", limits=Limits(max_turns=2, max_tokens=4096), envs=[env])
    assert [set(s.step_ids) for s in episode.samples] == [{0}, {1}]
    assert "Advice" in small.tokenizer.decode(episode.samples[0].prompt_ids)


def test_any_stack_of_wrappers_works(small):
    (episode,) = play(small, 1, envs=[judged(TimeLimit(doors(), 4))])
    assert all(step.scores["by_position"].score is not None for step in episode.trajectory.steps)


def test_a_long_conversation_is_cut_and_says_so(small):
    (episode,) = play(small, 1, limits=Limits(max_turns=99, max_tokens=20), envs=[TimeLimit(ScriptedEnv(), 50)])
    assert episode.trajectory.truncated
    assert len(episode.samples[0].completion_ids) < 200


@pytest.mark.parametrize(
    ("text", "admissible", "thought", "expected"),
    [
        ("<think>a</think><action>look</action>", ["look"], True, ("look", True)),
        ("<think>a</think>\n<ACTION> Look </ACTION>", ["look"], True, ("look", True)),
        ("<action>look</action>", ["look"], True, ("look", False)),
        ("<action>look</action>", ["look"], False, ("look", True)),
        ("<think><action>take</action></think><action>look</action>", ["look", "take"], True, ("look", True)),
        ("<action>look</action><action>take</action>", ["look", "take"], False, ("take", True)),
        ("<action>fly</action>", ["look"], False, ("fly", False)),
        ("<action></action>", [], False, ("", False)),
        ("<action>search[mug]</action>", [], False, ("search[mug]", True)),
        ("look", ["look"], False, ("look", False)),
        ("<action>look", ["look"], False, ("<action>look", False)),
        ("", ["look"], False, ("", False)),
        ("x" * 1000, ["look"], False, ("x" * 300, False)),
    ],
)
def test_parsing_of_actions(text, admissible, thought, expected):
    assert parse_action(text, admissible, thought) == expected


TEXTS = ("<action>left</action><|e|>", "<action>fly</action><|e|>", "no tags<|e|>", "cut off")


@pytest.mark.parametrize("style", STYLES)
def test_generated_text_is_parsed_penalised_and_answered(small, style):
    wording = Wording(action_style="generated", thought=False, list_actions=True)
    decode = lambda ids: small.tokenizer.decode(list(ids), skip_special_tokens=True)  # noqa: E731
    episodes = play_episodes(
        [TimeLimit(doors(), 4) for _ in range(6)],
        starts(6),
        make_style(style, ChatEncoder(small.tokenizer), wording),
        GeneratedActions(ScriptedText(small.tokenizer, TEXTS), decode, thought=False),
        Limits(max_turns=4, max_tokens=4096, invalid_action_penalty=-0.1),
    )
    steps = [step for e in episodes for step in e.trajectory.steps]
    invalid = [step for step in steps if step.info.get(INVALID)]
    assert 0 < len(invalid) < len(steps)
    assert sum(invalid_actions(e.trajectory) for e in episodes) == len(invalid)
    for step in steps:
        assert step.info.get(INVALID, False) == (step.action != "left")
        assert step.raw_reward == pytest.approx(-0.1 if step.info.get(INVALID) else 0.0)
        assert (step.feedback == "Nothing happens.") == (step.action != "left")
    for episode in episodes:
        assert episode.trajectory.total_reward == pytest.approx(-0.1 * invalid_actions(episode.trajectory))
        for sample in episode.samples:
            assert sample.decisions == []
            assert [p for p, s in zip(sample.log_probabilities, sample.step_ids, strict=True) if s >= 0] == (
                [-1.0] * sum(s >= 0 for s in sample.step_ids)
            )


def test_an_answer_that_was_cut_off_is_ended_by_a_token_nobody_chose(small):
    episode = replay_text(small, "cut off")
    (sample,) = episode.samples
    size = len("cut off")
    assert small.tokenizer.decode(sample.completion_ids[: size + 1]) == "cut off<|e|>"
    assert sample.step_ids[: size + 1] == [0] * size + [-1]


def replay_text(small, text):
    wording = Wording(action_style="generated", thought=False)
    decode = lambda ids: small.tokenizer.decode(list(ids), skip_special_tokens=True)  # noqa: E731
    (episode,) = play_episodes(
        [TimeLimit(doors(), 2)],
        starts(1),
        make_style("conversation", ChatEncoder(small.tokenizer), wording),
        GeneratedActions(ScriptedText(small.tokenizer, (text,)), decode, thought=False),
        Limits(max_turns=2, max_tokens=4096),
    )
    return episode


def test_no_admissible_action_is_an_error_that_says_what_to_do(small):
    actions = ConstrainedActions(ConstrainedReadout(*small))
    request = Request((1, 2), {"admissible_actions": ()}, np.random.default_rng(0))
    with pytest.raises(ValueError, match="action_style='generated'"):
        actions.choose([request])


def test_an_unknown_style_or_window_is_named(small):
    encoder = ChatEncoder(small.tokenizer)
    with pytest.raises(ValueError, match="prompt_style must be 'conversation' or 'windowed', got 'chat'"):
        make_style("chat", encoder, Wording())
    with pytest.raises(ValueError, match="window must be at least 0 past steps, got -1"):
        make_style("windowed", encoder, Wording(), window=-1)


class FakeVLLM:
    """What TRL's `VLLMGeneration` looks like from outside."""

    def __init__(self, answer):
        self.answer = answer
        self.calls = []
        self.synced = 0
        self.max_completion_length = 0

    def sync_weights(self):
        self.synced += 1

    def generate(self, prompts, images, num_generations, profiler):
        assert images is None
        assert num_generations == 1
        self.calls.append(len(prompts))
        with profiler:
            pass
        return (
            prompts,
            [self.answer] * len(prompts),
            [[[None if i else -0.5]] * len(self.answer) for i in range(len(prompts))],
            None,
        )


def test_vllm_gets_as_many_prompts_in_every_call():
    from contextlib import nullcontext

    vllm = FakeVLLM([5, 6])
    generate = VLLMGenerator(vllm, 3, (0,), 17, nullcontext)
    assert vllm.max_completion_length == 17
    texts = generate([(1, 2), (3,)], [])
    assert vllm.calls == [3]
    assert [list(t.ids) for t in texts] == [[5, 6], [5, 6]]
    assert list(texts[0].log_probabilities) == [-0.5, -0.5]
    assert np.isnan(texts[1].log_probabilities).all()  # TRL takes NaN for "vLLM could not say"
    assert generate([], []) == []
    assert vllm.calls == [3, 3]


@pytest.mark.parametrize("style", STYLES)
def test_the_trainer_gives_vllm_the_weights_before_it_plays(tmp_path, style):
    from agentkit.trainers import AgentGRPOTrainer
    from tests.trainers.settings import config

    fresh = byte_model()
    agent = AgentGRPOTrainer(
        fresh.model,
        doors,
        config(tmp_path, action_style="generated", thought=False, prompt_style=style, max_action_tokens=40),
        processing_class=fresh.tokenizer,
    )
    answer = fresh.tokenizer("<action>left</action><|e|>", add_special_tokens=False)["input_ids"]
    agent.use_vllm, agent.vllm_generation, agent._last_loaded_step = True, FakeVLLM(answer), -1
    agent.train()
    assert agent.vllm_generation.synced == 2  # once for each optimizer step
    assert agent.vllm_generation.calls == [4] * 8
    assert agent.vllm_generation.max_completion_length == 40
