// Boxes: corners, overlap, sorting by score, and greedy non-maximum suppression.
//
// A box is four numbers: left, top, right, bottom (corners), or middle x, middle y, width, height.
#ifndef CYNET_DETECTION_BOXES_H
#define CYNET_DETECTION_BOXES_H

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernel.h"

namespace cynet {

// Allocates arrays, each aligned to 64 bytes, from one block of memory.
struct ScratchArena {  // hands out workspace
  char* at;
  explicit ScratchArena(void* memory) : at(static_cast<char*>(memory)) {}
  template <typename T>
  T* allocate(int64_t n) {
    T* mine = reinterpret_cast<T*>(at);
    at += (n * sizeof(T) + 63) / 64 * 64;
    return mine;
  }
};

template <typename T>
inline int64_t aligned_bytes(int64_t n) {
  return (n * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 64;
}

// Calls body(i, space) for `batch` images on threads; each has `bytes_each` bytes of workspace.
template <class Body>
void for_images(const Args& args, int64_t batch, int64_t bytes_each, Body body) {
  const int64_t parts = args.threads < batch ? args.threads : batch;
  for_parts(parts, [&](int64_t part) {
    for (int64_t i = part; i < batch; i += parts)
      body(i, static_cast<char*>(args.space) + part * bytes_each);
  });
}

template <typename T>
struct Corners {  // corners of a box
  T left, top, right, bottom;
};

template <typename T>
inline Corners<T> corners_of(const T* box, bool center) {
  if (!center) return {box[0], box[1], box[2], box[3]};
  const T w = box[2] / 2, h = box[3] / 2;
  return {box[0] - w, box[1] - h, box[0] + w, box[1] + h};
}

// The length of a side; 0 if its ends are swapped. `more` is 1 if the last pixel is inside.
template <typename T>
inline T side_length(T low, T high, T more = 0) {
  const T n = high - low + more;
  return n > 0 ? n : 0;
}

// Intersection over union; 0 if the union is empty.
template <typename T>
inline T overlap_ratio(const Corners<T>& a, const Corners<T>& b) {
  const T w = side_length(std::max(a.left, b.left), std::min(a.right, b.right));
  const T h = side_length(std::max(a.top, b.top), std::min(a.bottom, b.bottom));
  const T both = w * h;
  const T whole = side_length(a.left, a.right) * side_length(a.top, a.bottom) +
                  side_length(b.left, b.right) * side_length(b.top, b.bottom) - both;
  return whole > 0 ? both / whole : 0;
}

// The offset and size of `box` seen from `anchor`, as a network learns them.
template <typename T>
inline void encode_box(const Corners<T>& anchor, const Corners<T>& box, T* code) {
  const T aw = anchor.right - anchor.left, ah = anchor.bottom - anchor.top;
  const T ax = (anchor.left + anchor.right) * T(0.5), ay = (anchor.top + anchor.bottom) * T(0.5);
  const T w = box.right - box.left, h = box.bottom - box.top;
  const T x = (box.left + box.right) * T(0.5), y = (box.top + box.bottom) * T(0.5);
  code[0] = (x - ax) / aw;
  code[1] = (y - ay) / ah;
  code[2] = std::log(w / aw);
  code[3] = std::log(h / ah);
}

// Indices 0 .. n - 1, the first `maximum` of them in descending (or `ascending`) order of score;
// equal scores in ascending order of number. NaN comes last. (`maximum` >= n: all.)
template <typename T, typename I>
inline void order_by_score(const T* scores, I* order, int64_t n, int64_t maximum, bool ascending) {
  for (int64_t i = 0; i < n; ++i) order[i] = static_cast<I>(i);
  const auto before = [=](I i, I j) {
    const T a = scores[i], b = scores[j];
    if (a != b) {
      if (a != a || b != b) return a == a || (b != b && i < j);
      return ascending ? a < b : a > b;
    }
    return i < j;
  };
  if (maximum < n) {
    std::nth_element(order, order + maximum, order + n, before);
    n = maximum;
  }
  std::sort(order, order + n, before);
}

// BoxCandidates of a suppression in descending order of score: one array for each coordinate, which
// suits the loops. If kinds count, boxes of one kind are contiguous.
template <typename T>
struct BoxCandidates {  // boxes that suppress each other
  T *left, *top, *right, *bottom, *area, *dropped;
  T *kind, *gone;   // class and `dropped` mark by position; `kind` is NULL for one class
  int32_t* order;  // positions of the boxes in order of score; NULL: 0, 1, ...
  T more;           // see `length`

  static int64_t bytes(int64_t n) { return 8 * aligned_bytes<T>(n) + aligned_bytes<int32_t>(n); }

  BoxCandidates(ScratchArena* from, int64_t n, bool kinds, T more_length) : more(more_length) {
    left = from->allocate<T>(n), top = from->allocate<T>(n);
    right = from->allocate<T>(n), bottom = from->allocate<T>(n);
    area = from->allocate<T>(n), dropped = from->allocate<T>(n);
    kind = kinds ? from->allocate<T>(n) : nullptr;
    gone = kinds ? from->allocate<T>(n) : dropped;
    order = kinds ? from->allocate<int32_t>(n) : nullptr;
  }

  // Fills in n candidates: box(i) returns the corners of the i-th best, kind(i) its class.
  template <typename Box, typename Kind>
  void fill(int64_t n, const Box& box, const Kind& kind_of) {  // sets n candidates
    for (int64_t i = 0; kind && i < n; ++i) kind[i] = kind_of(i);
    if (kind) order_by_score(kind, order, n, n, true);
    for (int64_t i = 0; i < n; ++i) {
      const Corners<T> b = box(kind ? order[i] : i);
      left[i] = b.left, top[i] = b.top, right[i] = b.right, bottom[i] = b.bottom;
      area[i] = side_length(b.left, b.right, more) * side_length(b.top, b.bottom, more);
      dropped[i] = 0;
    }
  }

  // The end of the run of candidates with the same class as candidate `begin`.
  int64_t end_of_class(int64_t begin, int64_t n) const {
    if (!kind) return n;
    int64_t end = begin + 1;
    while (end < n && kind[order[end]] == kind[order[begin]]) ++end;
    return end;
  }
};

// Drops candidates that overlap a better remaining one of their class by more than `threshold`, or
// with `reached` by as much. At most `maximum` are kept. Their positions, ascending, go to `keep`;
// the result is their number.
template <typename T, typename I>
inline int64_t suppress_overlaps(const BoxCandidates<T>& c, int64_t n, int64_t maximum, T threshold,
                                 bool reached, I* keep) {
  int64_t found = 0;
  for (int64_t begin = 0, end; begin < n; begin = end) {
    end = c.end_of_class(begin, n);
    for (int64_t i = begin; i < end; ++i) {
      if (c.dropped[i] != 0) continue;
      if (!c.kind) {
        if (found == maximum) break;
        keep[found++] = static_cast<I>(i);
      }
      const T l = c.left[i], t = c.top[i], r = c.right[i], b = c.bottom[i], area = c.area[i];
      for (int64_t j = i + 1; j < end; ++j) {  // no branch, so that the compiler vectorises it
        const T w = side_length(std::max(l, c.left[j]), std::min(r, c.right[j]), c.more);
        const T h = side_length(std::max(t, c.top[j]), std::min(b, c.bottom[j]), c.more);
        const T both = w * h, whole = area + c.area[j] - both;
        const T share = whole > 0 ? both / whole : T(0);
        const bool hit = reached ? share >= threshold : share > threshold;
        c.dropped[j] = hit ? T(1) : c.dropped[j];
      }
    }
  }
  if (!c.kind) return found;
  for (int64_t i = 0; i < n; ++i) c.gone[c.order[i]] = c.dropped[i];
  for (int64_t i = 0; i < n && found < maximum; ++i)
    if (c.gone[i] == 0) keep[found++] = static_cast<I>(i);
  return found;
}

}  // namespace cynet

#endif
