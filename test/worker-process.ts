import type {ChildProcess} from 'node:child_process'
import test from 'ava'
import type {Config} from '../shared/config.ts'
import {endWorker, startWorker} from './worker-spawn.ts'

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
