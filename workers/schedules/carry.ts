import {Refusal} from '../../shared/errors.ts'
import {atPoint} from '../../shared/fault-point.ts'
import {SourceFailure} from '../../shared/fetch-source.ts'
import {parseHere} from '../../shared/parsing/pool.ts'
import {startRun} from '../../shared/runs/start.ts'
import {findGround, type Ground} from '../../shared/schedules/standing.ts'
import {announceDrift} from '../../shared/schedules/stop.ts'
import {bindSources} from '../../shared/templates/apply.ts'
import {type Drift, findDrift} from '../../shared/templates/drift.ts'
import {findKnownNow} from '../../shared/templates/known.ts'
import type {Tx} from '../../sql/database.ts'
import {type Firing, findLastRun, layDownFiring, setFiringImport, setFiringRun, takeFiring} from '../../sql/firings.ts'
import type {Import} from '../../sql/imports.ts'
import {findFired, type Reason, type Schedule} from '../../sql/schedules.ts'
import {endDrifted, endFailed, endHindered, endUnchanged, endUndecided} from './end-firing.ts'
import {type Fetched, type Firework, fetchFile} from './fetch.ts'
import {holdLease, Superseded} from './lease.ts'
import {clean, discard, type Filled, makeFilled} from './make.ts'

type State = 'running' | 'ended' | 'waiting' | 'held'
type Given = {firing: Firing; schedule: Schedule}
type Ready = Given & {ground: Ground; fetched: Fetched}
type Filling = {made: Import; filled: Filled}

/** After each of these a fetch that failed for what may pass is tried again. */
const retrySeconds = [30, 120]
/** As often as workers may be lost with one firing. */
const mostTakes = 8

/**
 * Fetches the file, makes an import of the template from it and starts its run, as the schedule's creator. Whoever takes the firing begins
 * anew and clears away what an attempt before it left half; what starts the run also ends the firing's claim, in one transaction, so a
 * firing starts one run at the most. Its run is not waited for.
 */
export const carryFiring = async (work: Firework, {org, id}: {org: string; id: string}): Promise<State> => {
  const {db, config} = work
  const firing = await takeFiring(db, {org, id, seconds: config.LEASE_SECONDS})
  const schedule = firing && (await findFired(db, {org, id: firing.scheduleId}))
  if (!schedule) return 'held'
  const given = {firing, schedule}
  const lease = holdLease(work, firing)
  try {
    return await carry({...work, signal: lease.signal}, given)
  } catch (error) {
    return await meet(work, given, lease.signal.aborted ? lease.signal.reason : error).catch(heldIfSuperseded)
  } finally {
    lease.end()
  }
}

const carry = async (work: Firework, given: Given): Promise<State> => {
  const {firing, schedule} = given
  const {db} = work
  if (firing.importId !== null) await discard(work, {org: firing.org, importId: firing.importId})
  if (firing.fence > mostTakes)
    throw new Refusal('INTERNAL', 'Every worker that took this firing was lost; the logs of the workers say why')
  const ground = await findGround(db, schedule)
  if ('reason' in ground) {
    await db.transaction(tx => endHindered(tx, given, ground))
    return 'ended'
  }
  const fetched = await fetchFile(work, schedule, firing)
  try {
    atPoint('after_fetch')
    return await runFile(work, {...given, ground, fetched})
  } finally {
    await fetched.file.close()
  }
}

const runFile = async (work: Firework, ready: Ready): Promise<State> => {
  if (isUnchanged(ready)) return goOn(work, ready)
  const {made, filled} = await makeFilled({...work, parsing: parseHere(work)}, ready)
  atPoint('after_source')
  const place = {org: ready.schedule.org, importId: made.id}
  try {
    work.signal.throwIfAborted()
    const undecided = filled.find(one => one.undecided)?.undecided
    if (undecided) {
      await work.db.transaction(tx => endUndecided(tx, ready, {reason: reasonOf(undecided), importId: made.id, filled}))
      return 'ended'
    }
    const drift = await driftOf(work, ready, {made, filled})
    if (ready.schedule.onDrift === 'stop' && drift.some(({stops}) => stops)) {
      await work.db.transaction(tx => endDrifted(tx, ready, {drift, importId: made.id}))
      return 'ended'
    }
    await clean({...work, parsing: parseHere(work)}, place, filled)
    return await begin(work, ready, {made, filled, drift})
  } catch (error) {
    // Whoever is at the firing now knows nothing of this import.
    if (error instanceof Superseded || work.signal.reason instanceof Superseded) await discard(work, place)
    throw error
  }
}

/** A template that has changed makes something else of the same file. */
const isUnchanged = ({firing, schedule, ground, fetched}: Ready) =>
  !firing.again && fetched.sha256 === schedule.lastSha256 && ground.template.version === schedule.lastTemplateVersion

/** What is left of a file whose run was stopped is run; of one that was run to its end nothing is. */
const goOn = async (work: Firework, ready: Ready): Promise<State> => {
  const {firing, schedule, fetched} = ready
  const last = await findLastRun(work.db, schedule.id)
  if (!last?.isStopped) {
    await work.db.transaction(tx => endUnchanged(tx, ready, fetched.sha256))
    return 'ended'
  }
  const {importNo, importId, runId: retryOf} = last
  return startAsMaker(work, ready, async (tx, person) => {
    const of = {importNo, sha256: fetched.sha256, templateVersion: ready.ground.template.version}
    if (!(await setFiringImport(tx, firing, of))) throw new Superseded()
    return {run: {org: schedule.org, person, importId, retryOf}, drift: []}
  })
}

/** Kept with the firing; another file altogether may differ in thousands of columns. */
const mostDrift = 100

/** What stops comes first. */
const driftOf = async ({db}: Firework, {ground, schedule}: Ready, {made, filled}: Filling): Promise<Drift[]> => {
  const {modules, libraries, discovery} = await findKnownNow(db, {org: schedule.org, connector: made.connectorId})
  const drift = findDrift(ground.template, {sources: filled, modules: discovery ? modules : null, libraries})
  return [...drift.filter(({stops}) => stops), ...drift.filter(({stops}) => !stops)].slice(0, mostDrift)
}

const begin = async (work: Firework, ready: Ready, {made, filled, drift}: Filling & {drift: Drift[]}): Promise<State> => {
  const {org} = ready.schedule
  const state = await startAsMaker(work, ready, async (tx, person) => {
    await bindSources(tx, {org, importId: made.id, sources: filled.map(({slot, sourceId}) => ({slot, sourceId}))})
    return {run: {org, person, importId: made.id}, drift}
  })
  if (state === 'ended') await discard(work, {org, importId: made.id})
  return state
}

type Prepared = {run: Pick<Parameters<typeof startRun>[2], 'org' | 'person' | 'importId' | 'retryOf'>; drift: Drift[]}
type Prepare = (tx: Tx, person: string) => Promise<Prepared>

/** Fetching may have taken half an hour: whether it still may is asked in the transaction that starts the run. */
const startAsMaker = async ({db, queue}: Firework, ready: Ready, prepare: Prepare): Promise<State> => {
  const {firing, schedule} = ready
  const state = await db.transaction(async (tx): Promise<State> => {
    const ground = await findGround(tx, schedule)
    if ('reason' in ground) {
      await endHindered(tx, ready, ground)
      return 'ended'
    }
    const {run, drift} = await prepare(tx, ground.person)
    const declared = schedule.declaredRows === null ? {} : {declaredRows: schedule.declaredRows}
    const {runId} = await startRun(tx, queue, {...run, admin: false, dryRun: false, ...declared})
    if (!(await setFiringRun(tx, firing, {run: runId, drift}))) throw new Superseded()
    if (schedule.onDrift === 'warn') await announceDrift(tx, schedule, {firing, runId, drift})
    return 'running'
  })
  atPoint('after_start')
  return state
}

const passes = (error: unknown) => error instanceof SourceFailure && ['UNREACHABLE', 'TIMED_OUT', 'NOT_FOUND'].includes(error.code)
const isTold = (error: unknown) => error instanceof Refusal || error instanceof SourceFailure

/** What may pass is tried again in a while, twice; what is the file's or the source's own fault is told at once. */
const meet = async (work: Firework, given: Given, error: unknown): Promise<State> => {
  const {db, log} = work
  const {firing} = given
  if (error instanceof Superseded) throw error
  if (work.signal.aborted) return layDown(work, firing, {seconds: 0, failed: null})
  if (!isTold(error)) log.error({err: error, firing: firing.id}, 'a firing broke off')
  const seconds = passes(error) || !isTold(error) ? retrySeconds[firing.tries] : undefined
  const reason = reasonOf(error)
  if (seconds !== undefined) return layDown(work, firing, {seconds, failed: reason})
  // A day without orders has a file without rows: nobody has anything to mend.
  if (reason.code === 'FILE_NO_ROWS') await db.transaction(tx => endHindered(tx, given, {stops: false, reason}))
  else await db.transaction(tx => endFailed(tx, given, reason))
  return 'ended'
}

const heldIfSuperseded = (error: unknown): State => {
  if (error instanceof Superseded) return 'held'
  throw error
}

const layDown = async ({db}: Firework, firing: Firing, how: {seconds: number; failed: Reason | null}): Promise<State> =>
  (await layDownFiring(db, firing, how)) ? 'waiting' : 'held'

const reasonOf = (error: unknown) => {
  if (error instanceof Refusal) return {...error.extra, code: error.code, message: error.message}
  if (error instanceof SourceFailure) return {code: error.code, message: error.message}
  return {code: 'INTERNAL', message: 'Something went wrong here; the log of the worker says what'}
}
