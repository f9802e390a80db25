// The gradient of pooling: an element of the image takes from each window over it what that has for it: its value when
// its code, kernel row * width + kernel column, names the element, or, without CODES, its value.
layout(local_size_x = SG_THREADS) in;

// The first and the last window over element `at` of the padded image.
ivec2 windows(int at, int kernel, int stride, int count) {
  return ivec2(at < kernel ? 0 : (at - kernel) / stride + 1, min(at / stride, count - 1));
}

void main() {
  const uint height = uint(word(1)), width = uint(word(2));
  const ivec2 count = ivec2(word(3), word(4)), kernel = ivec2(word(5), word(6)), stride = ivec2(word(7), word(8));
  const ivec2 padding = ivec2(word(9), word(10));
  const Offset id = (Offset(gl_WorkGroupID.y) * gl_NumWorkGroups.x + gl_WorkGroupID.x) * SG_THREADS +
                      gl_LocalInvocationIndex;
  if (id >= Offset(word(0))) return;
  const Offset image = id / (height * width);
  const uint place = uint(id - image * (height * width));
  const ivec2 at = ivec2(place / width, place % width) + padding;
  const ivec2 rows = windows(at.x, kernel.x, stride.x, count.x), columns = windows(at.y, kernel.y, stride.y, count.y);
  const Offset first = image * uint(count.x * count.y);
  ELEMENT sum = ELEMENT(0);
  for (int i = rows.x; i <= rows.y; ++i)
    for (int j = columns.x; j <= columns.y; ++j) {
      const Offset window = first + uint(i * count.y + j);
#ifdef CODES
      const int code = (at.x - i * stride.x) * int(word(11)) + at.y - j * stride.y;
      if (int(CODES(address_add(tensor(1), window * CODE_BYTES)).at[0]) != code) continue;
#endif
      sum += MEMORY(address_add(tensor(0), window * BYTES)).at[0];
    }
  MEMORY(address_add(RESULT, id * BYTES)).at[0] = sum;
}
