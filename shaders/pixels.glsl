// An image as rows of channels, a row for each pixel (cpp/ops/pixels.hpp). A workgroup turns a square of pixels and
// channels in shared memory: it reads neighbours of an image's row and writes neighbouring channels. Words:
// cpp/ops/pixels.cpp.
layout(local_size_x = SG_THREADS) in;

const uint kPixels = 64, kChannels = 64;
shared uint square[kChannels][kPixels + 1];

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Eight { uvec4 at; };

void main() {
  const uint images = uint(word(0)), channels = uint(word(1)), height = uint(word(2)), width = uint(word(3));
  const uint padded = uint(word(10)), rows = uint(word(11)), pitch = uint(word(12)), plane_rows = uint(word(15));
  const uint turns = (padded + kChannels - 1) / kChannels, blocks = (plane_rows + kPixels - 1) / kPixels;
  const uint work = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  const uint channel0 = work % turns * kChannels, row0 = work / turns % blocks * kPixels, plane = work / turns / blocks;
  if (plane >= uint(word(14))) return;

  // Where the pixel of this thread lies, if it is one.
  const uint pixel = gl_LocalInvocationIndex % kPixels, row = row0 + pixel;
  const uint image = row / (rows * pitch), y = row / pitch % rows * uint(word(13)) + plane - uint(word(8)),
             x = row % pitch - uint(word(9));
  const bool inside = image < images && y < height && x < width;  // those before the first are large numbers
  const SignedOffset from = inside ? SignedOffset(image * word(4) + y * word(6) + x * word(7)) : 0;
  [[unroll]] for (uint i = 0; i < kChannels; i += SG_THREADS / kPixels) {
    const uint c = i + gl_LocalInvocationIndex / kPixels, channel = channel0 + c;
    const uint value =
        uint(Float16(address_add(tensor(0), 2 * Offset(from + min(channel, channels - 1) * word(5)))).at[0]);
    square[c][pixel] = inside && channel < channels ? value : 0;
  }
  barrier();

  const uint units = min(kChannels, padded - channel0) / 8;
  for (uint i = gl_LocalInvocationIndex; i < kPixels * units; i += SG_THREADS) {
    const uint p = i / units, c = i % units * 8;
    if (row0 + p >= plane_rows) break;
    uvec4 eight;
    [[unroll]] for (uint l = 0; l < 4; ++l) eight[l] = square[c + 2 * l][p] | square[c + 2 * l + 1][p] << 16;
    Eight(address_add(tensor(1), 2 * ((Offset(plane) * plane_rows + row0 + p) * padded + channel0 + c))).at = eight;
  }
}
