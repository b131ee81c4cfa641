import type {Tx} from '../../sql/database.ts'
import {findLatestDiscovery, listDiscoveredModules} from '../../sql/discoveries.ts'
import {type Import, lockImport, setImportState} from '../../sql/imports.ts'
import {insertCursors} from '../../sql/run-cursors.ts'
import {insertSnapshot} from '../../sql/run-snapshots.ts'
import {lockRun, queueRun, setRunJob} from '../../sql/runs.ts'
import {listSources, type Source} from '../../sql/sources.ts'
import {assertWritable} from '../connectors/writing.ts'
import type {DiscoveredModule} from '../crm/discovered.ts'
import {Refusal} from '../errors.ts'
import {Flows, findIssues} from '../flows/flow.ts'
import {rowsToRead, SNAPSHOT_FORMAT, type SnapshotSource, takeSnapshot} from '../flows/snapshot.ts'
import {Choices, readingsOf} from '../imports/choices.ts'
import {Cleaning} from '../imports/cleaning.ts'
import {runImport} from '../jobs.ts'
import {enqueue, type Queue} from '../queue.ts'
import type {SourceEvidence} from '../sources/describe.ts'
import {authorise} from './authorise.ts'
import {freeImport} from './outside.ts'

type Start = {org: string; person: string; admin: boolean; importId: string; runId?: string | undefined; declaredRows?: number | undefined}

/**
 * Freezes what the import is now into a snapshot, gives the import to the run and enqueues it, all in the caller's transaction.
 * Without `runId` the run is authorised here, for the rows declared or else for every row of every flow.
 */
export const startRun = async (
  tx: Tx,
  queue: Queue,
  {org, person, admin, importId, runId, declaredRows}: Start,
): Promise<{runId: string; job: string | null}> => {
  const found = await lockImport(tx, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  await freeImport(tx, {org, importNo: found.no})
  if (found.state === 'expired') throw new Refusal('FILE_GONE', 'This import has expired and its files are gone: make a new one')
  if (found.state === 'draft' || found.flows.length === 0) throw new Refusal('NOT_READY', 'Add a file and define flows before running')
  await assertWritable(tx, {org, connector: found.connectorId})
  const snapshot = await freeze(tx, found)
  const rows = snapshot.flows.reduce((sum, {sourceNo}) => sum + rowsToRead(snapshot.sources.find(({no}) => no === sourceNo)!), 0)
  const id =
    runId ??
    (await authorise(tx, {org, person, declaredRows: declaredRows ?? Math.max(1, rows), connector: found.connectorId, importNo: found.no}))
      .runId
  const run = await lockRun(tx, {org, id})
  if (!run) throw new Refusal('RUN_NOT_FOUND', 'No such run')
  if (run.personId !== person && !admin) throw new Refusal('NOT_YOUR_RUN', 'Another member authorised this run')
  if (run.state !== 'authorised' || (run.importNo !== null && run.importNo !== found.no))
    throw new Refusal('RUN_USED', 'This run was authorised for something else or has been used: authorise another')
  if (run.connectorId !== null && run.connectorId !== found.connectorId)
    throw new Refusal('RUN_CONNECTOR_MISMATCH', 'This run was authorised for another connection')

  const snapshotNo = await insertSnapshot(tx, {format: SNAPSHOT_FORMAT, document: snapshot})
  await queueRun(tx, {no: run.no, connector: found.connectorId, importNo: found.no, snapshotNo})
  await insertCursors(tx, {run: run.no, flows: snapshot.flows.map(({no}) => no)})
  await setImportState(tx, {no: found.no, state: 'running'})
  const job = await enqueue(queue, runImport, {org, run: id}, {tx})
  await setRunJob(tx, {no: run.no, job})
  return {runId: id, job}
}

const freeze = async (tx: Tx, {no, connectorId, flows: stored}: Import) => {
  const known = await findKnown(tx, {importNo: no, connector: connectorId})
  const flows = Flows.parse(stored)
  const issues = findIssues(flows, known)
  if (issues.length) throw new Refusal('NOT_READY', 'The flows no longer fit the files or the CRM: set them again', {issues})
  const {sources, modules, discovery} = known
  return takeSnapshot({connector: connectorId, discovery, sources, flows, modules})
}

type Known = {sources: SnapshotSource[]; modules: Map<string, DiscoveredModule>; discovery: string}

/** What flows are checked against: the import's files and the connection's newest discovery. */
export const findKnown = async (tx: Tx, {importNo, connector}: {importNo: number; connector: string}): Promise<Known> => {
  const sources = (await listSources(tx, importNo)).map(shapeSource)
  const discovery = await findLatestDiscovery(tx, connector)
  if (!discovery) throw new Refusal('NO_DISCOVERY', 'The connection has not been read yet: POST /orgs/{org}/discovery/run first')
  const modules = await listDiscoveredModules(tx, discovery.id)
  return {sources, discovery: discovery.id, modules: new Map(modules.map(module => [module.apiName, module]))}
}

const shapeSource = ({no, id, label, fileKey, sha256, reader, cleaning, choices, rows, evidence}: Source): SnapshotSource => {
  const {columns, fileColumns, struck} = evidence as SourceEvidence
  return {
    ...{no, id, label, fileKey, sha256, reader, rows},
    cleaning: Cleaning.parse(cleaning),
    columns: columns.map(({name}) => name),
    fileColumns: fileColumns?.length ?? columns.length,
    struck: struck?.count ?? 0,
    readings: readingsOf(columns, Choices.parse(choices)),
  }
}
