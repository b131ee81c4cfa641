import {Refusal} from '../../shared/errors.ts'
import {atPoint} from '../../shared/fault-point.ts'
import {parseHere} from '../../shared/files/parser/pool.ts'
import {readContract, type StoredContract} from '../../shared/mapping/data-contracts/store.ts'
import {type Drift, findDrift} from '../../shared/mapping/templates/drift.ts'
import {findKnownNow} from '../../shared/mapping/templates/template-fields.ts'
import {startRun} from '../../shared/runs/start.ts'
import {SourceFailure} from '../../shared/schedules/fetch/main.ts'
import {runOptionsOf} from '../../shared/schedules/schedule.ts'
import {findScheduleStatus, type ScheduleStatus} from '../../shared/schedules/schedule-status.ts'
import {announceDrift} from '../../shared/schedules/stop.ts'
import type {Tx} from '../../sql/database.ts'
import {type Firing, findLastRun, pauseFiring, setFiringImport, setFiringRun, takeFiring} from '../../sql/firings.ts'
import type {Import} from '../../sql/imports.ts'
import {findFired, type Reason, type Schedule} from '../../sql/schedules.ts'
import {checkContract, findMissing, isDiscardedFile} from './data-contract.ts'
import {endBlocked, endDiscarded, endDrifted, endFailed, endHeld, endUnchanged} from './end-firing.ts'
import {type FetchDeps, type FetchedFile, fetchFile} from './fetch.ts'
import {holdLease, Superseded} from './lease.ts'
import {bindFilled, clean, cleanAndBind, discard, type FilledSource, makeFilled} from './make-import.ts'

type FiringState = 'running' | 'ended' | 'waiting' | 'held'
type FiringInput = {firing: Firing; schedule: Schedule}
export type ReadyFiring = FiringInput & {ground: ScheduleStatus; contract: StoredContract; fetched: FetchedFile}
type FilledImport = {made: Import; filled: FilledSource}

const retrySeconds = [30, 120]
/** The maximum number of owners of one firing. After so many, the firing itself may be what kills its workers. */
const mostTakes = 8

/**
 * Fetches the file, makes an import of the template from it and starts its run, as the schedule's creator. Each owner of the firing starts
 * over and removes the unfinished import of the last attempt. The run starts in the transaction that ends the firing's lease, so a firing
 * starts at most one run. The end of the run is not awaited.
 */
export const executeFiring = async (work: FetchDeps, {org, id}: {org: string; id: string}): Promise<FiringState> => {
  const {db, config} = work
  const firing = await takeFiring(db, {org, id, seconds: config.LEASE_SECONDS})
  const schedule = firing && (await findFired(db, {org, id: firing.scheduleId}))
  if (!schedule) return 'held'
  const input = {firing, schedule}
  const lease = holdLease(work, firing)
  try {
    return await executeStep({...work, signal: lease.signal}, input)
  } catch (error) {
    return await handleFailure(work, input, lease.signal.aborted ? lease.signal.reason : error).catch(heldIfSuperseded)
  } finally {
    lease.end()
  }
}

const executeStep = async (work: FetchDeps, input: FiringInput): Promise<FiringState> => {
  const {firing, schedule} = input
  const {db} = work
  if (firing.importId !== null) await discard(work, {org: firing.org, importId: firing.importId})
  if (firing.fence > mostTakes)
    throw new Refusal('INTERNAL', 'Every worker that took this firing was lost. See the logs of the workers for the cause')
  const ground = await findScheduleStatus(db, schedule, firing)
  if ('reason' in ground) {
    await db.transaction(tx => endBlocked(tx, input, ground))
    return 'ended'
  }
  const contract = await readContract(db, {org: firing.org, template: ground.template.id})
  const fetched = await fetchFile(work, schedule, firing)
  try {
    atPoint('after_fetch')
    return await runFile(work, {...input, ground, contract, fetched})
  } finally {
    await fetched.file.close()
  }
}

const runFile = async (work: FetchDeps, ready: ReadyFiring): Promise<FiringState> => {
  if (isUnchanged(ready)) return continueFiring(work, ready)
  if (await isDiscardedFile(work.db, ready)) {
    await work.db.transaction(tx => endDiscarded(tx, ready, ready.fetched.sha256))
    return 'ended'
  }
  const {made, filled} = await makeFilled({...work, parsing: parseHere(work)}, ready)
  atPoint('after_source')
  const place = {org: ready.schedule.org, importId: made.id}
  try {
    work.signal.throwIfAborted()
    const undecided = filled.find(one => one.undecided)?.undecided
    if (undecided) {
      // The import and its file stay, so that a person can choose the encoding and start the run.
      await cleanAndBind({...work, parsing: parseHere(work)}, place, filled)
      await work.db.transaction(tx => endFailed(tx, ready, reasonOf(undecided)))
      return 'ended'
    }
    const drift = await driftOf(work, ready, {made, filled})
    const missing = findMissing(ready, filled)
    if (missing.length > 0) {
      await work.db.transaction(tx => endHeld(tx, ready, {breaches: missing, drift, importId: made.id, filled, isCleaned: false}))
      return 'ended'
    }
    if (ready.schedule.onDrift === 'stop' && drift.some(({stops}) => stops)) {
      await work.db.transaction(tx => endDrifted(tx, ready, {drift, importId: made.id}))
      return 'ended'
    }
    return await runFilled(work, ready, {made, filled, drift}).catch(async (error): Promise<FiringState> => {
      const isUnfit = error instanceof Refusal && error.code === 'INVALID' && drift.some(({stops}) => stops)
      if (!isUnfit) throw error
      await work.db.transaction(tx => endDrifted(tx, ready, {drift, importId: made.id}))
      return 'ended'
    })
  } catch (error) {
    // A new owner of the firing does not know this import, so this worker removes it.
    if (error instanceof Superseded || work.signal.reason instanceof Superseded) await discard(work, place)
    throw error
  }
}

type DriftedImport = FilledImport & {drift: Drift[]}

/** Cleans the files and starts the run if they meet the data contract. Throws INVALID if the cleaning or the flows do not fit the files. */
const runFilled = async (work: FetchDeps, ready: ReadyFiring, {made, filled, drift}: DriftedImport): Promise<FiringState> => {
  const deps = {...work, parsing: parseHere(work)}
  await clean(deps, {org: ready.schedule.org, importId: made.id}, filled)
  const breaches = await checkContract(deps, ready, {made, filled})
  atPoint('after_contract')
  if (breaches.length === 0) return begin(work, ready, {made, filled, drift})
  await work.db.transaction(tx => endHeld(tx, ready, {breaches, drift, importId: made.id, filled, isCleaned: true}))
  return 'ended'
}

/**
 * Whether neither the file nor the template has changed since the last run. A changed template makes other records from the same file. False
 * if the firing has `again`.
 */
const isUnchanged = ({firing, schedule, ground, fetched}: ReadyFiring) =>
  !firing.again && fetched.sha256 === schedule.lastSha256 && ground.template.version === schedule.lastTemplateVersion

const restExpired =
  'The last run of this file was stopped, and its import has expired, so its rest cannot be run. Fire with again: true to run the whole file'

/** Runs the rest of the file if the last run of the same file was stopped. If it was not stopped, ends the firing as unchanged. */
const continueFiring = async (work: FetchDeps, ready: ReadyFiring): Promise<FiringState> => {
  const {firing, schedule, ground, fetched} = ready
  const file = {sha256: fetched.sha256, templateVersion: ground.template.version}
  const last = await findLastRun(work.db, {schedule: schedule.id, ...file})
  if (!last?.isStopped) {
    await work.db.transaction(tx => endUnchanged(tx, ready, fetched.sha256))
    return 'ended'
  }
  if (last.isExpired) throw new Refusal('FILE_GONE', restExpired)
  const {importNo, importId, runId: retryOf} = last
  return startAsMaker(work, ready, async (tx, person) => {
    if (!(await setFiringImport(tx, firing, {importNo, ...file}))) throw new Superseded()
    return {run: {org: schedule.org, person, importId, retryOf}, drift: []}
  })
}

/** The limit on drift that is stored with the firing. A completely different file may differ in thousands of columns. */
const mostDrift = 100

/** Finds the drift, at most `mostDrift` items. Drift that stops the run comes first. */
const driftOf = async ({db}: FetchDeps, {ground, schedule}: ReadyFiring, {made, filled}: FilledImport): Promise<Drift[]> => {
  const {modules, discovery, ...known} = await findKnownNow(db, {org: schedule.org, connector: made.connectorId})
  const drift = findDrift(ground.template, {sources: filled, modules: discovery ? modules : null, ...known})
  return [...drift.filter(({stops}) => stops), ...drift.filter(({stops}) => !stops)].slice(0, mostDrift)
}

const begin = async (work: FetchDeps, ready: ReadyFiring, {made, filled, drift}: DriftedImport): Promise<FiringState> => {
  const {org} = ready.schedule
  const state = await startAsMaker(work, ready, async (tx, person) => {
    await bindFilled(tx, {org, importId: made.id}, filled)
    return {run: {org, person, importId: made.id}, drift}
  })
  if (state === 'ended') await discard(work, {org, importId: made.id})
  return state
}

type PreparedRun = {run: Pick<Parameters<typeof startRun>[2], 'org' | 'person' | 'importId' | 'retryOf'>; drift: Drift[]}
type PrepareRun = (tx: Tx, person: string) => Promise<PreparedRun>

/**
 * Starts the run as the schedule's creator. The fetch may have taken half an hour, so the permission is checked again in the transaction
 * that starts the run. If the settings were changed meanwhile, the next owner starts over with the new ones, for example another connection.
 */
const startAsMaker = async ({db, queue}: FetchDeps, ready: ReadyFiring, prepare: PrepareRun): Promise<FiringState> => {
  const {firing, schedule} = ready
  const state = await db.transaction(async (tx): Promise<FiringState> => {
    const ground = await findScheduleStatus(tx, schedule, firing)
    if ('reason' in ground) {
      await endBlocked(tx, ready, ground)
      return 'ended'
    }
    const present = await findFired(tx, {org: schedule.org, id: schedule.id})
    if (present?.version !== schedule.version) {
      if (!(await pauseFiring(tx, firing, {seconds: 0, failed: null}))) throw new Superseded()
      return 'waiting'
    }
    const {run, drift} = await prepare(tx, ground.person)
    const {runId} = await startRun(tx, queue, {...run, ...runOptionsOf(schedule), role: null, dryRun: false, isScheduled: true})
    if (!(await setFiringRun(tx, firing, {run: runId, drift}))) throw new Superseded()
    if (schedule.onDrift === 'warn') await announceDrift(tx, schedule, {firing, runId, drift})
    return 'running'
  })
  atPoint('after_start')
  return state
}

const passes = (error: unknown) => error instanceof SourceFailure && ['UNREACHABLE', 'TIMED_OUT', 'NOT_FOUND'].includes(error.code)
const isReported = (error: unknown) => error instanceof Refusal || error instanceof SourceFailure

/** Retries a temporary or internal failure twice. A fault of the file or of its source ends the firing at once. */
const handleFailure = async (work: FetchDeps, input: FiringInput, error: unknown): Promise<FiringState> => {
  const {db, log} = work
  const {firing} = input
  if (error instanceof Superseded) throw error
  if (work.signal.aborted) return pauseUnderLease(work, firing, {seconds: 0, failed: null})
  if (!isReported(error)) log.error({err: error, firing: firing.id}, 'a firing failed')
  const seconds = passes(error) || !isReported(error) ? retrySeconds[firing.tries] : undefined
  const reason = reasonOf(error)
  if (seconds !== undefined) return pauseUnderLease(work, firing, {seconds, failed: reason})
  // For example, a day without orders yields a file without rows, which is not a failure.
  if (reason.code === 'FILE_NO_ROWS') await db.transaction(tx => endBlocked(tx, input, {stops: false, reason}))
  else await db.transaction(tx => endFailed(tx, input, reason))
  return 'ended'
}

const heldIfSuperseded = (error: unknown): FiringState => {
  if (error instanceof Superseded) return 'held'
  throw error
}

const pauseUnderLease = async ({db}: FetchDeps, firing: Firing, how: {seconds: number; failed: Reason | null}): Promise<FiringState> =>
  (await pauseFiring(db, firing, how)) ? 'waiting' : 'held'

const reasonOf = (error: unknown) => {
  if (error instanceof Refusal) return {...error.extra, code: error.code, message: error.message}
  if (error instanceof SourceFailure) return {code: error.code, message: error.message}
  return {code: 'INTERNAL', message: 'Internal error. See the log of the worker for the cause'}
}
