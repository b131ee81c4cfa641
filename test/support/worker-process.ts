import assert from 'node:assert/strict'
import type {ChildProcess} from 'node:child_process'
import {once} from 'node:events'
import test from 'ava'
import type {Config} from '../../shared/config.ts'
import {startWorkers} from '../../workers/start.ts'
import type {Call} from './client.ts'
import {untilRun} from './importing.ts'
import {endAfterTests} from './test-deployment.ts'
import {endWorker, startWorker, untilExit} from './worker-spawn.ts'

export {endWorker, startWorker, untilExit}

/** Returns a function that starts an `imports` worker. Workers end after each test. */
export const openWorkers = (configOf: () => Config) => {
  const started: ChildProcess[] = []
  test.afterEach.always('workers end', async () => void (await Promise.all(started.splice(0).map(endWorker))))
  return (environment: Record<string, string> = {}): ChildProcess => {
    const worker = startWorker(configOf(), environment)
    started.push(worker)
    return worker
  }
}

/** Starts a worker that kills itself at a fault point. Fails if the worker does not reach it. */
export const killAt = async (start: (environment: Record<string, string>) => ChildProcess, point: string): Promise<void> => {
  const [, signal] = await once(start({FAULT_POINT: point}), 'exit')
  assert.equal(signal, 'SIGKILL', `no worker reached ${point}`)
}

type KillRows = {call: Call; runPath: string; rows: readonly number[]}

/** For each number, starts a worker and kills it once the run has done so many rows. Then starts one that stays. */
export const killAtRows = async (start: () => ChildProcess, {call, runPath, rows}: KillRows): Promise<void> => {
  for (const done of rows) {
    const worker = start()
    await untilRun(call, runPath, run => run.state === 'ended' || run.progress.done >= done)
    await endWorker(worker)
  }
  start()
}

/** Starts and stops one `imports` worker in this process. A test file stops it before tests that kill their own workers. */
export const openLongLivedWorker = (configOf: () => Config) => {
  let running: ReturnType<typeof startWorkers> | null = null
  const stop = async () => {
    const ending = running
    running = null
    await (await ending)?.stop()
  }
  const start = async () => {
    if (!running) endAfterTests(stop)
    running ??= startWorkers(['imports'], configOf())
    await running
  }
  return {start, stop}
}
