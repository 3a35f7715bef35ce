"""The baselines of a gate: critics, self-reflection and best of N."""

import gymnasium as gym
import pytest

from agentkit.actors import BestOfNActor, CritiquedActor, MistakenActor, RandomActor
from agentkit.actors.asymmetric_critic import chat_critic, planner_critic
from agentkit.actors.best_of_n import by_comparator, by_judge
from agentkit.actors.expert import ExpertActor
from agentkit.actors.self_reflection import reflection
from agentkit.decisions import Decision, Verdict
from agentkit.models.chat_service import ChatReply
from agentkit.models.failures import ServiceError
from agentkit.rollout import rollout
from agentkit.testing import ScriptedEnv

INFO = {"admissible_actions": ("look", "take key"), "goal": "win"}


class InTurn:
    """Says its actions in turn, and notes what it sees and is told."""

    def __init__(self, *actions, distribution=None):
        self.actions, self.seen, self.told = list(actions), [], []
        self.distribution = distribution or {}

    def observe(self, observation, info, action):
        self.told.append(action)

    def __call__(self, observation, info):
        self.seen.append((observation, bool((info.get("gate") or {}).get("withheld"))))
        return self.actions.pop(0)


class TestCritiqued:
    def test_a_critique_makes_the_actor_choose_again(self):
        inner = InTurn("look", "take key")
        actor = CritiquedActor(inner, lambda observation, info, proposal: f"Why {proposal}?")
        assert actor("A hall.", INFO) == "take key"
        assert inner.seen == [("A hall.", False), ("A hall.\n\nWhy look?", True)]
        assert actor.interventions == 1

    @pytest.mark.parametrize("nothing", [None, ""])
    def test_without_a_critique_the_proposal_stands(self, nothing):
        actor = CritiquedActor(InTurn("look"), lambda *arguments: nothing)
        assert actor("A hall.", INFO) == "look"
        assert (actor.proposals, actor.interventions) == (1, 0)

    def test_a_failing_critic_leaves_the_proposal_and_is_counted(self, caplog):
        def failing(*arguments):
            raise TimeoutError("no reply")

        actor = CritiquedActor(InTurn("look"), failing)
        assert actor("A hall.", INFO) == "look"
        assert actor.failures == 1
        assert "critic failed" in caplog.text

    def test_the_planner_corrects_every_mistake(self, alfworld_data):
        env = gym.make("agentkit/ALFWorld-v0", data=str(alfworld_data), split="valid_unseen", max_steps=40)
        plain = rollout(env, RandomActor(0), num_episodes=3, seed=0)
        from agentkit.actors import AdvisedActor

        actor = CritiquedActor(AdvisedActor(RandomActor(0)), planner_critic(env))
        corrected = rollout(env, actor, num_episodes=3, seed=0)
        assert [t.won for t in plain] == [False] * 3
        assert [t.won for t in corrected] == [True] * 3

    def test_the_planner_needs_an_expert(self):
        with pytest.raises(TypeError, match="needs an environment with an expert_action"):
            planner_critic(ScriptedEnv())


class TestChatCritic:
    def critic(self, reply, **kwargs):
        asked = []

        def chat(requests):
            asked.extend(requests)
            return [reply]

        return chat_critic(chat, **kwargs), asked

    def test_it_reads_the_state_and_what_only_it_may_know(self):
        critic, asked = self.critic(ChatReply("Take the key first."), privileged=lambda: "the key is real")
        assert critic("A hall.", INFO, "look") == "Critique of 'look': Take the key first."
        prompt = asked[0].messages[1]["content"]
        for part in ("Goal: win", "A hall.", "look; take key", "the key is real", "next action: look"):
            assert part in prompt

    @pytest.mark.parametrize("reply", ["OK", "ok.", " Okay!\n", ""])
    def test_approval_is_no_critique(self, reply):
        assert self.critic(ChatReply(reply))[0]("A hall.", INFO, "look") is None

    def test_a_failed_service_is_an_error(self):
        critic, _ = self.critic(ServiceError("time-out"))
        with pytest.raises(RuntimeError, match="no critique: time-out"):
            critic("A hall.", INFO, "look")


class TestReflection:
    def model(self, yes, unscored=None):
        def decide(queries):
            if unscored:
                return [Decision(q.question, unscored=unscored) for q in queries]
            return [Decision(q.question, (yes, 1 - yes)) for q in queries]

        return decide

    def test_a_doubtful_proposal_is_chosen_again(self):
        inner = InTurn("look", "take key")
        actor = CritiquedActor(inner, reflection(self.model(0.8)))
        assert actor("A hall.", INFO) == "take key"
        assert "'look' may be a mistake" in inner.seen[1][0]

    def test_the_threshold_decides(self):
        assert reflection(self.model(0.5))("A hall.", INFO, "look") is None
        assert reflection(self.model(0.5), threshold=0.4)("A hall.", INFO, "look") is not None

    def test_an_unscored_reflection_changes_nothing(self):
        actor = CritiquedActor(InTurn("look"), reflection(self.model(0, unscored="refused")))
        assert actor("A hall.", INFO) == "look"
        assert actor.failures == 1

    def test_the_threshold_is_a_probability(self):
        with pytest.raises(ValueError, match="threshold is a probability"):
            reflection(self.model(0.5), threshold=2)


def prefer_key(prefixes):
    return [float(prefix.steps[-1].action == "take key") for prefix in prefixes]


class TestBestOfN:
    def test_the_best_sample_is_played_and_told(self):
        inner = InTurn("look", "take key", "look")
        actor = BestOfNActor(inner, prefer_key, n=3)
        assert actor("A hall.", INFO) == "take key"
        assert inner.seen == [("A hall.", False), ("A hall.", True), ("A hall.", True)]
        assert inner.told == ["take key"]
        assert actor.interventions == 1

    def test_samples_come_from_the_distribution_where_there_is_one(self):
        inner = InTurn("look", distribution={"look": 0.5, "take key": 0.5})
        assert BestOfNActor(inner, prefer_key, n=20, seed=0)("A hall.", INFO) == "take key"
        assert len(inner.seen) == 1

    def test_one_sample_is_not_scored(self):
        def never(prefixes):
            raise AssertionError("asked")

        assert BestOfNActor(InTurn("look", "look"), never, n=2)("A hall.", INFO) == "look"

    @pytest.mark.parametrize(
        "score", [lambda p: [None, None], lambda p: [0.5], lambda p: [float("nan")] * 2, lambda p: 1 / 0]
    )
    def test_without_a_score_the_first_choice_is_played_and_counted(self, score):
        actor = BestOfNActor(InTurn("look", "take key"), score, n=2)
        assert actor("A hall.", INFO) == "look"
        assert (actor.failures, actor.interventions) == (1, 0)

    def test_what_is_unscored_is_not_played(self):
        actor = BestOfNActor(InTurn("look", "take key"), lambda prefixes: [None, 0.0], n=2)
        assert actor("A hall.", INFO) == "take key"

    def test_the_scorer_sees_the_episode_so_far(self):
        seen = []

        def score(prefixes):
            seen.extend(prefixes)
            return [0.0] * len(prefixes)

        actor = BestOfNActor(InTurn("take key", "look", "look", "drop key"), score, n=2)
        env = ScriptedEnv()
        observation, info = env.reset()
        observation, *_, info = env.step(actor(observation, info))
        actor(observation, info)
        prefix = seen[-1]
        assert [step.action for step in prefix.steps] == ["take key", "drop key"]
        assert prefix.steps[0].feedback == prefix.steps[1].observation == "You hold the key. The chest is locked."
        assert prefix.goal == "take the gem out of the chest"

    def test_a_judge_scores_by_its_last_verdict(self):
        def judge(trajectory):
            return [Verdict.no_score("early")] * (len(trajectory) - 1) + [
                Verdict(float(trajectory.steps[-1].action == "take key"))
            ]

        assert BestOfNActor(InTurn("look", "take key"), by_judge(judge), n=2)("A hall.", INFO) == "take key"

    def test_a_comparator_scores_by_wins(self):
        def compare(comparisons):
            assert all(c.admissible_actions == INFO["admissible_actions"] for c in comparisons)
            return ["A" if c.a == "take key" else "B" if c.b == "take key" else "T" for c in comparisons]

        actor = BestOfNActor(InTurn("look", "take key", "sing"), by_comparator(compare), n=3)
        assert actor("A hall.", INFO) == "take key"

    def test_n_is_at_least_1(self):
        with pytest.raises(ValueError, match="n must be at least 1, got 0"):
            BestOfNActor(InTurn(), prefer_key, n=0)

    def test_the_explorer_is_not_led_astray_by_its_own_samples(self, alfworld_data):
        """What was sampled and not played must not be taken for done."""
        env = gym.make("agentkit/ALFWorld-v0", data=str(alfworld_data), split="valid_unseen", max_steps=60)

        def first(prefixes):
            return [-float(i) for i in range(len(prefixes))]

        actor = BestOfNActor(MistakenActor(ExpertActor("explorer"), 0.3, seed=0), first, n=3)
        assert sum(t.won for t in rollout(env, actor, num_episodes=10, seed=0)) >= 8
