import {listIdempotencyIssues, readIdempotencyFields} from '../../shared/configuration/idempotency-field.ts'
import type {DiscoveredModule} from '../../shared/crm/discovered.ts'
import {Refusal} from '../../shared/errors.ts'
import {Choices} from '../../shared/files/choices.ts'
import {problemsOf} from '../../shared/files/problems.ts'
import {openRepeats} from '../../shared/files/repeats.ts'
import {evidenceOf} from '../../shared/files/sources/evidence.ts'
import type {CheckProblem} from '../../shared/mapping/checks/problem.ts'
import {type Flow, Flows, findIssues, type Issue, type Mapping} from '../../shared/mapping/flows/flow.ts'
import type {Snapshot} from '../../shared/mapping/flows/snapshot.ts'
import {optionWarnings} from '../../shared/mapping/flows/write-options.ts'
import {listWrittenModules} from '../../shared/runs/admit-modules.ts'
import {type FlowSurroundings, findFlowData, freezeFlows} from '../../shared/runs/start.ts'
import {findGround, replaceCheck} from '../../sql/checks.ts'
import type {Tx} from '../../sql/database.ts'
import {listModuleStates} from '../../sql/imported-modules.ts'
import {findImport, type Import, lockImport} from '../../sql/imports.ts'
import {setJobProgress} from '../../sql/jobs.ts'
import {findPlan} from '../../sql/plans.ts'
import {listSources} from '../../sql/sources.ts'
import {compileFlows} from '../engine/compose/compiled-flow.ts'
import {openExpressions} from '../engine/compose/expressions.ts'
import type {CompiledFlow} from '../engine/model.ts'
import {compilePatchPlan} from '../engine/patch/build-patches.ts'
import {RunStopped} from '../engine/run-endings.ts'
import type {Work} from '../worker.ts'
import {type CheckFindings, openFindings} from './findings.ts'
import {noteIssues, noteWarnings} from './flow-issues.ts'
import {keysPerRow, openFlowKeys} from './flow-keys.ts'
import {checkRows} from './flow-rows.ts'
import {noteRepeats} from './report-repeats.ts'
import {openRowlessParents} from './rowless-parents.ts'

type CheckRef = {org: string; importId: string}
type CheckSnapshot = {
  found: Import
  known: FlowSurroundings
  snapshot: Snapshot | null
  ground: string
  startedAt: string
  rowsPerRun: number
}

/** Returns the numbers of rows, errors and warnings; the problems themselves are stored. */
export const checkImport = async (work: Work, checkRef: CheckRef) => {
  const {rows, problems} = await runCheck(work, checkRef)
  return {rows, errors: countOf(problems, 'error'), warnings: countOf(problems, 'warning')}
}

/**
 * Reads the rows of all flows that a run could execute, as the run would. Replaces the findings of the previous check. `discovery`: the discovery
 * whose fields the check used.
 */
export const runCheck = async (work: Work, checkRef: CheckRef): Promise<{rows: number; problems: CheckProblem[]; discovery: string}> => {
  const findings = openFindings()
  const taken = await work.db.transaction(tx => takeCheckSnapshot(tx, checkRef, findings))
  const {found, known, ground, startedAt, rowsPerRun} = taken
  const {rows, good} = taken.snapshot ? await checkFlows(work, checkRef, {findings, known, snapshot: taken.snapshot}) : {rows: 0, good: 0}
  if (good > rowsPerRun) {
    const message = `The plan allows ${rowsPerRun} rows per run. These flows have ${good} rows to write`
    findings.note({severity: 'warning', kind: 'limit'}, {message, count: good - rowsPerRun})
  }
  const problems = findings.list()
  await work.db.transaction(async tx => {
    const held = await lockImport(tx, {org: checkRef.org, id: checkRef.importId})
    if (!held || held.state === 'expired') throw gone()
    await replaceCheck(tx, {importNo: found.no, startedAt, rows, ground, discovery: known.discovery, problems})
  })
  return {rows, problems, discovery: known.discovery}
}

const gone = () => new Refusal('IMPORT_NOT_FOUND', 'This import no longer exists: it was deleted or has expired')

const countOf = (problems: CheckProblem[], severity: CheckProblem['severity']) =>
  problems.filter(problem => problem.severity === severity).length

/** Freezes the import as it is now, as for a run. Notes the problems of flows that would prevent a run, and keeps the other flows for the check. */
const takeCheckSnapshot = async (tx: Tx, {org, importId}: CheckRef, findings: CheckFindings): Promise<CheckSnapshot> => {
  const found = await findImport(tx, {org, id: importId})
  if (!found || found.state === 'expired') throw gone()
  // The digest of the inputs (`ground`) is read before the flows' data. So a change in between can only make the check look outdated, never
  // current by mistake.
  const {ground, at: startedAt} = await findGround(tx, found.no)
  const known = await findFlowData(tx, {org, importNo: found.no, connector: found.connectorId})
  const flows = Flows.parse(found.flows)
  const place = {org, connector: found.connectorId}
  const issues = [
    ...findIssues(flows, known),
    ...(await disabledIssues(tx, place, flows)),
    ...listIdempotencyIssues(flows, known.modules, await readIdempotencyFields(tx, place)),
  ]
  const fitting = noteIssues(findings, flows, issues, known)
  noteWarnings(findings, fitting, optionWarnings(fitting, known.modules), known)
  await noteColumns(tx, findings, {importNo: found.no, flows: fitting, modules: known.modules})
  const snapshot = fitting.length ? await freezeFlows(tx, {org, found, flows: fitting, known}) : null
  return {found, known, snapshot, ground, startedAt, rowsPerRun: (await findPlan(tx, org)).limits.rowsPerRun}
}

const disabledIssues = async (tx: Tx, place: {org: string; connector: string}, flows: Flow[]): Promise<Issue[]> => {
  const states = await listModuleStates(tx, {...place, modules: listWrittenModules(flows)})
  const disabled = new Set(states.filter(one => one.disabled).map(({apiName}) => apiName))
  return flows.flatMap(({module}, at) =>
    disabled.has(module) ? [{path: [at, 'module'], message: `An administrator disabled imports into ${module}`}] : [],
  )
}

/**
 * Notes problems of the sources that have a mapped column. Undecodable text and an uncertain encoding are errors. Other problems of the source or of
 * a mapped column are warnings; those of other columns are infos. An ambiguous value is a warning only if the field's type parses the cell without a
 * transform or a stated format. Rows that do not fit the header (`ragged`) or have an open quote (`quote`) are noted later, row by row.
 */
const noteColumns = async (tx: Tx, findings: CheckFindings, {importNo, flows, modules}: MappedColumns) => {
  for (const source of await listSources(tx, importNo)) {
    const own = flows.filter(({sourceId}) => sourceId === source.id)
    const mapped = own.flatMap(({module, fields}) =>
      fields.map(mapping => ({...mapping, type: typeOf(modules.get(module)!, mapping.field)})),
    )
    if (mapped.length === 0) continue
    const facts = {...evidenceOf(source), reader: source.reader}
    for (const {kind, column, message, fix} of problemsOf(facts, Choices.parse(source.choices))) {
      const isRefused = kind === 'encoding' || kind === 'undecodable'
      const matters = mapped.some(one => one.source === column && (kind !== 'ambiguous' || isParsed(one)))
      const severity = isRefused ? 'error' : column === null || matters ? 'warning' : 'info'
      if (kind !== 'ragged' && kind !== 'quote') findings.note({severity, kind, source, column}, {message, fix})
    }
  }
}

type MappedColumns = {importNo: number; flows: Flow[]; modules: FlowSurroundings['modules']}

const typeOf = ({fields}: DiscoveredModule, name: string) => fields.find(({apiName}) => apiName === name)?.type ?? ''

const isParsed = ({transform, format, type}: Mapping & {type: string}) => !transform && !format && PARSED.has(type)

/** The field types for which an ambiguous date or number in a cell matters. */
const PARSED = new Set(['integer', 'bigint', 'long', 'double', 'percent', 'currency', 'date', 'datetime'])

type CheckFlowsInput = {findings: CheckFindings; known: FlowSurroundings; snapshot: Snapshot}

const checkFlows = async (work: Work, checkRef: CheckRef, {findings, known, snapshot}: CheckFlowsInput) => {
  const compiledFlows = compileFlows(snapshot)
  const lates = snapshot.flows.map(flow => compilePatchPlan(flow, snapshot))
  const repeats = openRepeats(compiledFlows.reduce((sum, compiled) => sum + compiled.source.rows * keysPerRow(compiled), 0))
  const keys = openFlowKeys(repeats, known.modules)
  const rowless = openRowlessParents(compiledFlows)
  const expressions = openExpressions({dryRun: true, engine: 'worker'})
  const progress = openProgress(work, checkRef, compiledFlows)
  let good = 0
  try {
    for (const [at, compiled] of compiledFlows.entries()) {
      const reportsExcluded = compiledFlows.findIndex(({source}) => source === compiled.source) === at
      const module = known.modules.get(compiled.module.apiName)!
      const onRead = async (rows: number) => {
        await repeats.spill()
        await rowless.spill()
        await progress.add(rows)
      }
      const check = {
        place: work,
        flow: compiled,
        late: lates[at]!,
        module,
        findings,
        keys: keys.of(compiled),
        rowless,
        expressions,
        signal: work.signal,
        reportsExcluded,
        onRead,
      }
      good += await checkRows(check).catch(error => noteStop(work, checkRef, findings, compiled, error))
    }
    await noteRepeats(work, findings, repeats, keys.slots)
    await rowless.note(findings)
    await progress.end()
    return {rows: progress.rows(), good}
  } finally {
    await Promise.all([expressions.close(), repeats.close(), rowless.close()])
  }
}

/** Notes an error that would stop a run as a problem of this flow. Any other error ends the check. */
const noteStop = async (work: Work, checkRef: CheckRef, findings: CheckFindings, compiled: CompiledFlow, error: unknown): Promise<0> => {
  if (work.signal.aborted) throw new Error('Aborted: the queue gives the job to another process', {cause: error})
  if (!(error instanceof RunStopped)) throw error
  await assertThere(work, checkRef)
  const {stopped, message} = error.stop
  findings.note(
    {severity: 'error', kind: stopped.toLowerCase(), source: compiled.source, flow: compiled.id, module: compiled.module.apiName},
    {message},
  )
  return 0
}

const assertThere = async ({db}: Work, {org, importId}: CheckRef) => {
  const found = await findImport(db, {org, id: importId})
  if (!found || found.state === 'expired') throw gone()
}

const tellEveryMs = 1_000

/** Reports progress over the rows of all flows together. Each report also looks up the import, so the check of a deleted import ends. */
const openProgress = (work: Work, checkRef: CheckRef, compiledFlows: CompiledFlow[]) => {
  const total = compiledFlows.reduce((sum, {source}) => sum + source.rows, 0)
  let [rows, toldAt] = [0, performance.now()]
  const tell = async () => {
    toldAt = performance.now()
    await assertThere(work, checkRef)
    await setJobProgress(work.db, {id: work.job.id, done: rows, total, unit: 'rows'})
  }
  return {
    rows: () => rows,
    async add(more: number) {
      rows += more
      if (performance.now() - toldAt >= tellEveryMs) await tell()
    },
    end: tell,
  }
}
