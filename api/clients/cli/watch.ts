import {followRun, isFinal} from '../follow-run.ts'
import type {Json} from '../http.ts'
import {describeEnding, exitOf, type FailOn} from './ending.ts'
import {EXIT} from './exit-codes.ts'
import {Failure, failureOf} from './failure.ts'
import {runPath} from './find.ts'
import {Interrupted, interrupted} from './interrupt.ts'
import type {Output} from './output.ts'
import {openProgress, runProgress} from './progress.ts'
import type {Cli, Session} from './session.ts'
import {clean} from './words.ts'

export type Following = {watch?: boolean; failOn?: FailOn}

/** Whoever asks which rows were written has to wait for them. */
export const isWatched = ({watch, failOn}: Following) => Boolean(watch) || failOn !== undefined

/** Follows a run to its end and says what became of it; the process then ends with what that means. */
export const watchToEnd = async (cli: Cli, session: Session, run: Json, failOn: FailOn = 'refused') => {
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

type Watched = {session: Session; out: Output; path: string; signal: AbortSignal}

const patienceMs = 300_000

/** Follows a run to its end and shows how it goes on; answers it. Given up once nothing was heard for five minutes. */
const watchRun = async ({session, out, path, signal}: Watched): Promise<Json> => {
  const progress = openProgress(out)
  let pause: string | null = null
  let ended: Json = null
  try {
    for await (const {event, data} of followRun({client: session.client, path, signal, patienceMs, prepare: session.keepFresh})) {
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

/** The run itself is none the worse for it. */
const lost = (error: unknown, path: string) => {
  const {message, exit, code, next, detail} = failureOf(error)
  const back = `The run goes on by itself. Come back with: lading watch ${path.split('/').at(-1)}`
  if (isFinal(error)) return new Failure(message, {exit, code, detail, next: next ? `${next}\n${back}` : back})
  return new Failure(`Nothing was heard of the run for a while: ${message}`, {exit: EXIT.unreachable, code: 'UNREACHABLE', next: back})
}

/** A run that lies down says why, once; answers what was said. */
const tellState = (out: Output, data: Json, before: string | null): string | null => {
  out.event({event: 'state', ...data})
  const pause = data.pause ? clean(data.pause.message) : null
  if (pause !== null && pause !== before) out.warn(`The run waits: ${pause}`)
  return pause
}
