import {ApiError, type Json, Unreachable} from '../http.ts'
import {describeEnding, exitOf, type FailOn} from './ending.ts'
import {runPath} from './find.ts'
import {Interrupted, interrupted} from './interrupt.ts'
import type {Cli, Session} from './session.ts'
import {watchRun} from './watch.ts'

type Start = {declaredRows?: number; retryOf?: string; dryRun?: boolean; rows?: {from?: number; to?: number}}

/** Begins a run. Where the answer was lost it is looked whether one was begun all the same, so that none is begun twice. */
export const startRun = async ({client, path}: Session, importId: string, start: Start): Promise<Json> => {
  const at = path(`imports/${importId}/runs`)
  const before = new Set((await client.get(at, {limit: 200})).runs.map(({id}: Json) => id))
  try {
    return (await client.post(at, start)).run
  } catch (error) {
    const isUnknown = error instanceof Unreachable || (error instanceof ApiError && ['HTTP_502', 'HTTP_504'].includes(error.code))
    if (!isUnknown) throw error
    const {runs} = await client.get(at, {limit: 200})
    const begun = runs.find(({id}: Json) => !before.has(id))
    if (begun) return begun
    throw error
  }
}

export type Following = {watch?: boolean; failOn?: FailOn}

/** Whoever asks which rows were written has to wait for them. */
export const isWatched = ({watch, failOn}: Following) => Boolean(watch) || failOn !== undefined

/** Follows a run to its end and says what became of it; the process then ends with what that means. */
export const followRun = async (cli: Cli, session: Session, run: Json, failOn: FailOn = 'refused') => {
  const {out} = cli
  const signal = cli.interrupt()
  try {
    const ended = run.state === 'ended' ? run : await watchRun({session, out, path: runPath(session, run), signal})
    const exit = exitOf(ended, failOn)
    out.event({event: 'end', exit, run: ended})
    out.lines(describeEnding(out, ended))
    cli.exit(exit)
  } catch (error) {
    if (!(error instanceof Interrupted) && !signal.aborted) throw error
    throw interrupted(
      signal.reason,
      `You no longer watch ${run.id}, which goes on`,
      `Come back with: lading watch ${run.id}   Stop it with: lading cancel ${run.id}`,
      {run: run.id},
    )
  }
}
