const longest = 2_000
/** Programs on a laptop that do not put a domain of theirs into their scheme, as RFC 8252 asks. */
const KNOWN_SCHEMES = ['cursor:', 'vscode:', 'vscode-insiders:', 'windsurf:', 'zed:']

/**
 * Whether a code may ever be sent there: https, http of the very machine the browser runs on, or the scheme of a program on it (RFC 8252,
 * part 7). No fragment, which a code would not be seen behind, and no user or password.
 */
export const isRedirectUri = (text: string): boolean => {
  if (text.length > longest || /[^\x21-\x7e]|[\\#]/.test(text) || !URL.canParse(text)) return false
  const {protocol, username, password, hostname} = new URL(text)
  if (username || password) return false
  if (protocol === 'https:') return /^https:\/\/[^/]/i.test(text) && isPlainHost(hostname)
  if (protocol === 'http:') return isLoopback(hostname)
  return KNOWN_SCHEMES.includes(protocol) || /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/.test(protocol)
}

/** Letter by letter, but for the port of a loopback address: a program takes whichever is free (RFC 8252, part 7.3). */
export const isAmong = (registered: readonly string[], given: string): boolean =>
  registered.some(one => one === given || (isRedirectUri(given) && withoutPort(one) !== null && withoutPort(one) === withoutPort(given)))

/** Null for what is no http address of this machine. Else it is compared as it was written, so that nothing else is made alike. */
const withoutPort = (text: string): string | null => {
  const [, start, rest] = /^(http:\/\/(?:localhost|127\.0\.0\.1|\[::1\]))(?::\d{1,5})?((?:[/?].*)?)$/.exec(text) ?? []
  return start === undefined ? null : `${start} ${rest}`
}

/** URLs take more for a name than names have, some of which would say something else in a header that names it. */
const isPlainHost = (hostname: string) => /^([a-z0-9_-]+\.)*[a-z0-9_-]+\.?$|^\[[0-9a-f:]+\]$/.test(hostname)

/** Whether it leads to a program on the computer the browser runs on, and so to nobody else's place. */
export const isHere = (redirectUri: string): boolean => new URL(redirectUri).protocol !== 'https:'

const isLoopback = (hostname: string) => ['localhost', '127.0.0.1', '[::1]'].includes(hostname)

/** Where a form that is answered by a redirect may lead, as a content security policy says it; IPv6 has no form there. */
export const policySourceOf = (redirectUri: string): string => {
  const {protocol, origin, hostname} = new URL(redirectUri)
  return /^https?:$/.test(protocol) && !hostname.startsWith('[') ? origin : protocol
}

export const withParameters = (uri: string, parameters: Record<string, string | null>): string => {
  const query = new URLSearchParams(Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== null))
  return `${uri}${uri.includes('?') ? '&' : '?'}${query}`
}
