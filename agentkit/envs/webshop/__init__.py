"""WebShop as a text environment: find and buy what an instruction asks for, in the real shop or a made-up one."""

from agentkit.envs.webshop.catalogue import Catalogue, load_catalogue
from agentkit.envs.webshop.env import WebShopEnv
from agentkit.envs.webshop.generated import GeneratedSource, generated_records
from agentkit.envs.webshop.products import WebShopDataError

__all__ = ["Catalogue", "GeneratedSource", "WebShopDataError", "WebShopEnv", "generated_records", "load_catalogue"]
