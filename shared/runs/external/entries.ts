import {z} from 'zod'
import type {Tx} from '../../../sql/database.ts'
import {findDiscoveredModule} from '../../../sql/discoveries.ts'
import {type ExternalRun, numberName} from '../../../sql/external-runs.ts'
import {insertItems, insertWrite} from '../../../sql/writes.ts'
import {Refusal} from '../../errors.ts'
import {newId} from '../../ids.ts'
import {numberFlow} from '../names.ts'
import {type NumberedEntry, writeEntries} from './log-entries.ts'
import {lockOwnExternalRun, type RunCaller, renewExternalLease} from './run.ts'
import {digestOf, findKnownResults} from './submit.ts'

const mostEntries = 1_000

const Entry = z.strictObject({
  rowKey: z.string().min(1).max(200).describe('Your key of the row. Use the same key for the same row in every request'),
  rowNumber: z.int().min(1).max(1_000_000_000).optional().describe('Number of the row in its file, from 1'),
  flowId: z.string().min(1).max(100).optional().describe("Id of the row's flow, not of the row"),
  module: z.string().min(1).max(200).describe('API name of the module it would have been written to'),
  phase: z.enum(['write', 'match', 'lookup']).optional().describe('Phase of the entry. Default: the usual phase of the outcome'),
  target: z.string().max(200).optional().describe('API name of the field, if the entry concerns one'),
  recordId: z.string().min(1).max(100).optional().describe("The CRM's id of the record that was matched or found"),
  outcome: z
    .enum(['failed', 'skipped', 'made_after_no_answer', 'would_ask', 'lookup'])
    .describe(
      '`failed`, `skipped`: the row was not sent. `made_after_no_answer`: its record may exist twice. `would_ask`: a user must choose the record. `lookup`: the result of a search',
    ),
  code: z.string().max(100).optional().describe('The reason as a code, for programs'),
  message: z.string().max(1_000).optional().describe('The reason as text, for users'),
})
export type Entry = z.output<typeof Entry>

/** `assertEntries` checks the number of entries, because that refusal has the code BATCH_SIZE. */
export const EntriesBody = z.strictObject({
  writeId: z.string().min(1).max(200).optional().describe('Idempotency key: the entries are logged once, however often they are sent'),
  entries: z.array(Entry).describe('1 to 1,000 entries'),
})
type LogEntriesInput = z.output<typeof EntriesBody> & {runId: string}

export const assertEntries = ({entries}: z.output<typeof EntriesBody>) => {
  if (entries.length < 1 || entries.length > mostEntries) throw new Refusal('BATCH_SIZE', `Send 1 to ${mostEntries} entries in a request`)
}

/**
 * Logs outcomes that an external engine settled without a send, as attempt 0. A row that failed or was skipped in the phase `write` is added to the
 * run's counts, unless this run sent or metered the row. A record that a skipped row matched is never claimed for a lost create of the chain. With a
 * `writeId`, a repeated request logs nothing.
 */
export const logEntries = async (
  tx: Tx,
  runCaller: RunCaller,
  {runId, writeId: name, entries}: LogEntriesInput,
): Promise<{logged: number}> => {
  const writeId = name ?? null
  const run = await lockOwnExternalRun(tx, runCaller, {runId})
  const item = {rowKey: null, writeId, digest: writeId === null ? null : digestOf({kind: 'entries', body: entries})}
  const known = await findKnownResults(tx, {run: run.no, items: [{writeId, body: entries}], digests: [item.digest]})
  if (known.has(0)) return known.get(0) as {logged: number}
  await renewExternalLease(tx, run)
  await writeEntries(tx, run, await numberEntries(tx, run, entries))
  const result = {logged: entries.length}
  if (writeId !== null) {
    const write = newId('wrt')
    await insertWrite(tx, {id: write, org: run.org, run: run.no, connector: run.connectorId!, kind: 'entries', request: null})
    await insertItems(tx, {write, run: run.no, items: [{at: 0, ...item, freed: false, result}]})
  }
  return result
}

const numberEntries = async (tx: Tx, run: ExternalRun, entries: Entry[]): Promise<NumberedEntry[]> => {
  const modules = new Map<string, number>()
  const flows = new Map<string, number | null>()
  for (const {module, flowId} of entries) {
    if (!modules.has(module)) modules.set(module, await numberModule(tx, run, module))
    if (flowId !== undefined && !flows.has(flowId)) flows.set(flowId, await numberFlow(tx, {run: run.no, flow: flowId}))
  }
  return entries.map(entry => ({entry, module: modules.get(entry.module)!, flow: flows.get(entry.flowId ?? '') ?? null}))
}

const numberModule = async (tx: Tx, {no, connectorId}: ExternalRun, module: string) => {
  if (connectorId === null)
    throw new Refusal('CONNECTION_REQUIRED', 'The run has no connection yet. Name one when you authorise it, or write a record first')
  if (!(await findDiscoveredModule(tx, {connector: connectorId, module})))
    throw new Refusal('MODULE_NOT_FOUND', 'The newest discovery of this connection has no such module. Check its API name')
  return numberName(tx, {run: no, kind: 'module', name: module})
}
