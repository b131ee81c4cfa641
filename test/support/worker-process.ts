import assert from 'node:assert/strict'
import type {ChildProcess} from 'node:child_process'
import {once} from 'node:events'
import test from 'ava'
import type {Config} from '../../shared/config.ts'
import {startWorkers} from '../../workers/start.ts'
import type {Call} from './client.ts'
import {untilRun} from './importing.ts'
import {endAfterTests} from './test-deployment.ts'
import {endWorker, startWorker} from './worker-spawn.ts'

export {endWorker, startWorker}

/** Starts `imports` workers for a test file and ends them after each test. */
export const openWorkers = (configOf: () => Config) => {
  const started: ChildProcess[] = []
  test.afterEach.always('workers end', async () => void (await Promise.all(started.splice(0).map(endWorker))))
  return (environment: Record<string, string> = {}): ChildProcess => {
    const worker = startWorker(configOf(), environment)
    started.push(worker)
    return worker
  }
}

/** Starts a worker that kills itself at a fault point, and asserts that it did. */
export const killAt = async (start: (environment: Record<string, string>) => ChildProcess, point: string): Promise<void> => {
  const [, signal] = await once(start({FAULT_POINT: point}), 'exit')
  assert.equal(signal, 'SIGKILL', `no worker reached ${point}`)
}

type KillRows = {call: Call; runPath: string; rows: readonly number[]}

/** Kills a worker each time the run has done so many rows, and then starts a worker that lives. */
export const killAtRows = async (start: () => ChildProcess, {call, runPath, rows}: KillRows): Promise<void> => {
  for (const done of rows) {
    const worker = start()
    await untilRun(call, runPath, run => run.state === 'ended' || run.progress.done >= done)
    await endWorker(worker)
  }
  start()
}

/** Runs one `imports` worker in this process, for tests that need any worker. It is stopped before tests that kill theirs. */
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
