import {jwtVerify, SignJWT} from 'jose'
import type {KeyRing} from '../secrets.ts'

/** What a signed text is good for. One kind is never taken for another: `typ` and `aud` both say it. */
export type Kind = 'session' | 'sign-in'

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

/** The id a text of this kind names; null for anything we did not sign for it. */
export const readSignedId = async (ring: KeyRing, kind: Kind, text: string): Promise<string | null> => {
  try {
    const {payload} = await jwtVerify(text, ({kid}) => keyOf(ring, kid), {
      algorithms: ['HS256'],
      typ: typeOf(kind),
      issuer: ISSUER,
      audience: kind,
      clockTolerance: 60,
    })
    return payload.sub ?? null
  } catch {
    return null
  }
}

const typeOf = (kind: Kind) => `lading-${kind}+jwt`

const keyOf = (ring: KeyRing, kid: string | undefined) => {
  const key = ring.find(({id}) => id === kid)?.key
  if (!key) throw new Error('Signed under a key that is not in SESSION_KEYS')
  return key
}
