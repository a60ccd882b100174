// SPDX-License-Identifier: MIT

/** A request failed.  The message is for humans. */
export class LlamadError extends Error {
  /** code: an error code of the protocol, such as "busy"; retryMs: do not try again before so many
   * milliseconds have passed. */
  constructor(code, text, retryMs) {
    super(text);
    this.name = "LlamadError";
    this.code = code;
    this.retryMs = retryMs;
    /** The connection is not authenticated with a valid key. */
    this.hello = false;
  }
}

/** The server cannot be reached, or the connection was lost. */
export class ConnectionLost extends LlamadError {
  constructor(text) {
    super("io", text);
    this.name = "ConnectionLost";
  }
}
