#include "values.h"

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "describe.h"

namespace dxtensor::test {

using schema::TensorDesc;

namespace {

// Where a coordinate lies, in elements.
size_t ElementOffset(const TensorDesc& t, const std::vector<uint32_t>& coordinates) {
  size_t offset = 0;
  for (uint32_t i = 0; i < t.rank; ++i) offset += size_t{coordinates[i]} * t.strides[i];
  return offset;
}

void StoreReal(DML_TENSOR_DATA_TYPE type, uint8_t* at, double value) {
  if (type == DML_TENSOR_DATA_TYPE_FLOAT16) {
    uint16_t half = FloatToHalf(value);
    std::memcpy(at, &half, 2);
  } else if (type == DML_TENSOR_DATA_TYPE_FLOAT64) {
    std::memcpy(at, &value, 8);
  } else {
    float single = static_cast<float>(value);
    std::memcpy(at, &single, 4);
  }
}

Bytes Memory(const TensorDesc& t) { return Bytes(static_cast<size_t>(t.size_in_bytes), 0); }

}  // namespace

bool IsFloat(DML_TENSOR_DATA_TYPE type) {
  return type == DML_TENSOR_DATA_TYPE_FLOAT32 || type == DML_TENSOR_DATA_TYPE_FLOAT16 || type == DML_TENSOR_DATA_TYPE_FLOAT64;
}

bool IsSigned(DML_TENSOR_DATA_TYPE type) {
  return type == DML_TENSOR_DATA_TYPE_INT8 || type == DML_TENSOR_DATA_TYPE_INT16 || type == DML_TENSOR_DATA_TYPE_INT32 ||
         type == DML_TENSOR_DATA_TYPE_INT64;
}

int64_t Wrap(DML_TENSOR_DATA_TYPE type, int64_t value) {
  const uint32_t bits = schema::BitsPerElement(type);
  if (bits == 64) return value;
  const uint64_t low = static_cast<uint64_t>(value) & ((uint64_t{1} << bits) - 1);
  const bool negative = IsSigned(type) && (low >> (bits - 1) & 1);
  return static_cast<int64_t>(negative ? low | ~((uint64_t{1} << bits) - 1) : low);
}

float HalfToFloat(uint16_t half) {
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  double value = exponent == 0    ? std::ldexp(fraction, -24)
                 : exponent == 31 ? (fraction ? NAN : INFINITY)
                                  : std::ldexp(fraction + 1024, exponent - 25);
  return static_cast<float>(half & 0x8000 ? -value : value);
}

uint16_t FloatToHalf(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7e00);
  if (magnitude == 0) return sign;
  if (magnitude >= 65520.0) return static_cast<uint16_t>(sign | 0x7c00);
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  // ULP: normal halves have 11 bits, subnormal ones end at 2^-24.
  const int unit = std::max(exponent - 11, -24);
  const double steps = std::nearbyint(std::ldexp(magnitude, -unit));
  if (unit == -24) return static_cast<uint16_t>(sign | static_cast<uint16_t>(steps));
  return static_cast<uint16_t>(sign | (((unit + 24) << 10) + static_cast<int>(steps)));
}

size_t Values::size() const { return is_float() ? real.size() : whole.size(); }

double Values::AsReal(size_t i) const {
  if (is_float()) return real[i];
  return type == DML_TENSOR_DATA_TYPE_UINT64 ? static_cast<double>(static_cast<uint64_t>(whole[i])) : static_cast<double>(whole[i]);
}

void Values::Set(size_t i, double value) {
  if (type == DML_TENSOR_DATA_TYPE_FLOAT16) real[i] = HalfToFloat(FloatToHalf(value));
  else if (type == DML_TENSOR_DATA_TYPE_FLOAT32) real[i] = static_cast<float>(value);
  else real[i] = value;
}

void Values::Copy(size_t i, const Values& from, size_t k) {
  if (is_float()) real[i] = from.real[k];
  else whole[i] = from.whole[k];
}

std::vector<uint32_t> SizesOf(const TensorDesc& t) { return {t.sizes.begin(), t.sizes.begin() + t.rank}; }

Values Blank(const TensorDesc& t) {
  Values v;
  v.type = t.data_type;
  v.sizes = SizesOf(t);
  const size_t count = static_cast<size_t>(t.ElementCount());
  if (v.is_float()) v.real.resize(count);
  else v.whole.resize(count);
  return v;
}

void ForEach(const std::vector<uint32_t>& sizes, const std::function<void(const std::vector<uint32_t>&, size_t)>& f) {
  size_t count = 1;
  for (uint32_t size : sizes) count *= size;
  std::vector<uint32_t> at(sizes.size(), 0);
  for (size_t flat = 0; flat < count; ++flat) {
    f(at, flat);
    for (size_t d = sizes.size(); d-- > 0;) {
      if (++at[d] < sizes[d]) break;
      at[d] = 0;
    }
  }
}

size_t Flat(const std::vector<uint32_t>& coordinates, const std::vector<uint32_t>& sizes) {
  size_t flat = 0;
  for (size_t d = 0; d < sizes.size(); ++d) flat = flat * sizes[d] + coordinates[d];
  return flat;
}

Values Unpack(const Bytes& bytes, const TensorDesc& t) {
  Values v = Blank(t);
  const size_t width = schema::BytesPerElement(t.data_type);
  ForEach(v.sizes, [&](const std::vector<uint32_t>& at, size_t flat) {
    const size_t offset = ElementOffset(t, at) * width;
    if (offset + width > bytes.size()) throw std::runtime_error("a tensor reaches past its bytes");
    const uint8_t* p = bytes.data() + offset;
    if (t.data_type == DML_TENSOR_DATA_TYPE_FLOAT16) {
      uint16_t half;
      std::memcpy(&half, p, 2);
      v.real[flat] = HalfToFloat(half);
    } else if (t.data_type == DML_TENSOR_DATA_TYPE_FLOAT32) {
      float single;
      std::memcpy(&single, p, 4);
      v.real[flat] = single;
    } else if (t.data_type == DML_TENSOR_DATA_TYPE_FLOAT64) {
      std::memcpy(&v.real[flat], p, 8);
    } else {
      int64_t whole = 0;
      std::memcpy(&whole, p, width);
      v.whole[flat] = Wrap(t.data_type, whole);
    }
  });
  return v;
}

Bytes Filled(const TensorDesc& t, const std::function<double(size_t)>& next) {
  if (!IsFloat(t.data_type)) return FilledWhole(t, [&](size_t i) { return static_cast<int64_t>(next(i)); });
  Bytes bytes = Memory(t);
  const size_t width = schema::BytesPerElement(t.data_type);
  ForEach(SizesOf(t), [&](const std::vector<uint32_t>& at, size_t flat) {
    StoreReal(t.data_type, bytes.data() + ElementOffset(t, at) * width, next(flat));
  });
  return bytes;
}

Bytes FilledWhole(const TensorDesc& t, const std::function<int64_t(size_t)>& next) {
  if (IsFloat(t.data_type)) return Filled(t, [&](size_t i) { return static_cast<double>(next(i)); });
  Bytes bytes = Memory(t);
  const size_t width = schema::BytesPerElement(t.data_type);
  ForEach(SizesOf(t), [&](const std::vector<uint32_t>& at, size_t flat) {
    const int64_t value = next(flat);
    std::memcpy(bytes.data() + ElementOffset(t, at) * width, &value, width);
  });
  return bytes;
}

std::string Difference(const Values& actual, const Values& expected, const Tolerance& tolerance) {
  char text[160];
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected.is_float()) {
      const double a = actual.real[i], e = expected.real[i];
      if (std::isnan(e) ? std::isnan(a) : a == e) continue;
      if (std::isfinite(a) && std::isfinite(e) && std::fabs(a - e) <= tolerance.absolute + tolerance.relative * std::fabs(e)) continue;
      std::snprintf(text, sizeof text, "element %zu is %.9g, expected %.9g", i, a, e);
      return text;
    }
    const int64_t a = actual.whole[i], e = expected.whole[i];
    if (a == e || std::fabs(static_cast<double>(a) - static_cast<double>(e)) <= tolerance.absolute) continue;
    std::snprintf(text, sizeof text, "element %zu is %lld, expected %lld", i, static_cast<long long>(a), static_cast<long long>(e));
    return text;
  }
  return "";
}

}  // namespace dxtensor::test
