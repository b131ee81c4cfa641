import {ok} from '../support/importing.ts'
import {authorise, type Here, make, taken} from '../support/record-claims.ts'
import type {Stage} from './scenario.ts'

const creates = {method: 'POST', path: '/crm/v8/Accounts'}
const ben = 'ben@example.org'

/** Renews the access token, which moving the clock has expired, by one create. So the next request that a test loses is a create. */
export const renewAccess = async (here: Here) => {
  const {call, org, connector} = here.org
  const items = [{rowKey: 'r', payload: {Account_Name: 'First'}}]
  await ok(call('POST', `/orgs/${org}/connectors/${connector}/records/Accounts`, {runId: await authorise(here), items}), 200)
}

type LostCreate = {run: string; row: string; number: string}

/**
 * Loses the answer of a create and repeats the create. Returns the record that the refusal names, or null. `reaches`: whether the CRM executed
 * the first create.
 */
export const loseCreate = async ({world, org}: Here, {run, row, number}: LostCreate, {reaches = true} = {}): Promise<string | null> => {
  const path = `/orgs/${org.org}/connectors/${org.connector}/records/Accounts`
  const items = [{rowKey: row, payload: {Account_Name: 'Acme', Account_Number: number}}]
  const create = async () => (await org.call('POST', path, {runId: run, items})).body.results[0]
  world.crm.faults.add({match: creates, action: reaches ? 'dropAfter' : 'dropBefore'})
  const lost = await create()
  if (!lost.crm?.unanswered) throw new Error(`A create that was lost is told as ${JSON.stringify(lost)}`)
  return (await create()).duplicateOf ?? null
}

type ReasonInput = true | 'another' | 'earlier' | 'gone' | 'unread' | 'held' | 'reused' | 'ended'
/** A way to cause one answer to a record claim. `told`: the expected answer. `what`: the cause in words. */
type LossKind = {told: ReasonInput; what: string; ask(here: Here, number: string): Promise<true | string>}

const lostBy = async (here: Here, number: string, lose?: {reaches: boolean}) => {
  const run = await authorise(here)
  const record = await loseCreate(here, {run, row: 'r1', number}, lose)
  if (!record) throw new Error(`No duplicate of ${number} is named`)
  return {run, record}
}

/** Calls `made` with the CRM's clock moved back by `seconds`, and returns the id of the record. */
const makeAgo = ({world: {crm}}: Here, seconds: number, made: () => string) => {
  crm.clock.advance(-seconds * 1_000)
  const record = made()
  crm.clock.advance(seconds * 1_000)
  return record
}

/** Makes the CRM answer the next read of an account without one field. */
const silence = ({world: {crm}}: Here, record: string, field: 'Created_By' | 'Created_Time') => {
  const {[field]: _, ...rest} = crm.record('example', 'Accounts', record)!
  crm.faults.add({match: {method: 'GET', path: '/crm/v8/Accounts/*'}, action: {type: 'answer', status: 200, body: {data: [rest]}}})
}

const ways: LossKind[] = [
  {told: true, what: 'its own', ask: async (here, number) => taken(here, await lostBy(here, number))},
  {
    told: 'another',
    what: 'another user was first',
    ask: async (here, number) => {
      make(here, {as: ben, number})
      return taken(here, await lostBy(here, number, {reaches: false}))
    },
  },
  {
    told: 'another',
    what: 'the connection belongs to another user now',
    ask: async (here, number) => {
      const lost = await lostBy(here, number)
      const users = [{id: '4400001000000000777', full_name: 'Somebody else'}]
      here.world.crm.faults.add({match: {path: '/crm/v8/users'}, action: {type: 'answer', status: 200, body: {users}}})
      return taken(here, lost)
    },
  },
  {
    told: 'earlier',
    what: 'our user made it ten seconds before the run',
    ask: async (here, number) => {
      makeAgo(here, 10, () => make(here, {number}))
      return taken(here, await lostBy(here, number, {reaches: false}))
    },
  },
  {
    told: 'gone',
    what: 'it was deleted since',
    ask: async (here, number) => {
      const lost = await lostBy(here, number)
      here.world.crm.remove('example', 'Accounts', [lost.record])
      return taken(here, lost)
    },
  },
  ...(['Created_By', 'Created_Time'] as const).map(
    (field): LossKind => ({
      told: 'unread',
      what: `it does not say its ${field}`,
      ask: async (here, number) => {
        const lost = await lostBy(here, number)
        silence(here, lost.record, field)
        return taken(here, lost)
      },
    }),
  ),
  {
    told: 'held',
    what: 'another row has taken it',
    ask: async (here, number) => {
      const lost = await lostBy(here, number)
      const first = await taken(here, lost)
      return first === true ? taken(here, {...lost, row: 'r2'}) : `first ${first}`
    },
  },
  {
    told: 'reused',
    what: 'the row has taken another',
    ask: async (here, number) => {
      const lost = await lostBy(here, number)
      const first = await taken(here, lost)
      return first === true ? taken(here, {...lost, record: make(here, {number: `${number}-more`})}) : `first ${first}`
    },
  },
  {
    told: 'ended',
    what: 'the run is over',
    ask: async (here, number) => {
      const lost = await lostBy(here, number)
      await ok(here.org.call('POST', `/entitlements/runs/${lost.run}/progress`, {done: true}), 200)
      return taken(here, lost)
    },
  },
]

/** Causes every answer that a record claim can get, in each case after a create that was lost, and compares the answers. */
export const playReasons = async (stage: Stage, here: Here, clock: string) => {
  for (const [n, {told, what, ask}] of ways.entries()) {
    const said = await ask(here, `why-${clock}-${n}`)
    stage.did('whys')
    stage.expect(said === told, `${what}, the CRM's clock ${clock}: ${said} instead of ${told}`)
    here.world.crm.faults.clear()
  }
}
