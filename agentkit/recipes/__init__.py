"""Recipes: training runs as YAML files, checked key by key before anything is loaded."""

from agentkit.recipes.reading import read_recipe
from agentkit.recipes.recipe import DecisionRecipe, GRPORecipe, Recipe, SFTRecipe

__all__ = ["DecisionRecipe", "GRPORecipe", "Recipe", "SFTRecipe", "read_recipe"]
