import {isIP} from 'node:net'
import ipaddr from 'ipaddr.js'

/** Azure's internal address for metadata and health checks in all its networks. It is the only such address with a public number. */
const azure = '168.63.129.16'

/** IANA's public IPv6 space. It excludes the forms that embed an IPv4 address (::/96, 64:ff9b::/96). */
const global6: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3]

/**
 * Returns whether an address is public. Addresses of this machine, its networks and its provider are not public. Addresses for multicast, tests,
 * documentation and tunnels are not public either. Source: IANA's special-purpose registries, as in ipaddr.js.
 */
export const isPublic = (text: string): boolean => {
  // `isIP` refuses `127.1` and octal numbers, which the library would accept. An address with a zone (`%eth0`) belongs to this machine.
  if (!isIP(text) || text.includes('%')) return false
  const address = ipaddr.parse(text)
  if (address.range() !== 'unicast' || text === azure) return false
  return address instanceof ipaddr.IPv4 || address.match(global6)
}

export const sameAddress = (one: string, other: string): boolean =>
  isIP(one) !== 0 && isIP(other) !== 0 && ipaddr.process(one).toNormalizedString() === ipaddr.process(other).toNormalizedString()
