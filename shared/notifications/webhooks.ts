import {z} from 'zod'
import type {Db, Pool, Tx} from '../../sql/database.ts'
import {dropPending} from '../../sql/deliveries.ts'
import {lockOrg} from '../../sql/orgs.ts'
import {
  countEndpoints,
  deleteEndpoint,
  ENDPOINT_KINDS,
  type Endpoint,
  findEndpoint,
  forgetEndpoint,
  insertEndpoint,
  isScheduleOf,
  lockEndpoint,
  rotateSecret,
  setEndpoint,
} from '../../sql/webhooks.ts'
import type {Config} from '../config.ts'
import {type Author, recordChanges} from '../configuration/change.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import {assertPublicPlace} from '../schedules/outbound/connect.ts'
import {OutboundFailure} from '../schedules/outbound/failure.ts'
import {hostOf, portOf} from '../schedules/outbound/hosts.ts'
import {readUrl} from '../schedules/outbound/outbound.ts'
import {KINDS, NoticeKind} from './kind.ts'
import {mintSecret, sealSecret} from './signature.ts'

const mostEndpoints = 20
/** The hours for which a replaced secret also signs, beside the new one. */
const overlapHours = 24

const Kind = z
  .enum(ENDPOINT_KINDS)
  .describe(
    '`json`: the notice, signed. `slack`, `teams`: a message for an incoming webhook of Slack or of the Workflows app in Teams, unsigned',
  )
const Url = z
  .string()
  .trim()
  .min(1)
  .max(2_000)
  .describe('The URL for the deliveries: https, or http to a private host that the operator allows')
const Events = z
  .array(NoticeKind)
  .max(50)
  .describe('The events to deliver. Empty: only the events for which a schedule or the org names this endpoint')
const Schedule = z.string().max(64).nullable().describe('Limits the events to this schedule; null: all events of the org')
const Description = z.string().trim().max(200).describe('The purpose of the endpoint, in the org’s words')

export const NewEndpoint = z.strictObject({
  kind: Kind.default('json'),
  url: Url,
  description: Description.default(''),
  events: Events.default([...KINDS]),
  schedule: Schedule.default(null),
})
export const EndpointPatch = z
  .strictObject({
    kind: Kind,
    url: Url,
    description: Description,
    events: Events,
    schedule: Schedule,
    enabled: z
      .boolean()
      .describe('Whether events are delivered. Events that happen while the endpoint is disabled are not delivered later'),
  })
  .partial()

type EndpointDeps = {db: Pool; config: Pick<Config, 'PRIVATE_HOSTS' | 'SECRETS_KEYS'>}
type WithSecret = {endpoint: Endpoint; secret: string}

/** Creates an endpoint and returns its secret, which no later answer contains. */
export const addEndpoint = async ({db, config}: EndpointDeps, author: Author, given: z.output<typeof NewEndpoint>): Promise<WithSecret> => {
  await assertUrl(config, author.org, given.url)
  return db.transaction(async tx => {
    const {org} = author
    await assertSchedule(tx, {org, ...given})
    await lockOrg(tx, org)
    if ((await countEndpoints(tx, org)) >= mostEndpoints)
      throw new Refusal('INVALID', `An org has at most ${mostEndpoints} webhook endpoints. Delete one that is not needed`)
    const id = newId('whk')
    const secret = mintSecret()
    const sealed = sealSecret(config.SECRETS_KEYS, id, secret)
    const endpoint = await insertEndpoint(tx, {...given, id, org, sealed})
    await record(tx, author, 'webhook', {target: id, before: null, after: toldOf(endpoint)})
    return {endpoint, secret}
  })
}

export const changeEndpoint = async (
  {db, config}: EndpointDeps,
  author: Author,
  {id, patch}: {id: string; patch: z.output<typeof EndpointPatch>},
) => {
  if (patch.url !== undefined) await assertUrl(config, author.org, patch.url)
  return db.transaction(async tx => {
    const before = await lockOwn(tx, {org: author.org, id})
    const wanted = {...before, ...Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined))}
    // Only a newly named schedule is checked, because the stored one may have been deleted.
    await assertSchedule(tx, {org: author.org, schedule: patch.schedule ?? null})
    const after = await setEndpoint(tx, wanted)
    if (before.enabled && !after.enabled) await dropPending(tx, {endpoint: id, error: 'The endpoint was disabled'})
    const [was, is] = [toldOf(before), toldOf(after)]
    if (JSON.stringify(was) !== JSON.stringify(is)) await record(tx, author, 'webhook', {target: id, before: was, after: is})
    return after
  })
}

export const removeEndpoint = ({db}: Pick<EndpointDeps, 'db'>, author: Author, id: string): Promise<Endpoint> =>
  db.transaction(async tx => {
    const endpoint = await lockOwn(tx, {org: author.org, id})
    await forgetEndpoint(tx, {org: author.org, id})
    await deleteEndpoint(tx, id)
    await record(tx, author, 'webhook', {target: id, before: toldOf(endpoint), after: null})
    return endpoint
  })

/** Creates a new secret. The previous one also signs for a day; an older one ends immediately. */
export const replaceSecret = ({db, config}: EndpointDeps, author: Author, id: string): Promise<WithSecret> =>
  db.transaction(async tx => {
    await lockOwn(tx, {org: author.org, id})
    const secret = mintSecret()
    const endpoint = await rotateSecret(tx, {id, sealed: sealSecret(config.SECRETS_KEYS, id, secret), hours: overlapHours})
    await record(tx, author, 'webhook.secret', {target: id, before: null, after: null})
    return {endpoint, secret}
  })

type EndpointOf = {org: string; id: string}

export const findOwn = async (db: Db, endpointOf: EndpointOf): Promise<Endpoint> => findOwnEndpoint(await findEndpoint(db, endpointOf))
export const lockOwn = async (tx: Tx, endpointOf: EndpointOf): Promise<Endpoint> => findOwnEndpoint(await lockEndpoint(tx, endpointOf))

const findOwnEndpoint = (found: Endpoint | null) => {
  if (!found) throw new Refusal('NOT_FOUND', 'No such webhook endpoint. GET /orgs/{org}/webhooks lists the endpoints')
  return found
}

/**
 * Refuses a malformed URL, and a host that is neither public nor listed for the org. Every delivery checks the address again. This sends a DNS
 * query, so never call it in a transaction.
 */
const assertUrl = async ({PRIVATE_HOSTS: privateHosts}: EndpointDeps['config'], org: string, text: string) => {
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
  new Refusal('INVALID', 'The webhook endpoint is invalid. Correct the listed fields', {issues: [{path: [name], message}]})

/**
 * Describes an endpoint for the settings history. Every member can read the history and the URL's path may be a secret, so only the host of the
 * URL is shown.
 */
const toldOf = ({kind, url, events, schedule, enabled}: Endpoint) => ({kind, host: new URL(url).host, events, schedule, enabled})

type RecordedEndpoint = {target: string; before: ReturnType<typeof toldOf> | null; after: ReturnType<typeof toldOf> | null}

const record = (tx: Tx, author: Author, subject: string, {target, before, after}: RecordedEndpoint) =>
  recordChanges(tx, author, [{page: 'notices', subject, target, before, after}])
