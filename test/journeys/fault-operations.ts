import {setTimeout as sleep} from 'node:timers/promises'
import {z} from 'zod'
import {newId} from '../../shared/ids.ts'
import {sql} from '../../sql/database.ts'
import {seedOrgs} from '../simulators/crm/seed.ts'
import type {HttpAnswer} from '../support/client.ts'
import {type Org, ok, openOrg, readLog} from '../support/importing.ts'
import {meterOf} from '../support/subform-rows.ts'
import type {TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {type Door, faultOperations} from './fault-table.ts'

/** A door (one way to call the CRM) with a separate org here and at the CRM, so that its faults meet no other door. */
export type FaultDoorPlace = {world: TestDeployment; door: Door; key: string; org: Org; session: string}
/** One request through a door: under a run, for two records that exist in the CRM or will be created. */
export type Request = FaultDoorPlace & {connector: string; run: string; ids: string[]; keys: string[]}

export const openFaultOperations = (world: TestDeployment): Promise<FaultDoorPlace[]> =>
  Promise.all(faultOperations.map((door, n) => openPlace(world, door, n)))

const openPlace = async (world: TestDeployment, door: Door, n: number): Promise<FaultDoorPlace> => {
  const {modules} = seedOrgs[0]!
  const email = `boss@${door}.example`
  world.crm.addOrg({
    key: door,
    companyName: `Of ${door}`,
    prefix: `77100${n}0`,
    zgid: String(30_000 + n),
    edition: 'enterprise',
    licences: 5,
    modules,
    users: [person(email), person(`other@${door}.example`)],
  })
  const org = await openOrg(world, email)
  return {world, door, key: door, org, session: await world.signIn(email)}
}

const person = (email: string) => ({email, firstName: email.split('@')[0]!, lastName: 'Test', profile: 'Administrator', role: 'CEO'})

let made = 0

/**
 * Adds a connection to the org of the place: without a cached token, and with a copy of the first connection's discovery. Returns the
 * connector's id.
 */
export const connectAnew = async ({world, key, org, session}: FaultDoorPlace): Promise<string> => {
  const email = `user-${++made}@${key}.example`
  world.crm.addUser(key, person(email))
  const id = await world.connect(session, {user: email, name: email})
  const discovery = newId('dis')
  await world.db.query(sql.unsafe`
    insert into discoveries (id, connector_id, diff) select ${discovery}, ${id}, diff from discoveries where connector_id = ${org.connector} limit 1`)
  await world.db.query(sql.unsafe`
    insert into discovered_modules (discovery_id, api_name, module)
    select ${discovery}, api_name, module from discovered_modules join discoveries d on d.id = discovery_id where connector_id = ${org.connector}`)
  return id
}

/** Creates the records that must exist before the request, and authorises a run. */
export const prepare = async (place: FaultDoorPlace, connector = place.org.connector): Promise<Request> => {
  const {world, door, key, org} = place
  const keys = ['a', 'b'].map(name => `${name}${++made}`)
  const records = door.startsWith('rows')
    ? keys.map(name => ({Name: name, Order_Lines: [{Product: 'Old'}]}))
    : keys.map(name => ({Account_Name: `Company ${name}`, Account_Number: `had ${name}`, Billing_City: 'Before'}))
  const module = door.startsWith('rows') ? 'Orders' : 'Accounts'
  const ids = door === 'create' ? [] : world.crm.create(key, module, records).map(({details}) => String(details.id))
  const {runId: run} = await ok(org.call('POST', '/entitlements/runs/authorise', {declaredRows: 100, connectorId: connector}), 200)
  return {...place, connector, run, ids, keys}
}

/** Returns a match for the CRM calls to which a fault of this door applies. */
export const aimOf = ({door, key, ids}: Pick<Request, 'door' | 'key' | 'ids'>) => ({org: key, ...aims[door](ids)})

const aims: Record<Door, (ids: string[]) => {method: string; path: string}> = {
  create: () => ({method: 'POST', path: '/crm/v8/Accounts'}),
  update: () => ({method: 'PUT', path: '/crm/v8/Accounts'}),
  rows: () => ({method: 'PUT', path: '/crm/v8/Orders'}),
  rowsRead: ids => ({method: 'GET', path: `/crm/v8/Orders/${ids[0]}`}),
  byIds: () => ({method: 'GET', path: '/crm/v8/Accounts'}),
  one: ids => ({method: 'GET', path: `/crm/v8/Accounts/${ids[0]}`}),
}

export const ask = (request: Request): Promise<HttpAnswer> => {
  const {org, door, connector, run, ids, keys} = request
  const records = `/orgs/${org.org}/connectors/${connector}/records`
  const items = keys.map((rowKey, n) => ({rowKey, ...(ids[n] && {recordId: ids[n]}), payload: payloadOf(request, n)}))
  if (door === 'create') return org.call('POST', `${records}/Accounts`, {runId: run, items})
  if (door === 'update') return org.call('PUT', `${records}/Accounts`, {runId: run, items})
  if (door === 'byIds') return org.call('GET', `${records}/Accounts/by-ids?ids=${ids.join(',')}&fields=Account_Name&run=${run}`)
  if (door === 'one') return org.call('GET', `${records}/Accounts/${ids[0]}`)
  const parents = keys.map((rowKey, n) => ({parentId: ids[n], writeId: `w ${rowKey}`, rows: [{rowKey, payload: {Product: rowKey}}]}))
  return org.call('PUT', `${records}/Orders/rows`, {runId: run, field: 'Order_Lines', child: 'Order_Lines', items: parents})
}

const payloadOf = ({door, keys}: Request, n: number) =>
  door === 'create' ? {Account_Name: `Company ${keys[n]}`, Account_Number: keys[n]} : {Billing_City: 'After'}

/** Returns for each of the two records whether the CRM executed the request, once no call is in flight. Returns null for reads. */
const readStored = async ({world: {crm}, door, key, ids, keys}: Request): Promise<boolean[] | null> => {
  if (door === 'byIds' || door === 'one') return null
  await until(
    () => crm.inFlight(key),
    calls => calls === 0,
  )
  if (door === 'create') {
    const held = crm.records(key, 'Accounts').map(({Account_Name, Account_Number}) => `${Account_Name}, ${Account_Number}`)
    return keys.map(name => held.includes(`Company ${name}, ${name}`))
  }
  if (door === 'update') return ids.map(id => crm.record(key, 'Accounts', id)!.Billing_City === 'After')
  const products = ids.map(id => crm.record(key, 'Orders', id)!.Order_Lines.map((row: any) => row.Product) as string[])
  return keys.map((name, n) => products[n]!.includes(name) && !products[n]!.includes('Old'))
}

const Standing = z.object({released: z.number(), state: z.string(), spent: z.boolean()})

/** Returns everything visible after a request was answered, once nothing of the request is in flight. */
export const observe = async (request: Request, {status, headers, body}: HttpAnswer) => {
  const {world, key, org, connector, run} = request
  const stored = await readStored(request)
  const aim = aimOf(request)
  const calls = world.crm.journal({method: aim.method, path: aim.path}).filter(call => call.org === key && call.path === aim.path)
  const {state: _, ...meter} = await meterOf(world, run)
  const standing = await world.db.one(sql.type(Standing)`
    select (select count(*) from released_attempts join runs using (run_no) where id = ${run}) as released, state,
      exists (select from crm_allowances a where (a.dc, a.crm_org_id) = (c.dc, c.crm_org_id) and spent_at is not null) as spent
    from connectors c where id = ${connector}`)
  const log = (await readLog(org.call, `/orgs/${org.org}/runs/${run}`)).map(entry => [
    entry.rowKey,
    entry.attempt,
    entry.outcome,
    entry.code,
  ])
  const seen = await ok(org.call('GET', `/orgs/${org.org}/runs/${run}`), 200)
  return {
    status,
    retryAfter: headers.get('retry-after'),
    said: saidIn(body),
    items: itemsIn(request, body),
    calls: calls.length,
    stored,
    log,
    books: {...meter, released: standing.released},
    counts: countsIn(seen.run.counts),
    connection: standing.state,
    spent: standing.spent,
    stoppedBy: seen.run.stoppedBy,
    answer: calls.at(-1)?.answer ?? null,
  }
}
export type SeenAnswer = Awaited<ReturnType<typeof observe>>

/** Returns the counts by outcome of the run's only module, without zeros. */
const countsIn = (counts: Record<string, Record<string, number>>) =>
  Object.fromEntries(Object.values(counts).flatMap(outcomes => Object.entries(outcomes).filter(([, count]) => count > 0)))

/** Returns the error envelope with its message reduced to whether there is one, or null if the body has no error. */
const saidIn = (body: any) => (body.error === undefined ? null : envelopeOf(body))

const envelopeOf = ({error, code, written, crm}: any) => ({
  error: typeof error === 'string' && error !== '',
  code,
  ...(written !== undefined && {written}),
  ...(crm !== undefined && {crm: {...crm, rateLimited: crm.rateLimited ?? false}}),
})

const itemsIn = ({door, keys, ids}: Request, {results, records, record}: any) => {
  if (door === 'byIds') return records?.map((found: any, n: number) => (found ? isRight(found, keys[n]!, ids[n]!) : 'absent')) ?? null
  if (door === 'one') return record ? [isRight(record, keys[0]!, ids[0]!)] : null
  return results?.map((item: any, n: number) => describe(item, {door, key: keys[n]!, id: ids[n]})) ?? null
}

const isRight = ({id, Account_Name, $display_name}: any, name: string, wanted: string) =>
  id === wanted && Account_Name === `Company ${name}` && $display_name === Account_Name ? 'done' : {id, Account_Name, $display_name}

const describe = ({rowKey, writeId, ...item}: any, {door, key, id}: {door: Door; key: string; id: string | undefined}) => {
  const isRow = door === 'rows' || door === 'rowsRead'
  if (isRow ? writeId !== `w ${key}` || item.parentId !== id : rowKey !== key) return {rowKey, writeId, ...item}
  if (item.ok) return isDone(item, door, id) ? 'done' : item
  return {...envelopeOf(item), ...(item.duplicateOf !== undefined && {duplicateOf: item.duplicateOf})}
}

const isDone = ({outcome, recordId, deleted, added}: any, door: Door, id: string | undefined) => {
  if (door === 'create') return outcome === 'created' && typeof recordId === 'string'
  if (door === 'update') return outcome === 'updated' && recordId === id
  return deleted >= 1 && added === 1
}

/** Releases held calls, so that the CRM executes them before the result is read. */
export const letGo = async ({crm}: TestDeployment) => {
  while (crm.held() > 0) {
    crm.release()
    await sleep(1)
  }
}
