const longest = 2_000
/** Custom schemes of desktop programs that do not follow RFC 8252, which asks for a reversed domain name. */
const KNOWN_SCHEMES = ['cursor:', 'vscode:', 'vscode-insiders:', 'windsurf:', 'zed:']

/**
 * Whether a redirect URI is acceptable: https, http on loopback, or a custom scheme (RFC 8252, section 7). Fragments are refused, because
 * they would hide the code. User names and passwords are refused too.
 */
export const isRedirectUri = (text: string): boolean => {
  if (text.length > longest || /[^\x21-\x7e]|[\\#]/.test(text) || !URL.canParse(text)) return false
  const {protocol, username, password, hostname} = new URL(text)
  if (username || password) return false
  if (protocol === 'https:') return /^https:\/\/[^/]/i.test(text) && isPlainHost(hostname)
  if (protocol === 'http:') return isLoopback(hostname)
  return KNOWN_SCHEMES.includes(protocol) || /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/.test(protocol)
}

/** Whether a redirect URI is registered. The comparison is exact, except for the port of a loopback address (RFC 8252, section 7.3). */
export const isAmong = (registered: readonly string[], given: string): boolean =>
  registered.some(one => one === given || (isRedirectUri(given) && withoutPort(one) !== null && withoutPort(one) === withoutPort(given)))

/**
 * Returns a key for comparison: an http loopback URI with a space in place of its port. Null for another URI. The rest stays as written, because it
 * is compared exactly.
 */
const withoutPort = (text: string): string | null => {
  const [, start, rest] = /^(http:\/\/(?:localhost|127\.0\.0\.1|\[::1\]))(?::\d{1,5})?((?:[/?].*)?)$/.exec(text) ?? []
  return start === undefined ? null : `${start} ${rest}`
}

/** Whether a host name is safe in a policy header. The URL parser also accepts unsafe characters. */
const isPlainHost = (hostname: string) => /^([a-z0-9_-]+\.)*[a-z0-9_-]+\.?$|^\[[0-9a-f:]+\]$/.test(hostname)

/** Whether a redirect URI leads to a program on the browser's own computer. */
export const leadsToOwnComputer = (redirectUri: string): boolean => new URL(redirectUri).protocol !== 'https:'

const isLoopback = (hostname: string) => ['localhost', '127.0.0.1', '[::1]'].includes(hostname)

/** Returns the CSP source for a form that redirects to the URI. CSP has no syntax for IPv6 hosts, so their scheme is used. */
export const policySourceOf = (redirectUri: string): string => {
  const {protocol, origin, hostname} = new URL(redirectUri)
  return /^https?:$/.test(protocol) && !hostname.startsWith('[') ? origin : protocol
}

export const withParameters = (uri: string, parameters: Record<string, string | null>): string => {
  const query = new URLSearchParams(Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== null))
  return `${uri}${uri.includes('?') ? '&' : '?'}${query}`
}
