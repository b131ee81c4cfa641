import {isOutdated, type KeyRing, open, seal} from '../security/secrets.ts'

type Column = 'refresh_sealed' | 'access_sealed'

/** Returns the context of a sealed token: it can be decrypted only for the same connection and column. */
const placeOf = (connector: string, column: Column) => `${connector}.${column}`

export const sealRefresh = (ring: KeyRing, connector: string, token: string) => seal(ring, token, placeOf(connector, 'refresh_sealed'))
export const sealAccess = (ring: KeyRing, connector: string, token: string) => seal(ring, token, placeOf(connector, 'access_sealed'))
export const openRefresh = (ring: KeyRing, connector: string, sealed: string) => open(ring, sealed, placeOf(connector, 'refresh_sealed'))
export const openAccess = (ring: KeyRing, connector: string, sealed: string) => open(ring, sealed, placeOf(connector, 'access_sealed'))

/** Decrypts the secret of a connection without tokens. The secret is stored in place of the refresh token. Null if it cannot be decrypted. */
export const openSecret = (ring: KeyRing, connector: string, sealed: string): string | null => {
  try {
    return openRefresh(ring, connector, sealed)
  } catch {
    return null
  }
}

/** Returns the sealed value if the ring's first key sealed it; otherwise seals the token again with that key. */
export const resealRefresh = (ring: KeyRing, connector: string, {sealed, token}: {sealed: string; token: string}) =>
  isOutdated(ring, sealed) ? sealRefresh(ring, connector, token) : sealed
