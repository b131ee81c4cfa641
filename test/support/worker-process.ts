import type {ChildProcess} from 'node:child_process'
import test from 'ava'
import type {Config} from '../../shared/config.ts'
import {startWorkers} from '../../workers/start.ts'
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
