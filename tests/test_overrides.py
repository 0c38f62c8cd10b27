"""Methods that users override, in subclasses or on an object, are called where MXNet calls them."""

import json
import logging
import sys
from pathlib import Path

import pytest

import cynet as mx

pytestmark = pytest.mark.filterwarnings("ignore")  # of what the programs set

FIXTURES = Path(__file__).with_name("fixtures")
sys.path.insert(0, str(FIXTURES))
from override_programs import PROGRAMS, Counter  # noqa: E402

EXPECTED = json.loads((FIXTURES / "overrides.json").read_text())

# What MXNet's own classes call of themselves, as parts of its way to compute.
INNER = {
    *(
        "_check_container_with_block",
        "_infer_attrs",
        "_get_graph",
        "_build_cache",
        "_register_param",
    ),
    *(
        "_forward_kernel",
        "_update_impl",
        "_batchify",
        "_getdata",
        "_prefetch_iter",
        "_call_sym_gen",
    ),
    *("_cumulate_gradient", "_get_cum_gradient", "_put_cum_gradient", "_reset_cum_gradient"),
    *("_get_lbmult", "_cosine_similarity", "_add_default_training_metrics", "_is_initialized"),
    *("_add_validation_metrics", "_categorize_handlers", "_check_batch_processor"),
    *("_check_context", "_check_loss", "_check_trainer", "_list_images"),
}
# MXNet's Compose hybridizes its transforms, its modifiers their cells; MXNet's Resize is written as
# hybrid_forward, of which cynet's subclasses may make use (tests/gluon/data/vision).
OTHERWISE = {
    *(
        ("ToTensor", name)
        for name in ("_clear_cached_op", "hybridize", "collect_params", "name_scope")
    ),
    *(
        ("Normalize", name)
        for name in ("_clear_cached_op", "hybridize", "collect_params", "name_scope")
    ),
    *((f"{kind}Cell", "_clear_cached_op") for kind in ("Bidirectional", "Residual", "Zoneout")),
    *((kind, "name_scope") for kind in ("RNN", "LSTM", "GRU")),
    ("Resize", "hybrid_forward"),
}
# Programs in which something is faster where nothing is overridden: each method is tried alone.
FAST = [
    name for name in PROGRAMS if name.startswith(("trainer_", "updater_", "block", "parameter"))
]
FAST += [
    "image_iterators",
    "records",
    "module_fit",
    "module_fit_on_two_contexts",
    "module_step_by_step",
    "bucketing_module",
]
# Steps of training, which happen exactly as often as in MXNet.
STEPS = (
    *("update_multi_precision", "create_state", "create_state_multi_precision", "_update_count"),
    *("_allreduce_grads", "_check_and_rescale_grad", "_init_kvstore", "_init_params", "_update"),
    *("step", "broadcast", "pushpull", "backward", "forward_backward", "update"),
    *("next", "getdata", "getlabel", "_call_cached_op"),
)


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    """No log lines."""
    monkeypatch.setattr(logging.root, "level", logging.ERROR)


def run(name, counter):
    PROGRAMS[name](mx, counter)
    mx.nd.waitall()
    return counter.counts


def wanted(name, which):
    """Pairs of class and method, with MXNet's number of calls."""
    for label, methods in EXPECTED[name][which].items():
        for method, calls in methods.items():
            if method not in INNER and (label, method) not in OTHERWISE:
                yield label, method, calls


@pytest.mark.parametrize("which", ["of classes", "of objects"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_methods(name, which):
    found = run(name, Counter(on_objects=which == "of objects"))
    missed = [(a, b) for a, b, _ in wanted(name, which) if not found[a].get(b)]
    # what Python looks up in the class stays where it is
    missed = [each for each in missed if which == "of classes" or not each[1].startswith("__")]
    assert not missed


@pytest.mark.parametrize("which", ["of classes", "of objects"])
@pytest.mark.parametrize("name", FAST)
def test_one_method(name, which):
    on_objects = which == "of objects"
    wrong = []
    for label, method, calls in wanted(name, which):
        if on_objects and method.startswith("__"):
            continue
        got = run(name, Counter((label, method), on_objects))[label].get(method, 0)
        if not got or (method in STEPS and got != calls):
            wrong.append((label, method, got, calls))
    assert not wrong
