import {getCompileCacheDir} from 'node:module'
import {dirname} from 'node:path'
import {Worker} from 'node:worker_threads'
import {readEnvironment} from '../config.ts'
import {Refusal} from '../errors.ts'
import {builtinScripts} from './builtin.ts'
import {LIMITS} from './limits.ts'
import {
  type Fault,
  type FaultCode,
  monotonicMilliseconds,
  type Request,
  type SandboxAnswer,
  type SandboxAnswers,
  WATCH,
} from './protocol.ts'

/** The thread gets one request at a time and is ended if a row does not finish. */
export type SandboxThread = ReturnType<typeof startThread>

/**
 * If a row runs for this multiple of its time limit, the thread is ended. Ending takes a few milliseconds, so the total stays below twice
 * the limit.
 */
const HARD_LIMIT = 1.75

export const startThread = (milliseconds: number) => {
  const watch = new Float64Array(new SharedArrayBuffer(WATCH.length * 8))
  const worker = openWorker({watch, milliseconds, scripts: builtinScripts()})
  let isAlive = true
  /** The error of a failing thread. The thread emits `error` and then `exit`, and callers wait for `exit`. */
  let failure: unknown
  /** Callbacks of the current request. `onMessage` gets the thread's answer; `onEnd` is called if the thread ends first. */
  let onMessage = (_: SandboxAnswer) => {}
  let onEnd = () => {}
  worker.on('error', error => (failure = error))
  worker.on('message', answer => onMessage(answer))
  const ended = new Promise<void>(resolve =>
    worker.once('exit', () => {
      isAlive = false
      onEnd()
      resolve()
    }),
  )

  const ask = async <Kind extends Request['kind']>(
    request: Extract<Request, {kind: Kind}>,
  ): Promise<{answer: SandboxAnswers[Kind]} | Fault> => {
    const asked = monotonicMilliseconds()
    const spent = () => monotonicMilliseconds() - (watch[WATCH.since] || asked)
    if (!isAlive) return {fault: 'SANDBOX_UNAVAILABLE', row: -1, expression: -1, certain: true, after: 0}
    worker.ref()
    watch.fill(-1)
    watch[WATCH.since] = 0
    const {promise, resolve} = Promise.withResolvers<SandboxAnswer>()
    const before = process.cpuUsage()
    const died = (fault: FaultCode, certain: boolean, after: number) => () =>
      resolve({fault, row: watch[WATCH.row]!, expression: watch[WATCH.expression]!, certain, after})
    onMessage = resolve
    onEnd = () => died('SANDBOX_UNAVAILABLE', true, spent())()
    worker.postMessage(request)
    const left = () => (watch[WATCH.since] || asked + LIMITS.startMilliseconds) + milliseconds * HARD_LIMIT - monotonicMilliseconds()
    const watchdog = watchOver(left, milliseconds / 4, () => {
      onEnd = died('EXPRESSION_TIMEOUT', hasWorked(before, milliseconds), spent())
      // A late answer of the ending thread must not be taken as the answer to the next request.
      onMessage = () => {}
      void worker.terminate()
    })
    const answer = await promise
    watchdog.stop()
    worker.unref()
    return answer as {answer: SandboxAnswers[Kind]} | Fault
  }

  return {
    ask,
    isAlive: () => isAlive,
    failure: () => failure,
    end: async () => {
      await worker.terminate()
      await ended
    },
  }
}

const openWorker = (workerData: object) => {
  try {
    const resourceLimits = {stackSizeMb: 4, maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 8}
    const worker = new Worker(new URL('./thread.ts', import.meta.url), {
      workerData,
      env: environment(),
      execArgv: preload(),
      resourceLimits,
    })
    worker.unref()
    return worker
  } catch (cause) {
    throw sandboxUnavailable(cause)
  }
}

/** The thread gets only the compile cache directory, which halves the CPU time of its start. */
const environment = () => {
  const directory = getCompileCacheDir()
  return directory ? {NODE_COMPILE_CACHE: dirname(directory)} : {}
}

/**
 * In the image, the thread loads files without types, as its process does (deploy/stripped.mjs). The environment of the thread has no NODE_OPTIONS,
 * so this function returns the option.
 */
const preload = () => readEnvironment().NODE_OPTIONS?.match(/--import=\S+\/deploy\/stripped\.mjs/g) ?? []

/** The refusal for callers whose expressions were not evaluated because the sandbox failed. */
export const sandboxUnavailable = (cause?: unknown) =>
  Object.assign(new Refusal('SANDBOX_UNAVAILABLE', 'The sandbox for expressions did not answer. Try again in a moment'), {cause})

/** If this process used less CPU than half of a row's time limit, the machine was overloaded. */
const hasWorked = (before: NodeJS.CpuUsage, milliseconds: number) => {
  const {user, system} = process.cpuUsage(before)
  return (user + system) / 1000 > milliseconds / 2
}

/** The maximum normal delay of a timer. A longer delay means that the process was suspended. */
const LATE_MILLISECONDS = 50

/**
 * Calls `expire` when `left` reaches 0. Checks `left` repeatedly, because it changes when a row begins. If the process was suspended, the sandbox
 * thread was suspended too, so the time of the suspension is not counted.
 */
const watchOver = (left: () => number, everyMilliseconds: number, expire: () => void) => {
  let timer: NodeJS.Timeout
  let due = monotonicMilliseconds()
  let stoodStill = 0
  const look = () => {
    const now = monotonicMilliseconds()
    if (now - due > LATE_MILLISECONDS) stoodStill += now - due
    const milliseconds = left() + stoodStill
    if (milliseconds <= 0) return expire()
    const wait = Math.min(Math.max(1, milliseconds), everyMilliseconds)
    due = now + wait
    timer = setTimeout(look, wait)
  }
  look()
  return {stop: () => clearTimeout(timer)}
}
