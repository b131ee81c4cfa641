import {followRun, isFinal, usualFollowMs} from '../follow-run.ts'
import type {Json} from '../http.ts'
import {describeEnding, exitOf, type FailOn} from './ending.ts'
import {EXIT} from './exit-codes.ts'
import {Failure, failureOf} from './failure.ts'
import {isUndoable, runPath} from './find.ts'
import {Interrupted, interrupted} from './interrupt.ts'
import type {Output} from './output.ts'
import {clean} from './phrases.ts'
import {openProgress, runProgress} from './progress.ts'
import {readReasons} from './reasons.ts'
import type {Cli, Session} from './session.ts'

export type Following = {watch?: boolean; failOn?: FailOn}

/** Whether the command waits for the end of the run. --fail-on implies --watch, because it needs the result. */
export const isWatched = ({watch, failOn}: Following) => Boolean(watch) || failOn !== undefined

export const watchToEnd = async (cli: Cli, session: Session, run: Json, failOn: FailOn = 'refused') =>
  printEnd(cli, session, await awaitEnd(cli, session, run), {failOn})

/** `plan`: the sealed plan of a dry run. `changesExit`: the exit code if the plan would write rows and no row is a failure. */
type PrintEndOptions = {failOn: FailOn; plan?: Json; changesExit?: number}

export const printEnd = async (
  {out, exit: setExit}: Cli,
  session: Session,
  ended: Json,
  {failOn, plan = null, changesExit = EXIT.ok}: PrintEndOptions,
) => {
  const runExit = exitOf(ended, failOn)
  const exit = runExit === EXIT.ok && plan?.rows > 0 ? changesExit : runExit
  const reasons = await readReasons(out, session, ended)
  out.event({event: 'end', exit, run: ended, reasons, ...(plan && {plan})})
  out.lines(describeEnding(out, ended, reasons, {plan, isUndoable: await isUndoable(session, ended)}))
  setExit(exit)
}

export const awaitEnd = async (cli: Cli, session: Session, run: Json): Promise<Json> => {
  const signal = cli.interrupt()
  try {
    return run.state === 'ended' ? run : await watchRun({session, out: cli.out, path: runPath(session, run), signal})
  } catch (error) {
    if (!(error instanceof Interrupted) && !signal.aborted) throw error
    throw interrupted(
      signal.reason,
      `Stopped watching ${run.id}, which continues`,
      `Continue with: lading watch ${run.id}   Cancel the run with: lading cancel ${run.id}`,
      {run: run.id},
    )
  }
}

type WatchRunInput = {session: Session; out: Output; path: string; signal: AbortSignal}

/** Gives up after five minutes without a response. */
const watchRun = async ({session, out, path, signal}: WatchRunInput): Promise<Json> => {
  const progress = openProgress(out)
  let pause: string | null = null
  let ended: Json = null
  try {
    for await (const {event, data} of followRun({
      client: session.client,
      path,
      signal,
      patienceMs: usualFollowMs,
      prepare: session.keepFresh,
    })) {
      if (event === 'end') ended = data.run
      else if (event === 'state') {
        progress.clear()
        pause = tellState(out, data, pause)
      } else {
        const {progress: done, counts, rowsWritten} = event === 'asked' ? data.run : data
        out.event({event: 'progress', progress: done, counts, rowsWritten})
        progress.show(runProgress(done, counts))
      }
    }
    return ended
  } catch (error) {
    throw signal.aborted ? error : lost(error, path)
  } finally {
    progress.clear()
  }
}

/** Returns the failure for a run that can no longer be followed. The run itself continues. */
const lost = (error: unknown, path: string) => {
  const {message, exit, code, next, detail} = failureOf(error)
  const back = `The run continues. Follow it again with: lading watch ${path.split('/').at(-1)}`
  if (isFinal(error)) return new Failure(message, {exit, code, detail, next: next ? `${next}\n${back}` : back})
  return new Failure(`Lost the connection to the run: ${message}`, {exit: EXIT.unreachable, code: 'UNREACHABLE', next: back})
}

/** Prints the state. If the run is paused, warns once per reason. Returns the reason, or null if the run is not paused. */
const tellState = (out: Output, data: Json, before: string | null): string | null => {
  out.event({event: 'state', ...data})
  const pause = data.pause ? clean(data.pause.message) : null
  if (pause !== null && pause !== before) out.warn(`The run is paused: ${pause}`)
  return pause
}
