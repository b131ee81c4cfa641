import {createHash} from 'node:crypto'
import {z} from 'zod'
import {type KeyRing, open, seal} from '../security/secrets.ts'

/** One attempt to sign in or connect, from the redirect to the identity provider until the return. */
const Visit = z.object({
  id: z.string(),
  purpose: z.enum(['session', 'connect', 'grant']),
  dc: z.string(),
  /** The PKCE code verifier. */
  verifier: z.string(),
  returnOrigin: z.string(),
  org: z.string().nullable(),
  person: z.string().nullable(),
  /** The API token that began a connection. Null: a session. A state of an earlier build has none. */
  token: z.string().nullable().default(null),
  connectionName: z.string().nullable(),
  /** True: a cookie keeps the session of this sign-in. False: the page that began the sign-in receives the token. */
  keepsCookie: z.boolean().default(false),
  /** Whether the consent may also make the org's first connection. */
  connects: z.boolean().default(false),
  asked: z.object({client: z.string(), redirectUri: z.string(), clientState: z.string().nullable(), challenge: z.string()}).nullable(),
  expiresAt: z.string(),
})
export type Visit = z.output<typeof Visit>

/** Encrypts a visit as the `state` of the sign-in URL. Only this service can read it, and only in the browser that began the visit. */
export const sealVisit = (ring: KeyRing, visit: Visit, browser: string): string => seal(ring, JSON.stringify(visit), placeOf(browser))

/** Decrypts a state. Returns null if it was not sealed for this browser. The caller checks the expiry and the single use. */
export const openVisit = (ring: KeyRing, state: string, browser: string): Visit | null => {
  try {
    return Visit.parse(JSON.parse(open(ring, state, placeOf(browser))))
  } catch {
    return null
  }
}

const placeOf = (browser: string) => `sign-in ${createHash('sha256').update(browser).digest('base64url')}`
