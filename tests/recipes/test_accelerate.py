"""The configurations for ``accelerate launch`` are ones that accelerate takes, and two processes train one run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("trl")
pytest.importorskip("yaml")

import yaml
from accelerate.commands.config.config_args import ClusterConfig, load_config_from_file
from transformers.trainer_utils import get_last_checkpoint

from agentkit.recipes.reading import to_yaml

CONFIGS = Path(__file__).resolve().parents[2] / "examples" / "recipes" / "accelerate"
KINDS = {"cpu": "MULTI_GPU", "ddp": "MULTI_GPU", "fsdp2": "FSDP", "zero2": "DEEPSPEED"}


@pytest.mark.parametrize("name", KINDS)
def test_accelerate_reads_the_configuration_as_it_is_meant(name):
    config = load_config_from_file(str(CONFIGS / f"{name}.yaml"))
    assert isinstance(config, ClusterConfig)  # which refuses keys that it does not know
    assert str(config.distributed_type).rpartition(".")[2] == KINDS[name]
    assert config.num_processes == 2


def test_every_configuration_is_tested():
    assert {path.stem for path in CONFIGS.glob("*.yaml")} == set(KINDS)


def test_zero2_and_fsdp2_say_what_they_shard():
    assert yaml.safe_load((CONFIGS / "zero2.yaml").read_text())["deepspeed_config"]["zero_stage"] == 2
    options = yaml.safe_load((CONFIGS / "fsdp2.yaml").read_text())["fsdp_config"]
    assert options["fsdp_version"] == 2
    assert options["fsdp_state_dict_type"] == "FULL_STATE_DICT"  # whole weights, which one GPU can resume from


@pytest.mark.slow
def test_two_processes_train_one_run(grpo, tmp_path):
    recipe = tmp_path / "recipe.yaml"
    grpo["trainer"]["per_device_train_batch_size"] = 1
    recipe.write_text(to_yaml(grpo), encoding="utf-8")
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--main_process_port", "0"]
    launch += ["--config_file", str(CONFIGS / "cpu.yaml")]
    done = subprocess.run(
        [*launch, "-m", "agentkit.cli", "train", str(recipe), "--out", str(tmp_path / "run")],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    entries = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [entry["step"] for entry in entries if "loss" in entry] == [1, 2]
    assert len((tmp_path / "run" / "rollouts.jsonl").read_text().splitlines()) == 4
    assert (tmp_path / "run" / "model" / "model.safetensors").exists()
    assert get_last_checkpoint(str(tmp_path / "run")) == str(tmp_path / "run" / "checkpoint-2")
