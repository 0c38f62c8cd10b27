// Memory of the host in blocks of whole pages: mapped as needed, split, joined with free
// neighbours, unmapped when long unused. Not thread-safe: the pool holds its lock where said.
#pragma once
#include <cstddef>
#include <cstdint>

#include <atomic>
#include <cstdlib>
#include <thread>
// Held for some tens of instructions: waiting on a core beats sleeping, and half the price of a
// mutex is what makes a pooled block cost less than malloc's. Yields, should its holder have
// lost its core.
struct CynetSpinLock {
    std::atomic<bool> taken{false};
    void lock() {
        for (int spins = 0; taken.exchange(true, std::memory_order_acquire); ++spins)
            if (spins >= 64) std::this_thread::yield();
    }
    void unlock() { taken.store(false, std::memory_order_release); }
};

#if defined(_WIN32)
// Nothing can be unmapped in part there: the pool keeps lists by size class for all sizes.
static const bool CYNET_HAS_ARENAS = false;
struct CynetArena {
    size_t free_bytes = 0, used = 0, peak = 0;
    uint64_t due = UINT64_MAX, patience = 0;
    void init(size_t, uint64_t, uint64_t) {}
    size_t round(size_t n) const { return n; }
    void* take(size_t, size_t*) { return nullptr; }
    void* grow(size_t, size_t*, uint64_t, CynetSpinLock*) { return nullptr; }
    void give(void*) {}
    size_t excess(uint64_t) { return 0; }
    void* detach(size_t) { return nullptr; }
    void unmap(void*, CynetSpinLock*) {}
};
#else
#include <sys/mman.h>

#include <map>
#include <vector>
#if !defined(MAP_ANONYMOUS)
#define MAP_ANONYMOUS MAP_ANON
#endif
static const bool CYNET_HAS_ARENAS = true;

struct CynetArena {
    struct Block {
        char* at;
        size_t size;
        Block* before;  // neighbours in memory, nullptr where the mapping ends
        Block* after;
        Block* next;  // of the free blocks of its class; of detached blocks; of spare records
        Block* previous;
        bool taken;
    };
    static const int STEPS = 32, LOWEST = 12, POWERS = 36;  // classes: 32 to each doubling

    Block* lists[POWERS * STEPS] = {};
    uint32_t steps[POWERS] = {};  // which lists of a power hold something
    uint64_t powers = 0;          // which powers do
    size_t grain = 0;             // sizes and addresses are multiples
    size_t used = 0, free_bytes = 0;
    Block* spare = nullptr;
    std::vector<Block*> table;  // taken blocks by address: open addressing, linear probing
    size_t n_taken = 0;
    std::map<char*, Block*> heads, tails;  // first block of a mapping by address, last by its end
    // What to keep: the most that was in use during the last `patience` allocations of the pool.
    size_t peak = 0;
    // What grows again within `soon` of a release recurs: patience rises, up to `soon`.
    uint64_t due = UINT64_MAX, patience = 0, base = 0, soon = 0, released_at = 0;
    bool released = false, came_back = false;

    // Addresses that nothing else is mapped at, so that what is mapped later joins what is there:
    // the process's other mappings grow from either end of the address space. A mere wish.
    char* home = nullptr;

    void init(size_t grain_, uint64_t patience_, uint64_t soon_) {
        static std::atomic<unsigned> made{0};
        const uint64_t apart = (uint64_t)1 << 38, at = (16 + made++) * apart;
        if (sizeof(void*) == 8 && at < (uint64_t)1 << 46) home = (char*)(uintptr_t)at;
        grain = grain_, patience = base = patience_, soon = soon_;
    }

    static int log2(size_t n) { return 63 - __builtin_clzll((unsigned long long)n); }
    // The size class's bytes: at most 1/32 more than n, or the next multiple of grain.
    size_t round(size_t n) const {
        const int e = log2(n - 1);
        size_t unit = (size_t)1 << (e - 5);
        if (unit < grain) unit = grain;
        return (n + unit - 1) & ~(unit - 1);
    }
    static int class_of(size_t size) {
        const int e = log2(size);
        return (e - LOWEST) * STEPS + (int)((size >> (e - 5)) & (STEPS - 1));
    }

    // A free block of n bytes (round()ed) or nullptr. Lock held.
    void* take(size_t n, size_t* got) {
        const int index = class_of(n), power = index / STEPS;
        int found;
        uint32_t bits = steps[power] & (UINT32_MAX << (index % STEPS));
        if (bits) {
            found = power * STEPS + __builtin_ctz(bits);
        } else {
            const uint64_t above = powers & (UINT64_MAX << power << 1);
            if (!above) return nullptr;
            const int p = __builtin_ctzll(above);
            found = p * STEPS + __builtin_ctz(steps[p]);
        }
        if (!reserve()) return nullptr;
        Block* b = lists[found];
        unlink(b);
        if (b->size > n) link(cut(b, n));
        free_bytes -= b->size;
        return hand_out(b, got);
    }

    // Fresh memory of n bytes, or nullptr when the system has none. Takes and drops the lock.
    void* grow(size_t n, size_t* got, uint64_t clock, CynetSpinLock* lock) {
        Block* edge = nullptr;  // a free block at an end of a mapping, to be made larger
        lock->lock();
        if (!reserve()) return lock->unlock(), nullptr;
        for (auto& each : heads)
            if (!each.second->taken && (!edge || each.second->size > edge->size))
                edge = each.second;
        for (auto& each : tails)
            if (!each.second->taken && (!edge || each.second->size > edge->size))
                edge = each.second;
        if (edge && edge->size < n) {
            unlink(edge);
            free_bytes -= edge->size;
            edge->taken = true;  // nobody joins it meanwhile
        } else {
            edge = nullptr;
        }
        char* end = tails.empty() || tails.rbegin()->first < home ? home : tails.rbegin()->first;
        const size_t more = edge ? n - edge->size : n;
        char* below = edge && !edge->before ? edge->at - more : nullptr;
        char* above = edge && !edge->after ? edge->at + edge->size : nullptr;
        lock->unlock();
        char* at = above ? map_at(above, more) : nullptr;
        if (edge) {
            if (!at && below) at = map_at(below, more);
            if (!at) {
                lock->lock();
                put_back(edge);
                lock->unlock();
                edge = nullptr;
            }
        }
        if (!at && end) at = map_at(end, n);
        if (!at) at = map_anywhere(n);
        if (!at) return nullptr;
        lock->lock();
        if (!reserve()) {  // others have used the records up
            if (edge) put_back(edge);
            lock->unlock();
            munmap(at, edge ? more : n);
            return nullptr;
        }
        if (released && clock - released_at <= soon) {
            if (patience < soon) patience *= 2;
            came_back = true;
            released = false;
        }
        if (due == UINT64_MAX) due = clock + patience;
        Block* b = record(at, edge ? more : n);
        adopt(b);
        if (edge) {
            if (b->before == edge) b = edge;
            absorb(b);
        }
        void* out = hand_out(b, got);
        lock->unlock();
        return out;
    }

    // Takes a block back. Lock held.
    void give(void* address) {
        Block* b = forget((char*)address);
        used -= b->size;
        put_back(b);
    }

    // Bytes that nobody has needed for so long that they should go back. Lock held.
    size_t excess(uint64_t clock) {
        if (clock < due) return 0;
        const size_t mapped = used + free_bytes, keep = peak;
        peak = used;
        due = mapped ? clock + patience : UINT64_MAX;
        if (mapped <= keep || mapped - keep < mapped / 8) return 0;
        if (!came_back) patience = base;
        came_back = false;
        released = true;
        released_at = clock;
        return mapped - keep;
    }

    // Takes free memory of at most `bytes`, the largest blocks first, out of the arena: a list
    // for unmap(). Lock held.
    void* detach(size_t bytes) {
        Block* out = nullptr;
        bytes = (bytes + grain - 1) & ~(grain - 1);
        while (powers && bytes >= grain && reserve()) {
            const int p = 63 - __builtin_clzll(powers);
            Block* b = lists[p * STEPS + 31 - __builtin_clz(steps[p])];
            unlink(b);
            if (b->size > bytes) {  // the upper end goes
                Block* lower = b;
                b = cut(lower, lower->size - bytes);
                link(lower);
            }
            bytes -= b->size;
            free_bytes -= b->size;
            leave(b);
            b->next = out;
            out = b;
        }
        return out;
    }

    // Gives what detach() took back to the system. Takes and drops the lock.
    void unmap(void* list, CynetSpinLock* lock) {
        for (Block* b = (Block*)list; b;) {
            Block* next = b->next;
            munmap(b->at, b->size);
            lock->lock();
            b->next = spare;
            spare = b;
            lock->unlock();
            b = next;
        }
    }

  private:
    // At least four records to spare, so that splitting cannot fail, and room in the table.
    bool reserve() {
        if (2 * (n_taken + 2) > table.size()) rehash();
        Block* b = spare;
        for (int i = 0; i < 4; ++i, b = b->next) {
            if (b) continue;
            b = (Block*)std::calloc(64, sizeof(Block));  // kept for ever
            if (!b) return false;
            for (int j = 0; j < 63; ++j) b[j].next = b + j + 1;
            b[63].next = spare;
            spare = b;
            return true;
        }
        return true;
    }
    void put_back(Block* b) {
        free_bytes += b->size;
        b->taken = false;
        link(join(b));
    }
    Block* record(char* at, size_t size) {
        Block* b = spare;
        spare = b->next;
        *b = {at, size, nullptr, nullptr, nullptr, nullptr, true};
        return b;
    }
    void link(Block* b) {
        const int index = class_of(b->size);
        b->previous = nullptr;
        b->next = lists[index];
        if (b->next) b->next->previous = b;
        lists[index] = b;
        steps[index / STEPS] |= (uint32_t)1 << (index % STEPS);
        powers |= (uint64_t)1 << (index / STEPS);
    }
    void unlink(Block* b) {
        const int index = class_of(b->size), power = index / STEPS;
        if (b->next) b->next->previous = b->previous;
        if (b->previous) {
            b->previous->next = b->next;
        } else if (!(lists[index] = b->next)) {
            steps[power] &= ~((uint32_t)1 << (index % STEPS));
            if (!steps[power]) powers &= ~((uint64_t)1 << power);
        }
    }
    // Leaves b with its first n bytes; returns the rest, free and in no list.
    Block* cut(Block* b, size_t n) {
        Block* rest = record(b->at + n, b->size - n);
        rest->taken = false;
        rest->before = b;
        rest->after = b->after;
        if (b->after) b->after->before = rest;
        else tails[rest->at + rest->size] = rest;
        b->after = rest;
        b->size = n;
        return rest;
    }
    void absorb(Block* b) {  // the neighbour after b becomes part of it
        Block* gone = b->after;
        b->size += gone->size;
        b->after = gone->after;
        if (b->after) b->after->before = b;
        else tails[b->at + b->size] = b;
        gone->next = spare;
        spare = gone;
    }
    // b, in no list, and its free neighbours as one block in no list.
    Block* join(Block* b) {
        if (b->after && !b->after->taken) {
            unlink(b->after);
            absorb(b);
        }
        if (b->before && !b->before->taken) {
            b = b->before;
            unlink(b);
            absorb(b);
        }
        return b;
    }
    void adopt(Block* b) {  // b, freshly mapped, finds its neighbours
        char* end = b->at + b->size;
        auto before = tails.find(b->at);
        if (before == tails.end()) {
            heads[b->at] = b;
        } else {
            b->before = before->second;
            b->before->after = b;
            tails.erase(before);
        }
        auto after = heads.find(end);
        if (after == heads.end()) {
            tails[end] = b;
        } else {
            b->after = after->second;
            b->after->before = b;
            heads.erase(after);
        }
    }
    void leave(Block* b) {  // the opposite
        char* end = b->at + b->size;
        if (b->before) {
            b->before->after = nullptr;
            tails[b->at] = b->before;
        } else {
            heads.erase(b->at);
        }
        if (b->after) {
            b->after->before = nullptr;
            heads[end] = b->after;
        } else {
            tails.erase(end);
        }
    }

    void* hand_out(Block* b, size_t* got) {
        b->taken = true;
        size_t i = slot(b->at);
        while (table[i]) i = (i + 1) & (table.size() - 1);
        table[i] = b;
        ++n_taken;
        used += b->size;
        if (used > peak) peak = used;
        *got = b->size;
        return b->at;
    }
    size_t slot(char* at) const {
        return ((uint64_t)((uintptr_t)at / grain) * 0x9E3779B97F4A7C15u >> 32) & (table.size() - 1);
    }
    Block* forget(char* at) {
        const size_t mask = table.size() - 1;
        size_t i = slot(at);
        while (table[i]->at != at) i = (i + 1) & mask;
        Block* b = table[i];
        for (size_t j = i;;) {  // later ones move up, so that no search ends early
            j = (j + 1) & mask;
            if (!table[j]) break;
            if (((j - slot(table[j]->at)) & mask) < ((j - i) & mask)) continue;
            table[i] = table[j];
            i = j;
        }
        table[i] = nullptr;
        --n_taken;
        return b;
    }
    void rehash() {
        std::vector<Block*> old(table.empty() ? 64 : 2 * table.size(), nullptr);
        old.swap(table);
        for (Block* b : old) {
            if (!b) continue;
            size_t i = slot(b->at);
            while (table[i]) i = (i + 1) & (table.size() - 1);
            table[i] = b;
        }
    }

    bool huge() const { return grain >= (size_t)2 << 20; }
    char* map(char* wish, size_t n) const {
        void* p = mmap(wish, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return p == MAP_FAILED ? nullptr : (char*)p;
    }
    char* advised(char* p, size_t n) const {
#ifdef MADV_HUGEPAGE
        if (huge()) madvise(p, n, MADV_HUGEPAGE);
#endif
        return p;
    }
    char* map_at(char* wish, size_t n) const {
        char* p = map(wish, n);
        if (p == wish) return advised(p, n);
        if (p) munmap(p, n);
        return nullptr;
    }
    char* map_anywhere(size_t n) const {
        if (!huge()) return map(nullptr, n);
        char* p = map(nullptr, n + grain);
        if (!p) return nullptr;
        const size_t skip = (grain - (uintptr_t)p % grain) % grain;
        if (skip) munmap(p, skip);
        munmap(p + skip + n, grain - skip);
        return advised(p + skip, n);
    }
};
#endif
