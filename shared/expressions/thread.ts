import {parentPort, workerData} from 'node:worker_threads'
import type {Scripts} from './builtin.ts'
import {LIMITS} from './limits.ts'
import {type Answer, type FaultCode, monotonicMilliseconds, type Request, WATCH} from './protocol.ts'
import {SandboxFault} from './quickjs.ts'
import {openRuntime, type Runtime} from './runtime.ts'

/** The thread a sandbox lives in: takes one request at a time, and a new runtime after any fault. */
const {watch, milliseconds, scripts} = workerData as {watch: Float64Array; milliseconds: number; scripts: Scripts}
const port = parentPort!

/** QuickJS asks this thread for the local time zone. Here it is UTC, whatever the machine's: a row's outcome must not depend on it. */
for (const part of ['Seconds', 'Minutes', 'Hours', 'Date', 'Month', 'FullYear', 'Day'] as const)
  Date.prototype[`get${part}`] = Date.prototype[`getUTC${part}`]
Date.prototype.getTimezoneOffset = () => 0

let deadline = 0
let spentBefore = process.threadCpuUsage()
const began = (row: number, expression: number) => {
  if (row !== watch[WATCH.row] || expression <= 0) allow(milliseconds)
  watch[WATCH.row] = row
  watch[WATCH.expression] = expression
}

/** Loading may take longer than a row; the outside adds a row's time to `since`. */
const allow = (time: number) => {
  deadline = monotonicMilliseconds() + time
  watch[WATCH.since] = deadline - milliseconds
  spentBefore = process.threadCpuUsage()
}

/** Time that this thread did not get (a stopped process, a machine with too much to do) is not the row's. */
const isOver = () => monotonicMilliseconds() > deadline && spentMilliseconds() > milliseconds / 2

const spentMilliseconds = () => {
  const {user, system} = process.threadCpuUsage(spentBefore)
  return (user + system) / 1000
}

let runtime: Runtime | null = null
let runs = 0

const perform = async (request: Request): Promise<Answer> => {
  deadline = Infinity
  if (!runtime) {
    runtime = await openRuntime({began, isOver, scripts})
    runs = 0
  }
  if (request.kind === 'run') began(-1, -1)
  else allow(LIMITS.loadMilliseconds)
  if (request.kind === 'define') return {answer: runtime.define(request.program)}
  if (request.kind === 'check') return {answer: runtime.check(request.library, request.examples)}
  runs++
  return {answer: runtime.run(request.rows, request.head)}
}

/** What others left fills the memory at once, or the runtime is new; a row that worked long has done it itself, and trying again takes time. */
const isCertain = () => runs <= 1 || spentMilliseconds() > milliseconds / 6

/** A runtime that has failed once is not asked again, nor even closed: its memory goes with it. */
const answer = async (request: Request): Promise<Answer> => {
  try {
    return await perform(request)
  } catch (error) {
    runtime = null
    const after = monotonicMilliseconds() - watch[WATCH.since]!
    return {fault: codeOf(error), row: watch[WATCH.row]!, expression: watch[WATCH.expression]!, certain: isCertain(), after}
  }
}

const codeOf = (error: unknown): FaultCode => {
  if (error instanceof SandboxFault && error.message.startsWith('interrupted')) return 'EXPRESSION_TIMEOUT'
  if (error instanceof SandboxFault && error.message.startsWith('out of memory')) return 'EXPRESSION_MEMORY'
  if (error instanceof SandboxFault && error.message.startsWith('stack overflow')) return 'EXPRESSION_STACK'
  if (error instanceof RangeError) return 'EXPRESSION_STACK'
  return 'SANDBOX_UNAVAILABLE'
}

port.on('message', async (request: Request) => {
  const answered = await answer(request)
  watch[WATCH.since] = 0
  port.postMessage(answered)
})
