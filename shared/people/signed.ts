import {jwtVerify, SignJWT} from 'jose'
import type {KeyRing} from '../secrets.ts'

/** What a signed text is good for. One kind is never taken for another: `typ` and `aud` both say it. */
type Kind = 'session' | 'consent'

const ISSUER = 'lading'

/** A signed text which names one row and says nothing else; the row decides what it is worth. */
export const signId = (ring: KeyRing, kind: Kind, {id, expiresAt}: {id: string; expiresAt: string}): Promise<string> =>
  new SignJWT()
    .setProtectedHeader({alg: 'HS256', typ: typeOf(kind), kid: ring[0]!.id})
    .setIssuer(ISSUER)
    .setAudience(kind)
    .setSubject(id)
    .setIssuedAt()
    .setExpirationTime(new Date(expiresAt))
    .sign(ring[0]!.key)

/** The id a text of this kind names; null for anything we did not sign for it. A text that was good is good until it expires. */
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

type Seen = {kind: Kind; id: string; until: number}

const toleranceSeconds = 60
const mostSeen = 10_000
const seenByRing = new WeakMap<KeyRing, Map<string, Seen>>()

/** Signatures verified before, so that a session's thousandth request does not pay for its signature again. The row is read all the same. */
const seenUnder = (ring: KeyRing) => {
  const seen = seenByRing.get(ring) ?? new Map<string, Seen>()
  seenByRing.set(ring, seen)
  return seen
}

const remember = (seen: Map<string, Seen>, text: string, found: Seen) => {
  seen.delete(text)
  seen.set(text, found)
  const [oldest] = seen.keys()
  if (seen.size > mostSeen && oldest !== undefined) seen.delete(oldest)
}

const typeOf = (kind: Kind) => `lading-${kind}+jwt`

const keyOf = (ring: KeyRing, kid: string | undefined) => {
  const key = ring.find(({id}) => id === kid)?.key
  if (!key) throw new Error('Signed under a key that is not in SESSION_KEYS')
  return key
}
