import copy

import pytest

from agentkit.wrappers.sharing import Shared, record, resolve


def test_models_are_shared_and_plain_values_stay():
    model = object()
    assert copy.deepcopy(record({"model": model}))
    assert copy.deepcopy(record(model)).value is model
    assert [record(value) for value in (None, "a:b", 1, 0.5, True)] == [None, "a:b", 1, 0.5, True]
    assert record(Shared(model)) == Shared(model)


def test_resolving():
    assert resolve("math:pi", "judge") == pytest.approx(3.14159, abs=1e-5)
    assert resolve("collections:OrderedDict()", "judge") == {}
    assert resolve(Shared(3), "judge") == 3
    assert resolve(None, "judge") is None


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("math.pi", ValueError, "judge must be an object or a string 'package.module:attribute', got 'math.pi'"),
        (":pi", ValueError, "judge must be an object or a string"),
        ("math:", ValueError, "judge must be an object or a string"),
        ("math:tau2", ImportError, "judge='math:tau2'"),
    ],
)
def test_bad_strings(text, error, message):
    with pytest.raises(error, match=message):
        resolve(text, "judge")
