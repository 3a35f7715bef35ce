"""The main job end to end on embedded defaults: make games, load a model, play, judge, train, report."""

from agentkit.demo.settings import DemoSettings
from agentkit.demo.stages import run_demo

__all__ = ["DemoSettings", "run_demo"]
