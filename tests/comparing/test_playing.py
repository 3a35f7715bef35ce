"""Playing arms: the same seeds for all, each episode once, and what it cost in its own meter."""

import json

import pytest

from agentkit.actors import AdvisedActor, RandomActor
from agentkit.comparing import Arm, play_arms
from agentkit.comparing.playing import PlayedEpisode, Spent, load_played
from agentkit.decisions import Decision, Query, Question, Usage
from agentkit.models.prices import Price
from agentkit.testing import ScriptedEnv
from agentkit.wrappers import ComparatorGateWrapper
from tests.wrappers import judges

ORIGINAL = Arm("original")
GATE = Arm("gate", lambda env, seed, meter: ComparatorGateWrapper(env, judges.prefers_progress))


def priced_model(queries):
    return [Decision(q.question, (1.0, 0.0), usage=Usage(1000, 1, 1)) for q in queries]


def player(env, seed, meter):
    model = meter.metered(priced_model, role="actor", model="m")
    random = RandomActor(seed)

    def act(observation, info):
        model([Query(observation, Question("Go on?"))])
        return random(observation, info)

    return AdvisedActor(act)


def play(arms=(ORIGINAL, GATE), episodes=3, **options):
    return play_arms(ScriptedEnv(max_steps=8), player, arms, episodes, **options)


def test_all_arms_see_the_same_seeds():
    played = play(seed=5)
    assert [(e.arm, e.seed) for e in played] == [(arm, 5 + i) for i in range(3) for arm in ("original", "gate")]


def test_the_gate_is_reported_and_the_original_has_none():
    original, gate = play(episodes=1)
    assert (original.interventions, dict(original.counts)) == (0, {})
    assert gate.interventions == gate.counts["interventions"] > 0
    assert gate.won
    assert gate.reward == 1.0


def test_each_episode_has_a_meter_of_its_own():
    for episode in play():
        decided = episode.spent[0].usage.requests
        # The advised actor asks no model where it follows advice.
        assert decided == episode.steps - episode.counts.get("followed", 0) + episode.counts.get("withheld", 0)
        assert episode.dollars({"m": Price(2.0, 0.0)}) == pytest.approx(decided * 0.002)


def test_interventions_of_an_actor_are_reported():
    class Critic:
        interventions = 4

        def __init__(self, actor):
            self.actor = actor

        def __call__(self, observation, info):
            return self.actor(observation, info)

    arm = Arm("critic", wrap_actor=lambda actor, env, seed, meter: Critic(actor))
    assert play([arm], 1)[0].interventions == 4


class TestFolder:
    def test_an_interrupted_comparison_goes_on(self, tmp_path):
        stopping = []

        def stop(episode):
            stopping.append(episode)
            if len(stopping) == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            play(out=tmp_path, on_episode=stop)
        assert load_played(tmp_path) == stopping
        rest = []
        played = play(out=tmp_path, on_episode=rest.append)
        assert played[:3] == stopping
        assert played[3:] == rest
        assert load_played(tmp_path) == played

    def test_more_arms_and_episodes_are_added(self, tmp_path):
        first = play([Arm("original")], 2, out=tmp_path)
        played = play(episodes=3, out=tmp_path)
        assert [e for e in played if e.arm == "original"][:2] == first
        assert len(played) == 6

    def test_other_settings_need_another_folder(self, tmp_path):
        play(out=tmp_path, settings={"actor": "random"})
        with pytest.raises(ValueError, match="was played with other settings"):
            play(out=tmp_path, settings={"actor": "explorer"})
        assert json.loads((tmp_path / "settings.json").read_text("utf-8")) == {"actor": "random"}

    def test_a_last_line_that_was_cut_off_is_played_again(self, tmp_path):
        played = play(out=tmp_path)
        path = tmp_path / "episodes.jsonl"
        path.write_text(path.read_text("utf-8")[:-9], encoding="utf-8")
        again = []
        play(out=tmp_path, on_episode=again.append)
        assert [(e.arm, e.seed) for e in again] == [(played[-1].arm, played[-1].seed)]


@pytest.mark.parametrize(("arms", "episodes"), [((), 1), ((GATE, GATE), 1), ((GATE,), 0)])
def test_nothing_to_compare(arms, episodes):
    with pytest.raises(ValueError, match="need arms with different names and at least 1 episode"):
        play(arms, episodes)


def test_a_model_without_a_price_is_named():
    spent = Spent(role="actor", model="unheard-of", usage=Usage(1, 1, 1))
    episode = PlayedEpisode(arm="a", seed=0, won=True, reward=1.0, steps=1, seconds=1.0, spent=[spent])
    with pytest.raises(ValueError, match="no price for 'unheard-of'"):
        episode.dollars()
