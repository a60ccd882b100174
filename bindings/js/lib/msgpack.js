// SPDX-License-Identifier: MIT
// The part of msgpack that the protocol uses: no extension types, keys of maps are strings.

const DEPTH_MAX = 64;
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

class Writer {
  constructor() {
    this.buf = new Uint8Array(256);
    this.view = new DataView(this.buf.buffer);
    this.n = 0;
  }

  /** Makes space for n bytes and returns where they begin. */
  take(n) {
    const at = this.n;
    this.n += n;
    if (this.n > this.buf.length) {
      const more = new Uint8Array(Math.max(this.n, 2 * this.buf.length));
      more.set(this.buf.subarray(0, at));
      this.buf = more;
      this.view = new DataView(more.buffer);
    }
    return at;
  }

  byte(v) {
    const at = this.take(1);
    this.buf[at] = v;
  }

  bytes(v) {
    const at = this.take(v.length);
    this.buf.set(v, at);
  }

  /** Writes a number with a method of DataView. */
  number(method, bytes, v) {
    const at = this.take(bytes); // may replace the view
    this.view[method](at, v);
  }

  /** A type byte and a length: short for a length below `few`, then of 8, 16 or 32 bits. */
  head(n, short, few, t8, t16) {
    if (n < few) {
      this.byte(short | n);
    } else if (t8 && n < 0x100) {
      this.byte(t8);
      this.byte(n);
    } else if (n < 0x10000) {
      this.byte(t16);
      this.number("setUint16", 2, n);
    } else {
      this.byte(t16 + 1);
      this.number("setUint32", 4, n);
    }
  }

  integer(v) {
    if (v >= 0n && v < 128n) {
      this.byte(Number(v));
    } else if (v < 0n && v >= -32n) {
      this.number("setInt8", 1, Number(v));
    } else if (v < 0n) {
      if (v < -(1n << 63n)) throw new RangeError(`${v} does not fit in 64 bits`);
      this.byte(0xd3);
      this.number("setBigInt64", 8, v);
    } else {
      if (v >= 1n << 64n) throw new RangeError(`${v} does not fit in 64 bits`);
      this.byte(0xcf);
      this.number("setBigUint64", 8, v);
    }
  }

  value(v, depth) {
    if (depth > DEPTH_MAX) throw new RangeError(`a value is nested deeper than ${DEPTH_MAX}`);
    if (v === null || v === undefined) {
      this.byte(0xc0);
    } else if (typeof v === "boolean") {
      this.byte(v ? 0xc3 : 0xc2);
    } else if (typeof v === "bigint") {
      this.integer(v);
    } else if (typeof v === "number") {
      if (Number.isSafeInteger(v) && !Object.is(v, -0)) {
        this.integer(BigInt(v));
      } else {
        this.byte(0xcb);
        this.number("setFloat64", 8, v);
      }
    } else if (typeof v === "string") {
      const b = encoder.encode(v);
      this.head(b.length, 0xa0, 32, 0xd9, 0xda);
      this.bytes(b);
    } else if (v instanceof Uint8Array) {
      this.head(v.length, 0, 0, 0xc4, 0xc5);
      this.bytes(v);
    } else if (Array.isArray(v)) {
      this.head(v.length, 0x90, 16, 0, 0xdc);
      for (const x of v) this.value(x, depth + 1);
    } else if (typeof v === "object") {
      const rows = Object.entries(v).filter(([, x]) => x !== undefined);
      this.head(rows.length, 0x80, 16, 0, 0xde);
      for (const [k, x] of rows) {
        this.value(k, depth + 1);
        this.value(x, depth + 1);
      }
    } else {
      throw new TypeError(`a value of type ${typeof v} cannot be sent`);
    }
  }
}

/** The bytes of a value.  Members that are undefined are left out. */
export function encode(v) {
  const w = new Writer();
  w.value(v, 0);
  return w.buf.subarray(0, w.n);
}

class Reader {
  constructor(bytes) {
    // not a Buffer, whose slices share their memory
    this.buf = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
  }

  take(n) {
    const at = this.at;
    if (n > this.buf.length - at) throw new RangeError("the message ends too early");
    this.at += n;
    return at;
  }

  uint(bytes) {
    const at = this.take(bytes);
    if (bytes === 1) return this.view.getUint8(at);
    return bytes === 2 ? this.view.getUint16(at) : this.view.getUint32(at);
  }

  /** A number if it is exact, otherwise a bigint. */
  wide(v) {
    return v >= BigInt(Number.MIN_SAFE_INTEGER) && v <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(v) : v;
  }

  /** Text that is not UTF-8 stays bytes. */
  string(n) {
    const at = this.take(n);
    const bytes = this.buf.subarray(at, at + n);
    try {
      return decoder.decode(bytes);
    } catch {
      return bytes.slice();
    }
  }

  bin(n) {
    const at = this.take(n);
    return this.buf.slice(at, at + n);
  }

  array(n, depth) {
    if (n > this.buf.length - this.at) throw new RangeError("an array is longer than the message");
    return Array.from({ length: n }, () => this.value(depth + 1));
  }

  map(n, depth) {
    if (n > (this.buf.length - this.at) / 2) throw new RangeError("a map is longer than the message");
    const out = Object.create(null);
    for (let i = 0; i < n; i++) {
      const key = this.value(depth + 1);
      if (typeof key !== "string") throw new TypeError("the key of a map is not a string");
      out[key] = this.value(depth + 1);
    }
    return out;
  }

  value(depth) {
    if (depth > DEPTH_MAX) throw new RangeError(`the message is nested deeper than ${DEPTH_MAX}`);
    const t = this.uint(1);
    if (t < 0x80) return t;
    if (t < 0x90) return this.map(t & 15, depth);
    if (t < 0xa0) return this.array(t & 15, depth);
    if (t < 0xc0) return this.string(t & 31);
    if (t >= 0xe0) return t - 0x100;
    switch (t) {
      case 0xc0: return null;
      case 0xc2: return false;
      case 0xc3: return true;
      case 0xc4: return this.bin(this.uint(1));
      case 0xc5: return this.bin(this.uint(2));
      case 0xc6: return this.bin(this.uint(4));
      case 0xca: return this.view.getFloat32(this.take(4));
      case 0xcb: return this.view.getFloat64(this.take(8));
      case 0xcc: return this.uint(1);
      case 0xcd: return this.uint(2);
      case 0xce: return this.uint(4);
      case 0xcf: return this.wide(this.view.getBigUint64(this.take(8)));
      case 0xd0: return this.view.getInt8(this.take(1));
      case 0xd1: return this.view.getInt16(this.take(2));
      case 0xd2: return this.view.getInt32(this.take(4));
      case 0xd3: return this.wide(this.view.getBigInt64(this.take(8)));
      case 0xd9: return this.string(this.uint(1));
      case 0xda: return this.string(this.uint(2));
      case 0xdb: return this.string(this.uint(4));
      case 0xdc: return this.array(this.uint(2), depth);
      case 0xdd: return this.array(this.uint(4), depth);
      case 0xde: return this.map(this.uint(2), depth);
      case 0xdf: return this.map(this.uint(4), depth);
      default: throw new RangeError(`a value of type 0x${t.toString(16)} is not part of the protocol`);
    }
  }
}

/** The value of a whole message.  Throws RangeError or TypeError if it is malformed. */
export function decode(bytes) {
  const r = new Reader(bytes);
  const v = r.value(0);
  if (r.at !== bytes.length) throw new RangeError("bytes follow the message");
  return v;
}
