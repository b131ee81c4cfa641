import type {CheckProblem} from '../../shared/checks/problem.ts'
import type {DiscoveredModule} from '../../shared/crm/discovered.ts'
import {Refusal} from '../../shared/errors.ts'
import {type Flow, Flows, findIssues} from '../../shared/flows/flow.ts'
import type {Snapshot} from '../../shared/flows/snapshot.ts'
import {Choices} from '../../shared/imports/choices.ts'
import {problemsOf} from '../../shared/imports/problems.ts'
import {findKnown, freezeFlows, type Known} from '../../shared/runs/start.ts'
import {evidenceOf} from '../../shared/sources/evidence.ts'
import {findGround, replaceCheck} from '../../sql/checks.ts'
import type {Tx} from '../../sql/database.ts'
import {findImport, type Import, lockImport} from '../../sql/imports.ts'
import {setJobProgress} from '../../sql/jobs.ts'
import {findPlan} from '../../sql/plans.ts'
import {listSources} from '../../sql/sources.ts'
import {RunStopped} from '../engine/ending.ts'
import {openExpressions} from '../engine/expressions.ts'
import {layPatching} from '../engine/patching.ts'
import {layTrack, type Track} from '../engine/track.ts'
import type {Work} from '../worker.ts'
import {type Findings, openFindings} from './findings.ts'
import {noteIssues} from './flow-issues.ts'
import {checkRows} from './flow-rows.ts'
import {openRepeats} from './repeats.ts'
import {noteRepeats} from './told-repeats.ts'
import {keysPerRow, openKeys} from './track-keys.ts'

type Asked = {org: string; importId: string}
type Taken = {found: Import; known: Known; snapshot: Snapshot | null; ground: string; startedAt: string; rowsPerRun: number}

/** Reads every row of every flow as a run would, and keeps what it found in place of what the check before found. */
export const checkImport = async (work: Work, asked: Asked) => {
  const findings = openFindings()
  const taken = await work.db.transaction(tx => take(tx, asked, findings))
  const {found, known, ground, startedAt, rowsPerRun} = taken
  const {rows, good} = taken.snapshot ? await checkFlows(work, asked, {findings, known, snapshot: taken.snapshot}) : {rows: 0, good: 0}
  if (good > rowsPerRun) {
    const message = `The plan lets one run write ${rowsPerRun} rows; these flows have ${good} to write`
    findings.note({severity: 'warning', kind: 'limit'}, {message, count: good - rowsPerRun})
  }
  const problems = findings.list()
  await work.db.transaction(async tx => {
    const held = await lockImport(tx, {org: asked.org, id: asked.importId})
    if (!held || held.state === 'expired') throw gone()
    await replaceCheck(tx, {importNo: found.no, startedAt, rows, ground, discovery: known.discovery, problems})
  })
  return {rows, errors: countOf(problems, 'error'), warnings: countOf(problems, 'warning')}
}

const gone = () => new Refusal('IMPORT_NOT_FOUND', 'No such import any more: it was deleted or has expired')

const countOf = (problems: CheckProblem[], severity: CheckProblem['severity']) =>
  problems.filter(problem => problem.severity === severity).length

/** The import as it is now, frozen as for a run. What a run would be refused for is noted, and the other flows go on. */
const take = async (tx: Tx, {org, importId}: Asked, findings: Findings): Promise<Taken> => {
  const found = await findImport(tx, {org, id: importId})
  if (!found || found.state === 'expired') throw gone()
  // Read first: what changes between here and the rest makes the check stale, never wrongly fresh.
  const {ground, at: startedAt} = await findGround(tx, found.no)
  const known = await findKnown(tx, {org, importNo: found.no, connector: found.connectorId})
  const flows = Flows.parse(found.flows)
  const fitting = noteIssues(findings, flows, findIssues(flows, known), known)
  await noteColumns(tx, findings, {importNo: found.no, flows: fitting, modules: known.modules})
  const snapshot = fitting.length ? await freezeFlows(tx, {org, found, flows: fitting, known}) : null
  return {found, known, snapshot, ground, startedAt, rowsPerRun: (await findPlan(tx, org)).limits.rowsPerRun}
}

/** What a person should decide of the columns that flows read. Rows that do not fit the header are met again row by row. */
const noteColumns = async (tx: Tx, findings: Findings, {importNo, flows, modules}: Mapped) => {
  for (const source of await listSources(tx, importNo)) {
    const own = flows.filter(({sourceId}) => sourceId === source.id)
    const mapped = own.flatMap(({module, fields}) =>
      fields.map(mapping => ({...mapping, type: typeOf(modules.get(module)!, mapping.field)})),
    )
    if (mapped.length === 0) continue
    const facts = {...evidenceOf(source), reader: source.reader}
    for (const {kind, column, message, fix} of problemsOf(facts, Choices.parse(source.choices))) {
      const isRefused = kind === 'encoding' || kind === 'undecodable'
      const matters = mapped.some(one => one.source === column && (kind !== 'ambiguous' || (!one.transform && PARSED.has(one.type))))
      const severity = isRefused ? 'error' : column === null || matters ? 'warning' : 'info'
      if (kind !== 'ragged') findings.note({severity, kind, source, column}, {message, fix})
    }
  }
}

type Mapped = {importNo: number; flows: Flow[]; modules: Known['modules']}

const typeOf = ({fields}: DiscoveredModule, name: string) => fields.find(({apiName}) => apiName === name)?.type ?? ''

/** Types whose values are read out of a cell. The others take the cell's text as it is, of which nothing is lost. */
const PARSED = new Set(['integer', 'bigint', 'long', 'double', 'percent', 'currency', 'date', 'datetime'])

type Frozen = {findings: Findings; known: Known; snapshot: Snapshot}

const checkFlows = async (work: Work, asked: Asked, {findings, known, snapshot}: Frozen) => {
  const tracks = snapshot.flows.map(flow => layTrack(flow, snapshot))
  const lates = snapshot.flows.map(flow => layPatching(flow, snapshot))
  const repeats = openRepeats(tracks.reduce((sum, track) => sum + track.source.rows * keysPerRow(track), 0))
  const keys = openKeys(repeats, known.modules)
  const expressions = openExpressions({dryRun: true, engine: 'worker'})
  const progress = openProgress(work, asked, tracks)
  let good = 0
  try {
    for (const [at, track] of tracks.entries()) {
      const tellsStruck = tracks.findIndex(({source}) => source === track.source) === at
      const module = known.modules.get(track.module.apiName)!
      const onRead = async (rows: number) => {
        await repeats.spill()
        await progress.add(rows)
      }
      const check = {
        place: work,
        track,
        late: lates[at]!,
        module,
        findings,
        keys: keys.of(track),
        expressions,
        signal: work.signal,
        tellsStruck,
        onRead,
      }
      good += await checkRows(check).catch(error => noteStop(work, asked, findings, track, error))
    }
    await noteRepeats(work, findings, repeats, keys.slots)
    await progress.end()
    return {rows: progress.rows(), good}
  } finally {
    await Promise.all([expressions.close(), repeats.close()])
  }
}

/** What would stop the run in this flow is a problem of it; everything else ends the check. */
const noteStop = async (work: Work, asked: Asked, findings: Findings, track: Track, error: unknown): Promise<0> => {
  if (work.signal.aborted) throw new Error('Called off: the queue gives it to another process', {cause: error})
  if (!(error instanceof RunStopped)) throw error
  await assertThere(work, asked)
  const {stopped, message} = error.stop
  findings.note(
    {severity: 'error', kind: stopped.toLowerCase(), source: track.source, flow: track.id, module: track.module.apiName},
    {message},
  )
  return 0
}

const assertThere = async ({db}: Work, {org, importId}: Asked) => {
  const found = await findImport(db, {org, id: importId})
  if (!found || found.state === 'expired') throw gone()
}

const tellEveryMs = 1_000

/** Rows of all flows together. The import is looked for as often as they are told: a check of one that was deleted ends. */
const openProgress = (work: Work, asked: Asked, tracks: Track[]) => {
  const total = tracks.reduce((sum, {source}) => sum + source.rows, 0)
  let [rows, toldAt] = [0, performance.now()]
  const tell = async () => {
    toldAt = performance.now()
    await assertThere(work, asked)
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
