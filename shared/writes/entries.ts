import {z} from 'zod'
import type {Tx} from '../../sql/database.ts'
import {findDiscoveredModule} from '../../sql/discoveries.ts'
import {numberName, type StandingRun} from '../../sql/outside-runs.ts'
import {insertItems, insertWrite} from '../../sql/writes.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import {numberFlow} from '../runs/names.ts'
import {type Asker, lockOwn, renewOutside} from '../runs/outside.ts'
import {type NumberedEntry, writeEntries} from './log-entries.ts'
import {digestOf, findKnown} from './submit.ts'

const mostEntries = 1_000

const Entry = z.strictObject({
  rowKey: z.string().min(1).max(200).describe('Your name of the row, the same whenever it is meant'),
  rowNumber: z.int().min(1).max(1_000_000_000).optional().describe('Where the row stands in its file, from 1'),
  flowId: z.string().min(1).max(100).optional().describe('The flow the row is of, not the row'),
  module: z.string().min(1).max(200).describe('API name of the module it would have been written to'),
  phase: z.enum(['write', 'match', 'lookup']).optional().describe('What it is about; where it is left out, what the outcome usually is'),
  target: z.string().max(200).optional().describe('API name of the field, where one is meant'),
  recordId: z.string().min(1).max(100).optional().describe("The CRM's id of the record that was met or found"),
  outcome: z
    .enum(['failed', 'skipped', 'made_after_no_answer', 'would_ask', 'lookup'])
    .describe(
      '`failed`, `skipped`: nothing was sent of the row. `made_after_no_answer`: it may exist twice. `would_ask`: a person is to choose. `lookup`: what a search came to',
    ),
  code: z.string().max(100).optional().describe('Why, for programs'),
  message: z.string().max(1_000).optional().describe('Why, for people'),
})
export type Entry = z.output<typeof Entry>

/** How many there may be is refused under a code of its own. */
export const EntriesBody = z.strictObject({
  writeId: z.string().min(1).max(200).optional().describe('Under this name they are logged once, however often they are sent'),
  entries: z.array(Entry).describe('1 to 1,000 entries'),
})
type Asked = z.output<typeof EntriesBody> & {runId: string}

export const assertEntries = ({entries}: z.output<typeof EntriesBody>) => {
  if (entries.length < 1 || entries.length > mostEntries) throw new Refusal('BATCH_SIZE', `Send 1 to ${mostEntries} entries in a request`)
}

/**
 * Logs what an outside engine settled by itself, at attempt 0. A row that failed or was left as it is counts as that, unless it has been
 * sent; the record such a row matched is never taken for a lost create's. Under a `writeId` it is done once.
 */
export const logEntries = async (tx: Tx, asker: Asker, {runId, writeId: name, entries}: Asked): Promise<{logged: number}> => {
  const writeId = name ?? null
  const run = await lockOwn(tx, asker, {runId})
  const item = {rowKey: null, writeId, digest: writeId === null ? null : digestOf({kind: 'entries', body: entries})}
  const known = await findKnown(tx, {run: run.no, items: [{writeId, body: entries}], digests: [item.digest]})
  if (known.has(0)) return known.get(0) as {logged: number}
  await renewOutside(tx, run)
  await writeEntries(tx, run, await numberEntries(tx, run, entries))
  const result = {logged: entries.length}
  if (writeId !== null) {
    const write = newId('wrt')
    await insertWrite(tx, {id: write, org: run.org, run: run.no, connector: run.connectorId!, kind: 'entries', request: null})
    await insertItems(tx, {write, run: run.no, items: [{at: 0, ...item, freed: false, result}]})
  }
  return result
}

const numberEntries = async (tx: Tx, run: StandingRun, entries: Entry[]): Promise<NumberedEntry[]> => {
  const modules = new Map<string, number>()
  const flows = new Map<string, number | null>()
  for (const {module, flowId} of entries) {
    if (!modules.has(module)) modules.set(module, await numberModule(tx, run, module))
    if (flowId !== undefined && !flows.has(flowId)) flows.set(flowId, await numberFlow(tx, {run: run.no, flow: flowId}))
  }
  return entries.map(entry => ({entry, module: modules.get(entry.module)!, flow: flows.get(entry.flowId ?? '') ?? null}))
}

const numberModule = async (tx: Tx, {no, connectorId}: StandingRun, module: string) => {
  if (connectorId === null)
    throw new Refusal('CONNECTION_REQUIRED', 'The run has no connection yet: name one when you authorise it, or write a record first')
  if (!(await findDiscoveredModule(tx, {connector: connectorId, module})))
    throw new Refusal('MODULE_NOT_FOUND', 'No such module was discovered on this connection')
  return numberName(tx, {run: no, kind: 'module', name: module})
}
