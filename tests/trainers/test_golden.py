"""Training's numbers do not move unless somebody means them to (see `golden_run`)."""

import json

import pytest

pytest.importorskip("trl")

from tests.trainers.golden_run import GOLDEN, STYLES, TERMS, run

NUMBERS = json.loads(GOLDEN.read_text())


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("term", TERMS)
def test_losses_and_gradient_norms_are_the_golden_ones(style, term):
    """Tolerances leave room for other processors' rounding, not for another formula."""
    found = run(style, term)
    for name, values in NUMBERS[style][term].items():
        assert found[name] == pytest.approx(values, rel=2e-3, abs=1e-5)


def test_each_term_teaches_something_else():
    for style in STYLES:
        seen = [tuple(numbers["grad_norm"]) for numbers in NUMBERS[style].values()]
        assert len(set(seen)) == len(TERMS)
        assert all(max(numbers) > 1e-3 for numbers in seen)
