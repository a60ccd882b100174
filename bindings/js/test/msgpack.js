// SPDX-License-Identifier: MIT
// The codec: what it writes is what it reads, the bytes are those of the specification, and malformed
// messages are errors.
import assert from "node:assert/strict";
import { decode, encode } from "../lib/msgpack.js";

const plain = (v) => JSON.parse(JSON.stringify(v)); // without the prototypes of maps

const values = [
  0, 1, 127, 128, 255, 256, 65535, 65536, 2 ** 32, Number.MAX_SAFE_INTEGER, -1, -32, -33, -128, -129, -32769,
  -(2 ** 31) - 1, 1.5, -0, 1e300, true, false, null, "", "a", "ü".repeat(20), "x".repeat(31), "x".repeat(32),
  "x".repeat(300), "x".repeat(70000), [], [1, [2, ["3"]]], Array(20).fill(7), Array(70000).fill("ab"), {},
  { a: 1, b: { c: [null, true, 1.25] } }, Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`k${i}`, i])),
];
for (const v of values) assert.deepEqual(plain([decode(encode(v))]), plain([v]));
for (const v of [2n ** 53n, 2n ** 63n - 1n, 2n ** 64n - 1n, -(2n ** 63n)]) assert.equal(decode(encode(v)), v);
for (const n of [0, 1, 255, 256, 65536]) {
  const bytes = Uint8Array.from({ length: n }, (_, i) => i & 255);
  assert.deepEqual(decode(encode(bytes)), bytes);
}
// each place in the buffer, so that it grows in the middle of every kind of value
for (let n = 0; n < 600; n++) {
  const v = ["y".repeat(n), 2 ** 40, -5000, 1.5, "tail"];
  assert.deepEqual(decode(encode(v)), v);
}

const hex = (v) => Buffer.from(encode(v)).toString("hex");
assert.equal(hex({ v: 1, op: "ping" }), "82a17601a26f70a470696e67");
assert.equal(hex([undefined, { a: undefined }]), "92c080");
assert.equal(hex(Uint8Array.of(1, 2)), "c4020102");
assert.equal(hex(-33), "d3ffffffffffffffdf");

for (const bytes of ["", "c1", "92", "c4", "c405aa", "dd7fffffff", "df7fffffff", "810101", "0000", "d9ff"]) {
  assert.throws(() => decode(Buffer.from(bytes, "hex")), `${bytes} was accepted`);
}
assert.throws(() => decode(Buffer.alloc(200, 0x91)), RangeError);
assert.throws(() => encode(2n ** 64n), RangeError);
assert.throws(() => encode({ f() {} }), TypeError);
// text that is not UTF-8 arrives as bytes; a map has no members but its own
assert.deepEqual(decode(Buffer.from("a1ff", "hex")), Uint8Array.of(255));
assert.equal(decode(Buffer.from("80", "hex")).constructor, undefined);
assert.equal(decode(Buffer.from("81a95f5f70726f746f5f5f01", "hex")).__proto__, 1);
