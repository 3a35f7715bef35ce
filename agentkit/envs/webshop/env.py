"""`WebShopEnv`: the WebShop text environment as a Gymnasium environment, without a server or Java."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import gymnasium as gym
from gymnasium.error import ResetNeeded

from agentkit.envs.contract import TextSpace, check_action
from agentkit.envs.webshop.arguments import check_choice, check_count, goal_index_of
from agentkit.envs.webshop.catalogue import GENERATED, Catalogue, SearchEngine, load_catalogue
from agentkit.envs.webshop.expert import expert_action
from agentkit.envs.webshop.goals import Goal, goal_from_dict
from agentkit.envs.webshop.pages import render_rich, render_text
from agentkit.envs.webshop.products import Product
from agentkit.envs.webshop.progress import Progress, advance, start_progress, task_type_of
from agentkit.envs.webshop.queries import suggest_queries
from agentkit.envs.webshop.reward import purchase_reward
from agentkit.envs.webshop.searching import search_products
from agentkit.envs.webshop.session import Session, Shop, act, clickables, start_session
from agentkit.envs.webshop.splits import check_split, split_range

RENDERERS = {"text": render_text, "text_rich": render_rich}
ACTION_HINT = "search[keywords] where there is a search bar, click[a button, product or option]"
SEARCH_FORM = "search[<your query>]"
"""How a free search stands among the admissible actions, as in verl-agent's prompts."""


@attrs.frozen
class Snapshot:
    """A moment of an episode, for `WebShopEnv.restore`. Picklable; of the past it knows which pages were seen."""

    catalogue: str
    session: Session
    progress: Progress
    task_id: str
    elapsed: int = 0
    state_changed: bool = True
    milestones: tuple[str, ...] = ()
    role: str | None = None
    truncated: bool = False


class WebShopEnv(gym.Env[str, str]):
    """Shopping in text: find, configure and buy what an instruction asks for (Yao et al. 2022, arXiv 2207.01206).

    Pages, actions, goals and rewards are the original text environment's. Actions are ``search[keywords]`` and
    ``click[name]``, where the name is that of a button, product id or option value, in any letter case; anything else
    changes nothing. As in the original a search works on every page. Buying terminates the episode with a reward in
    [0, 1]; ``won`` is a reward of 1. ``max_steps`` actions truncate it.

    ``info`` is the text-environment contract, and ``score`` (the purchase's reward so far), ``reward_parts``,
    ``oracle_role`` (ground truth of the last action: decisive, exploration, no-progress or regression), ``url``,
    ``has_search_bar`` and ``clickables`` (the original's available actions, in its order). ``admissible_actions`` has
    every click that does something; on the search page, the suggested queries, or the form ``search[<your query>]``.

    Which goal is played: ``reset(options={"goal_index": i})`` names it by the original's index, over all splits, and
    ``reset(options={"task_id": "…"})`` by the one in ``info``; ``reset(options={"goal": {...}})`` brings one with the
    original's keys (with ``goal_index`` beside it, that is its session's name). ``reset(seed=s)`` plays goal s (modulo
    their number) of the split, so seeds 0 to 499 are the test goals in order. A reset without any of these draws one.

    Args:
        data: the folder with the benchmark's files; None = the environment variable WEBSHOP_DATA, and without that the
            made-up catalogue of the package, which ``"generated"`` asks for by name.
        num_products: 100, 1000, … first products of the data; None = all.
        human_goals: the goals that people wrote, instead of the synthetic ones.
        search: ``search(query, k)`` -> at most k product ids, best first; None = BM25 as the original's Lucene.
        prices: product id -> dollars; what is not in it, and None, is drawn as the original does, but seeded.
        split: "test" (goals 0 to 499), "train" (the rest) or "all".
        observation_mode: "text" ([SEP] between parts) or "text_rich" (lines with buttons).
        suggested_queries: how many queries, read off the instruction, stand among the admissible actions of the search
            page, for actors that can only choose.
        show_attrs: whether item pages have the Attributes button.
        max_steps: actions an episode; None = no limit.
        price_seed: seed of the drawn prices and price limits.
        nouns: how the type reward finds nouns: "spacy", "rules", or "auto" (spaCy when its model is installed).
        render_mode: None, or "ansi": `render` returns the page with buttons.

    Raises:
        WebShopDataError: the data is missing or cannot be used.
        ValueError: an argument is wrong; the message names it, its value and the mend.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - Gymnasium's own attribute

    def __init__(
        self,
        data: str | os.PathLike[str] | None = None,
        num_products: int | None = 1000,
        human_goals: bool = False,
        search: SearchEngine | None = None,
        prices: Mapping[str, float] | None = None,
        *,
        split: str = "test",
        observation_mode: str = "text",
        suggested_queries: int = 0,
        show_attrs: bool = False,
        max_steps: int | None = 15,
        price_seed: int = 0,
        nouns: str = "auto",
        render_mode: str | None = None,
    ):
        check_choice("observation_mode", observation_mode, RENDERERS)
        check_choice("render_mode", render_mode, (None, "ansi"))
        check_count("num_products", num_products, 1)
        check_count("max_steps", max_steps, 1)
        check_count("suggested_queries", suggested_queries, 0)
        if search is not None and not callable(search):
            raise ValueError(f"search must be a callable(query, k) -> product ids, got {search!r}")
        self._arguments = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        folder = os.environ.get("WEBSHOP_DATA") or GENERATED if data is None else os.fspath(data)
        self._catalogue = load_catalogue(folder, num_products, nouns=nouns, price_seed=price_seed, prices=prices)
        self._goals = self._catalogue.goals(bool(human_goals))
        self._split = split_range(check_split(split), len(self._goals))
        self._search = search
        self._render_page = RENDERERS[observation_mode]
        self._suggestions, self._max_steps = suggested_queries or 0, max_steps
        self._shop = Shop(self._results, self._catalogue.products.get, self._reward, show_attrs)
        self._now: Snapshot | None = None
        self._targets: dict[str, tuple[str, str]] = {}
        self.render_mode = render_mode
        self.observation_space = TextSpace()
        self.action_space = TextSpace()

    def __getstate__(self) -> dict[str, Any]:
        # The catalogue is shared and memory-mapped: a copy in another process opens it again.
        return {"arguments": self._arguments, "now": self._now, "np_random": self._np_random}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state["arguments"])
        self._np_random = state["np_random"]
        if state["now"] is not None:
            self.restore(state["now"])

    @property
    def catalogue(self) -> Catalogue:
        """The shop, shared with the other environments of the same data."""
        return self._catalogue

    @property
    def goals(self) -> Sequence[Goal]:
        """All goals, by the original's indices."""
        return self._goals

    @property
    def session(self) -> Session:
        """Where the customer stands.

        Raises:
            ResetNeeded: no episode was started.
        """
        return self._moment().session

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start an episode; see the class for how ``seed`` and ``options`` choose the goal.

        Raises:
            ValueError: an unknown option, a goal index that is out of range, or a goal that is none.
        """
        super().reset(seed=seed)
        options = dict(options or {})
        unknown = sorted(set(options) - {"goal", "goal_index", "task_id"})
        if unknown:
            raise ValueError(f"options has unknown keys {unknown}; known are 'goal', 'goal_index' and 'task_id'")
        index = self._chosen_index(options, seed)
        if options.get("goal") is not None:
            asin = options["goal"].get("asin") if isinstance(options["goal"], Mapping) else None
            goal = goal_from_dict(options["goal"], self._catalogue.products.get(str(asin)))
            index = None if "goal_index" not in options else index
        else:
            goal = self._goals[index]
        name = f"custom-{goal.asin}" if index is None else str(index)
        session = start_session(name, goal)
        self._now = Snapshot(self._catalogue.key, session, start_progress(session), task_id=name)
        return self._outcome(self._now)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Do one action.

        Raises:
            TypeError: the action is not a str.
            ResetNeeded: the episode has not begun, or has ended.
        """
        check_action(action)
        now = self._moment()
        if now.session.done or now.truncated:
            how = "something was bought" if now.session.done else f"it has had its {self._max_steps} steps"
            raise ResetNeeded(f"the episode is over ({how}); call reset() before the next step()")
        session = act(now.session, action, self._targets, self._shop)
        progress, milestones, role = advance(now.progress, now.session, session)
        elapsed = now.elapsed + 1
        truncated = not session.done and self._max_steps is not None and elapsed >= self._max_steps
        self._now = attrs.evolve(
            now,
            session=session,
            progress=progress,
            elapsed=elapsed,
            state_changed=session != now.session,
            milestones=milestones,
            role=role,
            truncated=truncated,
        )
        observation, info = self._outcome(self._now)
        return observation, session.reward, session.done, truncated, info

    def render(self) -> str | None:
        """The page with buttons, with ``render_mode="ansi"``; None without."""
        return None if self.render_mode is None else render_rich(self.session, self._shop)

    def snapshot(self) -> Snapshot:
        """This moment of the episode, for `restore`.

        Raises:
            ResetNeeded: no episode was started.
        """
        return self._moment()

    def restore(self, snapshot: Snapshot) -> tuple[str, dict[str, Any]]:
        """Go back to a snapshot of an environment with the same data, and return its observation and info.

        Raises:
            ValueError: the snapshot is of another catalogue, or none.
        """
        if not isinstance(snapshot, Snapshot) or snapshot.catalogue != self._catalogue.key:
            of = snapshot.catalogue if isinstance(snapshot, Snapshot) else type(snapshot).__name__
            raise ValueError(f"snapshot is of {of}, but this shop is {self._catalogue.key}; use one of the same data")
        self._now = snapshot
        return self._outcome(snapshot)

    def get_available_actions(self) -> dict[str, Any]:
        """The original's available actions: ``has_search_bar`` and the list of ``clickables``."""
        session = self.session
        return {"has_search_bar": session.view == "index", "clickables": list(self._targets)}

    def expert_action(self) -> str:
        """The scripted expert's next action, from wherever the episode stands."""
        return expert_action(self.session, self._shop)

    def _moment(self) -> Snapshot:
        if self._now is None:
            raise ResetNeeded("the episode has not begun; call reset() first")
        return self._now

    def _chosen_index(self, options: Mapping[str, Any], seed: int | None) -> int:
        index = options.get("goal_index")
        if index is None and "task_id" in options:
            index = goal_index_of(options["task_id"])
        if index is None:
            if seed is not None:
                return self._split[seed % len(self._split)]
            return self._split[int(self.np_random.integers(len(self._split)))]
        if isinstance(index, bool) or not hasattr(index, "__index__"):
            raise ValueError(f"options['goal_index'] must be a whole number, got {index!r}")
        if not 0 <= index < len(self._goals) and options.get("goal") is None:
            raise ValueError(f"options['goal_index'] must be in 0 … {len(self._goals) - 1}, got {index}")
        return int(index)

    def _results(self, keywords: tuple[str, ...]) -> Sequence[str]:
        return search_products(self._catalogue, keywords, self._search, seed=self.session.id)

    def _reward(self, product: Product, chosen: Mapping[str, str]) -> tuple[float, dict[str, Any]]:
        price = self._catalogue.price(product)
        return purchase_reward(product, self.session.goal, price=price, options=chosen, nouns=self._catalogue.nouns)

    def _outcome(self, now: Snapshot) -> tuple[str, dict[str, Any]]:
        session = now.session
        self._targets = clickables(session, self._shop)
        names = tuple(self._targets)
        info = {
            "goal": session.goal.instruction_text,
            "admissible_actions": self._admissible(session, names),
            "action_hint": ACTION_HINT,
            "won": session.done and session.reward >= 1.0,
            "state_changed": now.state_changed,
            "milestones": now.milestones,
            "task_type": task_type_of(session.goal),
            "task_id": now.task_id,
            "score": session.reward,
            "reward_parts": dict(session.parts),
            "oracle_role": now.role,
            "has_search_bar": session.view == "index",
            "clickables": names,
            "url": session.url,
        }
        return self._render_page(session, self._shop), info

    def _admissible(self, session: Session, names: Sequence[str]) -> tuple[str, ...]:
        if session.view == "index":
            queries = suggest_queries(session.goal.instruction_text, self._suggestions) if self._suggestions else ()
            return tuple(f"search[{query}]" for query in queries) or (SEARCH_FORM,)
        # As in the original, a name with a bracket or line end in it cannot be said, and "search" is never clicked.
        sayable = [name for name in names if name not in ("", "search") and "[" not in name and "\n" not in name]
        return tuple([f"click[{name}]" for name in sayable])
