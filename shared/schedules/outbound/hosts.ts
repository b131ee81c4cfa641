import {isIPv6} from 'node:net'

/**
 * Returns a host in the normal form of WHATWG URL: `0x7f.1`, `2130706433` and `１２７.0.0.1` become `127.0.0.1`, and names take their ASCII form.
 * IPv6 is without brackets, a name without its final dot. Null if the text is not a host.
 */
export const readHost = (text: string): string | null => {
  const written = isIPv6(text) ? `[${text}]` : text
  if (/[\s/\\?#@]/.test(written) || (written.includes(':') && !/^\[[^[\]]+\]$/.test(written))) return null
  return URL.canParse(`https://${written}/`) ? hostOf(new URL(`https://${written}/`)) : null
}

export const hostOf = ({hostname}: URL): string => hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')

export const portOf = ({port, protocol}: URL): number => (port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port))

/** Parses `host:port` to its normal form, e.g. `127.0.0.1:2222`, `[::1]:443`. Null if the text is not of this form. */
export const readPlace = (text: string): string | null => {
  const [, name = '', digits = ''] = /^(.+):(\d{1,5})$/.exec(text) ?? []
  const [host, port] = [readHost(name), Number(digits)]
  return host === null || port < 1 || port > 65_535 ? null : placeOf(host, port)
}

/** Parses `host:port`, or `host:port=org_…` for one org, to its normal form. Null if the text is not of this form. */
export const readPrivateHost = (text: string): string | null => {
  const at = text.indexOf('=')
  if (at < 0) return readPlace(text)
  const [place, org] = [readPlace(text.slice(0, at)), text.slice(at + 1)]
  return place !== null && /^org_\w+$/.test(org) ? `${place}=${org}` : null
}

export const isPrivateHost = (privateHosts: readonly string[], place: string, org: string | null): boolean =>
  privateHosts.includes(place) || (org !== null && privateHosts.includes(`${place}=${org}`))

export const isPrivateOfAny = (privateHosts: readonly string[], place: string): boolean =>
  privateHosts.some(one => one === place || one.startsWith(`${place}=`))

export const placeOf = (host: string, port: number): string => `${isIPv6(host) ? `[${host}]` : host}:${port}`

/** Parses `sftp.example.com`, `*.example.com` (its subdomains only) or `*` to its normal form. Null if the text is not of this form. */
export const readPattern = (text: string): string | null => {
  if (text === '*') return text
  const host = readHost(text.replace(/^\*\./, ''))
  if (host === null || host.includes('*')) return null
  return text.startsWith('*.') ? `*.${host}` : host
}

export const fits = (host: string, patterns: string[]): boolean =>
  patterns.some(pattern => pattern === '*' || (pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern))
