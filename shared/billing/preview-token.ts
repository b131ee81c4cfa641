import {jwtVerify, SignJWT} from 'jose'
import {z} from 'zod'
import {Refusal} from '../errors.ts'
import type {KeyRing} from '../secrets.ts'

/** What somebody was shown, and agrees to by handing the token back. `at`: the second a price was worked out for. `lines`: a hash. */
const Shown = z.object({
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
export type Shown = z.output<typeof Shown>

/** Half an hour. */
export const previewSeconds = 1800

const [issuer, audience, typ] = ['lading', 'plan-preview', 'lading-plan-preview+jwt']

/** `now`: our clock's second. Nothing of it is kept here: the token is all there is. */
export const signPreview = (ring: KeyRing, shown: Shown, now: number): Promise<string> =>
  new SignJWT(shown)
    .setProtectedHeader({alg: 'HS256', typ, kid: ring[0]!.id})
    .setIssuer(issuer)
    .setAudience(audience)
    .setIssuedAt(now)
    .setExpirationTime(now + previewSeconds)
    .sign(ring[0]!.key)

type Bearer = {org: string; person: string}

/** What this person was shown of this org within the last half hour; else refused with PREVIEW_STALE, whatever is wrong with it. */
export const readPreview = async (ring: KeyRing, token: string, {org, person}: Bearer, now: number): Promise<Shown> => {
  const verified = await jwtVerify(token, ({kid}) => ring.find(({id}) => id === kid)?.key ?? Promise.reject(previewStale()), {
    ...{algorithms: ['HS256'], typ, issuer, audience, requiredClaims: ['exp'], currentDate: new Date(now * 1000)},
  }).catch(() => null)
  const shown = Shown.safeParse(verified?.payload)
  if (!shown.success || shown.data.org !== org || shown.data.person !== person) throw previewStale()
  return shown.data
}

export const previewStale = () =>
  new Refusal('PREVIEW_STALE', 'What this preview showed holds no more, and nothing was changed: look at a new one')
