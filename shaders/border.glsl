// An image with borders that continue it: an element is copied from the image. Of the gradient, with GRADIENT: an
// element of the image takes what it was copied to, in order of places. Words: cpp/ops/border.cpp.
layout(local_size_x = SG_THREADS) in;

const int kReflect = 0, kReplicate = 1, kCircular = 2;

struct Side {
  PLACE size, before, after;
};
Side side(int d) { return Side(PLACE(word(1 + 3 * d)), PLACE(word(2 + 3 * d)), PLACE(word(3 + 3 * d))); }
PLACE whole(Side s) { return s.before + s.size + s.after; }

#ifdef GRADIENT
// Places: as many as `count` from the first one on, in the border before the image and in the border behind it.
struct Places {
  PLACE first, count;
};
Places places_before(int mode, Side s, PLACE at) {
  if (mode == kReplicate) return Places(0, at == 0 ? s.before : 0);
  if (mode == kCircular) return Places(at + s.before - s.size, at + s.before >= s.size ? 1 : 0);
  return Places(s.before - at, at >= 1 && at <= s.before ? 1 : 0);
}
Places places_after(int mode, Side s, PLACE at) {
  const PLACE last = s.size - 1, behind = s.before + s.size;
  if (mode == kReplicate) return Places(behind, at == last ? s.after : 0);
  if (mode == kCircular) return Places(behind + at, at < s.after ? 1 : 0);
  return Places(behind + last - 1 - at, at < last && at + s.after >= last ? 1 : 0);
}

// The places of an element, in order.
struct Copies {
  Places before, after;
  PLACE own, count;
};
Copies copies(int mode, Side s, PLACE at) {
  const Places before = places_before(mode, s, at), after = places_after(mode, s, at);
  return Copies(before, after, s.before + at, before.count + 1 + after.count);
}
PLACE place(Copies c, PLACE i) {
  if (i < c.before.count) return c.before.first + i;
  return i == c.before.count ? c.own : c.after.first + i - c.before.count - 1;
}
#else
// Twin of `source` in cpp/ops/border.cpp.
PLACE source(int mode, Side s, PLACE place) {
  const PLACE at = place - s.before, last = s.size - 1;
  if (mode == kReplicate) return clamp(at, PLACE(0), last);
  if (mode == kCircular) return at < 0 ? at + s.size : at > last ? at - s.size : at;
  return at < 0 ? -at : at > last ? 2 * last - at : at;
}
#endif

void main() {
  const Offset id = (Offset(gl_WorkGroupID.y) * gl_NumWorkGroups.x + gl_WorkGroupID.x) * SG_THREADS +
                      gl_LocalInvocationIndex;
  if (id >= Offset(word(0))) return;
  const Side depth = side(0), height = side(1), width = side(2);
  const int mode = int(word(10));
#ifdef GRADIENT
  const PLACE rows = height.size, columns = width.size, elements = depth.size * rows * columns;
#else
  const PLACE rows = whole(height), columns = whole(width), elements = whole(depth) * rows * columns;
#endif
  const Offset image = id / Offset(elements);
  const PLACE at = PLACE(id - image * Offset(elements)), row = at / columns;
  const PLACE x = at - row * columns, z = row / rows, y = row - z * rows;
#ifdef GRADIENT
  const Copies along_z = copies(mode, depth, z), along_y = copies(mode, height, y), along_x = copies(mode, width, x);
  const Offset first = image * Offset(whole(depth)) * Offset(whole(height)) * Offset(whole(width));
  ELEMENT sum = ELEMENT(0);
  for (PLACE k = 0; k < along_z.count; ++k)
    for (PLACE j = 0; j < along_y.count; ++j)
      for (PLACE i = 0; i < along_x.count; ++i) {
        const PLACE from = (place(along_z, k) * whole(height) + place(along_y, j)) * whole(width) + place(along_x, i);
        sum += MEMORY(address_add(tensor(0), (first + Offset(from)) * BYTES)).at[0];
      }
  MEMORY(address_add(tensor(1), id * BYTES)).at[0] = sum;
#else
  const PLACE from =
      (source(mode, depth, z) * height.size + source(mode, height, y)) * width.size + source(mode, width, x);
  const Offset first = image * Offset(depth.size) * Offset(height.size) * Offset(width.size);
  MEMORY(address_add(tensor(1), id * BYTES)).at[0] =
      MEMORY(address_add(tensor(0), (first + Offset(from)) * BYTES)).at[0];
#endif
}
