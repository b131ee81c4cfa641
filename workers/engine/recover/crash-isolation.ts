import {fork} from 'node:child_process'
import {once} from 'node:events'
import {fileURLToPath} from 'node:url'
import type {Config} from '../../../shared/config.ts'
import {traceparent} from '../../../shared/telemetry/tracing.ts'
import {findHead, recordCrash} from '../../../sql/run-heads.ts'
import type {Run} from '../../../sql/runs.ts'
import {hungAfter} from '../../watchdog.ts'
import type {EngineDeps, ExecuteOptions, RunState} from '../run.ts'

/** The number of crashes without a settled row in between after which a run is stopped. */
export const mostCrashes = 3

/** The number of takeovers without a settled row in between after which a run executes in a child process. */
const mostSharedTakeovers = 1

const entry = fileURLToPath(new URL('../../isolated-run.ts', import.meta.url))

export type IsolatedRunInput = {config: Config; org: string; id: string; hungAfterSeconds: number; parent: string | undefined}
/** The result of the child process. A child process that took the run and exits without a result has crashed. */
export type IsolatedRunResult = {state: RunState} | {error: string}
export type IsolatedRunMessage = 'taken' | IsolatedRunResult

type IsolationDeps = Pick<EngineDeps, 'config' | 'db'>

/** The run in this process's child process. There is at most one, because each child takes as much memory as a worker. */
let current: {run: number; handOver(): void} | null = null

/** Whether two processes in a row lost the run before it settled a row. Restarts and crashes look the same here. */
export const needsIsolation = async ({db}: Pick<EngineDeps, 'db'>, run: number) =>
  ((await findHead(db, run))?.takeovers ?? 0) > mostSharedTakeovers

/**
 * Executes the run in a child process. Only the death of the child counts as a crash of the run. If this process is killed or drained, the
 * child ends with it and no crash is counted. Returns `held` while another run uses the child process.
 */
export const executeIsolated = async (deps: IsolationDeps, run: Run, options: ExecuteOptions): Promise<RunState> => {
  if (current) {
    const {run, handOver} = current
    // If the other run settled a row, any worker can execute it again. It then releases the child process for this run.
    if (!(await needsIsolation(deps, run))) handOver()
    return 'held'
  }
  const handingOver = new AbortController()
  current = {run: run.no, handOver: () => handingOver.abort()}
  try {
    return await executeInChild(deps, run, {...options, signal: AbortSignal.any([options.signal, handingOver.signal])})
  } finally {
    current = null
  }
}

const executeInChild = async ({config, db}: IsolationDeps, {no, org, id}: Run, {signal, log}: ExecuteOptions): Promise<RunState> => {
  const head = await findHead(db, no)
  // A child process that cannot take the lease would only block other runs.
  if (!head || head.leaseLive) return 'held'
  if (signal.aborted) return 'released'
  const input: IsolatedRunInput = {config, org, id, hungAfterSeconds: hungAfter(), parent: traceparent()}
  const {isTaken, result, exitCode, exitSignal} = await runChild(input, signal)
  if (result && 'state' in result) return result.state
  if (result) throw new Error(result.error)
  if (signal.aborted) return 'released'
  const crashes = isTaken ? await recordCrash(db, no) : null
  log.error({run: id, exitCode, signal: exitSignal, crashes, mostCrashes}, 'the child process of the run exited without a result')
  throw new Error(`The child process of the run exited with ${exitSignal ?? `exit code ${exitCode}`}`)
}

/** Runs a child process and resolves when it has exited. After an abort it has `DRAIN_SECONDS` to exit. */
const runChild = async (input: IsolatedRunInput, signal: AbortSignal) => {
  const child = fork(entry, {stdio: ['ignore', 'inherit', 'inherit', 'ipc'], serialization: 'advanced'})
  const messages: IsolatedRunMessage[] = []
  let deadline: NodeJS.Timeout | undefined
  const drain = () => {
    child.kill('SIGTERM')
    deadline = setTimeout(() => child.kill('SIGKILL'), input.config.DRAIN_SECONDS * 1000)
  }
  child.on('message', message => messages.push(message as IsolatedRunMessage))
  signal.addEventListener('abort', drain, {once: true})
  try {
    // If the message cannot be sent, the child has exited and `close` reports how.
    child.send(input, () => {})
    const [exitCode, exitSignal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
    const result = messages.find(message => message !== 'taken')
    return {isTaken: messages.includes('taken'), result, exitCode, exitSignal}
  } finally {
    clearTimeout(deadline)
    signal.removeEventListener('abort', drain)
  }
}
