// Philox 4x32-10, sixteen blocks at a time in loops that the compiler makes vectors of. Included between isa_begin.inl and
// isa_end.inl.

static void PhiloxBlock(uint64_t counter_low, uint64_t counter_high, uint32_t key0, uint32_t key1, uint32_t* to, int64_t blocks) {
  constexpr int kLanes = 16;
  for (int64_t start = 0; start < blocks; start += kLanes) {
    uint32_t c0[kLanes], c1[kLanes], c2[kLanes], c3[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      const uint64_t low = counter_low + static_cast<uint64_t>(start + i);
      const uint64_t high = counter_high + (low < counter_low ? 1 : 0);
      c0[i] = static_cast<uint32_t>(low);
      c1[i] = static_cast<uint32_t>(low >> 32);
      c2[i] = static_cast<uint32_t>(high);
      c3[i] = static_cast<uint32_t>(high >> 32);
    }
    uint32_t k0 = key0, k1 = key1;
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < kLanes; ++i) {
        const uint64_t p0 = uint64_t{0xD2511F53} * c0[i], p1 = uint64_t{0xCD9E8D57} * c2[i];
        c0[i] = static_cast<uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
        c1[i] = static_cast<uint32_t>(p1);
        c2[i] = static_cast<uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
        c3[i] = static_cast<uint32_t>(p0);
      }
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    const int64_t n = blocks - start < kLanes ? blocks - start : kLanes;
    for (int64_t i = 0; i < n; ++i) {
      to[(start + i) * 4] = c0[i];
      to[(start + i) * 4 + 1] = c1[i];
      to[(start + i) * 4 + 2] = c2[i];
      to[(start + i) * 4 + 3] = c3[i];
    }
  }
}
