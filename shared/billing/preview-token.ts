import {jwtVerify, SignJWT} from 'jose'
import {z} from 'zod'
import {Refusal} from '../errors.ts'
import type {KeyRing} from '../security/secrets.ts'

/**
 * The content of a preview token. The user accepts the preview by returning the token. `at`: the second for which the price was computed.
 * `lines`: hash of the invoice lines.
 */
const ShownPreview = z.object({
  org: z.string(),
  person: z.string(),
  subscription: z.string(),
  fingerprint: z.string(),
  kind: z.enum(['now', 'at_renewal', 'cancel', 'take_back']),
  price: z.string().nullable(),
  planVersionId: z.string().nullable(),
  at: z.number(),
  due: z.number(),
  currency: z.string(),
  lines: z.string(),
})
export type ShownPreview = z.output<typeof ShownPreview>

export const previewSeconds = 1800

const [issuer, audience, typ] = ['lading', 'plan-preview', 'lading-plan-preview+jwt']

/**
 * Signs a preview as a token. The token contains the whole preview, so that the server stores nothing. `now`: our clock, in seconds since
 * 1970.
 */
export const signPreview = (ring: KeyRing, shown: ShownPreview, now: number): Promise<string> =>
  new SignJWT(shown)
    .setProtectedHeader({alg: 'HS256', typ, kid: ring[0]!.id})
    .setIssuer(issuer)
    .setAudience(audience)
    .setIssuedAt(now)
    .setExpirationTime(now + previewSeconds)
    .sign(ring[0]!.key)

type Bearer = {org: string; person: string}

/** Returns the preview that this person was shown for this org within the last half hour. Throws PREVIEW_STALE for any other token. */
export const readPreview = async (ring: KeyRing, token: string, {org, person}: Bearer, now: number): Promise<ShownPreview> => {
  const verified = await jwtVerify(token, ({kid}) => ring.find(({id}) => id === kid)?.key ?? Promise.reject(previewStale()), {
    algorithms: ['HS256'],
    typ,
    issuer,
    audience,
    requiredClaims: ['exp'],
    currentDate: new Date(now * 1000),
  }).catch(() => null)
  const shown = ShownPreview.safeParse(verified?.payload)
  if (!shown.success || shown.data.org !== org || shown.data.person !== person) throw previewStale()
  return shown.data
}

export const previewStale = () =>
  new Refusal('PREVIEW_STALE', 'This preview is no longer valid, and nothing was changed. Request a new one')
