import {isOutdated, type KeyRing, open, seal} from '../secrets.ts'

type Column = 'refresh_sealed' | 'access_sealed'

/** A token opens only in the row and the column it was sealed for. */
const placeOf = (connector: string, column: Column) => `${connector}.${column}`

export const sealRefresh = (ring: KeyRing, connector: string, token: string) => seal(ring, token, placeOf(connector, 'refresh_sealed'))
export const sealAccess = (ring: KeyRing, connector: string, token: string) => seal(ring, token, placeOf(connector, 'access_sealed'))
export const openRefresh = (ring: KeyRing, connector: string, sealed: string) => open(ring, sealed, placeOf(connector, 'refresh_sealed'))
export const openAccess = (ring: KeyRing, connector: string, sealed: string) => open(ring, sealed, placeOf(connector, 'access_sealed'))

/** The lasting secret of a connection that mints no tokens stands where others have their refresh token. Null where it does not open. */
export const openSecret = (ring: KeyRing, connector: string, sealed: string): string | null => {
  try {
    return openRefresh(ring, connector, sealed)
  } catch {
    return null
  }
}

/** As it is while its key is still the first of the ring; else sealed again under that one. */
export const resealRefresh = (ring: KeyRing, connector: string, {sealed, token}: {sealed: string; token: string}) =>
  isOutdated(ring, sealed) ? sealRefresh(ring, connector, token) : sealed
