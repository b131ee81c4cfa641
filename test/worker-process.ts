import type {ChildProcess} from 'node:child_process'
import test from 'ava'
import type {Config} from '../shared/config.ts'
import {startWorkers} from '../workers/start.ts'
import {endWorker, startWorker} from './worker-spawn.ts'
import {endWithWorld} from './world.ts'

export {endWorker, startWorker}

/** How a test file starts `imports` workers that end after each of its tests. */
export const openWorkers = (configOf: () => Config) => {
  const started: ChildProcess[] = []
  test.afterEach.always('workers end', async () => void (await Promise.all(started.splice(0).map(endWorker))))
  return (environment: Record<string, string> = {}): ChildProcess => {
    const worker = startWorker(configOf(), environment)
    started.push(worker)
    return worker
  }
}

/** One `imports` worker in this process for the tests of a file that need one of whatever kind; stopped before those that kill theirs. */
export const openStandingWorker = (configOf: () => Config) => {
  let running: ReturnType<typeof startWorkers> | null = null
  const stop = async () => {
    const ending = running
    running = null
    await (await ending)?.stop()
  }
  const start = async () => {
    if (!running) endWithWorld(stop)
    running ??= startWorkers(['imports'], configOf())
    await running
  }
  return {start, stop}
}
