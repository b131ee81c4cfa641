import {isIP} from 'node:net'
import ipaddr from 'ipaddr.js'

/** Public by its number, and the provider's own in every network of Azure (metadata, health): the one such address there is. */
const azure = '168.63.129.16'

/** What IANA has given to the public network of version 6. Outside it are the forms that hide a version 4 address (::/96, 64:ff9b::/96). */
const global6: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3]

/**
 * Whether an address is one anybody on the internet may be met at: not of this machine, this network, this provider, nor set aside for
 * groups, tests, documents or tunnels, which end where they like. Source: the special-purpose registries of IANA, as ipaddr.js has them.
 */
export const isPublic = (text: string): boolean => {
  // The library takes `127.1` and octal numbers too; a zone (`%eth0`) is of this machine.
  if (!isIP(text) || text.includes('%')) return false
  const address = ipaddr.parse(text)
  if (address.range() !== 'unicast' || text === azure) return false
  return address instanceof ipaddr.IPv4 || address.match(global6)
}

/** One spelling per address. */
export const sameAddress = (one: string, other: string): boolean =>
  isIP(one) !== 0 && isIP(other) !== 0 && ipaddr.process(one).toNormalizedString() === ipaddr.process(other).toNormalizedString()
