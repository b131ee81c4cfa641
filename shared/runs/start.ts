import {createHash} from 'node:crypto'
import {z} from 'zod'
import type {Tx} from '../../sql/database.ts'
import {findLastDecision} from '../../sql/decisions.ts'
import {findLatestDiscovery, listDiscoveredModules} from '../../sql/discoveries.ts'
import {type Import, lockImport, setImportState} from '../../sql/imports.ts'
import {listLibraryRows} from '../../sql/libraries.ts'
import {findSettings} from '../../sql/registry.ts'
import {insertCursors} from '../../sql/run-cursors.ts'
import {insertSnapshot} from '../../sql/run-snapshots.ts'
import {findRehearsal, lockRun, queueRun, type Run, setRunJob} from '../../sql/runs.ts'
import {listSources, type Source} from '../../sql/sources.ts'
import {assertWritable} from '../connectors/writing.ts'
import type {DiscoveredModule} from '../crm/discovered.ts'
import {Refusal} from '../errors.ts'
import type {Namespaces} from '../expressions/parse.ts'
import {type Flow, Flows, findIssues} from '../flows/flow.ts'
import {namespacesOf, type SnapshotLibrary, shapeLibrary} from '../flows/libraries.ts'
import {RowRange, rowsToRead, SNAPSHOT_FORMAT, type Snapshot, type SnapshotSource, takeSnapshot} from '../flows/snapshot.ts'
import {Choices, readingsOf} from '../imports/choices.ts'
import {Cleaning} from '../imports/cleaning.ts'
import {runImport} from '../jobs.ts'
import {enqueue, type Queue} from '../queue.ts'
import {usualSettings} from '../registry/settings.ts'
import {assertTextDecided} from '../sources/assert-text.ts'
import {evidenceOf} from '../sources/evidence.ts'
import {authorise} from './authorise.ts'
import {freeImport} from './outside.ts'
import {findRetried} from './retry.ts'

/** What a run is asked for. */
export const StartBody = z
  .strictObject({
    runId: z
      .string()
      .optional()
      .describe('A run that `POST /entitlements/runs/authorise` let through. Without it one is authorised here. Not with `dryRun`'),
    declaredRows: z
      .int()
      .min(1)
      .max(1_000_000_000)
      .optional()
      .describe('So many rows it may write at most, where it is authorised here; every row of every flow where it is left out'),
    retryOf: z.string().optional().describe('An ended run of this import that is carried on: what it has written is not written again'),
    dryRun: z.boolean().default(false).describe('Whether it writes nothing, counts nothing, and says what it would do'),
    rows: RowRange.optional().describe('Of every file, only the rows with these numbers'),
  })
  .refine(({dryRun, runId}) => !dryRun || runId === undefined, 'A dry run counts no rows, so none is authorised for it: leave runId out')

type Asker = {org: string; person: string; admin: boolean}
type Start = Asker & z.output<typeof StartBody> & {importId: string}

/**
 * Freezes what the import is now into a snapshot, gives the import to the run and enqueues it, all in the caller's transaction.
 * Without `runId` the run is authorised here, for the rows declared or else for every row of every flow.
 */
export const startRun = async (
  tx: Tx,
  queue: Queue,
  {importId, runId, declaredRows, retryOf, dryRun, rows, ...asker}: Start,
): Promise<{runId: string; job: string | null}> => {
  const {org, person} = asker
  const found = await openImport(tx, {org, importId, dryRun})
  if (!dryRun) await assertTextDecided(tx, found)
  const retry = retryOf === undefined ? null : await findRetried(tx, {org, importNo: found.no, id: retryOf})
  const snapshot = await freeze(tx, {org, found}, {before: retry?.lineage ?? null, rows})
  const {connectorId: connector, no: importNo} = found
  const count = countRows(snapshot)
  // A retry counts only the rows that are left, and how many those are is not known yet.
  const fewer = retry !== null && declaredRows === undefined
  const id = runId ?? (await authorise(tx, {org, person, declaredRows: declaredRows ?? count, connector, importNo, dryRun, fewer})).runId
  const run = await lockOwnRun(tx, asker, {id, connector, importNo, template: found.templateId})

  const snapshotNo = await insertSnapshot(tx, {format: SNAPSHOT_FORMAT, document: snapshot})
  await queueRun(tx, {no: run.no, connector, importNo, snapshotNo, dryRun, retry})
  await insertCursors(tx, {run: run.no, flows: snapshot.flows.map(({no}) => no)})
  if (!dryRun) await setImportState(tx, {no: importNo, state: 'running'})
  const job = await enqueue(queue, runImport, {org, run: id}, {tx})
  await setRunJob(tx, {no: run.no, job})
  return {runId: id, job}
}

/** The import, locked. A run that writes needs it for itself and a connection that may be written through; of dry runs there is one at a time. */
const openImport = async (tx: Tx, {org, importId, dryRun}: {org: string; importId: string; dryRun: boolean}): Promise<Import> => {
  const found = await lockImport(tx, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  if (!dryRun) await freeImport(tx, {org, importNo: found.no})
  else if ((await findRehearsal(tx, {importNo: found.no})) !== null)
    throw new Refusal('IMPORT_RUNNING', 'A dry run of this import is under way: wait for it or cancel it')
  if (found.state === 'expired') throw new Refusal('FILE_GONE', 'This import has expired and its files are gone: make a new one')
  if (found.state === 'draft' || found.flows.length === 0) throw new Refusal('NOT_READY', 'Add a file and define flows before running')
  if (!dryRun) await assertWritable(tx, {org, connector: found.connectorId})
  return found
}

const countRows = ({flows, sources, rows}: Snapshot): number => {
  const count = flows.reduce((sum, {sourceNo}) => sum + rowsToRead(sources.find(({no}) => no === sourceNo)!, rows), 0)
  if (rows && count === 0) throw new Refusal('INVALID', 'No file of this import has rows with these numbers')
  return Math.max(1, count)
}

type Wanted = {id: string; connector: string; importNo: number; template: string | null}

/** The run to be started, locked: the asker's own, not used yet, and not authorised for anything else. */
const lockOwnRun = async (tx: Tx, {org, person, admin}: Asker, {id, connector, importNo, template}: Wanted): Promise<Run> => {
  const run = await lockRun(tx, {org, id})
  if (!run) throw new Refusal('RUN_NOT_FOUND', 'No such run')
  if (run.personId !== person && !admin) throw new Refusal('NOT_YOUR_RUN', 'Another member authorised this run')
  const isForAnother = (run.importNo !== null && run.importNo !== importNo) || (run.templateId !== null && run.templateId !== template)
  if (run.state !== 'authorised' || isForAnother)
    throw new Refusal('RUN_USED', 'This run was authorised for something else or has been used: authorise another')
  if (run.connectorId !== null && run.connectorId !== connector)
    throw new Refusal('RUN_CONNECTOR_MISMATCH', 'This run was authorised for another connection')
  return run
}

type Frozen = Pick<Parameters<typeof takeSnapshot>[0], 'before' | 'rows'>

const freeze = async (tx: Tx, {org, found}: {org: string; found: Import}, more: Frozen): Promise<Snapshot> => {
  const known = await findKnown(tx, {org, importNo: found.no, connector: found.connectorId})
  const flows = Flows.parse(found.flows)
  const issues = findIssues(flows, known)
  if (issues.length) throw new Refusal('NOT_READY', 'The flows no longer fit the files or the CRM: set them again', {issues})
  return freezeFlows(tx, {org, found, flows, known}, more)
}

type Fitting = {org: string; found: Pick<Import, 'no' | 'connectorId'>; flows: Flow[]; known: Known}

/** What a run of these flows is given, were it started now. They fit what is known. */
export const freezeFlows = async (tx: Tx, {org, found, flows, known}: Fitting, more: Frozen = {}): Promise<Snapshot> => {
  const {no, connectorId} = found
  const {sources, modules, discovery, published} = known
  const decidedUpTo = await findLastDecision(tx, no)
  const {expressionContext: context} = (await findSettings(tx, org)) ?? usualSettings
  const from = {connector: connectorId, discovery, seed: seedOf(org, no)}
  return takeSnapshot({...from, sources, flows, modules, decidedUpTo, libraries: published, context, ...more})
}

/** The same for every run and dry run of an import, so that a dry run shows the random values its run writes. */
const seedOf = (org: string, importNo: number) => createHash('sha256').update(`${org}/${importNo}`).digest('hex').slice(0, 32)

export type Known = {
  sources: SnapshotSource[]
  modules: Map<string, DiscoveredModule>
  discovery: string
  published: SnapshotLibrary[]
  libraries: Namespaces
}
type Checked = {org: string; importNo: number; connector: string}

/** What flows are checked against: the import's files, the org's libraries and the connection's newest discovery. */
export const findKnown = async (tx: Tx, {org, importNo, connector}: Checked): Promise<Known> => {
  const sources = (await listSources(tx, importNo)).map(shapeSource)
  const discovery = await findLatestDiscovery(tx, connector)
  if (!discovery) throw new Refusal('NO_DISCOVERY', 'The connection has not been read yet: POST /orgs/{org}/discovery/run first')
  const modules = await listDiscoveredModules(tx, discovery.id)
  const published = (await listLibraryRows(tx, org)).map(shapeLibrary)
  const byName = new Map(modules.map(module => [module.apiName, module]))
  return {sources, discovery: discovery.id, modules: byName, published, libraries: namespacesOf(published)}
}

const shapeSource = ({no, id, label, fileKey, sha256, reader, cleaning, choices, rows, evidence}: Source): SnapshotSource => {
  const {columns, fileColumns, struck, text} = evidenceOf({evidence})
  return {
    ...{no, id, label, fileKey, sha256, rows},
    // Dry runs and checks read on over bytes that nobody has accepted yet; no other run begins before.
    reader: text?.bad ? {...(reader as object), badBytes: 'replace'} : reader,
    cleaning: Cleaning.parse(cleaning),
    columns: columns.map(({name}) => name),
    fileColumns: fileColumns?.length ?? columns.length,
    struck: struck?.count ?? 0,
    readings: readingsOf(columns, Choices.parse(choices)),
  }
}
