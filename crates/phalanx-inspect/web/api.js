// @ts-check
// Requests to the program. The key comes in the fragment of the address, and stays in this tab.

const STORE = "phalanx-key";

/** Takes the key out of the address, so that it is neither shown nor shared. */
export function takeKey() {
  const found = /^#key=([0-9a-f]{32})$/.exec(location.hash);
  if (found) {
    sessionStorage.setItem(STORE, found[1]);
    history.replaceState(null, "", "#/entities");
  }
  return sessionStorage.getItem(STORE) !== null;
}

/** Sets a key that was typed in. @param {string} text */
export function setKey(text) {
  const found = /([0-9a-f]{32})\s*$/.exec(text);
  if (found) sessionStorage.setItem(STORE, found[1]);
  return found !== null;
}

/** What went wrong, in words. */
export class Refused extends Error {
  /** @param {number} status @param {any} body */
  constructor(status, body) {
    super(body && body.error ? body.error : `the program answered with ${status}`);
    this.status = status;
    this.body = body || {};
  }
}

/** @param {string} path @param {RequestInit} options */
async function send(path, options) {
  const headers = { Authorization: "Bearer " + (sessionStorage.getItem(STORE) || ""), ...options.headers };
  let answer;
  try {
    answer = await fetch("/api/1/" + path, { ...options, headers, cache: "no-store", credentials: "omit", redirect: "error" });
  } catch (error) {
    if (options.signal && options.signal.aborted) throw error;
    throw new Refused(0, { error: "the program does not answer" });
  }
  const body = await answer.json().catch(() => null);
  if (!answer.ok) throw new Refused(answer.status, body);
  return body;
}

/**
 * Reads. Arguments that are null are left out.
 * @param {string} path @param {Record<string, any>} [args] @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export function get(path, args = {}, signal) {
  const list = new URLSearchParams();
  for (const [name, value] of Object.entries(args)) {
    if (Array.isArray(value)) value.forEach((one) => list.append(name, String(one)));
    else if (value !== null && value !== undefined && value !== "") list.append(name, String(value));
  }
  const query = list.toString();
  return send(path + (query ? "?" + query : ""), { method: "GET", signal });
}

/** Changes something. @param {string} path @param {object} [body] @returns {Promise<any>} */
export function post(path, body = {}) {
  return send(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

/** Sends a snapshot, which becomes a copy. @param {File} file @returns {Promise<any>} */
export function upload(file) {
  const path = "load?name=" + encodeURIComponent(file.name.slice(0, 200));
  return send(path, { method: "POST", headers: { "Content-Type": "application/octet-stream" }, body: file });
}

/** Downloads a snapshot. @param {string} name */
export async function download(name) {
  const headers = { Authorization: "Bearer " + (sessionStorage.getItem(STORE) || "") };
  const answer = await fetch("/api/1/snapshot", { headers, cache: "no-store", credentials: "omit" });
  if (!answer.ok) throw new Refused(answer.status, await answer.json().catch(() => null));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
