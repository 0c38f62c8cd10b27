"""A BucketingModule of which ranks use buckets with other parameters; and what is right then."""

import numpy as np

import cynet as mx
from tests.gluon.partly_fresh import MOMENTUM, RATE, WHO, wanted


def _network(has_branch):
    """Buckets True use the weight `seldom`, with a gradient of 1 + t in the row of their rank."""
    row, factor = mx.sym.Variable("row"), mx.sym.Variable("factor")
    often = mx.sym.Variable("often_weight", shape=(4, 1))  # a row of each of 4 ranks
    total = mx.sym.Embedding(row, often, input_dim=4, output_dim=1, name="often")
    if has_branch:
        seldom = mx.sym.Variable("seldom_weight", shape=(3, 1))
        total = total + mx.sym.Embedding(row, seldom, input_dim=3, output_dim=1, name="seldom")
    out = mx.sym.MakeLoss(mx.sym.reshape(total, shape=(-1,)) * factor)
    return out, ("row", "factor"), None


def check(contexts, store, rank=0, ranks=1, clips=False):
    """Train, and compare the weights with `wanted` after each step."""
    module = mx.mod.BucketingModule(_network, True, context=[mx.cpu(k) for k in range(contexts)])
    shapes = [("row", (contexts,)), ("factor", (contexts,))]
    module.bind(shapes)
    module.init_params(mx.init.One())
    settings = {"learning_rate": RATE, "momentum": MOMENTUM, "rescale_grad": 1.0}
    module.init_optimizer(kvstore=store, optimizer_params=settings)
    for t, weight in enumerate(wanted(ranks)):
        batch = mx.io.DataBatch(
            [mx.nd.full((contexts,), rank), mx.nd.full((contexts,), (1 + t) / contexts)],
            bucket_key=rank in WHO[t],
            provide_data=shapes,
        )
        module.forward_backward(batch)
        if clips:
            found = module.clip_gradients(1e6).asscalar()
            parts = [range(ranks), [k for k in WHO[t] if k < ranks]]
            norm = (1 + t) * np.sqrt(sum(len(part) for part in parts))
            np.testing.assert_allclose(found, norm, rtol=1e-6)
        module.update()
        found = module.get_params()[0]
        np.testing.assert_allclose(
            found["seldom_weight"].asnumpy()[:, 0], weight, rtol=1e-6, err_msg=f"step {t}"
        )
    assert not np.array_equal(found["often_weight"].asnumpy(), found["seldom_weight"].asnumpy())
