import type {Db} from '../../sql/database.ts'
import {findRunTies, type Notice} from '../../sql/notices.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import {describeRun} from '../runs/describe.ts'
import {findOrgRun} from '../runs/find.ts'
import type {About} from './announce.ts'

/** `timestamp`: when the event happened, not when the delivery was sent. */
export type Body = {type: string; timestamp: string; data: About}

type ComposedNotice = {schedule: string | null; body: Body}

/**
 * Adds links and, for a run, its result to the announced data. The body contains only ids, codes, counts, amounts, times, links and our own
 * sentences.
 */
export const compose = async (db: Db, {PUBLIC_URL}: Pick<Config, 'PUBLIC_URL'>, notice: Notice): Promise<ComposedNotice> => {
  const {org, kind, about, at} = notice
  const end = kind.startsWith('run.') ? await readEnd(db, {org, run: String(about.run)}) : null
  // A held run may have been resumed or cancelled before the notice is composed.
  const run = end && kind === 'run.held' ? {...end, state: 'held'} : end
  const schedule = notice.schedule ?? run?.schedule ?? null
  const data = {org, schedule, ...(about as About), ...run}
  return {schedule, body: {type: kind, timestamp: at, data: {...data, links: linksOf(PUBLIC_URL, data)}}}
}

/** Returns null if the run was deleted after its end was announced. */
const readEnd = async (db: Db, {org, run: runId}: {org: string; run: string}) => {
  const found = await findOrgRun(db, {org, runId}).catch(nullIfGone)
  if (!found) return null
  const {run} = found
  const {connectorId, engine, dryRun, rowsWritten, overageRows, counts, deleted, unchanged, keptRows, questions, startedAt, endedAt, undo} =
    describeRun(found)
  const ties = await findRunTies(db, run.no)
  return {
    import: found.importId,
    run: runId,
    schedule: ties.schedule,
    template: ties.template,
    connection: connectorId,
    engine,
    dryRun,
    state: run.stop ? 'stopped' : 'done',
    stop: run.stop?.stopped ?? null,
    rowsWritten,
    overageRows,
    counts,
    deleted,
    unchanged,
    keptRows,
    questions,
    startedAt,
    endedAt,
    ...(undo && {undo}),
  }
}

const nullIfGone = (error: unknown) => {
  if (error instanceof Refusal && error.code === 'RUN_NOT_FOUND') return null
  throw error
}

const linksOf = (base: string, {org, ...data}: About): About => {
  const of = (path: string) => `${base.replace(/\/$/, '')}/orgs/${org}/${path}`
  return {
    ...(data.run && {run: of(`runs/${data.run}`)}),
    ...(data.import && {import: of(`imports/${data.import}`)}),
    ...(data.import && data.run && {results: of(`imports/${data.import}/results.csv?run=${data.run}`)}),
    ...(data.schedule && data.template && {schedule: of(`templates/${data.template}/schedules/${data.schedule}`)}),
    ...(data.endpoint && {endpoint: of(`webhooks/${data.endpoint}`)}),
  }
}
