import {createHash} from 'node:crypto'
import type {z} from 'zod'
import type {Tx} from '../../sql/database.ts'
import {findLastDecision} from '../../sql/decisions.ts'
import {findLatestDiscovery, listDiscoveredModules} from '../../sql/discoveries.ts'
import {listEditSettings} from '../../sql/edit-settings.ts'
import {keepRunForecast} from '../../sql/forecasts.ts'
import {setFiringContinued} from '../../sql/held-files.ts'
import {type Import, lockImport, setImportState} from '../../sql/imports.ts'
import {listLibraryRows} from '../../sql/libraries.ts'
import {findSettings} from '../../sql/registry.ts'
import {insertCursors} from '../../sql/run-cursors.ts'
import {lowerRowsLimit} from '../../sql/run-heads.ts'
import {copySnapshot, insertSnapshot} from '../../sql/run-snapshots.ts'
import {findDryRun, lockRun, queueRun, type Run, setRunJob} from '../../sql/runs.ts'
import {isAtLeast, type Role} from '../accounts/roles.ts'
import {assertFit, assertUnmapped, readIdempotencyFields} from '../configuration/idempotency-field.ts'
import {type Settings, usualSettings} from '../configuration/settings.ts'
import {assertWritable} from '../crm/connectors/writing.ts'
import type {DiscoveredModule} from '../crm/discovered.ts'
import {admitEmbedRows, type EmbedScope, lockEmbedRows} from '../embed/scope.ts'
import {Refusal} from '../errors.ts'
import type {Namespaces} from '../expressions/parse.ts'
import {Choices, readingsOf} from '../files/choices.ts'
import {Cleaning} from '../files/cleaning/cleaning.ts'
import {assertTextDecided} from '../files/sources/assert-text.ts'
import {type NarrowSource, readNarrowSources} from '../files/sources/evidence.ts'
import {runImport} from '../jobs.ts'
import {keepAcceptedFiles} from '../mapping/data-contracts/accepted-files.ts'
import {addDateDefaults} from '../mapping/flows/date-defaults.ts'
import type {EditSettings} from '../mapping/flows/edits.ts'
import {type Flow, Flows, findIssues} from '../mapping/flows/flow.ts'
import {namespacesOf, type SnapshotLibrary, shapeLibrary} from '../mapping/flows/libraries.ts'
import {formatOf, rowsToRead, type Snapshot, type SnapshotSource, takeSnapshot} from '../mapping/flows/snapshot.ts'
import {enqueue, type Queue} from '../queue.ts'
import {openKeptFiring} from '../schedules/kept-firing.ts'
import {admitModules, listWrittenModules} from './admit-modules.ts'
import {authorise} from './authorise.ts'
import {confirmDeletes} from './confirm-deletes.ts'
import {freeImport} from './external/run.ts'
import {chooseGuard} from './guard/choose-guard.ts'
import {findRetried} from './retry.ts'
import {assertApproved} from './sealed-plan/approve.ts'
import {type AppliedPlan, findAppliedPlan} from './sealed-plan/start-plan.ts'
import type {StartBody} from './start-body.ts'
import {findUndoDays} from './undo/window.ts'

/** The caller that starts a run. `role`: null for a schedule. */
type StartCaller = {org: string; person: string; role: Role | null}
/** `isScheduled`: a schedule starts the run. Such a run keeps values that people edited, unless a setting says otherwise. */
type Start = StartCaller &
  z.output<typeof StartBody> & {
    importId: string
    isScheduled?: boolean
    embed?: EmbedScope | null
  }

/**
 * Starts a run in the caller's transaction: freezes the import into a snapshot and enqueues the run. A run that writes holds the import until the run
 * ends, and continues the firing that left the import to a person. Without `runId`, authorises a number of rows: the confirmed deletes, else
 * `declaredRows`, else the rows that all flows together read. For a schedule, `declaredRows` is only a maximum. An `embed` scope limits the number.
 */
export const startRun = async (tx: Tx, queue: Queue, start: Start): Promise<{runId: string; job: string | null}> => {
  const {org, person, importId, runId, retryOf, planOf, dryRun, rows: range} = start
  const {guard, verify = null, isScheduled = false, embed = null} = start
  const left = embed && (await lockEmbedRows(tx, embed))
  const isFiring = isScheduled && start.role === null
  const firing = dryRun || isFiring ? null : await openKeptFiring(tx, {org, importId})
  const found = await openImport(tx, {org, importId, dryRun})
  if (!dryRun) await assertTextDecided(tx, found)
  const retry = retryOf === undefined ? null : await findRetried(tx, {org, importNo: found.no, id: retryOf})
  const applied = dryRun ? null : await findAppliedPlan(tx, {org, importNo: found.no, planOf, retryOf: retry?.id, retried: retry})
  if (applied && range) throw new Refusal('INVALID', 'The run to retry applied a plan, and a plan has its own rows. Leave rows out')
  const rows = applied ? applied.snapshot.rows : range
  const frozen = await freezeImport(tx, {org, found}, {before: retry?.lineage ?? null, rows, isScheduled})
  const snapshot = applied?.snapshot ?? frozen
  const {connectorId: connector, no: importNo} = found
  await admitModules(tx, {org, connector, modules: listWrittenModules(snapshot.flows.map(({flow}) => flow)), dryRun})
  const flows = snapshot.flows.map(({flow}) => flow)
  const most = dryRun ? null : await confirmDeletes(tx, {...start, importNo, flows, retryOf: retry?.id, rows})
  const named = most ?? start.declaredRows
  // A retry is metered only for the rows that earlier runs did not resolve. Their number is not known yet.
  const fewer = retry !== null && (named === undefined || isScheduled)
  const count = countRows(snapshot)
  const wanted = isScheduled ? Math.min(named ?? count, count) : (named ?? count)
  const declaredRows = left === null ? wanted : admitEmbedRows(wanted, left, fewer)
  const id = runId ?? (await authorise(tx, {org, person, declaredRows, connector, importNo, dryRun, fewer})).runId
  const run = await lockOwnRun(tx, start, {id, connector, importNo, template: found.templateId})
  const scheduled = isFiring ? found : null
  const mostRows = Math.min(run.rowsLimit, most ?? run.rowsLimit)
  if (!dryRun) await assertApproved(tx, {org, rows: mostRows, plan: applied?.plan ?? null, scheduled})
  if (most !== null) await lowerRowsLimit(tx, {run: run.no, rows: most})

  const snapshotNo = await keepSnapshot(tx, snapshot, applied)
  await queueRun(tx, {
    no: run.no,
    connector,
    importNo,
    snapshotNo,
    dryRun,
    retry,
    ...routesOf(start, flows),
    planOf: applied?.run.no ?? null,
    verify: dryRun ? 'off' : verify,
    undoDays: dryRun ? null : await findUndoDays(tx, org),
  })
  if (!dryRun) await chooseGuard(tx, {org, run: run.no, guard, isScheduled})
  if (!dryRun && retry === null) await keepAcceptedFiles(tx, {org, found})
  if (!dryRun && retry === null && rows === undefined) await keepRunForecast(tx, {run: run.no, importNo, discovery: snapshot.discovery})
  await insertCursors(tx, {run: run.no, flows: snapshot.flows.map(({no}) => no)})
  if (!dryRun) await setImportState(tx, {no: importNo, state: 'running'})
  const job = await enqueue(queue, runImport, {org, run: id}, {tx})
  await setRunJob(tx, {no: run.no, job})
  if (firing !== null) await setFiringContinued(tx, {firing, run: id})
  return {runId: id, job}
}

/**
 * A route that the caller did not choose is stored as `flow` if a flow names one. If no flow does, the default is stored, which earlier builds can
 * read.
 */
const routesOf = ({match, write}: Pick<Start, 'match' | 'write'>, flows: Flow[]) => ({
  matchBy: match ?? (flows.some(({matchBy}) => matchBy) ? ('flow' as const) : ('query' as const)),
  writeBy: write ?? (flows.some(({writeBy}) => writeBy) ? ('flow' as const) : ('records' as const)),
})

const keepSnapshot = (tx: Tx, snapshot: Snapshot, applied: AppliedPlan | null): Promise<number> =>
  applied ? copySnapshot(tx, applied.snapshotNo) : insertSnapshot(tx, {format: formatOf(snapshot), document: snapshot})

/**
 * Locks the import, and refuses if a run cannot start. A run that writes needs an import without another such run, and a connection that
 * accepts writes. A dry run needs an import without another dry run.
 */
const openImport = async (tx: Tx, {org, importId, dryRun}: {org: string; importId: string; dryRun: boolean}): Promise<Import> => {
  const found = await lockImport(tx, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  if (!dryRun) await freeImport(tx, {org, importNo: found.no})
  else if ((await findDryRun(tx, {importNo: found.no})) !== null)
    throw new Refusal('IMPORT_RUNNING', 'A dry run of this import is in progress. Wait for it to end, or cancel it')
  if (found.state === 'expired') throw new Refusal('FILE_GONE', 'This import has expired and its files were deleted. Create a new import')
  if (found.state === 'draft' || found.flows.length === 0) throw new Refusal('NOT_READY', 'Add a file and define flows before running')
  if (!dryRun) await assertWritable(tx, {org, connector: found.connectorId})
  return found
}

const countRows = ({flows, sources, rows}: Snapshot): number => {
  const count = flows.reduce((sum, {sourceNo}) => sum + rowsToRead(sources.find(({no}) => no === sourceNo)!, rows), 0)
  if (rows && count === 0) throw new Refusal('INVALID', 'No file of this import has rows with these numbers')
  return Math.max(1, count)
}

type RunToLock = {id: string; connector: string; importNo: number; template: string | null}

/**
 * The caller must have authorised the run or be an admin. Refuses a run that was used, or that was authorised for another import, template or
 * connection.
 */
const lockOwnRun = async (tx: Tx, {org, person, role}: StartCaller, {id, connector, importNo, template}: RunToLock): Promise<Run> => {
  const run = await lockRun(tx, {org, id})
  if (!run) throw new Refusal('RUN_NOT_FOUND', 'No such run')
  if (run.personId !== person && !(role && isAtLeast(role, 'admin')))
    throw new Refusal('NOT_YOUR_RUN', 'Another member authorised this run')
  const isForAnother = (run.importNo !== null && run.importNo !== importNo) || (run.templateId !== null && run.templateId !== template)
  if (run.state !== 'authorised' || run.stop || isForAnother)
    throw new Refusal('RUN_USED', 'This run was already used or cancelled, or it was authorised for something else. Authorise another run')
  if (run.connectorId !== null && run.connectorId !== connector)
    throw new Refusal('RUN_CONNECTOR_MISMATCH', 'This run was authorised for another connection. Authorise a run for this connection')
  return run
}

type SnapshotOptions = Pick<Parameters<typeof takeSnapshot>[0], 'before' | 'rows' | 'idempotencyFields'> & Pick<Start, 'isScheduled'>

/** Takes the snapshot that a run of the import would get now. Throws NOT_READY if the flows do not fit the files or the CRM any more. */
export const freezeImport = async (tx: Tx, {org, found}: {org: string; found: Import}, more: SnapshotOptions): Promise<Snapshot> => {
  const known = await findFlowData(tx, {org, importNo: found.no, connector: found.connectorId})
  const flows = Flows.parse(found.flows)
  const issues = findIssues(flows, known)
  if (issues.length) throw new Refusal('NOT_READY', 'The flows no longer fit the files or the CRM. Fix the listed issues', {issues})
  const idempotencyFields = await readIdempotencyFields(tx, {org, connector: found.connectorId})
  assertUnmapped(flows, idempotencyFields)
  assertFit(flows, known.modules, idempotencyFields)
  return freezeFlows(tx, {org, found, flows, known}, {...more, idempotencyFields})
}

type FreezeFlowsInput = {org: string; found: Pick<Import, 'no' | 'connectorId'>; flows: Flow[]; known: FlowSurroundings}

/** Takes the snapshot that a run of these flows would get now. The caller must have checked the flows against `known`. */
export const freezeFlows = async (
  tx: Tx,
  {org, found, flows, known}: FreezeFlowsInput,
  {isScheduled = false, ...more}: SnapshotOptions = {},
): Promise<Snapshot> => {
  const {no, connectorId} = found
  const {sources, modules, discovery, published, settings} = known
  const decidedUpTo = await findLastDecision(tx, no)
  const edits = await findEditSettings(tx, {org, connector: connectorId, isScheduled})
  const from = {connector: connectorId, discovery, seed: seedOf(org, no), context: settings.expressionContext}
  const dated = addDateDefaults({flows, sources, modules}, settings)
  return takeSnapshot({...from, ...dated, modules, decidedUpTo, libraries: published, edits, ...more})
}

type EditSettingsQuery = {org: string; connector: string; isScheduled: boolean}

const findEditSettings = async (tx: Tx, {isScheduled, ...query}: EditSettingsQuery): Promise<EditSettings> => {
  const settings = await listEditSettings(tx, query)
  return {
    org: settings.find(({module}) => module === null)?.onEdited ?? null,
    modules: new Map(settings.flatMap(({module, onEdited}) => (module === null ? [] : [[module, onEdited] as const]))),
    usual: isScheduled ? 'keep' : 'overwrite',
  }
}

/**
 * Returns the seed of an import's random numbers. The seed is equal for every run and dry run, so a dry run shows the values that the run
 * writes.
 */
const seedOf = (org: string, importNo: number) => createHash('sha256').update(`${org}/${importNo}`).digest('hex').slice(0, 32)

export type FlowSurroundings = {
  sources: SnapshotSource[]
  modules: Map<string, DiscoveredModule>
  discovery: string
  published: SnapshotLibrary[]
  libraries: Namespaces
  settings: Settings
}
type FindFlowDataInput = {org: string; importNo: number; connector: string}

export const findFlowData = async (tx: Tx, {importNo, ...place}: FindFlowDataInput): Promise<FlowSurroundings> => {
  const sources = (await readNarrowSources(tx, {importNo, keys: ['name', 'dates', 'marks', 'stored']})).map(shapeSource)
  return {sources, ...(await findFlowTargets(tx, place))}
}

/** Reads the org's libraries and settings, and the connection's newest discovery. Throws NO_DISCOVERY if the connection has none. */
export const findFlowTargets = async (
  tx: Tx,
  {org, connector}: Omit<FindFlowDataInput, 'importNo'>,
): Promise<Omit<FlowSurroundings, 'sources'>> => {
  const discovery = await findLatestDiscovery(tx, connector)
  if (!discovery)
    throw new Refusal(
      'NO_DISCOVERY',
      'The modules of this connection have not been discovered yet. Call POST /orgs/{org}/discovery/run first',
    )
  const modules = await listDiscoveredModules(tx, discovery.id)
  const published = (await listLibraryRows(tx, org)).map(shapeLibrary)
  const byName = new Map(modules.map(module => [module.apiName, module]))
  const settings = (await findSettings(tx, org)) ?? usualSettings
  return {discovery: discovery.id, modules: byName, published, libraries: namespacesOf(published), settings}
}

type FrozenSource = NarrowSource<'name' | 'dates' | 'marks' | 'stored'>

const shapeSource = ({no, id, label, fileKey, sha256, reader, cleaning, choices, rows, evidence}: FrozenSource): SnapshotSource => {
  const {columns, fileColumns, struck, text} = evidence
  return {
    no,
    id,
    label,
    fileKey,
    sha256,
    rows,
    // Bytes that cannot be decoded are replaced. A run that writes starts only after a person accepted this. Dry runs and checks do not wait for it.
    reader: text?.bad ? {...(reader as object), badBytes: 'replace'} : reader,
    cleaning: Cleaning.parse(cleaning),
    columns: columns.map(({name}) => name),
    fileColumns: fileColumns?.length ?? columns.length,
    struck: struck?.count ?? 0,
    readings: readingsOf(columns, Choices.parse(choices)),
  }
}
