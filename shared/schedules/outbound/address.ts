import {isIP} from 'node:net'
import ipaddr from 'ipaddr.js'

/** An address that is public by its number, but internal to Azure in all its networks (metadata, health). It is the only such address. */
const azure = '168.63.129.16'

/** IANA's public IPv6 space. It excludes the forms that embed an IPv4 address (::/96, 64:ff9b::/96). */
const global6: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3]

/**
 * Returns whether an address is public. Addresses of this machine, this network and this provider are not. Nor are addresses reserved for
 * multicast, tests, documentation or tunnels, because a tunnel's other end is unknown. Source: IANA's special-purpose registries, as in
 * ipaddr.js.
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
