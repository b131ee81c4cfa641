import {jwtVerify, SignJWT} from 'jose'
import type {KeyRing} from '../security/secrets.ts'

/** The purpose of a signed text. Both `typ` and `aud` contain the purpose, so that a text of one kind is never accepted as another. */
type Kind = 'session' | 'consent'

const ISSUER = 'lading'

/** Signs a text that contains only the id of a row. The row determines what the text permits. */
export const signId = (ring: KeyRing, kind: Kind, {id, expiresAt}: {id: string; expiresAt: string}): Promise<string> =>
  new SignJWT()
    .setProtectedHeader({alg: 'HS256', typ: typeOf(kind), kid: ring[0]!.id})
    .setIssuer(ISSUER)
    .setAudience(kind)
    .setSubject(id)
    .setIssuedAt()
    .setExpirationTime(new Date(expiresAt))
    .sign(ring[0]!.key)

/** Returns the id in a signed text of this kind, or null if the signature, the kind or the expiry is invalid. */
export const readSignedId = async (ring: KeyRing, kind: Kind, text: string): Promise<string | null> => {
  const seen = seenUnder(ring)
  const known = seen.get(text)
  if (known && known.kind === kind && Date.now() < known.until) return known.id
  try {
    const {payload} = await jwtVerify(text, ({kid}) => keyOf(ring, kid), {
      algorithms: ['HS256'],
      typ: typeOf(kind),
      issuer: ISSUER,
      audience: kind,
      clockTolerance: toleranceSeconds,
      requiredClaims: ['sub', 'exp'],
    })
    const {sub, exp} = payload as {sub: string; exp: number}
    remember(seen, text, {kind, id: sub, until: (exp + toleranceSeconds) * 1000})
    return sub
  } catch {
    return null
  }
}

type VerifiedId = {kind: Kind; id: string; until: number}

const toleranceSeconds = 60
const mostSeen = 10_000
const seenByRing = new WeakMap<KeyRing, Map<string, VerifiedId>>()

/**
 * Returns the key ring's cache of verified texts, so that later requests of a session skip the verification. Callers still read the row of the
 * id.
 */
const seenUnder = (ring: KeyRing) => {
  const seen = seenByRing.get(ring) ?? new Map<string, VerifiedId>()
  seenByRing.set(ring, seen)
  return seen
}

const remember = (seen: Map<string, VerifiedId>, text: string, verifiedId: VerifiedId) => {
  seen.delete(text)
  seen.set(text, verifiedId)
  const [oldest] = seen.keys()
  if (seen.size > mostSeen && oldest !== undefined) seen.delete(oldest)
}

const typeOf = (kind: Kind) => `lading-${kind}+jwt`

const keyOf = (ring: KeyRing, kid: string | undefined) => {
  const key = ring.find(({id}) => id === kid)?.key
  if (!key) throw new Error('Signed with a key that is not in SESSION_KEYS')
  return key
}
