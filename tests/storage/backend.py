"""A backend's four methods carry a whole device: pooled, trimmed on exhaustion."""

from cynet.storage.block import Memory

import cynet as mx


class Fake(mx.storage.Backend):
    def __init__(self):
        self.live, self.next, self.freed = {}, 1 << 30, 0

    def raw_alloc(self, nbytes, dev_id):
        if sum(self.live.values()) + nbytes > 10000:
            raise MemoryError
        self.next += nbytes
        self.live[self.next] = nbytes
        return self.next

    def raw_free(self, address, nbytes, dev_id):
        assert self.live.pop(address) == nbytes
        self.freed += 1

    def memory_info(self, dev_id):
        if dev_id > 0:
            raise mx.MXNetError(f"gpu({dev_id}) is not there")
        used = sum(self.live.values())
        return 10000 - used, 10000

    def synchronize(self, dev_id):
        pass


fake = Fake()
mx.storage.register_backend("gpu", fake)
a = Memory(4096, mx.gpu())
address = a.data_ptr
del a
assert Memory(4096, mx.gpu()).data_ptr == address
b = Memory(8192, mx.gpu())  # fits only after the cache was given back
assert fake.freed == 1
try:
    Memory(8192, mx.gpu())
except MemoryError as e:
    assert "8192 in use" in str(e) and "1808 of 10000 bytes free" in str(e), e
else:
    raise SystemExit("no MemoryError")
try:
    memoryview(b)
except BufferError:
    pass
else:
    raise SystemExit("device memory read from the host")
try:
    Memory(1, mx.gpu(1))
except mx.MXNetError as e:
    assert "gpu(1) is not there" in str(e)
try:
    mx.storage.register_backend("gpu", fake)
except ValueError as e:
    assert "already has a pool" in str(e)
del b
mx.storage.empty_cache(mx.gpu())
assert not fake.live
