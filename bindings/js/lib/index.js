// SPDX-License-Identifier: MIT
export { Client } from "./client.js";
export { Answer, Stream } from "./stream.js";
export { ConnectionLost, LlamadError } from "./errors.js";
export { defaultUrl } from "./address.js";
