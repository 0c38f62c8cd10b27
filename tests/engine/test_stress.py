"""The engine under load: random work equals serial execution, many threads push at once."""

import random
import threading

import pytest
from cynet.engine.testing import Cells

import cynet as mx
from tests.long_runs import STRESS

ENGINES = {
    "naive": mx.engine.NaiveEngine,
    "one": lambda: mx.engine.ThreadedEngine(workers=1),
    "two": lambda: mx.engine.ThreadedEngine(workers=2),
    "four": lambda: mx.engine.ThreadedEngine(workers=4),
}
SEEDS = 250 if STRESS else 25
FACTOR = 6364136223846793005
MASK = 2**64 - 1


def random_work(seed, n_functions, n_cells):
    """(reads, writes, how) of each function: up to 20 cells, most only read; keywords of a push."""
    rng = random.Random(seed)
    work = []
    for _ in range(n_functions):
        picked = rng.sample(range(n_cells), rng.randint(1, min(20, n_cells)))
        n_writes = rng.randint(0 if rng.random() < 0.1 else 1, max(1, len(picked) // 3))
        work.append(
            (
                picked[n_writes:],
                picked[:n_writes],
                {
                    "salt": rng.getrandbits(31),
                    "priority": rng.choice((0, 0, 0, 5, -5)),
                    "inline": rng.random() < 0.3,
                    "gpu": rng.choice((-1, -1, 0, 1)),
                    "copies": rng.random() < 0.2,
                },
            )
        )
    return work


def serial(work, n_cells):
    """What the cells hold after the functions ran one after the other, computed in Python."""
    cells = [0] * n_cells
    for reads, writes, how in work:
        mixed = how["salt"]
        for i in reads:
            mixed = (mixed * FACTOR + cells[i]) & MASK
        for i in writes:
            mixed = (mixed * FACTOR + cells[i]) & MASK
            cells[i] = mixed
    return [c - 2**64 if c >= 2**63 else c for c in cells]


@pytest.mark.parametrize("block", range(4))
def test_random_work_equals_serial_execution(seed, block):
    """100 seeds, 50,000 functions over 100 variables in all, on four engines each; ten times as
    many under `make stress`."""
    for k in range(SEEDS):
        one = seed + SEEDS * block + k
        n_cells = (2, 10, 100)[k % 3]
        work = random_work(one, 500, n_cells)
        expected = serial(work, n_cells)
        for name, make in ENGINES.items():
            cells = Cells(make(), n_cells)
            for reads, writes, how in work:
                cells.push(reads, writes, **how)
                if how["salt"] % 50 == 0:
                    cells.wait((reads + writes)[0])
            for i in range(n_cells):
                cells.wait(i)
            values = cells.values()
            cells.close()
            assert values == expected, f"seed {one}, engine {name}"


@pytest.mark.parametrize("name", ENGINES)
def test_random_python_work_equals_serial_execution(seed, name):
    """Python and native functions, operators pushed again and asynchronous ones, in one graph."""
    rng = random.Random(seed)
    n_cells, engine = 12, ENGINES[name]()
    work = random_work(seed, 1500, n_cells)
    expected = serial(work, n_cells)
    cells, variables = [0] * n_cells, [engine.new_variable() for _ in range(n_cells)]

    def compute(reads, writes, salt):
        mixed = salt
        for i in reads:
            mixed = (mixed * FACTOR + cells[i]) & MASK
        for i in writes:
            mixed = (mixed * FACTOR + cells[i]) & MASK
            cells[i] = mixed

    for reads, writes, how in work:
        salt, priority = how["salt"], how["priority"]
        const, mutable = [[variables[i] for i in each] for each in (reads, writes)]
        way = rng.randrange(3)
        if way == 0:
            engine.push_sync(
                lambda ctx, job=(reads, writes, salt): compute(*job), None, const, mutable, priority
            )
        elif way == 1:
            engine.push_async(
                lambda ctx, done, job=(reads, writes, salt): (compute(*job), done()),
                None,
                const,
                mutable,
                priority,
            )
        else:
            op = engine.new_operator(
                lambda ctx, done, job=(reads, writes, salt): (compute(*job), done()), const, mutable
            )
            engine.push(op, priority=priority)
            engine.delete_operator(op)
    engine.wait_for_all()
    assert [c - 2**64 if c >= 2**63 else c for c in cells] == expected
    assert engine.census()["operators"] == 0


@pytest.mark.parametrize("name", ENGINES)
def test_sixteen_threads_push_at_once(seed, name):
    """Each thread's functions on its own cells keep their order; a shared counter loses nothing."""
    engine = ENGINES[name]()
    n_threads, n_pushes = 16, 400
    cells = Cells(engine, 17)
    total, shared = [0], engine.new_variable()
    failed = []

    def count(ctx):
        total[0] += 1  # only the engine keeps these apart

    def push_many(me):
        rng = random.Random(seed + me)
        try:
            for i in range(n_pushes):
                others = rng.sample(range(16), 3)
                cells.push([c for c in others if c != me], [me, 16], i, inline=i % 3 == 0)
                if i % 8 == 0:
                    engine.push_sync(count, None, (), (shared,))
                if i % 50 == 0:
                    cells.wait(me)
                    engine.wait_for_var(shared)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=push_many, args=(i,)) for i in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert not failed
    engine.wait_for_all()
    assert total == [n_threads * n_pushes // 8]
    assert cells.live_job_count() == 0
    cells.close()
    assert engine.census()["pending"] == 0


@pytest.mark.parametrize("name", ENGINES)
def test_failures_from_many_threads(name):
    """Failing, waiting and pushing at once: failures are raised once or spread, nothing hangs."""
    engine = ENGINES[name]()
    cells = Cells(engine, 4)
    raised, odd = [], []

    def work(me):
        for i in range(150):
            try:
                action = "fail" if i % 5 == 0 else "stamp"
                cells.push([me], [(me + 1) % 4], i, action, inline=i % 2, gpu=i % 3 - 1)
                if i % 7 == 0:
                    cells.wait((me + 1) % 4)
            except ValueError as error:
                raised.append(error)
            except BaseException as error:
                odd.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert not odd
    assert raised
    try:
        engine.wait_for_all()
    except ValueError:
        engine.wait_for_all()
    cells.push([0], [1], 0, "stamp")
    cells.wait(1)
    cells.close()


def test_variables_and_operators_come_and_go_in_many_threads():
    engine = mx.engine.ThreadedEngine(workers=2)
    gone = []

    def work():
        for i in range(200):
            v, w = engine.new_variable(), engine.new_variable()
            op = engine.new_operator(lambda ctx: None, (v,), (w,), sync=True)
            engine.push(op)
            if i % 2:
                engine.delete_operator(op)
            engine.delete_variable(v, lambda: gone.append(1))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    engine.wait_for_all()
    census = engine.census()
    assert len(gone) == 1600
    assert (census["variables"], census["operators"], census["pending"]) == (0, 0, 0)
