// Sorting a row by keys, compiled for each CPU level (levels.h). Included by sort.h.

enum { ORDER_PART = 64, MOST_FEW = 32 };

// Keys of m <= ORDER_PART elements from position i on.
template <typename T>
CYNET_XINLINE void part_keys(const T* row, int64_t step, int64_t i, int64_t m, bool ascending,
                             uint32_t* keys) {
  if (step == 1) {
    for (int64_t l = 0; l < m; ++l) keys[l] = order_key(row[i + l], ascending);
  } else {
    for (int64_t l = 0; l < m; ++l) keys[l] = order_key(row[(i + l) * step], ascending);
  }
}

CYNET_XINLINE uint64_t order_pair(uint32_t key, int64_t position) {
  return static_cast<uint64_t>(key) << 32 | static_cast<uint64_t>(position);
}

template <typename T>
void order_row(const T* row, int64_t step, int64_t n, int64_t k, bool ascending, uint64_t* pairs,
               int64_t* order) {
  uint32_t keys[ORDER_PART];
  for (int64_t i = 0; i < n; i += ORDER_PART) {
    const int64_t m = n - i < ORDER_PART ? n - i : static_cast<int64_t>(ORDER_PART);
    part_keys(row, step, i, m, ascending, keys);
    for (int64_t l = 0; l < m; ++l) pairs[i + l] = order_pair(keys[l], i + l);
  }
  if (k * 8 < n) std::partial_sort(pairs, pairs + k, pairs + n);
  else sort_pairs(pairs, pairs + n, n);
  for (int64_t i = 0; i < k; ++i) order[i * step] = static_cast<int64_t>(pairs[i] & 0xffffffffu);
}

// The first k <= MOST_FEW of many elements. They are kept sorted; parts without a key smaller than
// the last of them are skipped.
template <typename T>
void order_few(const T* row, int64_t step, int64_t n, int64_t k, bool ascending, uint64_t* best,
               int64_t* order) {
  uint32_t keys[ORDER_PART];
  int64_t have = 0;
  uint32_t limit = 0xffffffffu;  // key of the last of them
  for (int64_t i = 0; i < n; i += ORDER_PART) {
    const int64_t m = n - i < ORDER_PART ? n - i : static_cast<int64_t>(ORDER_PART);
    part_keys(row, step, i, m, ascending, keys);
    if (have == k) {
      int smaller = 0;
      for (int64_t l = 0; l < m; ++l) smaller |= keys[l] < limit ? 1 : 0;
      if (!smaller) continue;
    }
    for (int64_t l = 0; l < m; ++l) {
      if (have == k && keys[l] >= limit) continue;
      const uint64_t pair = order_pair(keys[l], i + l);
      int64_t at = have < k ? have++ : k - 1;
      for (; at > 0 && best[at - 1] > pair; --at) best[at] = best[at - 1];
      best[at] = pair;
      limit = static_cast<uint32_t>(best[have - 1] >> 32);
    }
  }
  for (int64_t i = 0; i < k; ++i) order[i * step] = static_cast<int64_t>(best[i] & 0xffffffffu);
}
