import {isOutdated, type KeyRing, open, seal} from '../security/secrets.ts'

type Column = 'refresh_sealed' | 'access_sealed'

/** A sealed token can be decrypted only for the same connection and column. */
const placeOf = (connector: string, column: Column) => `${connector}.${column}`

export const sealRefresh = (ring: KeyRing, connector: string, token: string) => seal(ring, token, placeOf(connector, 'refresh_sealed'))
export const sealAccess = (ring: KeyRing, connector: string, token: string) => seal(ring, token, placeOf(connector, 'access_sealed'))
export const openRefresh = (ring: KeyRing, connector: string, sealed: string) => open(ring, sealed, placeOf(connector, 'refresh_sealed'))
export const openAccess = (ring: KeyRing, connector: string, sealed: string) => open(ring, sealed, placeOf(connector, 'access_sealed'))

/** Decrypts the secret of a generic connection, which is stored in place of a refresh token. Null if the secret cannot be decrypted. */
export const openSecret = (ring: KeyRing, connector: string, sealed: string): string | null => {
  try {
    return openRefresh(ring, connector, sealed)
  } catch {
    return null
  }
}

/** Seals the token again only if the ring's first key did not seal it. */
export const resealRefresh = (ring: KeyRing, connector: string, {sealed, token}: {sealed: string; token: string}) =>
  isOutdated(ring, sealed) ? sealRefresh(ring, connector, token) : sealed
