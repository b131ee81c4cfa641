import {createHash} from 'node:crypto'
import {z} from 'zod'
import {type KeyRing, open, seal} from '../secrets.ts'

/** A visit to the identity provider, from its start to its return. */
const Visit = z.object({
  id: z.string(),
  purpose: z.enum(['session', 'connect', 'grant']),
  dc: z.string(),
  /** Of PKCE. */
  verifier: z.string(),
  returnOrigin: z.string(),
  org: z.string().nullable(),
  person: z.string().nullable(),
  connectionName: z.string().nullable(),
  oauthRequest: z.string().nullable(),
  expiresAt: z.string(),
})
export type Visit = z.output<typeof Visit>

/** The state of a visit: nobody else can read or change it, and it opens in the browser it was sealed for alone. Nothing is stored. */
export const sealVisit = (ring: KeyRing, visit: Visit, browser: string): string => seal(ring, JSON.stringify(visit), placeOf(browser))

/** Null for a state that was not sealed here for this browser. The caller checks its time and that it is used once. */
export const openVisit = (ring: KeyRing, state: string, browser: string): Visit | null => {
  try {
    return Visit.parse(JSON.parse(open(ring, state, placeOf(browser))))
  } catch {
    return null
  }
}

const placeOf = (browser: string) => `sign-in ${createHash('sha256').update(browser).digest('base64url')}`
