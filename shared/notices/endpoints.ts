import {z} from 'zod'
import type {Db, Pool, Tx} from '../../sql/database.ts'
import {dropPending} from '../../sql/deliveries.ts'
import {
  countEndpoints,
  deleteEndpoint,
  type Endpoint,
  findEndpoint,
  forgetEndpoint,
  insertEndpoint,
  isScheduleOf,
  lockEndpoint,
  rotateSecret,
  setEndpoint,
} from '../../sql/endpoints.ts'
import {lockOrg} from '../../sql/orgs.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import {assertPublicPlace} from '../outbound/connect.ts'
import {OutboundFailure} from '../outbound/failure.ts'
import {hostOf, portOf} from '../outbound/hosts.ts'
import {readUrl} from '../outbound/outbound.ts'
import {type Author, recordChanges} from '../registry/change.ts'
import {KINDS, Kind} from './kind.ts'
import {mintSecret, sealSecret} from './signature.ts'

const mostEndpoints = 20
/** How long a replaced secret signs beside the new one. */
const overlapHours = 24

const Url = z.string().trim().min(1).max(2_000).describe('Where it is posted to: https, or http to a host the operator lets be private')
const Events = z.array(Kind).max(50).describe('What it is told of; empty: of nothing but what a schedule or the org names it for')
const Schedule = z.string().max(64).nullable().describe('It is told of this schedule alone; null: of everything in the org')
const Description = z.string().trim().max(200).describe('What it is for, in the org’s words')

/** `events: []`: told of nothing but what a schedule or the org names it for. `schedule`: of that one alone. */
export const NewEndpoint = z.strictObject({
  url: Url,
  description: Description.default(''),
  events: Events.default([...KINDS]),
  schedule: Schedule.default(null),
})
export const EndpointPatch = z
  .strictObject({
    url: Url,
    description: Description,
    events: Events,
    schedule: Schedule,
    enabled: z.boolean().describe('Whether it is told anything. What happens while it is off is not told later'),
  })
  .partial()

type Tools = {db: Pool; config: Pick<Config, 'PRIVATE_HOSTS' | 'SECRETS_KEYS'>}
type WithSecret = {endpoint: Endpoint; secret: string}

/** The secret is told here and never again. */
export const addEndpoint = async ({db, config}: Tools, author: Author, given: z.output<typeof NewEndpoint>): Promise<WithSecret> => {
  await assertUrl(config, author.org, given.url)
  return db.transaction(async tx => {
    const {org} = author
    await assertSchedule(tx, {org, ...given})
    await lockOrg(tx, org)
    if ((await countEndpoints(tx, org)) >= mostEndpoints)
      throw new Refusal('INVALID', `An org has at most ${mostEndpoints} webhook endpoints: remove one that is not needed`)
    const id = newId('whk')
    const secret = mintSecret()
    const sealed = sealSecret(config.SECRETS_KEYS, id, secret)
    const endpoint = await insertEndpoint(tx, {...given, id, org, sealed})
    await record(tx, author, 'webhook', {target: id, before: null, after: toldOf(endpoint)})
    return {endpoint, secret}
  })
}

export const changeEndpoint = async (
  {db, config}: Tools,
  author: Author,
  {id, patch}: {id: string; patch: z.output<typeof EndpointPatch>},
) => {
  if (patch.url !== undefined) await assertUrl(config, author.org, patch.url)
  return db.transaction(async tx => {
    const before = await lockOwn(tx, {org: author.org, id})
    const wanted = {...before, ...Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined))}
    // The schedule it was for may be gone meanwhile: that is looked at where it is named anew.
    await assertSchedule(tx, {org: author.org, schedule: patch.schedule ?? null})
    const after = await setEndpoint(tx, wanted)
    if (before.enabled && !after.enabled) await dropPending(tx, {endpoint: id, error: 'The endpoint was switched off'})
    const [was, is] = [toldOf(before), toldOf(after)]
    if (JSON.stringify(was) !== JSON.stringify(is)) await record(tx, author, 'webhook', {target: id, before: was, after: is})
    return after
  })
}

/** With its deliveries. */
export const removeEndpoint = ({db}: Pick<Tools, 'db'>, author: Author, id: string): Promise<Endpoint> =>
  db.transaction(async tx => {
    const endpoint = await lockOwn(tx, {org: author.org, id})
    await forgetEndpoint(tx, {org: author.org, id})
    await deleteEndpoint(tx, id)
    await record(tx, author, 'webhook', {target: id, before: toldOf(endpoint), after: null})
    return endpoint
  })

/** A new secret; the one before signs beside it for a day, the one before that no more. */
export const replaceSecret = ({db, config}: Tools, author: Author, id: string): Promise<WithSecret> =>
  db.transaction(async tx => {
    await lockOwn(tx, {org: author.org, id})
    const secret = mintSecret()
    const endpoint = await rotateSecret(tx, {id, sealed: sealSecret(config.SECRETS_KEYS, id, secret), hours: overlapHours})
    await record(tx, author, 'webhook.secret', {target: id, before: null, after: null})
    return {endpoint, secret}
  })

type Of = {org: string; id: string}

export const findOwn = async (db: Db, of: Of): Promise<Endpoint> => own(await findEndpoint(db, of))
export const lockOwn = async (tx: Tx, of: Of): Promise<Endpoint> => own(await lockEndpoint(tx, of))

const own = (found: Endpoint | null) => {
  if (!found) throw new Refusal('NOT_FOUND', 'No such webhook endpoint: GET /orgs/{org}/webhooks lists them')
  return found
}

/**
 * Refuses a malformed URL, and a host that is neither public nor listed for the org. Every delivery checks the address again. Do not call this in a
 * transaction, because it sends a DNS query.
 */
const assertUrl = async ({PRIVATE_HOSTS: privateHosts}: Tools['config'], org: string, text: string) => {
  try {
    const url = readUrl({privateHosts, org}, text)
    await assertPublicPlace({privateHosts, org}, {host: hostOf(url), port: portOf(url)})
  } catch (error) {
    if (error instanceof OutboundFailure) throw refuse('url', error.message)
    throw error
  }
}

const assertSchedule = async (db: Db, {org, schedule}: {org: string; schedule: string | null}) => {
  if (schedule !== null && !(await isScheduleOf(db, {org, id: schedule}))) throw refuse('schedule', 'No such schedule')
}

const refuse = (name: string, message: string) =>
  new Refusal('INVALID', 'The webhook endpoint cannot be as asked', {issues: [{path: [name], message}]})

/** In the history of the settings, which every member reads: the path of an address may be a secret, so its host alone. */
const toldOf = ({url, events, schedule, enabled}: Endpoint) => ({host: new URL(url).host, events, schedule, enabled})

type Recorded = {target: string; before: ReturnType<typeof toldOf> | null; after: ReturnType<typeof toldOf> | null}

const record = (tx: Tx, author: Author, subject: string, {target, before, after}: Recorded) =>
  recordChanges(tx, author, [{page: 'notices', subject, target, before, after}])
